//! Requests of the control socket's clients: those answered at once, and those that wait for
//! workers, files or tables.

use super::collector::{ANSWER_NS_MAX, Collector, Round};
use super::events::POLL_NS;
use super::mac_walk::MacWalk;
use super::protocol::{
    LinkSet, NeighborRow, Neighbors, ROWS_MAX, Reloaded, Reply, Request, RuleRow, Rules, Stopping,
    TagRow,
};
use super::reload::{self, Loaded, LoadedTables, Refusal, ReloadRequest};
use super::stats::Stats;
use super::watermarks::WatermarkKind;
use super::{Call, Control, ReplyTo, apply_link};
use crate::log::{self, Event, Level};
use crate::platform::Platform;
use crate::ports::find_port;
use agents::host::NeighborState;
use config::rule_file;
use crossbeam::channel::{Receiver, TryRecvError};
use dataplane::control_rings::Command;
use dataplane::ids::{PortId, Tag};
use dataplane::time::Instant;
use fleet::content_hash;
use std::collections::VecDeque;

/// Requests without a reply yet.
#[derive(Debug, Default)]
pub(super) struct PendingReplies {
    /// For the reports of a round that has not begun.
    stats: Vec<(Wanted, ReplyTo)>,
    /// For the reports of the round that has.
    round: Option<(Collector, Vec<(Wanted, ReplyTo)>)>,
    /// For files to be read, in order; the first is being read.
    reloads: VecDeque<(ReloadRequest, Option<ReplyTo>)>,
    loading: Option<Receiver<Result<Loaded, Refusal>>>,
    /// For tables with this number to be in use.
    installs: Vec<(Reloaded, Option<ReplyTo>)>,
    /// For the MAC table, in order; the first is being walked.
    mac_walks: VecDeque<(MacWalk, ReplyTo)>,
    /// When all workers had last answered.
    answered_at: Instant,
    /// The worker that has not answered for too long.
    silent: Option<usize>,
    /// Whether a client has sent `stop`.
    pub(super) stop: bool,
}

/// What a client wants of the workers' reports.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Stats,
    Watermarks { kind: WatermarkKind, clear: bool },
}

impl PendingReplies {
    /// Whether files are being read, or tables that were read are not in use yet.
    pub(super) fn is_reloading(&self) -> bool {
        !self.reloads.is_empty() || !self.installs.is_empty()
    }

    /// Whether all workers have answered lately: each takes turns.
    pub(super) fn have_answered(&self, now: Instant) -> bool {
        now.ns_since(self.answered_at) <= SILENT_NS
    }
}

/// The time after which a worker that has not answered counts as hung: two rounds of requests, and
/// the time that an answer may take.
const SILENT_NS: u64 = 2 * POLL_NS + ANSWER_NS_MAX;

/// A client that has disconnected gets no reply.
fn send(to: &ReplyTo, reply: Reply) {
    let _gone = to.send(reply);
}

impl<P: Platform> Control<P> {
    /// Takes a request. What can be answered at once is.
    pub(crate) fn handle_call(&mut self, call: Call) {
        let Call { request, reply } = call;
        match request {
            Request::Stats => self.pending.stats.push((Wanted::Stats, reply)),
            Request::Watermarks { kind, clear } => {
                self.pending.stats.push((Wanted::Watermarks { kind, clear }, reply));
            }
            Request::Reload => self.read_again(ReloadRequest::Everything, Some(reply)),
            Request::Diff => self.read_again(ReloadRequest::Difference, Some(reply)),
            Request::Rollback => self.read_again(ReloadRequest::Rollback, Some(reply)),
            Request::SetRules { file } => self.read_again(ReloadRequest::Rules(file), Some(reply)),
            Request::SetRoutes { file } => {
                self.read_again(ReloadRequest::Routes(file), Some(reply))
            }
            Request::AddRoute { to, via } => {
                self.read_again(ReloadRequest::Route { to, via }, Some(reply));
            }
            Request::DelRoute { to } => self.read_again(ReloadRequest::NoRoute(to), Some(reply)),
            Request::Mac { offset } => {
                self.pending
                    .mac_walks
                    .push_back((MacWalk::new(offset, self.tables.config()), reply));
            }
            Request::Neighbors { offset } => {
                send(&reply, Reply::Neighbors(self.neighbors(offset)));
            }
            Request::Lldp => {
                let now = self.platform.now();
                let table = self.lldp.as_ref().map(|it| it.table(now, self.tables.config()));
                send(&reply, Reply::Lldp(table.unwrap_or_default()));
            }
            Request::Routes { offset } => send(&reply, Reply::Routes(self.routes(offset))),
            Request::Link { port, up } => send(&reply, self.set_link(&port, up)),
            Request::Capture(wanted) => send(&reply, self.begin_capture(&wanted, &reply)),
            Request::Stop => {
                self.pending.stop = true;
                send(&reply, Reply::Stopping(Stopping { stopping: std::process::id() }));
            }
            Request::Rules => send(&reply, Reply::Rules(self.rules())),
            Request::Trace(request) => send(&reply, self.trace(&request)),
            Request::Recorder { after } => send(&reply, self.recording(after)),
        }
    }

    /// Queues `what` to be read. A signal needs no reply, so one queued reload serves all signals.
    pub(super) fn read_again(&mut self, what: ReloadRequest, reply: Option<ReplyTo>) {
        let is_being_read = usize::from(self.pending.loading.is_some());
        let mut later = self.pending.reloads.iter().skip(is_being_read);
        if reply.is_some() || !later.any(|(other, client)| client.is_none() && *other == what) {
            self.pending.reloads.push_back((what, reply));
        }
    }

    /// Continues the requests that could not be answered at once.
    pub(super) fn answer(&mut self, now: Instant) {
        self.answer_stats(now);
        let epoch = self.workers.epoch();
        let done = self.pending.installs.extract_if(.., |(reloaded, _)| reloaded.epoch <= epoch);
        for (reloaded, reply) in done {
            log::info("tables", format!("table version {} is in use", reloaded.epoch));
            reply.inspect(|to| send(to, Reply::Reloaded(reloaded)));
        }
        if let Some((walk, reply)) = self.pending.mac_walks.front_mut()
            && let Some(table) = walk.step(&mut self.workers, self.tables.config())
        {
            send(reply, Reply::Mac(table));
            self.pending.mac_walks.pop_front();
        }
    }

    fn answer_stats(&mut self, now: Instant) {
        if let Some((mut collector, clients)) = self.pending.round.take() {
            match collector.round(&self.workers, now) {
                Round::Waiting => {
                    self.pending.round = Some((collector, clients));
                    return;
                }
                Round::Complete => {
                    self.all_answered(now);
                    let stats = Box::new(self.new_stats(now));
                    if self.events.is_due(now) {
                        self.events.postpone(now);
                        let events = self.events.poll(&stats, self.tables.config(), now);
                        events.iter().for_each(Event::log);
                    }
                    self.record(&stats, now);
                    self.sflow.poll(&stats, now);
                    for (wanted, client) in &clients {
                        let reply = self.reply_of(*wanted, &stats);
                        send(client, reply);
                    }
                }
                Round::Silent(worker) => {
                    let error = format!("worker {worker} does not answer; its core is blocked");
                    log::error("worker", &error);
                    self.pending.silent = Some(worker);
                    self.keep_from_hung_workers();
                    clients.iter().for_each(|(_, client)| send(client, Reply::failed(&error)));
                }
            }
        }
        let is_due = self.events.is_due(now) || self.recorder.is_due(now) || self.sflow.is_due(now);
        if self.pending.stats.is_empty() && !is_due {
            return;
        }
        let clients = std::mem::take(&mut self.pending.stats);
        match Collector::begin(&mut self.workers, now) {
            Some(collector) => self.pending.round = Some((collector, clients)),
            None => {
                self.events.postpone(now);
                self.recorder.postpone(now);
                self.sflow.postpone(now);
                let error = Reply::failed(
                    "a worker has not answered the last request; its core is blocked",
                );
                clients.iter().for_each(|(_, client)| send(client, error.clone()));
            }
        }
    }

    fn reply_of(&mut self, wanted: Wanted, stats: &Stats) -> Reply {
        match wanted {
            Wanted::Stats => Reply::Stats(Box::new(stats.clone())),
            Wanted::Watermarks { kind, clear } => {
                let watermarks = self.watermarks.read(kind, stats);
                if clear {
                    self.watermarks.clear(kind);
                }
                Reply::Watermarks(watermarks)
            }
        }
    }

    fn all_answered(&mut self, now: Instant) {
        let silent_ns = now.ns_since(std::mem::replace(&mut self.pending.answered_at, now));
        if let Some(worker) = self.pending.silent.take() {
            let silent_ms = silent_ns / 1_000_000;
            log::info("worker", format!("worker {worker} answers again, after {silent_ms} ms"));
            self.give_back_to_workers();
        }
    }

    /// Starts the next read, or installs what has been read.
    pub(super) fn take_loaded(&mut self) {
        let Some(loading) = &self.pending.loading else {
            if let Some((what, _)) = self.pending.reloads.front() {
                let current = self.tables.config().clone();
                let changes = self.changes.clone();
                self.pending.loading = Some(reload::begin(what.clone(), current, changes));
            }
            return;
        };
        let outcome = match loading.try_recv() {
            Ok(outcome) => outcome,
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => Err("the reload thread panicked".to_owned()),
        };
        self.pending.loading = None;
        let reply = self.pending.reloads.pop_front().and_then(|(_, reply)| reply);
        match outcome {
            Ok(Loaded::Difference(mut difference)) => {
                let ports = &self.tables.config().ports;
                let out = ports.iter().filter(|port| !self.links.port(port.id).in_service);
                difference.out_of_service = out.map(|port| port.name.clone()).collect();
                reply.inspect(|to| send(to, Reply::Difference(difference)));
            }
            Ok(Loaded::Tables(loaded)) => {
                let LoadedTables { tables, changes, read } = *loaded;
                self.changes = changes;
                let warnings = tables.config().warnings.iter().map(ToString::to_string).collect();
                let epoch = self.replace_tables(tables);
                self.pending.installs.push((Reloaded { epoch, read, warnings }, reply));
            }
            Err(why) => {
                log::error(
                    "reload",
                    format!("reload refused, the tables in use do not change: {why}"),
                );
                reply.inspect(|to| send(to, Reply::failed(format!("refused: {why}"))));
            }
        }
    }

    fn set_link(&mut self, name: &str, up: bool) -> Reply {
        let config = self.tables.config();
        let port = match find_port(&config.ports, name) {
            Ok(port) => port,
            Err(error) => return Reply::failed(error),
        };
        let (id, name) = (port.id, port.name.clone());
        let now = self.platform.now();
        let Self { links, workers, slow_path, lldp, host, .. } = self;
        links.set_in_service(id, up, |port, up| {
            if let Some(host) = host {
                host.set_link(port, up);
            }
            let command = |queue| Command::Link(queue, up);
            apply_link(command, port, up, now, workers, slow_path, lldp.as_mut());
        });
        let words = if up { " is in service again" } else { " is out of service" };
        Event::of_port(Level::Info, "service", &name, words).log();
        Reply::LinkSet(LinkSet { port: name, up })
    }

    pub(super) fn port_name(&self, port: PortId) -> String {
        let port = self.tables.config().ports.get(port.index());
        port.map_or_else(String::new, |port| port.name.clone())
    }

    fn neighbors(&self, offset: usize) -> Neighbors {
        let all = self.slow_path.agent.neighbors(self.platform.now());
        let mut reply = Neighbors::default();
        for (at, neighbor) in all.enumerate() {
            reply.total = at + 1;
            if at >= offset && reply.neighbors.len() < ROWS_MAX {
                reply.neighbors.push(NeighborRow {
                    port: self.port_name(neighbor.key.port),
                    address: neighbor.key.address.to_string(),
                    mac: neighbor.mac.map(|mac| mac.to_string()),
                    state: state_name(neighbor.state).to_owned(),
                    age_ns: neighbor.age_ns,
                });
            }
        }
        reply
    }

    fn rules(&self) -> Rules {
        let config = self.tables.config();
        let map = &config.tag_map;
        let lossless = Tag::all().filter(|&tag| map.is_lossless(tag));
        let tags = lossless
            .map(|tag| TagRow { tag: tag.value(), priority: map.priority[tag.index()].value() });
        let numbers = |set: &dataplane::rules::PortSet| set.iter().map(PortId::number).collect();
        let entries = config.rules.iter().flat_map(|rules| &rules.entries);
        let entries = entries.map(|entry| RuleRow {
            tag: entry.tag.value,
            mask: entry.tag.mask,
            input: numbers(&entry.in_ports),
            output: numbers(&entry.out_ports),
            new_tag: entry.new_tag.value(),
        });
        let initial_tags = config.rules.iter().flat_map(|rules| &rules.initial_tags);
        Rules {
            file: config.rules_file.clone(),
            hash: config.rules.as_ref().map(|it| content_hash(&rule_file::to_json(it))),
            tags: tags.collect(),
            lossy_tag: map.lossy_tag.value(),
            initial_tag: map.initial_tag.value(),
            initial_tags: initial_tags.map(|tag| tag.value()).collect(),
            entries: entries.collect(),
        }
    }
}

const fn state_name(state: NeighborState) -> &'static str {
    match state {
        NeighborState::Incomplete => "incomplete",
        NeighborState::Reachable => "reachable",
        NeighborState::Stale => "stale",
        NeighborState::Failed => "failed",
        NeighborState::Static => "static",
    }
}

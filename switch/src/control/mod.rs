//! The control thread: everything about a running switch that is not the packet path.
//!
//! It never waits for anybody. Workers, clients of the socket and files each answer when they can,
//! by rings and channels; [`Control::step`] looks at all of them in turn and does what is due.
//!
//! | file | idea |
//! |---|---|
//! | `workers` | the rings to the workers |
//! | `slow_path` | punted frames, and what the agent wants done |
//! | `tables`, `table_pair` | from the configuration to the packet path's tables |
//! | `reload` | new tables from changed files |
//! | `new_settings` | what the workers are told of a reload, beside the tables |
//! | `kept_changes`, `difference` | what was changed while it ran: in a file; against the files |
//! | `host_addresses` | the addresses of the host's TAPs, in the tables |
//! | `fleet_status` | where the fleet's agent stands |
//! | `learned` | routes from a routing daemon |
//! | `links` | which ports are up |
//! | `hung_workers` | the links of ports whose worker hangs |
//! | `lldp` | LLDP, and rules from what is learned by it |
//! | `collector`, `merge`, `snapshot` | reports of all workers, put together to [`stats`] |
//! | `events` | what an operator should hear of as it happens |
//! | `lossless` | the figure of lossless frames that were not delivered |
//! | `waits` | who waits for whom, in those reports |
//! | `watermarks` | peaks of those reports, kept until they are cleared |
//! | `recorder` | the flight recorder's samples |
//! | `traces` | frames walked through the tables |
//! | `answers`, `mac_walk`, `route_rows` | what clients ask for |
//! | `capture`, `capture_stream` | who sees frames; the records on their way to the client |
//! | `sflow` | who samples frames and counters |
//! | `drain` | the end |
//! | `protocol`, `server`, `clients`, `lines`, `access`, `peer_groups` | the socket |

pub(crate) mod access;
mod answers;
mod capture;
pub(crate) mod capture_stream;
mod clients;
mod collector;
pub(crate) mod difference;
mod drain;
mod events;
pub(crate) mod fleet_status;
mod host_addresses;
mod hung_workers;
pub(crate) mod kept_changes;
mod learned;
mod lines;
mod links;
mod lldp;
mod lossless;
mod mac_walk;
pub(crate) mod merge;
pub(crate) mod new_drops;
mod new_settings;
#[allow(unsafe_code)]
mod peer_groups;
pub(crate) mod protocol;
mod recorder;
mod reload;
mod route_rows;
pub(crate) mod server;
mod sflow;
mod slow_path;
mod snapshot;
pub mod stats;
mod table_pair;
mod tables;
#[cfg(test)]
mod tests;
mod traces;
mod waits;
pub(crate) mod watermarks;
mod workers;

#[cfg(feature = "dpdk")]
pub(crate) use drain::Quiesced;
pub(crate) use tables::Tables;

use crate::flight_recorder::FlightRecorder;
use crate::fpm::FpmServer;
use crate::host_taps::HostTaps;
use crate::log::{self, Event, Level};
use crate::platform::{Platform, PortFacts};
use crate::service_manager::ServiceManager;
use crate::worker_loop::ControlSampleRings;
use agents::host::NeighborKey;
use answers::PendingReplies;
use capture::CaptureControl;
use capture_stream::CaptureClient;
use crossbeam::channel::{Receiver, RecvTimeoutError, Sender};
use dataplane::control_rings::{Command, ControlRings};
use dataplane::frame::Frame;
use dataplane::ids::PortId;
use dataplane::time::Instant;
use events::Events;
use fleet_status::FleetStatus;
use kept_changes::KeptChanges;
use learned::Learned;
use links::LinkWatch;
use lldp::LldpControl;
use protocol::{Reply, Request};
use reload::ReloadRequest;
use sflow::SflowControl;
use slow_path::SlowPath;
use stats::Stats;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use table_pair::TablePair;
use watermarks::WatermarkStore;
use workers::{WorkerLink, Workers};

/// A request, and where its reply goes.
#[derive(Debug)]
pub(crate) struct Call {
    /// What is asked.
    pub request: Request,
    /// Takes one reply.
    pub reply: ReplyTo,
}

/// Who waits for a reply.
#[derive(Clone, Debug)]
pub(crate) enum ReplyTo {
    /// A thread: a client of the control socket.
    Thread(Sender<Reply>),
    /// A task of the metrics server.
    Task(tokio::sync::mpsc::Sender<Reply>),
    /// A client of the control socket that wants to capture.
    Capture(Sender<Reply>, CaptureClient),
}

/// Who asked has gone or has a reply already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientGone;

impl ReplyTo {
    /// Replies, without waiting.
    pub(crate) fn send(&self, reply: Reply) -> Result<(), ClientGone> {
        match self {
            Self::Thread(to) | Self::Capture(to, _) => to.try_send(reply).map_err(|_| ClientGone),
            Self::Task(to) => to.try_send(reply).map_err(|_| ClientGone),
        }
    }
}

/// What comes from outside the program: signals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    /// The switch is to stop.
    pub stop: Arc<AtomicBool>,
    /// SWITCH.toml is to be read again.
    pub reload: Arc<AtomicBool>,
}

/// Number of the tables that workers start with.
pub(crate) const FIRST_EPOCH: u64 = 1;

/// How long after an event the control thread polls often.
const BUSY_NS: u64 = 100_000_000;
/// The same after frames of a host with TAPs.
const BUSY_HOST_NS: u64 = 2_000_000;
/// Its poll interval then: a fraction of a ping's round trip.
const POLL_BUSY: Duration = Duration::from_micros(100);
/// Its poll interval otherwise.
const POLL_IDLE: Duration = Duration::from_millis(1);

/// The control thread's state.
#[derive(Debug)]
pub(crate) struct Control<P: Platform> {
    platform: P,
    facts: Vec<PortFacts>,
    tables: Tables,
    /// What workers have of them.
    table_pair: TablePair,
    /// What was changed in them on top of the files.
    changes: KeptChanges,
    workers: Workers<P::Frame>,
    slow_path: SlowPath,
    /// LLDP, if it is enabled.
    lldp: Option<LldpControl>,
    /// The host's TAPs, if there are any.
    host: Option<HostTaps>,
    links: LinkWatch,
    /// Ports whose links are down because their workers hang.
    kept_from_workers: Vec<PortId>,
    pending: PendingReplies,
    captures: CaptureControl,
    sflow: SflowControl,
    events: Events,
    /// The events of the last seconds.
    recorder: FlightRecorder,
    watermarks: WatermarkStore,
    /// Takes routes from a routing daemon, if it is configured.
    fpm: Option<FpmServer>,
    /// What it has changed since the tables were made.
    learned: Learned,
    /// Where the fleet's agent stands, if there is one.
    fleet: Option<FleetStatus>,
    /// Number of the newest tables.
    epoch: u64,
    /// Whether the workers need new tables.
    needs_tables: bool,
    /// The earliest time of the next compilation, so that compiling takes at most half the time.
    compile_at: Instant,
}

impl<P: Platform> Control<P> {
    /// The control thread of a switch whose workers run with `tables`, which have `changes` in
    /// them, compiled under [`FIRST_EPOCH`], at the other ends of `links`. `facts` is in port
    /// order.
    pub(crate) fn new(
        platform: P,
        tables: Tables,
        changes: KeptChanges,
        facts: Vec<PortFacts>,
        links: Vec<(ControlRings<P::Frame>, ControlSampleRings)>,
    ) -> Self {
        let settings = &tables.config().settings;
        let links = links.into_iter();
        let links = links.map(|(links, samples)| WorkerLink::new(links, samples, FIRST_EPOCH));
        let mut control = Self {
            facts,
            workers: Workers::new(links.collect(), settings),
            slow_path: SlowPath::new(&tables),
            lldp: LldpControl::new(&tables),
            host: None,
            links: LinkWatch::new(settings.ports.len()),
            kept_from_workers: Vec::new(),
            pending: PendingReplies::default(),
            captures: CaptureControl::default(),
            sflow: SflowControl::default(),
            events: Events::default(),
            recorder: FlightRecorder::new(&tables.config().flight_recorder),
            watermarks: WatermarkStore::default(),
            fpm: None,
            learned: Learned::default(),
            fleet: None,
            epoch: FIRST_EPOCH,
            needs_tables: false,
            compile_at: Instant::ZERO,
            platform,
            tables,
            table_pair: TablePair::default(),
            changes,
        };
        control.pin_neighbors(&[]);
        control
    }

    /// From now on the statistics say where the fleet's agent stands.
    pub(crate) fn show_fleet(&mut self, status: FleetStatus) {
        self.fleet = Some(status);
    }

    /// From now on the host has these TAPs.
    pub(crate) fn set_host(&mut self, mut host: HostTaps) {
        let ports = 0..self.tables.config().ports.len();
        for port in ports.filter_map(PortId::from_index) {
            host.set_link(port, self.platform.is_link_up(port));
        }
        self.host = Some(host);
    }

    /// Removes the TAPs: the switch is stopping.
    pub(crate) fn close_host(&mut self) {
        self.host = None;
    }

    /// Takes the frames that the kernel sends, and its addresses. Returns whether there were
    /// frames.
    fn serve_host(&mut self) -> bool {
        let Self { platform, slow_path, workers, tables, host, .. } = self;
        let Some(host) = host else { return false };
        let any = host.receive(|port, bytes| match platform.frame(bytes) {
            Some(frame) => workers.command(port, Command::Send(port, frame)),
            None => slow_path.unmade_frames += 1,
        });
        if let Some(addresses) = host.take_addresses()
            && tables.set_host_addresses(addresses)
        {
            slow_path.agent.set_interfaces(tables.interfaces().to_vec());
            self.needs_tables = true;
        }
        any
    }

    /// Runs until a signal or a client stops the switch.
    pub(crate) fn run(
        &mut self,
        calls: &Receiver<Call>,
        signals: &Signals,
        service_manager: &mut ServiceManager,
    ) {
        let mut busy_until = Instant::ZERO;
        while !signals.stop.load(Ordering::Relaxed) && !self.pending.stop {
            if signals.reload.swap(false, Ordering::Relaxed) {
                self.read_again(ReloadRequest::Everything, None);
            }
            let now = self.platform.now();
            if let Some(busy_ns) = self.step(now) {
                busy_until = busy_until.max(now + busy_ns);
            }
            service_manager.set_reloading(self.pending.is_reloading());
            if self.pending.have_answered(now) {
                service_manager.alive(now);
            }
            let poll = if now < busy_until { POLL_BUSY } else { POLL_IDLE };
            match calls.recv_timeout(poll) {
                Ok(call) => {
                    busy_until = now + BUSY_NS;
                    self.handle_call(call);
                }
                Err(RecvTimeoutError::Timeout) => {}
                // Without a server there is nothing to wait for by the channel.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(poll),
            }
        }
    }

    /// Does everything that is due at `now`. Returns for how long to poll often, if there was
    /// anything.
    pub(crate) fn step(&mut self, now: Instant) -> Option<u64> {
        let mut any = false;
        for worker in self.workers.iter_mut() {
            any |= worker.take_replies();
            worker.push_backlog();
        }
        let Self { platform, slow_path, workers, tables, lldp, host, .. } = self;
        let agents = (lldp.as_mut(), host.as_mut());
        let any_punted = slow_path.take_punted(platform, workers, tables, agents, now);
        // Daemons that keep sessions up send all the time, but little.
        let has_host = host.is_some();
        any |= any_punted && !has_host;
        let any_of_host = self.serve_host() | (any_punted && has_host);
        let Self { platform, slow_path, tables, .. } = self;
        if slow_path.agent.poll_timeout().is_some_and(|due| due <= now) {
            slow_path.agent.handle_timeout(now);
        }
        slow_path.resolve_gateways(platform, tables, now);
        self.watch_links(now);
        self.take_loaded();
        any |= self.take_learned(now);
        let Self { platform, slow_path, workers, tables, .. } = self;
        self.needs_tables |= slow_path.process_outputs(platform, workers, tables);
        if let Some(lldp) = &mut self.lldp {
            lldp.handle_timeout(now);
            let lost = &mut slow_path.unmade_frames;
            self.needs_tables |= lldp.process_outputs(platform, workers, tables, lost);
        }
        if self.needs_tables {
            self.install(now);
        }
        if !self.needs_tables
            && let Some(lldp) = &mut self.lldp
        {
            lldp.apply_pending_up::<P>(&mut self.workers);
        }
        if !self.needs_tables && self.slow_path.has_releases() {
            self.slow_path.release(&self.platform, &mut self.workers);
            any = true;
        }
        self.captures.end_if_over(&mut self.workers);
        self.answer(now);
        match (any, any_of_host) {
            (true, _) => Some(BUSY_NS),
            (false, true) => Some(BUSY_HOST_NS),
            (false, false) => None,
        }
    }

    /// Compiles tables and sends them once the workers use the ones before: changes meanwhile are
    /// compiled together, and at most two tables exist at once.
    fn install(&mut self, now: Instant) {
        if now < self.compile_at || self.workers.epoch() < self.epoch {
            return;
        }
        self.epoch += 1;
        let snapshot = self.table_pair.next(&mut self.tables, self.epoch);
        let done = self.platform.now();
        self.compile_at = done + done.ns_since(now);
        self.workers.install(&snapshot);
        self.needs_tables = false;
    }

    fn watch_links(&mut self, now: Instant) {
        let Self { platform, links, workers, slow_path, tables, lldp, host, .. } = self;
        let on_change = |port: PortId, up| {
            if let Some(host) = host {
                host.set_link(port, up);
            }
            let name = &tables.config().settings.ports[port.index()].name;
            let (level, words) =
                if up { (Level::Info, " is up") } else { (Level::Warning, " is down") };
            Event::of_port(level, "link", name, words).log();
            let command =
                |queue| if up { Command::Link(queue, up) } else { Command::LinkLost(queue) };
            apply_link(command, port, up, now, workers, slow_path, lldp.as_mut());
        };
        links.poll(now, |port| platform.is_link_up(port), on_change);
        if let Some(lldp) = lldp {
            lldp.begin(now, |port| links.port(port).is_up());
        }
    }

    /// Sets the agent's static neighbors to those of the configuration, which were `old` before.
    fn pin_neighbors(&mut self, old: &[config::switch::Neighbor]) {
        let now = self.platform.now();
        let agent = &mut self.slow_path.agent;
        let new = &self.tables.config().neighbors;
        for neighbor in old.iter().filter(|neighbor| !new.contains(neighbor)) {
            agent.remove_static_neighbor(key(neighbor));
        }
        let refused: Vec<_> = new
            .iter()
            .filter_map(|one| agent.add_static_neighbor(now, key(one), one.mac).err())
            .collect();
        if let Some(full) = refused.first() {
            let count = refused.len();
            log::warning("neighbors", format!("{count} static neighbors need a restart: {full}"));
        }
    }

    /// Replaces the tables. Returns their number.
    fn replace_tables(&mut self, mut tables: Tables) -> u64 {
        tables.take_neighbors(&self.tables);
        if let Some(host) = &mut self.host {
            let addresses = host.reload(&self.tables.config().ports, &tables.config().ports);
            tables.set_host_addresses(addresses);
        }
        tables.succeed(&mut self.tables);
        let old = std::mem::replace(&mut self.tables, tables);
        self.slow_path.agent.set_interfaces(self.tables.interfaces().to_vec());
        self.slow_path.agent.set_locals(self.tables.config().loopback.clone());
        self.pin_neighbors(&old.config().neighbors);
        self.reload_sflow(old.config().sflow.as_ref());
        self.reload_settings(&old.config().settings);
        let now = self.platform.now();
        if let Some(lldp) = &mut self.lldp {
            lldp.reload(now, &mut self.tables);
        }
        for port in self.tables.remade_ports(&old) {
            self.workers.command(port, Command::FlushMacTable(port));
        }
        self.needs_tables = true;
        self.epoch + 1
    }

    /// Sends LLDP shutdown frames: the switch is stopping.
    pub(crate) fn send_lldp_shutdown(&mut self) {
        let now = self.platform.now();
        let Self { platform, slow_path, workers, tables, lldp, .. } = self;
        if let Some(lldp) = lldp {
            lldp.shut_down(now);
            lldp.process_outputs(platform, workers, tables, &mut slow_path.unmade_frames);
        }
    }

    /// The time on the workers' clock.
    pub(crate) fn now(&self) -> Instant {
        self.platform.now()
    }

    /// The state of the switch from the workers' last answers.
    pub(crate) fn stats(&self, now: Instant) -> Stats {
        let mut stats = self.snapshot(now);
        self.watermarks.show(&mut stats);
        stats
    }

    /// The same, as soon as all workers have answered: their peaks are new.
    fn new_stats(&mut self, now: Instant) -> Stats {
        let mut stats = self.snapshot(now);
        self.watermarks.add(&stats);
        self.watermarks.show(&mut stats);
        stats
    }
}

/// Applies a link change at `port`: to the agent, to LLDP, and to the worker by `command`.
fn apply_link<F: Frame>(
    command: impl Fn(PortId) -> Command<F>,
    port: PortId,
    up: bool,
    now: Instant,
    workers: &mut Workers<F>,
    slow_path: &mut SlowPath,
    lldp: Option<&mut LldpControl>,
) {
    slow_path.agent.handle_link(now, port, up);
    let at_once = lldp.is_none_or(|lldp| lldp.handle_link(now, port, up));
    if at_once {
        workers.command_each(port, command);
    }
}

fn key(neighbor: &config::switch::Neighbor) -> NeighborKey {
    NeighborKey { port: neighbor.port, address: neighbor.address }
}

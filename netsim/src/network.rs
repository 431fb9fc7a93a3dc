//! The network while it runs: events, and nodes that are turned when something happened to them.
//!
//! All that happens to a node at one instant happens before it is turned, and it is turned once for
//! it. A turn only plans what comes later. Nodes run one after the other through each window of
//! time, too short for any of them to be heard by another within it ([`event`](crate::event)).

use crate::bipartition::bipartition;
use crate::capture::Captures;
use crate::checker::{
    BufferState, PauseWatch, TagWatch, Violation, conservation, delivery, losslessness,
};
use crate::event::{Event, EventKind, EventQueue, NEVER, Picoseconds};
use crate::fault_schedule::FaultSchedule;
use crate::flow::{FlowCounters, FlowId};
use crate::frame::{Pool, SimFrame};
use crate::host_node::{FlowState, HostCounters, HostNode};
use crate::link::{Endpoint, Wire};
use crate::links::Links;
use crate::routing::Router;
use crate::switch_node::{SwitchNode, instant};
use crate::timer::Timer;
use crate::topology::{Attachment, HostId, Peer, SwitchId, Topology};
use crate::trace::Trace;
use dataplane::ids::PortId;
use dataplane::lldp::LldpAgent;
use dataplane::pipeline::classify::TagMap;
use dataplane::report::Report;
use dataplane::rules::TcamEntry;
use dataplane::settings::GentleSettings;
use std::rc::Rc;

/// So often things happen to a node at one instant because of what happened at it. Each frame and
/// each timer takes time, so few are enough; beyond, a node wants to be turned for ever.
const ROUNDS_MAX: u32 = 10_000;

/// A running network.
#[derive(Debug)]
pub struct Network {
    pub(crate) switches: Vec<SwitchNode>,
    pub(crate) hosts: Vec<HostNode>,
    pub(crate) links: Links,
    pub(crate) flows: Vec<FlowState>,
    pub(crate) lossless_bits: u8,
    pub(crate) topology: Topology,
    pub(crate) router: Router,
    pub(crate) schedule: FaultSchedule,
    pub(crate) now_ps: Picoseconds,
    pub(crate) events: EventQueue,
    /// Nodes to be turned at this instant because of what was planned for it.
    woken: Vec<usize>,
    /// Frames that arrive at a switch at one instant, and at which ports.
    arrived: Vec<(PortId, SimFrame)>,
    /// Whether at every node wires have the order of their ports, so that they are in order anyway.
    pub(crate) has_order: bool,
}

/// What a network is made of.
#[derive(Debug)]
pub(crate) struct NetworkParts {
    pub(crate) switches: Vec<SwitchNode>,
    pub(crate) hosts: Vec<HostNode>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) flows: Vec<FlowState>,
    pub(crate) topology: Topology,
    pub(crate) router: Router,
    pub(crate) reroute_ps: Option<Picoseconds>,
    pub(crate) tags: Rc<TagMap>,
    pub(crate) pool: Pool,
    /// How rates are told, if they are.
    pub(crate) gentle: Option<GentleSettings>,
    pub(crate) lossless_bits: u8,
    pub(crate) runs_lldp: bool,
}

impl Network {
    /// A network at time 0, at which every node will be turned once.
    pub(crate) fn new(parts: NetworkParts) -> Self {
        let nodes = parts.switches.len() + parts.hosts.len();
        let spans = parts.wires.iter().map(Wire::least_ps);
        let bipartition = bipartition(&parts.wires, nodes);
        let has_order = has_order(&parts.wires, nodes);
        let events = EventQueue::new(spans.min().unwrap_or(NEVER), &bipartition);
        let pauses = PauseWatch::new(parts.wires.len(), parts.lossless_bits)
            .gentle(parts.gentle.map(|gentle| gentle.form))
            .excusing(parts.switches.iter().any(SwitchNode::may_ignore_pauses));
        let links = Links {
            wires: parts.wires,
            captures: Captures::default(),
            pauses,
            watch: TagWatch::new(&parts.tags),
            trace: Trace::new(nodes),
            tags: parts.tags,
            pool: parts.pool,
            runs_lldp: parts.runs_lldp,
            switches: parts.switches.len(),
            data_hops: 0,
            switch_hops: 0,
        };
        let mut network = Self {
            links,
            switches: parts.switches,
            hosts: parts.hosts,
            flows: parts.flows,
            lossless_bits: parts.lossless_bits,
            topology: parts.topology,
            router: parts.router,
            schedule: FaultSchedule::new(parts.reroute_ps),
            now_ps: 0,
            events,
            woken: Vec::new(),
            arrived: Vec::new(),
            has_order,
        };
        network.set_timers();
        network
    }

    /// Has every node turned at the start.
    fn set_timers(&mut self) {
        let Self { switches, hosts, events, .. } = self;
        let timers = switches.iter_mut().map(|switch| &mut switch.timer);
        let timers = timers.chain(hosts.iter_mut().map(|host| &mut host.timer));
        for (node, timer) in (0_u32..).zip(timers) {
            *timer = Timer::new();
            timer.set(0, node, events);
        }
    }

    /// Has nodes run through windows of `span_ps`, all the same ones, from the start on.
    #[cfg(test)]
    pub(crate) fn set_lookahead(&mut self, span_ps: Picoseconds) {
        let nodes = self.switches.len() + self.hosts.len();
        self.events = EventQueue::new(span_ps, &vec![false; nodes]);
        self.set_timers();
    }

    /// Runs until `until_ps`, that instant included.
    pub fn run_until(&mut self, until_ps: Picoseconds) {
        while let Some(at_ps) = self.schedule.next_at_ps().filter(|&at_ps| at_ps <= until_ps) {
            // What is planned for an instant happens before anything else does.
            if let Some(before_ps) = at_ps.checked_sub(1) {
                self.run_events(before_ps);
            }
            self.now_ps = at_ps;
            self.do_planned();
        }
        self.run_events(until_ps);
        self.now_ps = self.now_ps.max(until_ps);
    }

    fn run_events(&mut self, until_ps: Picoseconds) {
        while self.events.take_lookahead(until_ps) {
            self.prefetch();
            let mut rounds = Rounds::default();
            // One loop over all events: how many each node has follows no pattern.
            while let Some(first) = self.events.pop() {
                match (first.node as usize).checked_sub(self.switches.len()) {
                    None => self.run_switch(first, &mut rounds),
                    Some(host) => self.run_host(first, host, &mut rounds),
                }
            }
            self.links.captures.write_held(self.events.done_ps());
        }
        self.links.captures.write_held(NEVER);
    }

    /// Touches the frames that arrive in the window in hand, and those that leave when their wires
    /// are free. Nobody has for long, so each would have its switch wait for memory, one after the
    /// other; here all of them are waited for together.
    #[inline(never)]
    fn prefetch(&mut self) {
        let mut touched = 0;
        let (arrivals, frees) = self.events.by_kind();
        for wire in arrivals {
            let frame = self.links.wires[wire as usize].first();
            touched ^= frame.map_or(0, |frame| u32::from(frame.first_octet()));
        }
        for (node, port) in frees {
            let switch = self.switches.get(node as usize);
            touched ^= switch.map_or(0, |switch| switch.worker.prefetch_head(port));
        }
        std::hint::black_box(touched);
    }

    /// All that happens to a switch at one instant, and a turn, which only plans what comes later.
    #[inline(always)]
    fn run_switch(&mut self, first: Event, rounds: &mut Rounds) {
        let Self { switches, links, events, arrived, has_order, now_ps, .. } = self;
        let Event { node, at_ps, mut kind, mut has_more } = first;
        let switch = &mut switches[node as usize];
        rounds.count(node, at_ps, &switch.name);
        *now_ps = at_ps;
        let now = instant(at_ps);
        switch.begin(at_ps, now);
        let is_in_order = *has_order || !has_more;
        let mut is_due = false;
        loop {
            match kind {
                EventKind::Arrival(wire) => match links.receive(wire, at_ps) {
                    None => {}
                    Some((port, frame)) if is_in_order => {
                        switch.on_rx(port, frame, now);
                        is_due = true;
                    }
                    Some(arrival) => arrived.push(arrival),
                },
                EventKind::Free(port) => {
                    switch.on_tx_ready(port, at_ps);
                    is_due = true;
                }
                EventKind::Wake => is_due |= switch.timer.fires(at_ps, node, events),
            }
            if !has_more {
                break;
            }
            let Some(next) = events.pop() else { break };
            (kind, has_more) = (next.kind, next.has_more);
        }
        if !arrived.is_empty() {
            switch.take_frames(arrived, now);
            is_due = true;
        }
        if is_due {
            end_turn(switch, node, links, events, at_ps);
        }
    }

    /// One event of a host, and a turn if it was the last at this instant.
    #[inline(always)]
    fn run_host(&mut self, event: Event, host: usize, rounds: &mut Rounds) {
        let Self { hosts, links, events, flows, now_ps, .. } = self;
        let Event { node, at_ps, kind, has_more } = event;
        let host = &mut hosts[host];
        rounds.count(node, at_ps, &host.name);
        *now_ps = at_ps;
        match kind {
            EventKind::Arrival(wire) => {
                if let Some((_, frame)) = links.receive(wire, at_ps) {
                    host.arrive(frame, at_ps, flows);
                }
            }
            EventKind::Free(_) => debug_assert!(false, "hosts know when their wires are free"),
            EventKind::Wake => {
                if host.timer.fires(at_ps, node, events) {
                    host.mark_dirty();
                }
            }
        }
        if !has_more && host.is_dirty() {
            turn_host(host, node, links, events, flows, at_ps);
        }
    }

    /// Has a node turned at this instant, once all that is planned for it is done.
    pub(crate) fn wake(&mut self, node: usize) {
        if !self.woken.contains(&node) {
            self.woken.push(node);
        }
    }

    /// Turns the nodes that were woken.
    pub(crate) fn turn_woken(&mut self) {
        for node in std::mem::take(&mut self.woken) {
            self.turn(node);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "nodes are counted in 32 bits")]
    fn turn(&mut self, node: usize) {
        let Self { switches, hosts, links, events, flows, now_ps, .. } = self;
        let (now_ps, number) = (*now_ps, node as u32);
        match node.checked_sub(switches.len()) {
            None => {
                switches[node].begin_whole(now_ps);
                end_turn(&mut switches[node], number, links, events, now_ps);
            }
            Some(host) => turn_host(&mut hosts[host], number, links, events, flows, now_ps),
        }
    }

    /// Runs for `span_ps` more.
    pub fn run_for(&mut self, span_ps: Picoseconds) {
        self.run_until(self.now_ps.saturating_add(span_ps));
    }

    /// Has every host send nothing more.
    pub fn stop_sources(&mut self) {
        self.hosts.iter_mut().for_each(HostNode::stop);
    }

    /// Whether everything holds that must hold at any time; see [`checker`](crate::checker).
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check(&self) -> Result<(), Violation> {
        self.check_losses()?;
        self.check_all_but_losses()
    }

    /// Whether no lossless frame was lost for want of room.
    pub(crate) fn check_losses(&self) -> Result<(), Violation> {
        losslessness::check(self)
    }

    /// The same where lossless frames may be lost: whether everything else holds.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check_all_but_losses(&self) -> Result<(), Violation> {
        self.links.watch.check(|wire| self.endpoint_name(self.links.wires[wire as usize].from))?;
        self.links.pauses.check(|wire| self.endpoint_name(self.links.wires[wire as usize].from))?;
        delivery::check(self)?;
        conservation::check(self)
    }

    /// The name of a node by its number: switches first, then hosts.
    fn node_name(&self, node: usize) -> String {
        match node.checked_sub(self.switches.len()) {
            None => self.switches[node].name.clone(),
            Some(host) => self.hosts[host].name.clone(),
        }
    }

    /// An end of a wire, as people call it: `A:3`, or a host.
    pub(crate) fn endpoint_name(&self, end: Endpoint) -> String {
        let name = self.node_name(end.node());
        if end.node() < self.switches.len() { format!("{name}:{}", end.port) } else { name }
    }

    /// Whether routes have changed since the start.
    pub(crate) const fn has_rerouted(&self) -> bool {
        self.schedule.has_rerouted()
    }

    /// Picoseconds since the start.
    pub const fn now_ps(&self) -> Picoseconds {
        self.now_ps
    }

    /// What became of a flow so far.
    pub fn flow(&self, flow: FlowId) -> &FlowCounters {
        &self.flows[flow.0].counters
    }

    /// What a host has counted.
    pub fn host(&self, host: HostId) -> HostCounters {
        self.hosts[host.0].counters()
    }

    /// A switch's counters, gauges and balance as of now.
    pub fn switch(&self, switch: SwitchId) -> Report {
        self.report(&self.switches[switch.0])
    }

    fn report(&self, switch: &SwitchNode) -> Report {
        let mut report = Report::default();
        switch.worker.report(&mut report, instant(self.now_ps));
        report
    }

    /// All switches, in the order in which they were added.
    pub fn switch_ids(&self) -> impl Iterator<Item = SwitchId> + use<> {
        (0..self.switches.len()).map(SwitchId)
    }

    /// What a switch has learned of its place in the fabric, and the rules it has written; `None`
    /// if switches do not learn.
    pub fn learned(&self, switch: SwitchId) -> Option<(&LldpAgent, &[TcamEntry])> {
        self.switches[switch.0].learned()
    }

    /// Every switch with its report.
    pub(crate) fn switch_reports(&self) -> impl Iterator<Item = (&SwitchNode, Report)> {
        self.switches.iter().map(|switch| (switch, self.report(switch)))
    }

    /// What every queue holds now.
    pub fn buffer_state(&self) -> BufferState {
        BufferState::of(self)
    }

    /// Data frames in switches and on wires.
    pub fn frames_inside(&self) -> u64 {
        let held: u64 = self.switches.iter().map(|switch| switch.worker.totals().held).sum();
        let wires = self.links.wires.iter().flat_map(Wire::in_flight);
        held + wires.filter(|frame| !frame.is_control()).count() as u64
    }

    /// Arrivals so far, of frames of all kinds at nodes of all kinds: packet-hops.
    pub const fn hops(&self) -> u64 {
        self.links.trace.arrivals()
    }

    /// The same without PFC.
    pub const fn data_hops(&self) -> u64 {
        self.links.data_hops
    }

    /// Arrivals of data frames at switches.
    pub const fn switch_hops(&self) -> u64 {
        self.links.switch_hops
    }

    /// A hash of every arrival: when, where, which bytes. Two runs with one hash were the same.
    pub fn trace_hash(&self) -> u64 {
        self.links.trace.hash()
    }

    pub(crate) fn attachment(&self, switch: usize, port: PortId) -> Option<&Attachment> {
        self.topology.ports[switch].get(port.index())?.as_ref()
    }

    /// What is at the other end of a switch's port.
    pub(crate) fn peer(&self, switch: usize, port: PortId) -> Option<Peer> {
        self.attachment(switch, port).map(|attachment| attachment.peer)
    }

    /// Whether a switch has been told to be silent by another.
    pub(crate) fn some_switch_is_paused(&self) -> bool {
        let switches = self.switches.len();
        let between = |wire: &Wire| wire.from.node() < switches && wire.to.node() < switches;
        self.links.wires.iter().any(|wire| between(wire) && wire.is_told)
    }

    /// Frames on the wire that leads to a switch's port.
    pub(crate) fn in_flight_to(
        &self,
        switch: usize,
        port: PortId,
    ) -> impl Iterator<Item = &SimFrame> {
        let wire = self.attachment(switch, port).map(Attachment::wire_back);
        let wire = wire.and_then(|number| self.links.wires.get(number as usize));
        wire.into_iter().flat_map(Wire::in_flight)
    }
}

/// Whether wires to one node have the order of the ports where they end.
fn has_order(wires: &[Wire], nodes: usize) -> bool {
    let mut before = vec![None; nodes];
    wires.iter().all(|wire| {
        let at = Some(wire.to.port.index());
        std::mem::replace(&mut before[wire.to.node()], at) < at
    })
}

/// Turns a switch, to which what happened at this instant has happened, and plans what that set
/// off: frames that arrive, wires that are waited for, and when it must be turned again.
#[inline(always)]
fn end_turn(
    switch: &mut SwitchNode,
    node: u32,
    links: &mut Links,
    events: &mut EventQueue,
    now_ps: Picoseconds,
) {
    let wanted_ps = switch.end(instant(now_ps));
    let device = switch.worker.device_mut();
    device.take_awaited(
        #[inline(always)]
        |port, free_at_ps| events.plan(free_at_ps, node, EventKind::Free(port)),
    );
    device.take_launched(
        #[inline(always)]
        |launched| links.launch(launched, events, now_ps),
    );
    switch.timer.set(wanted_ps, node, events);
}

/// The same of a host.
#[inline(always)]
fn turn_host(
    host: &mut HostNode,
    node: u32,
    links: &mut Links,
    events: &mut EventQueue,
    flows: &mut [FlowState],
    now_ps: Picoseconds,
) {
    let (wanted_ps, launched) = host.turn(now_ps, flows, &links.watch);
    if let Some(launched) = launched {
        links.launch(launched, events, now_ps);
    }
    host.timer.set(wanted_ps, node, events);
}

/// How often things have happened to a node at one instant.
#[derive(Default)]
struct Rounds {
    node: u32,
    at_ps: Picoseconds,
    count: u32,
}

impl Rounds {
    #[inline(always)]
    fn count(&mut self, node: u32, at_ps: Picoseconds, name: &str) {
        let is_same = (node == self.node) & (at_ps == self.at_ps);
        self.count = if is_same { self.count + 1 } else { 0 };
        (self.node, self.at_ps) = (node, at_ps);
        if self.count > ROUNDS_MAX {
            livelock(at_ps, name);
        }
    }
}

/// Time stands still: better an end that names who is to blame than none.
#[cold]
fn livelock(at_ps: Picoseconds, name: &str) -> ! {
    panic!("at {at_ps} ps things happen for ever to {name}");
}

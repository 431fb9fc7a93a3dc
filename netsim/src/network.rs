//! The network while it runs: events, and nodes that are turned when something happened to them.
//!
//! All that happens to a node at one instant happens before it is turned, and it is turned once for
//! it. A turn only plans what comes later. Nodes run one after the other through each window of
//! time, too short for any of them to be heard by another within it ([`event`](crate::event)).

use crate::alarm::Alarm;
use crate::capture::Captures;
use crate::checker::{
    BufferState, PauseWatch, TagWatch, Violation, conservation, delivery, losslessness,
};
use crate::control::Schedule;
use crate::event::{Event, EventQueue, NEVER, Picoseconds};
use crate::flow::{FlowId, FlowTally, dscp, ttl};
use crate::frame::{Pool, SimFrame};
use crate::host_node::{FlowState, HostCounters, HostNode};
use crate::link::{Endpoint, Launch, Wire};
use crate::routing::Router;
use crate::switch_node::{SwitchNode, instant};
use crate::topology::{Attachment, HostId, Peer, SwitchId, Topology};
use crate::trace::Trace;
use dataplane::classify::TagMap;
use dataplane::frame::Frame;
use dataplane::ids::{PortId, Tag};
use dataplane::lldp::LldpAgent;
use dataplane::report::Report;
use dataplane::rules::TcamEntry;
use dataplane::settings::GentleSettings;
use dataplane::time::Instant;
use std::rc::Rc;

/// What shares of PFC frames are parts of.
const MILLION: u64 = 1_000_000;
/// Bits of a PFC frame behind the ethertype: opcode, vector and times.
const PFC_BITS: u64 = 160;

/// So often things happen to a node at one instant because of what happened at it. Each frame and
/// each timer takes time, so few are enough; beyond, a node wants to be turned for ever.
const ROUNDS_MAX: u32 = 10_000;

/// A running network.
#[derive(Debug)]
pub struct Network {
    pub(crate) switches: Vec<SwitchNode>,
    pub(crate) hosts: Vec<HostNode>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) flows: Vec<FlowState>,
    pub(crate) lossless_bits: u8,
    pub(crate) topology: Topology,
    pub(crate) router: Router,
    pub(crate) schedule: Schedule,
    pub(crate) captures: Captures,
    pub(crate) pauses: PauseWatch,
    tags: Rc<TagMap>,
    watch: TagWatch,
    pool: Pool,
    pub(crate) now_ps: Picoseconds,
    pub(crate) events: EventQueue,
    /// By node.
    alarms: Vec<Alarm>,
    /// Nodes to be turned at this instant because of what was planned for it.
    woken: Vec<usize>,
    /// Frames that arrive at a switch at one instant, and at which ports.
    came: Vec<(PortId, SimFrame)>,
    trace: Trace,
    /// Whether switches learn, and LLDP is among the frames.
    learns: bool,
    data_hops: u64,
    switch_hops: u64,
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
    pub(crate) learns: bool,
}

impl Network {
    /// A network at time 0, at which every node will be turned once.
    pub(crate) fn new(parts: NetworkParts) -> Self {
        let nodes = parts.switches.len() + parts.hosts.len();
        let spans = parts.wires.iter().map(Wire::least_ps);
        let mut events = EventQueue::new(spans.min().unwrap_or(NEVER), nodes);
        let mut alarms: Vec<Alarm> = (0_u32..).take(nodes).map(Alarm::new).collect();
        alarms.iter_mut().for_each(|alarm| alarm.set(0, &mut events));
        let pauses = PauseWatch::new(parts.wires.len(), parts.lossless_bits)
            .gentle(parts.gentle.map(|gentle| gentle.form))
            .excusing(parts.switches.iter().any(SwitchNode::may_ignore_pauses));
        Self {
            pauses,
            switches: parts.switches,
            hosts: parts.hosts,
            wires: parts.wires,
            flows: parts.flows,
            lossless_bits: parts.lossless_bits,
            topology: parts.topology,
            router: parts.router,
            schedule: Schedule::new(parts.reroute_ps),
            captures: Captures::default(),
            watch: TagWatch::new(&parts.tags),
            tags: parts.tags,
            pool: parts.pool,
            now_ps: 0,
            events,
            alarms,
            woken: Vec::new(),
            came: Vec::new(),
            trace: Trace::new(nodes),
            learns: parts.learns,
            data_hops: 0,
            switch_hops: 0,
        }
    }

    /// Has nodes run through windows of `span_ps`, from the start on.
    #[cfg(test)]
    pub(crate) fn set_window(&mut self, span_ps: Picoseconds) {
        self.events = EventQueue::new(span_ps, self.alarms.len());
        for (node, alarm) in (0_u32..).zip(&mut self.alarms) {
            *alarm = Alarm::new(node);
            alarm.set(0, &mut self.events);
        }
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
        while self.events.take_window(until_ps) {
            self.warm();
            while let Some(node) = self.events.next_node() {
                self.run_node(node);
            }
            self.captures.write_held();
        }
    }

    /// All that happens to `node` in the window in hand: at each instant first what happened, then
    /// a turn, which only plans what comes later.
    #[inline(always)]
    fn run_node(&mut self, node: u32) {
        let mut rounds = 0;
        let is_switch = (node as usize) < self.switches.len();
        while let Some((at_ps, event, has_more)) = self.events.pop(node) {
            rounds = if at_ps == self.now_ps { rounds + 1 } else { 0 };
            if rounds > ROUNDS_MAX {
                self.never_rests(node);
            }
            self.now_ps = at_ps;
            let now = instant(at_ps);
            if is_switch && self.switches[node as usize].begin_by_parts(at_ps, now) {
                self.happen_by_parts(node, event, has_more, now);
            } else {
                self.happen_together(node, event);
            }
        }
    }

    /// `event`, and whatever else happens to `node` at this instant, to be turned as a whole.
    #[inline(never)]
    fn happen_together(&mut self, node: u32, event: Event) {
        let mut is_due = self.happen(node, event);
        while let Some(event) = self.events.pop_at(node, self.now_ps) {
            is_due |= self.happen(node, event);
        }
        if is_due {
            self.turn(node as usize);
        }
    }

    /// The same of a switch, which takes it piece by piece.
    #[inline(always)]
    fn happen_by_parts(&mut self, node: u32, event: Event, has_more: bool, now: Instant) {
        let mut is_due = self.take_part(node, event);
        if has_more {
            while let Some(event) = self.events.pop_at(node, self.now_ps) {
                is_due |= self.take_part(node, event);
            }
        }
        let switch = &mut self.switches[node as usize];
        match self.came[..] {
            [] => {}
            [_] => {
                if let Some((port, frame)) = self.came.pop() {
                    switch.take_frame(port, frame, now);
                }
            }
            _ => {
                self.came.sort_unstable_by_key(|&(port, _)| port.index());
                let came = self.came.drain(..);
                came.for_each(|(port, frame)| switch.take_frame(port, frame, now));
            }
        }
        if is_due {
            let wanted_ps = switch.end_by_parts(now);
            self.take_launched(node as usize);
            self.alarms[node as usize].set(wanted_ps, &mut self.events);
        }
    }

    /// Whether the switch must be turned for it.
    #[inline(always)]
    fn take_part(&mut self, node: u32, event: Event) -> bool {
        match event {
            Event::Arrival(wire) => {
                let Some(frame) = self.receive(wire) else { return false };
                self.came.push((self.wires[wire as usize].to.port, frame));
                true
            }
            Event::Free(wire) => {
                let port = self.wires[wire as usize].from.port;
                self.switches[node as usize].take_room(port, self.now_ps);
                true
            }
            Event::Wake => self.alarms[node as usize].rings(self.now_ps, &mut self.events),
        }
    }

    /// Touches the frames that arrive in the bucket in hand. Nobody has for long, so each arrival
    /// would wait for memory, one after the other; here all of them wait together.
    #[inline(never)]
    fn warm(&self) {
        let mut touched = 0;
        for event in self.events.in_hand() {
            if let Event::Arrival(wire) = event {
                let frame = self.wires[wire as usize].in_flight.front();
                touched ^= frame.map_or(0, SimFrame::first_octet);
            }
        }
        std::hint::black_box(touched);
    }

    /// Time stands still: better an end that names who is to blame than none.
    #[cold]
    fn never_rests(&self, node: u32) -> ! {
        panic!("at {} ps things happen for ever to {}", self.now_ps, self.node_name(node as usize));
    }

    /// Has a node turned at this instant, once all that is planned for it is done.
    pub(crate) fn wake(&mut self, node: usize) {
        self.stir(node);
        if !self.woken.contains(&node) {
            self.woken.push(node);
        }
    }

    /// Sees to it that a host that is turned does what is due; a switch always does.
    #[inline(always)]
    fn stir(&mut self, node: usize) {
        if let Some(host) = node.checked_sub(self.switches.len()) {
            self.hosts[host].stir();
        }
    }

    /// Runs for `span_ps` more.
    pub fn run_for(&mut self, span_ps: Picoseconds) {
        self.run_until(self.now_ps.saturating_add(span_ps));
    }

    /// Whether `node` must be turned for it.
    #[inline(always)]
    fn happen(&mut self, node: u32, event: Event) -> bool {
        match event {
            Event::Arrival(wire) => self.arrive(wire),
            Event::Free(wire) => {
                let from = self.wires[wire as usize].from;
                let device = self.switches[from.node()].worker.device_mut();
                device.free(from.port, self.now_ps);
                true
            }
            Event::Wake => {
                let rings = self.alarms[node as usize].rings(self.now_ps, &mut self.events);
                if rings {
                    self.stir(node as usize);
                }
                rings
            }
        }
    }

    /// The oldest frame on `wire` arrives; whether its node must be turned.
    #[inline(always)]
    fn arrive(&mut self, number: u32) -> bool {
        let Some(frame) = self.receive(number) else { return false };
        let to = self.wires[number as usize].to;
        match self.switches.get_mut(to.node()) {
            Some(switch) => {
                switch.arrive(to.port, frame);
                true
            }
            None => {
                let host = &mut self.hosts[to.node() - self.switches.len()];
                host.arrive(frame, self.now_ps, &mut self.flows);
                host.is_stirred()
            }
        }
    }

    /// Takes the oldest frame off `wire`, as it arrives, if it does.
    #[inline(always)]
    fn receive(&mut self, number: u32) -> Option<SimFrame> {
        let wire = &mut self.wires[number as usize];
        if wire.lost_in_flight != 0 {
            wire.lost_in_flight -= 1;
            return None;
        }
        let mut frame = wire.in_flight.pop_front()?;
        let to = wire.to;
        wire.arrived_bytes += frame.len() as u64;
        let is_lldp = self.learns && frame.is_lldp();
        if frame.is_control() {
            frame = self.arrive_control(number, frame)?;
        } else if !is_lldp {
            self.data_hops += 1;
            self.switch_hops += u64::from(to.node() < self.switches.len());
            self.watch.arrives(&mut frame, number);
        }
        if !self.captures.is_empty()
            && let Some(capture) = self.wires[number as usize].capture
        {
            self.captures.hold(capture, self.now_ps, number, &frame);
        }
        self.trace.arrival(self.now_ps, to, &frame);
        Some(frame)
    }

    /// A PFC frame arrives, perhaps not as it was sent; `None` if not at all. It is about the wire
    /// that goes the other way.
    fn arrive_control(&mut self, number: u32, mut frame: SimFrame) -> Option<SimFrame> {
        let wire = &mut self.wires[number as usize];
        if let Some(fault) = wire.pfc_fault
            && wire.dice.below(MILLION) < u64::from(fault.millionths)
        {
            if !fault.is_corruption {
                wire.lost[1] += 1;
                self.pool.give(frame);
                return None;
            }
            // Behind the ethertype: it stays a MAC control frame.
            #[expect(clippy::cast_possible_truncation, reason = "below 160")]
            let bit = wire.dice.below(PFC_BITS) as usize;
            if let Some(octet) = frame.head_mut().get_mut(14 + bit / 8) {
                *octet ^= 1 << (bit % 8);
            }
        }
        let back = number ^ 1;
        let speed = self.wires[back as usize].speed;
        self.pauses.hears(back, speed, &frame, self.now_ps);
        Some(frame)
    }

    /// Puts a frame on its wire.
    #[inline]
    fn launch(&mut self, launched: Launch) {
        let Launch { wire: number, frame, last_bit_ps } = launched;
        let is_lldp = || self.learns && frame.is_lldp();
        if !frame.is_control() && self.pauses.is_told(number) && !is_lldp() {
            let tag = Tag::from_low_bits(dscp(&frame));
            let priority = self.tags.priority_leaving(tag, ttl(&frame));
            self.pauses.starts(number, priority, self.now_ps);
        }
        let wire = &mut self.wires[number as usize];
        if !wire.is_up() {
            wire.lost[usize::from(frame.is_control())] += 1;
            return self.pool.give(frame);
        }
        wire.in_flight.push_back(frame);
        self.events.plan(last_bit_ps + wire.delay_ps, wire.to.node, Event::Arrival(number));
    }

    /// Turns the nodes that were woken.
    pub(crate) fn turn_woken(&mut self) {
        for node in std::mem::take(&mut self.woken) {
            self.turn(node);
        }
    }

    #[inline(always)]
    fn turn(&mut self, node: usize) {
        let wanted_ps = match node.checked_sub(self.switches.len()) {
            None => self.turn_switch(node),
            Some(host) if !self.hosts[host].is_stirred() => return,
            Some(host) => self.turn_host(host),
        };
        self.alarms[node].set(wanted_ps, &mut self.events);
    }

    #[inline]
    fn turn_host(&mut self, host: usize) -> Picoseconds {
        let Self { now_ps, flows, watch, .. } = self;
        let (wanted_ps, launched) = self.hosts[host].turn(*now_ps, flows, watch);
        if let Some(launched) = launched {
            self.launch(launched);
        }
        wanted_ps
    }

    #[inline]
    fn turn_switch(&mut self, switch: usize) -> Picoseconds {
        let wanted_ps = self.switches[switch].turn(self.now_ps);
        self.take_launched(switch);
        wanted_ps
    }

    /// Plans what the last turn of a switch set off: frames that arrive, and wires that are waited
    /// for.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "nodes are counted in 32 bits")]
    fn take_launched(&mut self, switch: usize) {
        while let Some((wire, free_at_ps)) =
            self.switches[switch].worker.device_mut().next_awaited()
        {
            self.events.plan(free_at_ps, switch as u32, Event::Free(wire));
        }
        while let Some(launched) = self.switches[switch].worker.device_mut().next_launched() {
            self.launch(launched);
        }
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
        self.watch.check(|wire| self.endpoint_name(self.wires[wire as usize].from))?;
        self.pauses.check(|wire| self.endpoint_name(self.wires[wire as usize].from))?;
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
    pub fn flow(&self, flow: FlowId) -> &FlowTally {
        &self.flows[flow.0].tally
    }

    /// What a host has counted.
    pub fn host(&self, host: HostId) -> &HostCounters {
        &self.hosts[host.0].counters
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

    /// What a switch has learnt of its place in the fabric, and the rules it has written; `None` if
    /// switches do not learn.
    pub fn learnt(&self, switch: SwitchId) -> Option<(&LldpAgent, &[TcamEntry])> {
        self.switches[switch.0].learnt()
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
        let wires = self.wires.iter().flat_map(|wire| &wire.in_flight);
        held + wires.filter(|frame| !frame.is_control()).count() as u64
    }

    /// Arrivals so far, of frames of all kinds at nodes of all kinds: packet-hops.
    pub const fn hops(&self) -> u64 {
        self.trace.arrivals()
    }

    /// The same without PFC.
    pub const fn data_hops(&self) -> u64 {
        self.data_hops
    }

    /// Arrivals of data frames at switches.
    pub const fn switch_hops(&self) -> u64 {
        self.switch_hops
    }

    /// A hash of every arrival: when, where, which bytes. Two runs with one hash were the same.
    pub fn trace_hash(&self) -> u64 {
        self.trace.hash()
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
        (0..).zip(&self.wires).any(|(number, wire)| between(wire) && self.pauses.is_told(number))
    }

    /// Frames on the wire that leads to a switch's port.
    pub(crate) fn in_flight_to(
        &self,
        switch: usize,
        port: PortId,
    ) -> impl Iterator<Item = &SimFrame> {
        let wire = self.attachment(switch, port).map(Attachment::wire_back);
        let wire = wire.and_then(|number| self.wires.get(number as usize));
        wire.into_iter().flat_map(|wire| &wire.in_flight)
    }
}

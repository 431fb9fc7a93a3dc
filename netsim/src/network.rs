//! A running network: its nodes, the links between them, and what can be asked about them.
//!
//! `run` has the event loop, `faults` what is done to a network, `checker` what must hold.

use crate::event::Picoseconds;
use crate::event_queue::EventQueue;
use crate::fault_schedule::FaultSchedule;
use crate::flow::{FlowCounters, FlowId};
use crate::frame::SimFrame;
use crate::host_node::{FlowState, HostCounters, HostNode};
use crate::link::{Endpoint, Wire};
use crate::links::Links;
use crate::routing::Router;
use crate::switch_node::{SwitchNode, instant};
use crate::timer::Timer;
use crate::topology::{Attachment, HostId, Peer, SwitchId, Topology};
use agents::lldp::LldpAgent;
use dataplane::ids::PortId;
use dataplane::report::Report;
use dataplane::rules::TcamEntry;
use std::io::{self, Write};

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
    /// Nodes to be turned at this instant because of a planned action.
    pub(crate) woken: Vec<usize>,
    /// Frames that arrive at a switch at one instant, and at which ports.
    pub(crate) arrived: Vec<(PortId, SimFrame)>,
    /// Whether at every node the numbers of wires have the order of their ports, so that arrivals
    /// need no sorting.
    pub(crate) has_order: bool,
}

impl Network {
    /// Plans a turn of every node at time 0.
    pub(crate) fn set_timers(&mut self) {
        let Self { switches, hosts, events, .. } = self;
        let timers = switches.iter_mut().map(|switch| &mut switch.timer);
        let timers = timers.chain(hosts.iter_mut().map(|host| &mut host.timer));
        for (node, timer) in (0_u32..).zip(timers) {
            *timer = Timer::new();
            timer.set(0, node, events);
        }
    }

    /// Runs with lookahead windows of `span_ps` for all nodes, from the start.
    #[cfg(test)]
    pub(crate) fn set_lookahead(&mut self, span_ps: Picoseconds) {
        let nodes = self.switches.len() + self.hosts.len();
        self.events = EventQueue::new(span_ps, &vec![false; nodes]);
        self.set_timers();
    }

    /// Writes all that arrives by link number `link`, both ways, to `file` as pcap.
    ///
    /// # Errors
    /// The file's header cannot be written.
    pub fn capture(&mut self, link: usize, file: Box<dyn Write>) -> io::Result<()> {
        let number = self.links.captures.add(file)?;
        for wire in [2 * link, 2 * link + 1] {
            self.links.wires[wire].capture = Some(number);
        }
        Ok(())
    }

    /// Finishes all captures.
    ///
    /// # Errors
    /// The first write that failed.
    pub(crate) fn finish_captures(&mut self) -> io::Result<()> {
        self.links.captures.finish()
    }

    /// The name of a node by its number: switches first, then hosts.
    fn node_name(&self, node: usize) -> String {
        match node.checked_sub(self.switches.len()) {
            None => self.switches[node].name.clone(),
            Some(host) => self.hosts[host].name.clone(),
        }
    }

    /// The name of an end of a wire: `A:3`, or a host's name.
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

    /// The counters of a flow.
    pub fn flow(&self, flow: FlowId) -> &FlowCounters {
        &self.flows[flow.0].counters
    }

    /// The counters of a host.
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

    /// What a switch has learned by LLDP, and the rules it has derived; `None` if switches do not
    /// run LLDP.
    pub fn learned(&self, switch: SwitchId) -> Option<(&LldpAgent, &[TcamEntry])> {
        self.switches[switch.0].learned()
    }

    /// Every switch with its report.
    pub(crate) fn switch_reports(&self) -> impl Iterator<Item = (&SwitchNode, Report)> {
        self.switches.iter().map(|switch| (switch, self.report(switch)))
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

    /// Packet-hops without PFC.
    pub const fn data_hops(&self) -> u64 {
        self.links.data_hops
    }

    /// Arrivals of data frames at switches.
    pub const fn switch_hops(&self) -> u64 {
        self.links.switch_hops
    }

    /// A hash of the time, place and bytes of every arrival. Two runs with one hash were the same.
    pub fn trace_hash(&self) -> u64 {
        self.links.trace.hash()
    }

    pub(crate) fn attachment(&self, switch: usize, port: PortId) -> Option<&Attachment> {
        self.topology.ports[switch].get(port.index())?.as_ref()
    }

    /// The peer at a switch's port.
    pub(crate) fn peer(&self, switch: usize, port: PortId) -> Option<Peer> {
        self.attachment(switch, port).map(|attachment| attachment.peer)
    }

    /// Whether any switch is paused by another.
    pub(crate) fn some_switch_is_paused(&self) -> bool {
        let switches = self.switches.len();
        let between = |wire: &Wire| wire.from.node() < switches && wire.to.node() < switches;
        self.links.wires.iter().any(|wire| between(wire) && wire.is_paused)
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

/// Whether the numbers of the wires to each node have the order of the ports where they end.
pub(crate) fn has_order(wires: &[Wire], nodes: usize) -> bool {
    let mut before = vec![None; nodes];
    wires.iter().all(|wire| {
        let at = Some(wire.to.port.index());
        std::mem::replace(&mut before[wire.to.node()], at) < at
    })
}

//! A running network: its nodes, the links between them, and what can be asked about them.
//!
//! `part` has the event loop, `run` and `threads` what goes on around it, `faults` what is done to
//! a network, `checker` what must hold.

use crate::capture::Captures;
use crate::checker::pauses::Span;
use crate::event::Picoseconds;
#[cfg(test)]
use crate::event_queue::EventQueue;
use crate::fault_schedule::FaultSchedule;
use crate::flow::{FlowCounters, FlowId};
use crate::frame::SimFrame;
use crate::host_node::{FlowState, HostCounters, HostNode};
use crate::link::{Endpoint, Ends, Recorded, Wire};
use crate::links::Links;
use crate::part::Part;
use crate::recording::{Origin, Recording};
use crate::routing::Router;
use crate::switch_node::{SwitchNode, instant};
use crate::threads::Exchange;
use crate::topology::{Attachment, HostId, Peer, SwitchId, Topology};
use crate::trace;
use agents::lldp::LldpAgent;
use dataplane::ids::{PortId, Priority};
use dataplane::report::Report;
use dataplane::rules::TcamEntry;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A running network.
#[derive(Debug)]
pub struct Network {
    /// One for each thread.
    pub(crate) parts: Vec<Part>,
    pub(crate) exchange: Exchange,
    /// By node, switches first, then hosts: where it is.
    pub(crate) places: Vec<Place>,
    /// How many of the nodes are switches.
    pub(crate) switches: usize,
    /// By wire.
    pub(crate) ends: Vec<Ends>,
    pub(crate) captures: Captures,
    pub(crate) lossless_bits: u8,
    pub(crate) topology: Topology,
    pub(crate) router: Router,
    pub(crate) schedule: FaultSchedule,
    pub(crate) now_ps: Picoseconds,
    /// What RoCE flows would take on an idle network; 0 for those without end.
    pub(crate) ideal_ps: BTreeMap<FlowId, Picoseconds>,
    /// Nodes to be turned at this instant because of a planned action.
    pub(crate) woken: Vec<usize>,
}

/// The part that has a node, and the node's number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) part: usize,
    pub(crate) node: usize,
}

impl Network {
    /// Runs with lookahead windows of `span_ps` for all nodes, from the start.
    #[cfg(test)]
    pub(crate) fn set_lookahead(&mut self, span_ps: Picoseconds) {
        for part in &mut self.parts {
            let nodes = part.switches.len() + part.hosts.len();
            part.events = EventQueue::new(span_ps, &vec![false; nodes], false);
            part.set_timers();
        }
    }

    /// Writes all that arrives by link number `link`, both ways, to `file` as pcap.
    ///
    /// # Errors
    /// The file's header cannot be written.
    pub fn capture(&mut self, link: usize, file: Box<dyn Write>) -> io::Result<()> {
        let number = self.captures.add(file)?;
        for wire in [2 * link, 2 * link + 1] {
            let links = self.links_to(wire);
            links.captured.begin();
            links.wires[wire].capture = Some(number);
        }
        Ok(())
    }

    /// Records what happens at the ports of `switch` from now on.
    pub fn record(&mut self, switch: SwitchId) {
        for wire in 0..self.ends.len() {
            let Ends { from, to } = self.ends[wire];
            if to.node() == switch.0 {
                let links = self.links_to(wire);
                links.captured.begin();
                links.wires[wire].record(Recorded::Arrivals);
            }
            if from.node() == switch.0 {
                self.links_from(wire).wires[wire].record(Recorded::Departures(from.port));
            }
        }
    }

    /// Takes what was recorded of `switch`.
    pub fn take_recording(&mut self, switch: SwitchId) -> Recording {
        let part = self.places[switch.0].part;
        let events = std::mem::take(&mut self.parts[part].links.recorded);
        let ports = &self.switch_node(switch.0).settings.ports;
        let ports = ports.iter().map(|port| port.name.clone()).collect();
        Recording { origin: Origin::Emulator, ports, events, end_ps: self.now_ps }
    }

    /// Finishes all captures.
    ///
    /// # Errors
    /// The first write that failed.
    pub(crate) fn finish_captures(&mut self) -> io::Result<()> {
        self.captures.finish()
    }

    /// The name of a node by its number: switches first, then hosts.
    fn node_name(&self, node: usize) -> String {
        match node.checked_sub(self.switches) {
            None => self.switch_node(node).name.clone(),
            Some(host) => self.host_node(host).name.clone(),
        }
    }

    /// The name of an end of a wire: `A:3`, or a host's name.
    pub(crate) fn endpoint_name(&self, end: Endpoint) -> String {
        let name = self.node_name(end.node());
        if end.node() < self.switches { format!("{name}:{}", end.port) } else { name }
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
    pub fn flow(&self, flow: FlowId) -> FlowCounters {
        let (sent, state) = self.flow_states(flow.0);
        let sent_frames = sent.counters.sent_frames;
        FlowCounters { sent_frames, ..state.counters.clone() }
    }

    /// A flow in the part of its sender, and in that of its receiver.
    fn flow_states(&self, flow: usize) -> (&FlowState, &FlowState) {
        let FlowState { from, to, .. } = self.parts[0].flows[flow];
        let at = |host: HostId| &self.parts[self.places[self.switches + host.0].part].flows[flow];
        (at(from), at(to))
    }

    /// All flows, each in the part of its receiver.
    pub(crate) fn flows(&self) -> impl ExactSizeIterator<Item = &FlowState> {
        (0..self.parts[0].flows.len()).map(|flow| self.flow_states(flow).1)
    }

    /// A switch by its number in the network.
    pub(crate) fn switch_node(&self, switch: usize) -> &SwitchNode {
        let place = self.places[switch];
        &self.parts[place.part].switches[place.node]
    }

    pub(crate) fn switch_node_mut(&mut self, switch: usize) -> &mut SwitchNode {
        let place = self.places[switch];
        &mut self.parts[place.part].switches[place.node]
    }

    /// A host by its number in the network.
    pub(crate) fn host_node(&self, host: usize) -> &HostNode {
        let place = self.places[self.switches + host];
        let part = &self.parts[place.part];
        &part.hosts[place.node - part.switches.len()]
    }

    pub(crate) fn host_node_mut(&mut self, host: usize) -> &mut HostNode {
        let place = self.places[self.switches + host];
        let part = &mut self.parts[place.part];
        &mut part.hosts[place.node - part.switches.len()]
    }

    /// All switches in the order in which they were added.
    pub(crate) fn switches(&self) -> impl ExactSizeIterator<Item = &SwitchNode> {
        (0..self.switches).map(|switch| self.switch_node(switch))
    }

    /// All hosts in the order in which they were added.
    pub(crate) fn hosts(&self) -> impl ExactSizeIterator<Item = &HostNode> {
        (0..self.places.len() - self.switches).map(|host| self.host_node(host))
    }

    /// The links of the part from which a wire leads.
    pub(crate) fn links_from(&mut self, wire: usize) -> &mut Links {
        let part = self.places[self.ends[wire].from.node()].part;
        &mut self.parts[part].links
    }

    /// The links of the part to which a wire leads.
    pub(crate) fn links_to(&mut self, wire: usize) -> &mut Links {
        let part = self.places[self.ends[wire].to.node()].part;
        &mut self.parts[part].links
    }

    /// A wire as its sender has it: whether it is up, and whether it is paused.
    pub(crate) fn wire_from(&self, wire: usize) -> &Wire {
        &self.parts[self.places[self.ends[wire].from.node()].part].links.wires[wire]
    }

    /// A wire as its receiver has it: what is on it, and what arrived.
    pub(crate) fn wire_to(&self, wire: usize) -> &Wire {
        &self.parts[self.places[self.ends[wire].to.node()].part].links.wires[wire]
    }

    /// The wires of all parts, for sums.
    pub(crate) fn wires(&self) -> impl Iterator<Item = &Wire> {
        self.parts.iter().flat_map(|part| &part.links.wires)
    }

    /// The counters of a host.
    pub fn host(&self, host: HostId) -> HostCounters {
        self.host_node(host.0).counters()
    }

    /// A switch's counters, gauges and balance as of now.
    pub fn switch(&self, switch: SwitchId) -> Report {
        self.report(self.switch_node(switch.0))
    }

    fn report(&self, switch: &SwitchNode) -> Report {
        let mut report = Report::default();
        switch.worker.report(&mut report, instant(self.now_ps));
        report
    }

    /// All switches, in the order in which they were added.
    pub fn switch_ids(&self) -> impl Iterator<Item = SwitchId> + use<> {
        (0..self.switches).map(SwitchId)
    }

    /// What a switch has learned by LLDP, and the rules it has derived; `None` if switches do not
    /// run LLDP.
    pub fn learned(&self, switch: SwitchId) -> Option<(&LldpAgent, &[TcamEntry])> {
        self.switch_node(switch.0).learned()
    }

    /// Every switch with its report.
    pub(crate) fn switch_reports(&self) -> impl Iterator<Item = (&SwitchNode, Report)> {
        self.switches().map(|switch| (switch, self.report(switch)))
    }

    /// Data frames in switches and on wires.
    pub fn frames_inside(&self) -> u64 {
        let held: u64 = self.switches().map(|switch| switch.worker.totals().held).sum();
        let wires = self.wires().flat_map(Wire::in_flight);
        held + wires.filter(|frame| !frame.is_control()).count() as u64
    }

    /// Arrivals so far, of frames of all kinds at nodes of all kinds: packet-hops.
    pub fn hops(&self) -> u64 {
        self.parts.iter().map(|part| part.links.trace.arrivals()).sum()
    }

    /// Packet-hops without PFC.
    pub fn data_hops(&self) -> u64 {
        self.parts.iter().map(|part| part.links.data_hops).sum()
    }

    /// Arrivals of data frames at switches.
    pub fn switch_hops(&self) -> u64 {
        self.parts.iter().map(|part| part.links.switch_hops).sum()
    }

    /// A hash of the time, place and bytes of every arrival. Two runs with one hash were the same.
    pub fn trace_hash(&self) -> u64 {
        let hash = |place: &Place| self.parts[place.part].links.trace.hash_of(place.node);
        trace::combined(self.places.iter().map(hash))
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
        let is_switch = |end: Endpoint| end.node() < self.switches;
        let mut ends = self.ends.iter().enumerate();
        ends.any(|(wire, ends)| {
            is_switch(ends.from) && is_switch(ends.to) && self.wire_from(wire).is_paused
        })
    }

    /// All pauses so far; running ones end now.
    pub(crate) fn pauses(&self) -> impl Iterator<Item = Span> {
        self.parts.iter().flat_map(|part| part.links.pauses.spans(self.now_ps))
    }

    /// Since when the sender of `wire` is paused in `priority`; `None` if it is not.
    pub(crate) fn paused_since_ps(&self, wire: u32, priority: Priority) -> Option<Picoseconds> {
        let part = self.places[self.ends[wire as usize].from.node()].part;
        self.parts[part].links.pauses.since_ps(wire, priority)
    }

    /// Frames on the wire that leads to a switch's port.
    pub(crate) fn in_flight_to(
        &self,
        switch: usize,
        port: PortId,
    ) -> impl Iterator<Item = &SimFrame> {
        let wire = self.attachment(switch, port).map(Attachment::wire_back);
        let wire = wire.map(|number| self.wire_to(number as usize));
        wire.into_iter().flat_map(Wire::in_flight)
    }
}

/// Whether the numbers of the wires to each node have the order of the ports where they end.
pub(crate) fn has_order(wires: &[Ends], nodes: usize) -> bool {
    let mut before = vec![None; nodes];
    wires.iter().all(|wire| {
        let at = Some(wire.to.port.index());
        std::mem::replace(&mut before[wire.to.node()], at) < at
    })
}

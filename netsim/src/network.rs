//! The network while it runs: one clock, events, and nodes that are turned when something happened
//! to them.
//!
//! All that happens at one instant happens before any node is turned, and each node is turned once
//! for it, in the order in which things happened to them. A turn only plans what comes later.

use crate::alarm::Alarm;
use crate::checker::{TagWatch, Violation, conservation, delivery, losslessness};
use crate::event::{Event, EventQueue, Picoseconds};
use crate::flow::{FlowId, FlowTally};
use crate::frame::SimFrame;
use crate::host_node::{FlowState, HostCounters, HostNode};
use crate::link::{Launch, Wire};
use crate::switch_node::{SwitchNode, instant};
use crate::topology::{Attachment, HostId, Peer, SwitchId, Topology};
use crate::trace::Trace;
use dataplane::ids::PortId;
use dataplane::report::Report;

/// A running network.
#[derive(Debug)]
pub struct Network {
    pub(crate) switches: Vec<SwitchNode>,
    pub(crate) hosts: Vec<HostNode>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) flows: Vec<FlowState>,
    pub(crate) lossless_bits: u8,
    topology: Topology,
    watch: TagWatch,
    now_ps: Picoseconds,
    events: EventQueue,
    /// By node.
    alarms: Vec<Alarm>,
    /// Nodes to be turned at this instant, and by node whether it is among them.
    due: Vec<u32>,
    is_due: Vec<bool>,
    trace: Trace,
    data_hops: u64,
}

/// Puts a frame on its wire.
#[inline]
fn launch(launched: Launch, wires: &mut [Wire], events: &mut EventQueue) {
    let wire = &mut wires[launched.wire as usize];
    let arrives_ps = launched.last_bit_ps + wire.delay_ps;
    wire.in_flight.push_back(launched.frame);
    events.plan(arrives_ps, Event::Arrival(launched.wire));
}

/// What a network is made of.
#[derive(Debug)]
pub(crate) struct NetworkParts {
    pub(crate) switches: Vec<SwitchNode>,
    pub(crate) hosts: Vec<HostNode>,
    pub(crate) wires: Vec<Wire>,
    pub(crate) flows: Vec<FlowState>,
    pub(crate) topology: Topology,
    pub(crate) watch: TagWatch,
    pub(crate) lossless_bits: u8,
}

impl Network {
    /// A network at time 0, at which every node will be turned once.
    pub(crate) fn new(parts: NetworkParts) -> Self {
        let nodes = parts.switches.len() + parts.hosts.len();
        let mut events = EventQueue::default();
        let mut alarms: Vec<Alarm> =
            (0_u32..).take(nodes).map(|node| Alarm::new(Event::Wake(node))).collect();
        alarms.iter_mut().for_each(|alarm| alarm.set(0, &mut events));
        Self {
            switches: parts.switches,
            hosts: parts.hosts,
            wires: parts.wires,
            flows: parts.flows,
            lossless_bits: parts.lossless_bits,
            topology: parts.topology,
            watch: parts.watch,
            now_ps: 0,
            events,
            alarms,
            due: Vec::with_capacity(nodes),
            is_due: vec![false; nodes],
            trace: Trace::default(),
            data_hops: 0,
        }
    }

    /// Runs until `until_ps`, that instant included.
    pub fn run_until(&mut self, until_ps: Picoseconds) {
        while let Some(at_ps) = self.events.next_at_ps().filter(|&at_ps| at_ps <= until_ps) {
            self.now_ps = at_ps;
            while let Some(event) = self.events.pop_at(at_ps) {
                self.happen(event);
            }
            self.turn_due();
        }
        self.now_ps = self.now_ps.max(until_ps);
    }

    /// Runs for `span_ps` more.
    pub fn run_for(&mut self, span_ps: Picoseconds) {
        self.run_until(self.now_ps.saturating_add(span_ps));
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "there is a wake event for every node")]
    fn happen(&mut self, event: Event) {
        let node = match event {
            Event::Arrival(wire) => match self.arrive(wire) {
                Some(node) => node,
                None => return,
            },
            Event::Free(wire) => {
                let from = self.wires[wire as usize].from;
                let device = self.switches[from.node].worker.device_mut();
                device.free(from.port, self.now_ps);
                from.node as u32
            }
            Event::Wake(node) => {
                if !self.alarms[node as usize].rings(self.now_ps, &mut self.events) {
                    return;
                }
                node
            }
        };
        if !std::mem::replace(&mut self.is_due[node as usize], true) {
            self.due.push(node);
        }
    }

    /// The oldest frame on `wire` arrives; returns at which node.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "there is a wake event for every node")]
    fn arrive(&mut self, wire: u32) -> Option<u32> {
        let wire = &mut self.wires[wire as usize];
        let mut frame = wire.in_flight.pop_front()?;
        let (from, to) = (wire.from, wire.to);
        self.trace.arrival(self.now_ps, to, &frame);
        if !frame.is_control() {
            self.data_hops += 1;
            self.watch.arrives(&mut frame, from);
        }
        match to.node.checked_sub(self.switches.len()) {
            None => self.switches[to.node].arrive(to.port, frame),
            Some(host) => self.hosts[host].arrive(frame, self.now_ps, &mut self.flows),
        }
        Some(to.node as u32)
    }

    fn turn_due(&mut self) {
        for at in 0..self.due.len() {
            let node = self.due[at] as usize;
            self.is_due[node] = false;
            let wanted_ps = match node.checked_sub(self.switches.len()) {
                None => self.turn_switch(node),
                Some(host) => self.turn_host(host),
            };
            self.alarms[node].set(wanted_ps, &mut self.events);
        }
        self.due.clear();
    }

    #[inline]
    fn turn_host(&mut self, host: usize) -> Picoseconds {
        let Self { now_ps, flows, watch, wires, events, .. } = self;
        let (wanted_ps, launched) = self.hosts[host].turn(*now_ps, flows, watch);
        if let Some(launched) = launched {
            launch(launched, wires, events);
        }
        wanted_ps
    }

    #[inline]
    fn turn_switch(&mut self, switch: usize) -> Picoseconds {
        let wanted_ps = self.switches[switch].turn(self.now_ps);
        let Self { switches, wires, events, .. } = self;
        let device = switches[switch].worker.device_mut();
        for (wire, free_at_ps) in device.awaited_mut().drain(..) {
            events.plan(free_at_ps, Event::Free(wire));
        }
        for launched in device.launched_mut().drain(..) {
            launch(launched, wires, events);
        }
        wanted_ps
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
        losslessness::check(self)?;
        self.watch.check(|node| self.node_name(node))?;
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

    /// Every switch with its report.
    pub(crate) fn switch_reports(&self) -> impl Iterator<Item = (&SwitchNode, Report)> {
        self.switches.iter().map(|switch| (switch, self.report(switch)))
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

    /// A hash of every arrival: when, where, which bytes. Two runs with one hash were the same.
    pub const fn trace_hash(&self) -> u64 {
        self.trace.hash()
    }

    fn attachment(&self, switch: usize, port: PortId) -> Option<&Attachment> {
        self.topology.ports[switch].get(port.index())?.as_ref()
    }

    /// What is at the other end of a switch's port.
    pub(crate) fn peer(&self, switch: usize, port: PortId) -> Option<Peer> {
        self.attachment(switch, port).map(|attachment| attachment.peer)
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

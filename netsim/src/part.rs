//! A part of the network: nodes with the links between them and their events, run by one thread.
//!
//! All events of a node at one instant are applied before the node is turned, and it is turned once
//! for them. A turn only plans later events. Nodes run one after the other through each lookahead
//! window, which is too short for a frame of one to reach another within it (see `event_queue`).
//!
//! A network that runs in one thread is one part. Nodes have numbers in their part: switches first,
//! then hosts, each in the order of the network. Wires have the network's numbers.

use crate::event::{Event, EventKind, Picoseconds};
use crate::event_queue::EventQueue;
use crate::frame::{Buffers, SimFrame};
use crate::host_node::{FlowState, HostNode};
use crate::links::Links;
use crate::load::Load;
use crate::meeting::Member;
use crate::switch_node::{SwitchNode, instant};
use crate::timer::Timer;
use dataplane::ids::PortId;

/// Turns of one node at one instant before the run is given up. Each frame and each timer takes
/// time, so a sound node needs few.
const ROUNDS_MAX: u32 = 10_000;

/// See the module's head. Threads write to their parts, so no two share a cache line.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Part {
    pub(crate) switches: Vec<SwitchNode>,
    pub(crate) hosts: Vec<HostNode>,
    pub(crate) links: Links,
    /// All flows of the network; of those of other parts nothing is counted.
    pub(crate) flows: Vec<FlowState>,
    pub(crate) events: EventQueue,
    /// Frames that arrive at a switch at one instant, and at which ports.
    pub(crate) arrived: Vec<(PortId, SimFrame)>,
    /// Whether at every node the numbers of wires have the order of their ports, so that arrivals
    /// need no sorting.
    pub(crate) has_order: bool,
    /// The free buffers of the part's thread while it does not run.
    pub(crate) buffers: Buffers,
    /// The part's thread where all threads meet.
    pub(crate) member: Member,
    pub(crate) load: Load,
}

impl Part {
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

    /// Runs all events of the current window.
    #[inline(always)]
    pub(crate) fn run_window(&mut self) {
        self.load.own_events = self.events.in_hand() as u64;
        self.prefetch();
        let mut rounds = Rounds::default();
        // One loop over the events of all nodes: how many each node has follows no pattern, so an
        // inner loop would often be predicted wrongly.
        while let Some(first) = self.events.pop() {
            match (first.node as usize).checked_sub(self.switches.len()) {
                None => self.run_switch(first, &mut rounds),
                Some(host) => self.run_host(first, host, &mut rounds),
            }
        }
    }

    /// Touches the frames that arrive in the current window, and those that leave when their wires
    /// are free, so that their cache misses overlap. Untouched, each would stall its switch in
    /// turn.
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

    /// Applies all events of a switch at one instant and turns it.
    #[inline(always)]
    fn run_switch(&mut self, first: Event, rounds: &mut Rounds) {
        let Self { switches, links, events, arrived, has_order, .. } = self;
        let Event { node, at_ps, mut kind, mut has_more } = first;
        let switch = &mut switches[node as usize];
        rounds.count(node, at_ps, &switch.name);
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

    /// Applies one event of a host, and turns the host after the last event of the instant.
    #[inline(always)]
    fn run_host(&mut self, event: Event, host: usize, rounds: &mut Rounds) {
        let Self { hosts, links, events, flows, .. } = self;
        let Event { node, at_ps, kind, has_more } = event;
        let host = &mut hosts[host];
        rounds.count(node, at_ps, &host.name);
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

    /// Turns a node, by its number in the part.
    #[expect(clippy::cast_possible_truncation, reason = "nodes are counted in 32 bits")]
    pub(crate) fn turn(&mut self, node: usize, now_ps: Picoseconds) {
        let Self { switches, hosts, links, events, flows, .. } = self;
        let number = node as u32;
        match node.checked_sub(switches.len()) {
            None => {
                switches[node].begin_whole(now_ps);
                end_turn(&mut switches[node], number, links, events, now_ps);
            }
            Some(host) => turn_host(&mut hosts[host], number, links, events, flows, now_ps),
        }
    }
}

/// Ends the turn of a switch, and plans what follows: arrivals of frames, wires that become free,
/// and the next timer.
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

/// Turns a host, and plans what follows.
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

/// Counts the events of one node at one instant.
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

/// Ends a run whose time no longer advances, with the name of the node at fault.
#[cold]
fn livelock(at_ps: Picoseconds, name: &str) -> ! {
    panic!("at {at_ps} ps things happen for ever to {name}");
}

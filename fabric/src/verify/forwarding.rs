//! The proof from forwarding: which buffers wait for which, by where frames really go.
//!
//! [`super::verify()`] takes every turn that rules allow. Here switches say what they do with
//! a frame ([`Forwarding`]), and every frame that a host can send is followed by all equal-cost
//! ways. Frames with equal headers at a port are one state, so each is followed once.
//!
//! A buffer is a port with a priority: the VIQ of frames that came in there. A lossless frame in
//! the VIQ of `input` that waits in the queue of `output` waits until the far port no longer pauses
//! that queue. So it waits for the far port's VIQ of the queue's priority, whichever VIQ the frame
//! itself will be in. A cycle of such waits is a possible deadlock.

use crate::graph::Digraph;
use crate::network::{Network, u32_of};
use dataplane::ids::Priority;
use dataplane::limits::PRIORITIES;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// What the switches of a network do with frames.
pub trait Forwarding {
    /// All of a frame that decides what happens to it.
    type Headers: Clone + Eq + Hash;

    /// The priorities, as bits, that the port at `slot` pauses and in which it can be paused.
    fn paused(&self, slot: u32) -> u8;

    /// The frames that a host may send.
    fn sent(&self, host: u32) -> Vec<Self::Headers>;

    /// What may become of a frame that comes in by `input`.
    fn forward(&self, input: u32, headers: &Self::Headers) -> Vec<Turn<Self::Headers>>;
}

/// What may become of a frame in a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn<H> {
    /// It leaves.
    Out(Departure<H>),
    /// It ends here.
    End(End),
}

/// How a frame leaves a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure<H> {
    /// The slot it leaves by.
    pub output: u32,
    /// The priority of the VIQ that holds it until it has left; `None` if it is lossy.
    pub held: Option<Priority>,
    /// The priority of the queue that it leaves from.
    pub queue: Priority,
    /// Its headers as it leaves.
    pub headers: H,
}

/// How a frame ends in a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// As it should: it is for the switch itself, or the operator has it dropped, or nobody misses
    /// it.
    Expected,
    /// There is no route.
    NoRoute,
    /// No neighbor on a link has the address of the next hop.
    NoNeighbor,
    /// It is in more tunnels than are followed, so nothing is proven.
    TooDeep,
}

/// What was proven, or what stands against it.
#[derive(Clone, Debug)]
pub struct Verdict<H> {
    /// The shortest cycle of waits that was found; none if there is no cycle.
    pub cycle: Vec<Wait<H>>,
    /// What frames meet beside deadlock, the first of each kind at each place.
    pub findings: Vec<Finding<H>>,
    /// Frames with different headers, by the port that they come in by.
    pub states: usize,
    /// Buffers that lossless frames are in.
    pub buffers: usize,
    /// Pairs of buffers of which the first waits for the second.
    pub waits: usize,
}

impl<H> Verdict<H> {
    /// Whether every frame was followed, and no buffer can wait for itself.
    pub fn is_deadlock_free(&self) -> bool {
        let is_followed = |finding: &Finding<H>| finding.what != What::Ends(End::TooDeep);
        self.cycle.is_empty() && self.findings.iter().all(is_followed)
    }
}

/// That a buffer waits for the next one, and a frame that makes it do so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait<H> {
    /// The slot that the frame comes in by.
    pub input: u32,
    /// The priority of the VIQ that holds it.
    pub held: Priority,
    /// Its headers as it comes.
    pub headers: H,
    /// How it is to leave.
    pub departure: Departure<H>,
}

/// Something that frames meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding<H> {
    /// What it is.
    pub what: What,
    /// The slot that they come in by.
    pub input: u32,
    /// The headers of the first of them.
    pub headers: H,
    /// How many differ in their headers.
    pub frames: usize,
}

/// What frames meet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// They were lossless in the switch before, and are lossy here.
    Lossy,
    /// They are in the VIQ of a priority other than that of the queue they were sent from, so no
    /// pause stops them.
    OtherPriority {
        /// The queue that they were sent from.
        queue: Priority,
        /// The VIQ that they are in.
        held: Priority,
    },
    /// They are lossless on both sides of a link that has no PFC for them.
    Unpaused {
        /// The queue that they were sent from.
        queue: Priority,
    },
    /// They end here.
    Ends(End),
    /// They come back as they are: the slots of the loop.
    Loop(Vec<u32>),
}

/// Follows every frame.
pub fn verify<F: Forwarding>(network: &Network, forwarding: &F) -> Verdict<F::Headers> {
    let mut walk = Walk::new(network, forwarding);
    walk.run();
    let findings = walk.findings();
    let cycle = walk.cycle();
    Verdict {
        cycle,
        findings,
        states: walk.states.len(),
        buffers: walk.buffers(),
        waits: walk.waits.len(),
    }
}

/// A frame at a port, and how lossless frames like it come there.
struct State<H> {
    input: u32,
    headers: H,
    /// Bit p: from a queue of priority p that the port can pause.
    paused: u8,
    /// Bit p: from a queue of priority p that it cannot pause.
    unpaused: u8,
}

struct Walk<'a, F: Forwarding> {
    network: &'a Network,
    forwarding: &'a F,
    states: Vec<State<F::Headers>>,
    numbers: HashMap<(u32, F::Headers), u32>,
    /// Pairs of states of which the first becomes the second.
    steps: Vec<(u32, u32)>,
    /// By pair of buffers: the first state that makes the one wait for the other.
    waits: BTreeMap<(u32, u32), u32>,
}

impl<'a, F: Forwarding> Walk<'a, F> {
    fn new(network: &'a Network, forwarding: &'a F) -> Self {
        let (states, numbers, steps) = (Vec::new(), HashMap::new(), Vec::new());
        Self { network, forwarding, states, numbers, steps, waits: BTreeMap::new() }
    }

    /// The number of a state, which is new if it has not been met.
    fn number(&mut self, input: u32, headers: F::Headers) -> u32 {
        let next = u32_of(self.states.len());
        let number = *self.numbers.entry((input, headers.clone())).or_insert(next);
        if number == next {
            self.states.push(State { input, headers, paused: 0, unpaused: 0 });
        }
        number
    }

    /// Finds all states, steps and waits.
    fn run(&mut self) {
        for host in (0..).take(self.network.hosts()) {
            let Some(slot) = self.network.host_slot(host) else { continue };
            for headers in self.forwarding.sent(host) {
                self.number(slot, headers);
            }
        }
        let mut next = 0;
        while let Some(State { input, headers, .. }) = self.states.get(next) {
            let (input, number) = (*input, u32_of(next));
            for turn in self.forwarding.forward(input, headers) {
                if let Turn::Out(departure) = turn {
                    self.step(number, input, departure);
                }
            }
            next += 1;
        }
    }

    fn step(&mut self, from: u32, input: u32, departure: Departure<F::Headers>) {
        let Departure { output, held, queue, headers } = departure;
        let Some(far) = self.network.far_slot(output) else { return };
        let to = self.number(far, headers);
        self.steps.push((from, to));
        let Some(held) = held else { return };
        let both = self.forwarding.paused(output) & self.forwarding.paused(far);
        let state = &mut self.states[to as usize];
        if both & queue.bit() == 0 {
            state.unpaused |= queue.bit();
        } else {
            state.paused |= queue.bit();
            self.waits.entry((buffer(input, held), buffer(far, queue))).or_insert(from);
        }
    }

    /// How many buffers have a part in a wait.
    fn buffers(&self) -> usize {
        let mut all: Vec<u32> = self.waits.keys().flat_map(|&(from, to)| [from, to]).collect();
        all.sort_unstable();
        all.dedup();
        all.len()
    }

    fn cycle(&self) -> Vec<Wait<F::Headers>> {
        let (tails, heads) = self.waits.keys().copied().unzip();
        let graph = Digraph::new(self.network.slots() * PRIORITIES, tails, heads);
        let mut edges = graph.shortest_cycle(|_| true);
        let lowest = (0..edges.len()).min_by_key(|&at| graph.tails[edges[at] as usize]);
        edges.rotate_left(lowest.unwrap_or(0));
        let pair = |edge: &u32| (graph.tails[*edge as usize], graph.heads[*edge as usize]);
        edges.iter().map(pair).filter_map(|pair| self.wait(pair)).collect()
    }

    /// The frame that makes the first buffer wait for the second.
    fn wait(&self, pair: (u32, u32)) -> Option<Wait<F::Headers>> {
        let State { input, headers, .. } = &self.states[*self.waits.get(&pair)? as usize];
        let departure = |turn| match turn {
            Turn::Out(departure) => Some(departure),
            Turn::End(_) => None,
        };
        let mut departures =
            self.forwarding.forward(*input, headers).into_iter().filter_map(departure);
        let makes = |departure: &Departure<F::Headers>| {
            let far = self.network.far_slot(departure.output);
            let from = departure.held.map(|held| buffer(*input, held));
            far.is_some_and(|far| (from, buffer(far, departure.queue)) == (Some(pair.0), pair.1))
        };
        let departure = departures.find(makes)?;
        let (input, headers, held) = (*input, headers.clone(), departure.held?);
        Some(Wait { input, held, headers, departure })
    }

    fn findings(&self) -> Vec<Finding<F::Headers>> {
        let mut found: BTreeMap<(What, u32), Finding<F::Headers>> = BTreeMap::new();
        let mut note = |what: What, state: &State<F::Headers>| {
            let new = || {
                let (input, headers) = (state.input, state.headers.clone());
                Finding { what: what.clone(), input, headers, frames: 0 }
            };
            found.entry((what.clone(), state.input)).or_insert_with(new).frames += 1;
        };
        for state in &self.states {
            let mut whats = Vec::new();
            for turn in self.forwarding.forward(state.input, &state.headers) {
                match turn {
                    Turn::End(End::Expected) => {}
                    Turn::End(end) => whats.push(What::Ends(end)),
                    Turn::Out(departure) => self.losses(state, departure.held, &mut whats),
                }
            }
            whats.sort_unstable();
            whats.dedup();
            whats.into_iter().for_each(|what| note(what, state));
        }
        let mut found: Vec<_> = found.into_values().collect();
        found.extend(self.routing_loop());
        found
    }

    /// What costs a lossless frame that comes as `state` and is held so.
    fn losses(&self, state: &State<F::Headers>, held: Option<Priority>, whats: &mut Vec<What>) {
        let queues = |bits: u8| Priority::all().filter(move |queue| bits & queue.bit() != 0);
        let Some(held) = held else {
            if state.paused | state.unpaused != 0 {
                whats.push(What::Lossy);
            }
            return;
        };
        whats.extend(queues(state.unpaused).map(|queue| What::Unpaused { queue }));
        let others = queues(state.paused).filter(|&queue| queue != held);
        whats.extend(others.map(|queue| What::OtherPriority { queue, held }));
    }

    /// A shortest routing loop, if there is any, and how many states are on loops.
    fn routing_loop(&self) -> Option<Finding<F::Headers>> {
        let (tails, heads) = self.steps.iter().copied().unzip();
        let graph = Digraph::new(self.states.len(), tails, heads);
        let edges = graph.shortest_cycle(|_| true);
        let slots = edges.iter().map(|&edge| {
            let state = graph.tails[edge as usize];
            self.states[state as usize].input
        });
        let what = What::Loop(slots.collect());
        let first = &self.states[graph.tails[*edges.first()? as usize] as usize];
        let frames = graph.on_cycles(|_| true).0.len();
        Some(Finding { what, input: first.input, headers: first.headers.clone(), frames })
    }
}

/// The number of a buffer.
fn buffer(slot: u32, priority: Priority) -> u32 {
    slot * u32_of(PRIORITIES) + u32_of(priority.index())
}

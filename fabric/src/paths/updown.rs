//! Up-down paths with a number of bounces, as the automaton that accepts them: no path is listed.
//!
//! The switches with hosts are level 0, all others as many links away from them as their level. A
//! link leads up if it leads to a higher level, or on one level to a switch that comes later in the
//! file. A path goes up, then down, and may turn up again `bounces` times (Tagger, section IV).
//! It may pass a switch twice: such a path is lossless if the loop-free ones are, and the optimum
//! of k + 1 priorities is proven with it. It never goes straight back over the link it came by.

use super::trees::{Adjacency, UNREACHED, edge_switches};
use super::{Scratch, Turn, WalkContext, Walks, add};
use crate::network::Network;
use crate::network::u32_of;
use std::ops::ControlFlow;

/// Up-down paths.
#[derive(Clone, Debug)]
pub(super) struct UpDownPaths {
    /// The switches, the lowest first.
    lowest_first: Vec<u32>,
    /// By switch: its place in `lowest_first`.
    heights: Vec<u32>,
    bounces: u8,
}

impl UpDownPaths {
    pub(super) fn new(network: &Network, bounces: u8) -> Self {
        let levels = levels(network);
        let mut lowest_first: Vec<u32> = (0..u32_of(network.switches())).collect();
        lowest_first.sort_by_key(|&switch| (levels[switch as usize], switch));
        let mut heights = vec![0; lowest_first.len()];
        for (height, &switch) in (0..).zip(&lowest_first) {
            heights[switch as usize] = height;
        }
        Self { lowest_first, heights, bounces }
    }

    pub(super) const fn bounces(&self) -> u8 {
        self.bounces
    }

    /// The paths of the same network with another number of bounces.
    pub(super) fn with_bounces(&self, bounces: u8) -> Self {
        Self { bounces, ..self.clone() }
    }

    /// Whether the link at `slot`, to the slot `far`, leads up.
    fn leads_up(&self, network: &Network, slot: u32, far: u32) -> bool {
        self.height(network, far) > self.height(network, slot)
    }

    fn height(&self, network: &Network, slot: u32) -> u32 {
        self.heights[network.owner(slot) as usize]
    }

    /// Arrivals are kept by slot and state, for one number of bounces at a time. What arrives
    /// upward is dealt with from the lowest switch to the highest, what arrives downward the other
    /// way; what turns up again waits for the next number of bounces.
    pub(super) fn walk(
        &self,
        context: &WalkContext<'_>,
        scratch: &mut Scratch,
        turn: &mut impl FnMut(u32, u32, u8, u64) -> u8,
        ends: &mut [u64],
    ) {
        let (network, states) = (context.walks.network, context.states);
        let mut bounced = vec![0; network.slots() * states];
        for &switch in &self.lowest_first {
            for &input in context.walks.edges.of(switch) {
                bounced[input as usize * states + usize::from(context.start)] = 1;
            }
            for &(input, output) in context.walks.edges.local(switch) {
                let state = turn(input, output, context.start, 1);
                add(&mut ends[usize::from(state)], 1);
            }
        }
        for bounce in 0..=self.bounces {
            let mut arrived = std::mem::take(&mut bounced);
            bounced.resize(network.slots() * states, 0);
            for upward in [true, false] {
                for at in 0..self.lowest_first.len() {
                    let at = if upward { at } else { self.lowest_first.len() - 1 - at };
                    let switch = self.lowest_first[at];
                    for input in network.slots_of(switch) {
                        let came_up = network
                            .far_slot(input)
                            .is_none_or(|far| !self.leads_up(network, input, far));
                        if came_up != upward {
                            continue;
                        }
                        for state in 0..states {
                            let at = input as usize * states + state;
                            let paths = std::mem::take(&mut arrived[at]);
                            if paths == 0 {
                                continue;
                            }
                            #[expect(clippy::cast_possible_truncation, reason = "8 bits")]
                            let state = state as u8;
                            // A host's own switch is left upward at first: local turns are above.
                            if network.far_slot(input).is_some() {
                                for &output in context.walks.edges.of(switch) {
                                    let state = turn(input, output, state, paths);
                                    add(&mut ends[usize::from(state)], paths);
                                }
                            }
                            for (output, far) in network.neighbors(switch) {
                                let goes_up = self.leads_up(network, output, far);
                                let bounces = goes_up && !upward;
                                if output == input || bounces && bounce == self.bounces {
                                    continue;
                                }
                                let state = usize::from(turn(input, output, state, paths));
                                let next = if bounces { &mut bounced } else { &mut arrived };
                                add(&mut next[far as usize * states + state], paths);
                            }
                        }
                    }
                }
            }
        }
        scratch.counts.clear();
    }

    pub(super) fn longest(&self, network: &Network) -> usize {
        // The longest way up from each switch; a path goes up and down once more than it bounces,
        // and has to be on a switch's way at each change.
        let mut upward = vec![0_usize; self.heights.len()];
        for &switch in &self.lowest_first {
            for (slot, far) in network.neighbors(switch) {
                if self.leads_up(network, slot, far) {
                    let at = network.owner(far) as usize;
                    upward[at] = upward[at].max(upward[switch as usize] + 1);
                }
            }
        }
        let highest = upward.into_iter().max().unwrap_or(0);
        2 * highest * (usize::from(self.bounces) + 1) + 1
    }

    pub(super) fn visit(
        &self,
        walks: &Walks<'_>,
        switches_min: usize,
        look: &mut impl FnMut(&[Turn]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Walks { network, edges, .. } = walks;
        let mut turns = Vec::new();
        for switch in 0..u32_of(network.switches()) {
            if switches_min <= 1 {
                edges.local(switch).iter().try_for_each(|&turn| look(&[turn]))?;
            }
            for &input in edges.of(switch) {
                let mut long_enough = |turns: &[Turn]| {
                    if turns.len() < switches_min { ControlFlow::Continue(()) } else { look(turns) }
                };
                self.go_on(walks, input, self.bounces, &mut turns, &mut long_enough)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Goes on from where a path has come in by `input`, with so many bounces left.
    fn go_on(
        &self,
        walks: &Walks<'_>,
        input: u32,
        bounces: u8,
        turns: &mut Vec<Turn>,
        look: &mut dyn FnMut(&[Turn]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Walks { network, edges, .. } = walks;
        let switch = network.owner(input);
        let far = network.far_slot(input);
        let came_up = far.is_none_or(|far| !self.leads_up(network, input, far));
        if far.is_some() {
            for &output in edges.of(switch) {
                turns.push((input, output));
                look(turns)?;
                turns.pop();
            }
        }
        for (output, far) in network.neighbors(switch) {
            let bounce = !came_up && self.leads_up(network, output, far);
            if output == input || bounce && bounces == 0 {
                continue;
            }
            turns.push((input, output));
            self.go_on(walks, far, bounces - u8::from(bounce), turns, look)?;
            turns.pop();
        }
        ControlFlow::Continue(())
    }
}

/// By switch: links to the nearest switch with hosts.
pub(crate) fn levels(network: &Network) -> Vec<u8> {
    let adjacency = Adjacency::of(network);
    let mut levels = vec![UNREACHED; network.switches()];
    let mut frontier = edge_switches(network);
    frontier.iter().for_each(|&switch| levels[switch as usize] = 0);
    for level in 1..UNREACHED {
        let mut found = Vec::new();
        for &switch in &frontier {
            for &(neighbor, _) in adjacency.of_switch(switch) {
                if levels[neighbor as usize] == UNREACHED {
                    levels[neighbor as usize] = level;
                    found.push(neighbor);
                }
            }
        }
        frontier = found;
    }
    levels
}

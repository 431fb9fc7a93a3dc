//! Destination-rooted trees of shortest paths: one next hop for each pair of switches, in one byte.
//!
//! Where several neighbors are as near to the destination, the one with the lowest number is the
//! next hop, as routing protocols break ties by the lowest router id.

use super::{Scratch, Turn, WalkContext, Walks, add};
use crate::network::Network;
use crate::network::u32_of;
use rayon::prelude::*;
use std::ops::ControlFlow;

/// In `dists`: cannot be reached.
pub(super) const UNREACHED: u8 = u8::MAX;

/// A tree for each switch with hosts.
#[derive(Clone, Debug)]
pub(super) struct Trees {
    roots: Vec<u32>,
    switches: usize,
    /// By root and switch: the index of the port towards the root.
    next: Vec<u8>,
    /// By root and switch: links to the root.
    dists: Vec<u8>,
}

/// A link as seen from a switch: the neighbor, and the index of the neighbor's port.
pub(super) type Neighbor = (u32, u8);

/// By switch: its links to other switches, in the order of its ports.
pub(super) struct Adjacency {
    starts: Vec<u32>,
    neighbors: Vec<Neighbor>,
}

impl Adjacency {
    pub(super) fn of(network: &Network) -> Self {
        let mut adjacency = Self { starts: vec![0], neighbors: Vec::new() };
        for switch in 0..u32_of(network.switches()) {
            let links = network.neighbors(switch);
            adjacency
                .neighbors
                .extend(links.map(|(_, far)| (network.owner(far), network.port_index(far))));
            adjacency.starts.push(u32_of(adjacency.neighbors.len()));
        }
        adjacency
    }

    pub(super) fn of_switch(&self, switch: u32) -> &[Neighbor] {
        let at = switch as usize;
        &self.neighbors[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// The switches that have hosts.
pub(super) fn edge_switches(network: &Network) -> Vec<u32> {
    let all = 0..u32_of(network.switches());
    all.filter(|&switch| network.host_slots_of(switch).next().is_some()).collect()
}

/// Breadth-first search from `root`: fills in the links to it, and the port towards it, of every
/// switch. Paths of 255 links or more are not found.
pub(super) fn search(adjacency: &Adjacency, root: u32, dists: &mut [u8], next: &mut [u8]) {
    dists.fill(UNREACHED);
    dists[root as usize] = 0;
    let mut frontier = vec![root];
    let mut found = Vec::new();
    for dist in 1..UNREACHED {
        for &switch in &frontier {
            for &(neighbor, port) in adjacency.of_switch(switch) {
                let at = neighbor as usize;
                if dists[at] == UNREACHED {
                    dists[at] = dist;
                    next[at] = port;
                    found.push(neighbor);
                }
            }
        }
        if found.is_empty() {
            return;
        }
        // Lowest first, so that the lowest is who finds the next ones, and becomes their next hop.
        found.sort_unstable();
        std::mem::swap(&mut frontier, &mut found);
        found.clear();
    }
}

/// Writes the switches that reach the root into `order`, the farthest first.
pub(super) fn farthest_first(dists: &[u8], order: &mut Vec<u32>) {
    let mut starts = [0_u32; 256];
    dists.iter().for_each(|&dist| starts[dist as usize] += 1);
    let mut sum = 0;
    for dist in (0..UNREACHED).rev() {
        let count = std::mem::replace(&mut starts[dist as usize], sum);
        sum += count;
    }
    order.clear();
    order.resize(sum as usize, 0);
    for (switch, &dist) in (0..).zip(dists) {
        if dist != UNREACHED {
            let at = &mut starts[dist as usize];
            order[*at as usize] = switch;
            *at += 1;
        }
    }
}

impl Trees {
    pub(super) fn new(network: &Network) -> Self {
        let roots = edge_switches(network);
        let switches = network.switches();
        let mut next = vec![0; roots.len() * switches];
        let mut dists = vec![UNREACHED; roots.len() * switches];
        let adjacency = Adjacency::of(network);
        let rows = dists.par_chunks_mut(switches.max(1)).zip(next.par_chunks_mut(switches.max(1)));
        roots
            .par_iter()
            .zip(rows)
            .for_each(|(&root, (dists, next))| search(&adjacency, root, dists, next));
        Self { roots, switches, next, dists }
    }

    pub(super) const fn groups(&self) -> usize {
        self.roots.len()
    }

    pub(super) fn longest(&self) -> usize {
        let reached = self.dists.iter().copied().filter(|&dist| dist != UNREACHED);
        reached.max().map_or(0, |dist| usize::from(dist) + 1)
    }

    fn row<'a>(&self, of: &'a [u8], group: usize) -> &'a [u8] {
        &of[group * self.switches..][..self.switches]
    }

    /// From the leaves to the root: the paths that leave a switch in one state are one. As all
    /// paths leave a switch by the same port, the state after the turn is all that has to be kept.
    pub(super) fn walk(
        &self,
        group: usize,
        context: &WalkContext<'_>,
        scratch: &mut Scratch,
        turn: &mut impl FnMut(u32, u32, u8, u64) -> u8,
        ends: &mut [u64],
    ) {
        let (network, states) = (context.walks.network, context.states);
        let root = self.roots[group];
        let next = self.row(&self.next, group);
        farthest_first(self.row(&self.dists, group), &mut scratch.order);
        scratch.counts.resize(self.switches * states, 0);
        scratch.present.resize(self.switches, 0);
        let (leaving, present) = (&mut scratch.counts, &mut scratch.present);
        for &switch in &scratch.order {
            if switch == root {
                continue;
            }
            let out = network.slot_at(switch, next[switch as usize]);
            let at = switch as usize * states;
            for &input in context.walks.edges.of(switch) {
                let state = turn(input, out, context.start, 1);
                add(&mut leaving[at + usize::from(state)], 1);
                present[switch as usize] |= 1 << (state & 63);
            }
            let mut left = std::mem::take(&mut present[switch as usize]);
            let Some(input) = network.far_slot(out) else { continue };
            let parent = network.owner(input);
            while left != 0 {
                let first = left.trailing_zeros() as usize;
                left &= left - 1;
                // A bit stands for all states that agree in the low six bits: nearly always one.
                for state in (first..states).step_by(64) {
                    let paths = std::mem::take(&mut leaving[at + state]);
                    if paths == 0 {
                        continue;
                    }
                    #[expect(clippy::cast_possible_truncation, reason = "states are 8 bits")]
                    let state = state as u8;
                    if parent == root {
                        for &output in context.walks.edges.of(root) {
                            let state = turn(input, output, state, paths);
                            add(&mut ends[usize::from(state)], paths);
                        }
                    } else {
                        let output = network.slot_at(parent, next[parent as usize]);
                        let state = turn(input, output, state, paths);
                        add(&mut leaving[parent as usize * states + usize::from(state)], paths);
                        present[parent as usize] |= 1 << (state & 63);
                    }
                }
            }
        }
        for &(input, output) in context.walks.edges.local(root) {
            let state = turn(input, output, context.start, 1);
            add(&mut ends[usize::from(state)], 1);
        }
    }

    pub(super) fn visit(
        &self,
        walks: &Walks<'_>,
        switches_min: usize,
        look: &mut impl FnMut(&[Turn]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Walks { network, edges, .. } = walks;
        let mut turns = Vec::new();
        for (group, &root) in self.roots.iter().enumerate() {
            let (next, dists) = (self.row(&self.next, group), self.row(&self.dists, group));
            for source in 0..u32_of(self.switches) {
                let dist = dists[source as usize];
                if dist == UNREACHED || usize::from(dist) + 1 < switches_min {
                    continue;
                }
                if source == root {
                    edges.local(root).iter().try_for_each(|&turn| look(&[turn]))?;
                    continue;
                }
                for &first in edges.of(source) {
                    turns.clear();
                    let (mut input, mut switch) = (first, source);
                    while switch != root {
                        let output = network.slot_at(switch, next[switch as usize]);
                        turns.push((input, output));
                        let Some(far) = network.far_slot(output) else { break };
                        (input, switch) = (far, network.owner(far));
                    }
                    for &output in edges.of(root) {
                        turns.push((input, output));
                        look(&turns)?;
                        turns.pop();
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }
}

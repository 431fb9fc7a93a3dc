//! All shortest paths (ECMP): a distance for each pair of switches, from which the next hops
//! follow.

use super::trees::{Adjacency, UNREACHED, edge_switches, farthest_first, search};
use super::{Scratch, Turn, WalkContext, Walks, add};
use crate::network::Network;
use crate::network::u32_of;
use rayon::prelude::*;
use std::ops::ControlFlow;

/// For each switch with hosts, how far all others are.
#[derive(Clone, Debug)]
pub(super) struct Dags {
    roots: Vec<u32>,
    switches: usize,
    /// By root and switch: links to the root.
    dists: Vec<u8>,
}

impl Dags {
    pub(super) fn new(network: &Network) -> Self {
        let roots = edge_switches(network);
        let switches = network.switches();
        let adjacency = Adjacency::of(network);
        let mut dists = vec![UNREACHED; roots.len() * switches];
        roots.par_iter().zip(dists.par_chunks_mut(switches.max(1))).for_each_init(
            || vec![0; switches],
            |next, (&root, dists)| search(&adjacency, root, dists, next),
        );
        Self { roots, switches, dists }
    }

    pub(super) const fn groups(&self) -> usize {
        self.roots.len()
    }

    pub(super) fn longest(&self) -> usize {
        let reached = self.dists.iter().copied().filter(|&dist| dist != UNREACHED);
        reached.max().map_or(0, |dist| usize::from(dist) + 1)
    }

    fn dists(&self, group: usize) -> &[u8] {
        &self.dists[group * self.switches..][..self.switches]
    }

    /// From the farthest switch to the root; what arrives is kept by port and state.
    pub(super) fn walk(
        &self,
        group: usize,
        context: &WalkContext<'_>,
        scratch: &mut Scratch,
        turn: &mut impl FnMut(u32, u32, u8, u64) -> u8,
        ends: &mut [u64],
    ) {
        let (network, states) = (context.walks.network, context.states);
        let (root, dists) = (self.roots[group], self.dists(group));
        farthest_first(dists, &mut scratch.order);
        scratch.counts.resize(network.slots() * states, 0);
        let arrived = &mut scratch.counts;
        for &switch in &scratch.order {
            let dist = dists[switch as usize];
            if switch != root {
                for &input in context.walks.edges.of(switch) {
                    add(&mut arrived[input as usize * states + usize::from(context.start)], 1);
                }
            }
            for input in network.slots_of(switch) {
                for state in 0..states {
                    let paths = std::mem::take(&mut arrived[input as usize * states + state]);
                    if paths == 0 {
                        continue;
                    }
                    #[expect(clippy::cast_possible_truncation, reason = "states are 8 bits")]
                    let state = state as u8;
                    if switch == root {
                        for &output in context.walks.edges.of(root) {
                            let state = turn(input, output, state, paths);
                            add(&mut ends[usize::from(state)], paths);
                        }
                        continue;
                    }
                    for (output, far) in network.neighbors(switch) {
                        if dist > 0 && dists[network.owner(far) as usize] == dist - 1 {
                            let state = turn(input, output, state, paths);
                            let at = far as usize * states + usize::from(state);
                            add(&mut arrived[at], paths);
                        }
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
        let edges = &walks.edges;
        for (group, &root) in self.roots.iter().enumerate() {
            let dists = self.dists(group);
            for source in 0..u32_of(self.switches) {
                let dist = dists[source as usize];
                if dist == UNREACHED || usize::from(dist) + 1 < switches_min {
                    continue;
                }
                if source == root {
                    edges.local(root).iter().try_for_each(|&turn| look(&[turn]))?;
                    continue;
                }
                for &input in edges.of(source) {
                    descend(walks, dists, input, &mut Vec::new(), look)?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Goes on from where a path has come in by `input`, by every shortest way.
fn descend(
    walks: &Walks<'_>,
    dists: &[u8],
    input: u32,
    turns: &mut Vec<Turn>,
    look: &mut impl FnMut(&[Turn]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Walks { network, edges, .. } = walks;
    let switch = network.owner(input);
    let dist = dists[switch as usize];
    if dist == 0 {
        for &output in edges.of(switch) {
            turns.push((input, output));
            look(turns)?;
            turns.pop();
        }
    }
    for (output, far) in network.neighbors(switch) {
        if dist > 0 && dists[network.owner(far) as usize] == dist - 1 {
            turns.push((input, output));
            descend(walks, dists, far, turns, look)?;
            turns.pop();
        }
    }
    ControlFlow::Continue(())
}

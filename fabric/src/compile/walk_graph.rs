//! The paths as one acyclic graph of turns, for searches that need each path's own order of turns.
//!
//! A node is what a path still has to do: paths with the same rest share it. An edge is a turn from
//! one channel (a directed link between switches) to the next one. The first turn of a path, from a
//! host, and the last one, to a host, are left out: no buffer waits for a host, and none of ours is
//! behind one. The graph is the minimal acyclic automaton of the turn sequences, built as a tree of
//! their prefixes whose equal subtrees are merged.

use crate::network::{Network, u32_of};
use crate::paths::{Turn, Walks};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Nodes of the tree of prefixes at the most: about 200 MB.
const PREFIXES_MAX: usize = 2_000_000;

/// A turn from channel to channel: the slot that a frame comes in by, and the slot that it enters
/// next.
pub(super) type ChannelTurn = (u32, u32);

/// A turn at a node: its number in [`WalkGraph::turns`], and the node after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Step {
    pub(super) turn: u32,
    pub(super) next: u32,
}

/// All paths. Node 0 is the start.
#[derive(Clone, Debug)]
pub(super) struct WalkGraph {
    /// The turns that occur.
    pub(super) turns: Vec<ChannelTurn>,
    /// By node: its steps. A step leads to a node with a higher number.
    pub(super) nodes: Vec<Vec<Step>>,
}

impl WalkGraph {
    /// The graph of all paths; `None` if there are too many of them.
    pub(super) fn of(walks: &Walks<'_>) -> Option<Self> {
        let mut builder = Builder::default();
        let flow = walks.visit(3, &mut |turns| {
            builder.add(channels(walks.network, turns));
            let fits = builder.prefixes.len() <= PREFIXES_MAX;
            if fits { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        flow.is_continue().then(|| builder.finish())
    }
}

/// The channels that a path passes, each by the slot that it enters.
pub(super) fn channels<'a>(
    network: &'a Network,
    turns: &'a [Turn],
) -> impl Iterator<Item = u32> + 'a {
    turns.iter().filter_map(|&(_, output)| network.far_slot(output))
}

/// A graph being built, path by path.
#[derive(Debug, Default)]
pub(super) struct Builder {
    turns: Vec<ChannelTurn>,
    numbers: HashMap<ChannelTurn, u32>,
    /// Of the tree of prefixes: from a node by a turn to the next node; the root is node 0.
    prefixes: HashMap<(u32, u32), u32>,
}

impl Builder {
    /// Adds a path by its channels.
    pub(super) fn add(&mut self, channels: impl IntoIterator<Item = u32>) {
        let (mut node, mut before) = (0, None);
        for channel in channels {
            if let Some(before) = before.replace(channel) {
                let count = u32_of(self.numbers.len());
                let turn = *self.numbers.entry((before, channel)).or_insert(count);
                if turn == count {
                    self.turns.push((before, channel));
                }
                let next = u32_of(self.prefixes.len()) + 1;
                node = *self.prefixes.entry((node, turn)).or_insert(next);
            }
        }
    }

    /// Merges equal subtrees, from the leaves to the root.
    pub(super) fn finish(self) -> WalkGraph {
        let mut children: Vec<Vec<Step>> = vec![Vec::new(); self.prefixes.len() + 1];
        for (&(node, turn), &next) in &self.prefixes {
            children[node as usize].push(Step { turn, next });
        }
        drop(self.prefixes);
        let mut known: HashMap<Vec<Step>, u32> = HashMap::new();
        let mut merged: Vec<u32> = vec![0; children.len()];
        let mut nodes: Vec<Vec<Step>> = Vec::new();
        // A child has a higher number than its parent.
        for node in (0..children.len()).rev() {
            let mut steps = std::mem::take(&mut children[node]);
            steps.iter_mut().for_each(|step| step.next = merged[step.next as usize]);
            steps.sort_unstable();
            let count = u32_of(nodes.len());
            merged[node] = *known.entry(steps.clone()).or_insert_with(|| {
                nodes.push(steps);
                count
            });
        }
        // The root was merged last. Numbers are turned round so that it is the first.
        let last = u32_of(nodes.len()) - 1;
        nodes.reverse();
        nodes.iter_mut().flatten().for_each(|step| step.next = last - step.next);
        WalkGraph { turns: self.turns, nodes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The channel sequences that the graph accepts, read off it one by one.
    fn accepted(graph: &WalkGraph, node: u32, so_far: &[u32], all: &mut BTreeSet<Vec<u32>>) {
        all.insert(so_far.to_vec());
        for step in &graph.nodes[node as usize] {
            assert!(step.next > node, "a step leads on");
            let (from, to) = graph.turns[step.turn as usize];
            let mut path = if so_far.is_empty() { vec![from] } else { so_far.to_vec() };
            assert_eq!(path.last(), Some(&from), "turns follow each other");
            path.push(to);
            accepted(graph, step.next, &path, all);
        }
    }

    proptest! {
        #[test]
        fn the_graph_has_the_prefixes_of_the_paths_and_no_others(
            paths in proptest::collection::vec(proptest::collection::vec(0..6_u32, 2..7), 0..12),
        ) {
            let mut builder = Builder::default();
            paths.iter().for_each(|path| builder.add(path.iter().copied()));
            let mut found = BTreeSet::new();
            accepted(&builder.finish(), 0, &[], &mut found);
            let prefixes =
                paths.iter().flat_map(|path| (2..=path.len()).map(|n| path[..n].to_vec()));
            let wanted: BTreeSet<Vec<u32>> = prefixes.chain([Vec::new()]).collect();
            prop_assert_eq!(found, wanted);
        }
    }
}

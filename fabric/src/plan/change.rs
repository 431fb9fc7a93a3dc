//! What is to change: the operations, and the buffers that wait for each other because of them.

use super::route::{NamedPath, Route};
use crate::graph::Digraph;
use crate::network::Network;
use crate::network::u32_of;
use std::collections::{BTreeSet, HashSet};
use strum::IntoStaticStr;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Kind {
    /// Takes an old path away.
    Remove,
    /// Puts a new path in force.
    Add,
}

impl Kind {
    /// `remove` or `add`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An operation. Its id is its place in [`Change::operations`], counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub kind: Kind,
    /// With which path.
    pub path: NamedPath,
}

/// From one set of paths to another.
#[derive(Clone, Debug)]
pub struct Change {
    /// The paths to be removed, then those to be added.
    pub operations: Vec<Operation>,
    /// Paths in both sets: they are left alone.
    pub kept_paths: u64,
    /// Those of them that were given one by one.
    pub kept: Vec<NamedPath>,
    /// Rules of the kept paths on each switch: what removing all of them would cost.
    pub(super) kept_rules: Vec<u64>,
    /// Switches on the longest kept path.
    pub(super) kept_longest: usize,
    /// The pairs of buffers that kept paths make wait for each other.
    pub(super) kept_waits: BTreeSet<(u32, u32)>,
}

impl Change {
    /// Nothing yet.
    pub(super) fn new(network: &Network) -> Self {
        Self {
            operations: Vec::new(),
            kept_paths: 0,
            kept: Vec::new(),
            kept_rules: vec![0; network.switches()],
            kept_longest: 0,
            kept_waits: BTreeSet::new(),
        }
    }

    /// From `old` to `new`. A path whose route is in both is left alone, whatever its name.
    pub fn between(network: &Network, old: Vec<NamedPath>, new: Vec<NamedPath>) -> Self {
        let mut change = Self::new(network);
        let olds: HashSet<&Route> = old.iter().map(|path| &path.route).collect();
        let news: HashSet<&Route> = new.iter().map(|path| &path.route).collect();
        let both: HashSet<Route> = olds.intersection(&news).map(|&route| route.clone()).collect();
        let is_kept = |path: &NamedPath| both.contains(&path.route);
        for path in old {
            if is_kept(&path) {
                change.keep(network, &path.route);
                change.kept.push(path);
            } else {
                change.operations.push(Operation { kind: Kind::Remove, path });
            }
        }
        let adds = new.into_iter().filter(|path| !is_kept(path));
        change.operations.extend(adds.map(|path| Operation { kind: Kind::Add, path }));
        change
    }

    /// Leaves a path alone.
    pub(super) fn keep(&mut self, network: &Network, route: &Route) {
        self.kept_paths += 1;
        self.kept_longest = self.kept_longest.max(route.len());
        self.kept_waits.extend(route.waits());
        for switch in route.switches(network) {
            self.kept_rules[switch as usize] += 1;
        }
    }

    /// How many operations remove a path; the others add one.
    pub fn removes(&self) -> usize {
        self.operations.partition_point(|operation| operation.kind == Kind::Remove)
    }
}

/// The buffer dependency graph of everything that may be in force, and who makes each edge.
#[derive(Clone, Debug, Default)]
pub(super) struct Dependencies {
    /// By node: the slot whose buffer it is.
    pub(super) slots: Vec<u32>,
    pub(super) graph: Digraph,
    /// By edge: whether a kept path makes it.
    pub(super) is_kept: Vec<bool>,
    /// By operation: the edges that its path makes, each once.
    pub(super) edges: Vec<Vec<u32>>,
    /// Operations below this one remove.
    pub(super) removes: usize,
    /// By operation: its number in the [`Change`].
    pub(super) operation: Vec<u32>,
}

impl Dependencies {
    /// Those of a change.
    pub(super) fn of(change: &Change) -> Self {
        let waits = |operation: &Operation| operation.path.route.waits().collect::<Vec<_>>();
        let waits: Vec<Vec<(u32, u32)>> = change.operations.iter().map(waits).collect();
        let mut pairs: Vec<(u32, u32)> = waits.iter().flatten().copied().collect();
        pairs.extend(&change.kept_waits);
        pairs.sort_unstable();
        pairs.dedup();
        let number = |pair: &(u32, u32)| u32_of(pairs.partition_point(|other| other < pair));
        let mut is_kept = vec![false; pairs.len()];
        change.kept_waits.iter().for_each(|pair| is_kept[number(pair) as usize] = true);
        let edges = waits.iter().map(|waits| waits.iter().map(number).collect()).collect();
        Self::new(&pairs, is_kept, edges, change.removes(), (0..u32_of(waits.len())).collect())
    }

    fn new(
        pairs: &[(u32, u32)],
        is_kept: Vec<bool>,
        edges: Vec<Vec<u32>>,
        removes: usize,
        operation: Vec<u32>,
    ) -> Self {
        let mut slots: Vec<u32> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        slots.sort_unstable();
        slots.dedup();
        let node = |slot: u32| u32_of(slots.partition_point(|&other| other < slot));
        let (tails, heads) = pairs.iter().map(|&(a, b)| (node(a), node(b))).unzip();
        let graph = Digraph::new(slots.len(), tails, heads);
        Self { slots, graph, is_kept, edges, removes, operation }
    }

    /// What matters: the edges that lie on a cycle if all paths of both sets are in force, and the
    /// operations that make one of them. No other edge can be on any cycle.
    pub(super) fn on_cycles(&self) -> Self {
        let (_, is_on_cycle) = self.graph.on_cycles(|_| true);
        let mut renamed = vec![u32::MAX; self.graph.edges()];
        let (mut pairs, mut is_kept) = (Vec::new(), Vec::new());
        for (edge, name) in renamed.iter_mut().enumerate() {
            if is_on_cycle[edge] {
                let ends = [self.graph.tails[edge], self.graph.heads[edge]];
                *name = u32_of(pairs.len());
                pairs.push(ends.map(|node| self.slots[node as usize]).into());
                is_kept.push(self.is_kept[edge]);
            }
        }
        let (mut edges, mut operation, mut removes) = (Vec::new(), Vec::new(), 0);
        for (number, of_path) in self.edges.iter().enumerate() {
            let left: Vec<u32> = of_path.iter().map(|&edge| renamed[edge as usize]).collect();
            let left: Vec<u32> = left.into_iter().filter(|&edge| edge != u32::MAX).collect();
            if !left.is_empty() {
                removes += usize::from(number < self.removes);
                edges.push(left);
                operation.push(self.operation[number]);
            }
        }
        Self::new(&pairs, is_kept, edges, removes, operation)
    }

    /// The operations that remove, by number.
    pub(super) fn removers(&self) -> std::ops::Range<u32> {
        0..u32_of(self.removes)
    }

    /// The operations that add, by number.
    pub(super) fn adders(&self) -> std::ops::Range<u32> {
        u32_of(self.removes)..u32_of(self.edges.len())
    }

    pub(super) fn edges_of(&self, operation: u32) -> &[u32] {
        &self.edges[operation as usize]
    }

    /// By edge: whether it is there with the kept paths and those of `operations`.
    pub(super) fn present(&self, operations: impl IntoIterator<Item = u32>) -> Vec<bool> {
        let mut present = self.is_kept.clone();
        for operation in operations {
            self.edges_of(operation).iter().for_each(|&edge| present[edge as usize] = true);
        }
        present
    }

    /// Whether the kept paths and those of `operations` close no cycle.
    pub(super) fn is_acyclic(&self, operations: impl IntoIterator<Item = u32>) -> bool {
        let present = self.present(operations);
        self.graph.is_acyclic(|edge| present[edge as usize])
    }

    /// The edges of a shortest cycle that the kept paths and those of `operations` close.
    pub(super) fn cycle(&self, operations: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let present = self.present(operations);
        self.graph.shortest_cycle(|edge| present[edge as usize])
    }
}

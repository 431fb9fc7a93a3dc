//! The manuscript's rule for one cycle (section 4.3), applied to one cycle after the other, written
//! from its text alone.
//!
//! It shares no code with the planner: it has its own graph, its own cycles and its own
//! constraints. It looks at every simple cycle of the buffer dependency graph of old and new paths
//! on which no pair of edges is in order yet, and puts the cheapest pair in order: all old paths of
//! the one edge are removed before any new path of the other is added. There is no time limit. The
//! search takes exponential time, so it is for small networks.

use fabric::plan::{Change, Kind};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A buffer dependency: from one buffer to the next.
type Edge = (u32, u32);

/// Whether the rule is taken as printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Any old edge before any other new edge.
    Printed,
    /// Only old edges that no new path makes too, before new edges that no old path makes: what the
    /// manuscript's proof needs and does not say.
    Careful,
}

/// What the rule gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ruled {
    /// A remove and an add that waits for it, by their numbers in the change.
    pub pairs: Vec<(u32, u32)>,
    /// Cycles to which the rule was applied.
    pub cycles: u64,
    /// Cycles on which the rule allows no pair.
    pub unsolved: u64,
}

/// Who makes an edge.
#[derive(Clone, Debug, Default)]
struct Makers {
    old: Vec<u32>,
    new: Vec<u32>,
    is_kept: bool,
}

struct Search<'a> {
    makers: BTreeMap<Edge, Makers>,
    next: BTreeMap<u32, Vec<u32>>,
    /// What it costs to change paths at once.
    cost: &'a dyn Fn(&[u32]) -> u64,
    reading: Reading,
    /// Pairs of edges that are in order.
    ordered: BTreeSet<(Edge, Edge)>,
    ruled: Ruled,
}

/// Applies the rule until every cycle has a pair of edges in order. `cost` is the time to change a
/// set of paths.
pub fn rule(change: &Change, reading: Reading, cost: &dyn Fn(&[u32]) -> u64) -> Ruled {
    let mut makers: BTreeMap<Edge, Makers> = BTreeMap::new();
    for (number, operation) in (0..).zip(&change.operations) {
        for edge in operation.path.route.waits() {
            let of = makers.entry(edge).or_default();
            if operation.kind == Kind::Remove { of.old.push(number) } else { of.new.push(number) }
        }
    }
    for edge in change.kept.iter().flat_map(|path| path.route.waits()) {
        makers.entry(edge).or_default().is_kept = true;
    }
    let mut next: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    makers.keys().for_each(|&(from, to)| next.entry(from).or_default().push(to));
    let ruled = Ruled::default();
    let mut search = Search { makers, next, cost, reading, ordered: BTreeSet::new(), ruled };
    let nodes: Vec<u32> = search.next.keys().copied().collect();
    for start in nodes {
        let leads_back = search.leads_back(start);
        search.extend(&mut vec![start], &leads_back);
    }
    search.ruled.pairs.sort_unstable();
    search.ruled.pairs.dedup();
    search.ruled
}

impl Search<'_> {
    /// The buffers from `start` on that lead back to it.
    fn leads_back(&self, start: u32) -> BTreeSet<u32> {
        let mut found = BTreeSet::from([start]);
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for &(from, to) in self.makers.keys() {
                if to == node && from >= start && found.insert(from) {
                    queue.push_back(from);
                }
            }
        }
        found
    }

    /// Follows every way from the end of `way` back to its start, over later buffers only: so each
    /// cycle is met once, from its first buffer.
    fn extend(&mut self, way: &mut Vec<u32>, leads_back: &BTreeSet<u32>) {
        let (start, last) = (way[0], way[way.len() - 1]);
        for to in self.next.get(&last).cloned().unwrap_or_default() {
            let edges: Vec<Edge> = way.windows(2).map(|pair| (pair[0], pair[1])).collect();
            if self.is_in_order(&edges, (last, to)) {
                continue;
            }
            if to == start {
                self.solve(&[&edges[..], &[(last, to)]].concat());
                // The pair that is in order now may be on the way itself.
                if edges.iter().any(|&edge| self.is_in_order(&edges, edge)) {
                    return;
                }
            } else if leads_back.contains(&to) && !way.contains(&to) {
                way.push(to);
                self.extend(way, leads_back);
                way.pop();
            }
        }
    }

    /// Whether an edge of `edges` and `other` are in order.
    fn is_in_order(&self, edges: &[Edge], other: Edge) -> bool {
        let pairs = edges.iter().flat_map(|&edge| [(edge, other), (other, edge)]);
        pairs.into_iter().any(|pair| self.ordered.contains(&pair))
    }

    /// Puts the cheapest pair of edges of a cycle in order.
    fn solve(&mut self, cycle: &[Edge]) {
        let mut best: Option<(u64, Edge, Edge)> = None;
        for &one in cycle {
            for &other in cycle.iter().filter(|&&other| other != one) {
                let (from, to) = (&self.makers[&one], &self.makers[&other]);
                let is_careful = self.reading == Reading::Careful;
                let comes_back = !from.new.is_empty() || from.is_kept;
                let was_there = !to.old.is_empty() || to.is_kept;
                let is_unsound = is_careful && (comes_back || was_there);
                if from.old.is_empty() || to.new.is_empty() || is_unsound {
                    continue;
                }
                let cost = (self.cost)(&from.old) + (self.cost)(&to.new);
                if best.is_none_or(|(least, ..)| cost < least) {
                    best = Some((cost, one, other));
                }
            }
        }
        let Some((_, one, other)) = best else {
            self.ruled.unsolved += 1;
            return;
        };
        self.ruled.cycles += 1;
        self.ordered.insert((one, other));
        let (removes, adds) = (&self.makers[&one].old, &self.makers[&other].new);
        let pairs = removes.iter().flat_map(|&r| adds.iter().map(move |&a| (r, a)));
        self.ruled.pairs.extend(pairs);
    }
}

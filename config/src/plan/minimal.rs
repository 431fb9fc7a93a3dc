//! As few constraints as the proof can do with, within a deadline.
//!
//! The proof puts the adds in a row. An add is **clear** if its path is on no cycle among the kept
//! paths, the old paths that it does not wait for, and the adds before it in the row. If every add
//! is clear, no reachable state has a cycle: take the last add of the row that is on one; all other
//! adds on the cycle come before it, and all old paths on it are not waited for. So each add can
//! have its own set of removes to wait for, as small as keeps it clear, whatever the others have.
//!
//! The row begins with adds that need not wait at all, as many as go in. The others come in the
//! order of their times, the longest first, which is what makes the deadline possible
//! ([`super::optimum`]). Which removes are waited for is decided once for all where that is
//! possible: a set of old paths without which everything new is free of cycles.

use super::change::Dependencies;
use super::labels::Labels;
use super::optimum::{Times, is_safe_at};
use crate::compile::topology_order::AcyclicGraph;
use std::cmp::Reverse;

/// Constraints, and the row of adds that proves them.
#[derive(Clone, Debug, Default)]
pub(super) struct Constraints {
    /// A remove, and an add that waits for it.
    pub(super) pairs: Vec<(u32, u32)>,
    /// The adds, in the order of the proof.
    pub(super) row: Vec<u32>,
}

/// The constraints that let no operation end after `deadline`, which some safe order can keep.
/// `None` if that was not so.
pub(super) fn constraints(
    knot: &Dependencies,
    times: Times<'_>,
    deadline: u64,
) -> Option<Constraints> {
    let longest_first = |operations: std::ops::Range<u32>| {
        let mut sorted: Vec<u32> = operations.collect();
        sorted.sort_by_key(|&operation| (Reverse(times[operation as usize]), operation));
        sorted
    };
    let (removes, adds) = (longest_first(knot.removers()), longest_first(knot.adders()));
    // Old paths with which everything new is still free of cycles need never be waited for.
    let harmless = harmless(knot, knot.adders(), &removes);
    let mut free = harmless_among(knot, &adds);
    if !is_safe_at(knot, times, deadline, &free) {
        free.fill(false);
    }
    let mut finder = Finder::new(knot, times, deadline, &harmless);
    let (first, others): (Vec<u32>, Vec<u32>) = adds.iter().partition(|&&add| free[add as usize]);
    for add in first {
        finder.found.row.push(add);
        finder.labels.insert(add);
    }
    for group in others.chunk_by(|&a, &b| times[a as usize] == times[b as usize]) {
        // Those that need not wait come first in the row, where they are in fewest ways.
        let left: Vec<u32> = group.iter().copied().filter(|&add| !finder.goes_in(add)).collect();
        for add in left {
            finder.place(add)?;
        }
    }
    Some(finder.found)
}

/// Adds that can come first of all, with everything old in force.
fn harmless_among(knot: &Dependencies, adds: &[u32]) -> Vec<bool> {
    harmless(knot, knot.removers(), adds)
}

/// By operation: whether it goes in, in this order, with `there` in force and no cycle closed.
fn harmless(
    knot: &Dependencies,
    there: impl IntoIterator<Item = u32>,
    candidates: &[u32],
) -> Vec<bool> {
    let mut graph = AcyclicGraph::new(knot.graph.nodes());
    let mut is_there = vec![false; knot.graph.edges()];
    let mut goes_in = vec![false; knot.edges.len()];
    let mut put = |edges: &[u32]| {
        let mut new = Vec::new();
        for &edge in edges {
            if is_there[edge as usize] {
                continue;
            }
            let ends = (knot.graph.tails[edge as usize], knot.graph.heads[edge as usize]);
            if !graph.add_edge(ends.0, ends.1) {
                new.iter().for_each(|&(tail, head)| graph.remove_edge(tail, head));
                return false;
            }
            new.push(ends);
        }
        edges.iter().for_each(|&edge| is_there[edge as usize] = true);
        true
    };
    let kept: Vec<u32> = (0..).zip(&knot.is_kept).filter(|&(_, &k)| k).map(|(e, _)| e).collect();
    put(&kept);
    there.into_iter().for_each(|operation| {
        put(knot.edges_of(operation));
    });
    for &candidate in candidates {
        goes_in[candidate as usize] = put(knot.edges_of(candidate));
    }
    goes_in
}

/// Puts adds into the row.
struct Finder<'a> {
    knot: &'a Dependencies,
    times: Times<'a>,
    deadline: u64,
    /// Old paths that need not be waited for, and the others.
    harmless: Vec<u32>,
    harmful: Vec<u32>,
    /// With the harmless old paths in force, and the row so far.
    labels: Labels<'a>,
    found: Constraints,
}

impl<'a> Finder<'a> {
    fn new(knot: &'a Dependencies, times: Times<'a>, deadline: u64, is_harmless: &[bool]) -> Self {
        let mut removes: Vec<u32> = knot.removers().collect();
        removes.sort_by_key(|&remove| (Reverse(times[remove as usize]), remove));
        let (harmless, harmful): (Vec<u32>, Vec<u32>) =
            removes.into_iter().partition(|&remove| is_harmless[remove as usize]);
        let mut labels = Labels::new(knot);
        harmless.iter().for_each(|&remove| labels.insert(remove));
        let found = Constraints::default();
        Self { knot, times, deadline, harmless, harmful, labels, found }
    }

    /// Puts an add into the row if it is clear without waiting for anything.
    fn goes_in(&mut self, add: u32) -> bool {
        self.labels.insert(add);
        self.harmful.iter().for_each(|&remove| self.labels.insert(remove));
        let is_clear = self.labels.start(add);
        self.harmful.iter().for_each(|&remove| self.labels.take(remove));
        self.labels.forget();
        if is_clear {
            self.found.row.push(add);
        } else {
            self.labels.take(add);
        }
        is_clear
    }

    /// Puts an add into the row, and has it wait for as few removes as keep it clear. `None` if it
    /// cannot be clear within the deadline.
    fn place(&mut self, add: u32) -> Option<()> {
        let knot = self.knot;
        debug_assert!(knot.adders().contains(&add), "{add} adds");
        self.labels.insert(add);
        let budget = self.deadline.saturating_sub(self.times[add as usize]);
        let in_time = |remove: &u32| self.times[*remove as usize] <= budget;
        let (may_wait, too_late): (Vec<u32>, Vec<u32>) =
            self.harmful.iter().partition(|&remove| in_time(remove));
        let early: Vec<u32> = self.harmless.iter().copied().filter(|r| in_time(r)).collect();
        too_late.iter().for_each(|&remove| self.labels.insert(remove));
        let mut there = too_late;
        let mut waits = Vec::new();
        if !self.labels.start(add) {
            // What is harmless with everything new is not so with what is too late to wait for.
            early.iter().for_each(|&remove| self.labels.take(remove));
            let is_clear = self.labels.start(add);
            for &remove in &early {
                if is_clear && self.labels.try_insert(remove) {
                    continue;
                }
                waits.push(remove);
            }
            if !is_clear {
                return None;
            }
        }
        for remove in may_wait {
            if self.labels.try_insert(remove) {
                there.push(remove);
            } else {
                self.found.pairs.push((remove, add));
            }
        }
        self.labels.forget();
        there.iter().for_each(|&remove| self.labels.take(remove));
        for remove in waits {
            self.labels.insert(remove);
            self.found.pairs.push((remove, add));
        }
        self.found.row.push(add);
        Some(())
    }
}

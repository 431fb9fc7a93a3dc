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
use rayon::prelude::*;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Parts of the row that are worked on at the same time, if there are cores for it.
const CHUNKS: usize = 16;

/// Constraints, and the row of adds that proves them.
#[derive(Clone, Debug, Default)]
pub(super) struct Constraints {
    /// Barriers, whose numbers follow those of the operations.
    pub(super) barriers: usize,
    /// A remove or barrier, and an add or barrier that waits for it.
    pub(super) pairs: Vec<(u32, u32)>,
    /// The adds, in the order of the proof.
    pub(super) row: Vec<u32>,
}

/// The constraints that let no operation end after `deadline`, which some safe order can keep: for
/// each add a set of its own; or what `beyond` makes of the row if those are more than `most`
/// constraints. `None` if no order could.
pub(super) fn constraints(
    dependencies: &Dependencies,
    times: Times<'_>,
    deadline: u64,
    most: usize,
    beyond: fn(&Finder<'_>, Row) -> Option<Constraints>,
) -> Option<Constraints> {
    let longest_first = |operations: std::ops::Range<u32>| {
        let mut sorted: Vec<u32> = operations.collect();
        sorted.sort_by_key(|&operation| (Reverse(times[operation as usize]), operation));
        sorted
    };
    let (removes, adds) =
        (longest_first(dependencies.removers()), longest_first(dependencies.adders()));
    // Old paths with which everything new is still free of cycles need never be waited for.
    let harmless = harmless(dependencies, dependencies.adders(), &removes);
    // Adds that can come first of all, with everything old in force.
    let mut free = self::harmless(dependencies, dependencies.removers(), &adds);
    if !is_safe_at(dependencies, times, deadline, &free) {
        free.fill(false);
    }
    let (first, others): (Vec<u32>, Vec<u32>) = adds.iter().partition(|&&add| free[add as usize]);
    let finder = Finder { dependencies, times, deadline, is_harmless: &harmless };
    let row = if first.is_empty() { finder.sort(&others) } else { Row::new(first, others) };
    match finder.place_all(&row, most)? {
        Some(pairs) => Some(Constraints { barriers: 0, pairs, row: row.adds }),
        None => beyond(&finder, row),
    }
}

/// By operation: whether it goes in, in this order, with `there` in force and no cycle closed.
fn harmless(
    dependencies: &Dependencies,
    there: impl IntoIterator<Item = u32>,
    candidates: &[u32],
) -> Vec<bool> {
    let mut graph = AcyclicGraph::new(dependencies.graph.nodes());
    let mut is_there = vec![false; dependencies.graph.edges()];
    let mut goes_in = vec![false; dependencies.edges.len()];
    let mut put = |edges: &[u32]| {
        let mut new = Vec::new();
        for &edge in edges {
            if is_there[edge as usize] {
                continue;
            }
            let ends =
                (dependencies.graph.tails[edge as usize], dependencies.graph.heads[edge as usize]);
            if !graph.add_edge(ends.0, ends.1) {
                new.iter().for_each(|&(tail, head)| graph.remove_edge(tail, head));
                return false;
            }
            new.push(ends);
        }
        edges.iter().for_each(|&edge| is_there[edge as usize] = true);
        true
    };
    let kept: Vec<u32> =
        (0..).zip(&dependencies.is_kept).filter(|&(_, &k)| k).map(|(e, _)| e).collect();
    put(&kept);
    there.into_iter().for_each(|operation| {
        put(dependencies.edges_of(operation));
    });
    for &candidate in candidates {
        goes_in[candidate as usize] = put(dependencies.edges_of(candidate));
    }
    goes_in
}

/// Finds what each add must wait for.
pub(super) struct Finder<'a> {
    pub(super) dependencies: &'a Dependencies,
    times: Times<'a>,
    deadline: u64,
    /// By operation: whether it is an old path that need not be waited for.
    is_harmless: &'a [bool],
}

/// The adds in the order of the proof.
#[derive(Default)]
pub(super) struct Row {
    pub(super) adds: Vec<u32>,
    /// Whether each has to wait for something.
    pub(super) waits: Vec<bool>,
}

impl Row {
    /// First those that wait for nothing, then those that do.
    fn new(first: Vec<u32>, others: Vec<u32>) -> Self {
        let mut row = Self::default();
        row.append(first, others);
        row
    }

    fn append(&mut self, first: Vec<u32>, others: Vec<u32>) {
        self.waits.extend(first.iter().map(|_| false));
        self.waits.extend(others.iter().map(|_| true));
        self.adds.extend(first);
        self.adds.extend(others);
    }
}

/// The paths that are in force when an add is placed: the harmless old ones, and the row so far.
pub(super) struct Scene<'a> {
    pub(super) labels: Labels<'a>,
    pub(super) harmless: Vec<u32>,
    pub(super) harmful: Vec<u32>,
}

impl<'a> Finder<'a> {
    pub(super) fn scene(&self, row: &[u32]) -> Scene<'a> {
        let mut removes: Vec<u32> = self.dependencies.removers().collect();
        removes.sort_by_key(|&remove| (Reverse(self.times[remove as usize]), remove));
        let (harmless, harmful): (Vec<u32>, Vec<u32>) =
            removes.into_iter().partition(|&remove| self.is_harmless[remove as usize]);
        let mut labels = Labels::new(self.dependencies);
        harmless.iter().chain(row).for_each(|&operation| labels.insert(operation));
        Scene { labels, harmless, harmful }
    }

    /// Where the adds that could go first of all would make others late, those of one time are
    /// tried together: first comes who need not wait.
    fn sort(&self, adds: &[u32]) -> Row {
        let mut row = Row::default();
        let mut scene = self.scene(&[]);
        for group in adds.chunk_by(|&a, &b| self.times[a as usize] == self.times[b as usize]) {
            let (first, others): (Vec<u32>, Vec<u32>) =
                group.iter().partition(|&&add| scene.goes_in(add));
            others.iter().for_each(|&add| scene.labels.insert(add));
            row.append(first, others);
        }
        row
    }

    /// Whether an operation that waits for `remove` and then takes as long as `add` keeps the
    /// deadline.
    pub(super) fn is_in_time(&self, remove: u32, add: u32) -> bool {
        let budget = self.deadline.saturating_sub(self.times[add as usize]);
        self.times[remove as usize] <= budget
    }

    /// Finds what each add of the row waits for. That depends on those before it in the row, but
    /// not on what they wait for: many are placed at the same time. The inner `None`: there are
    /// more than `most` constraints.
    fn place_all(&self, row: &Row, most: usize) -> Option<Option<Vec<(u32, u32)>>> {
        let Row { adds, waits } = row;
        let chunk = adds.len().div_ceil(CHUNKS).max(1);
        let count = AtomicUsize::new(0);
        let found: Option<Vec<Vec<(u32, u32)>>> = (0..adds.len())
            .into_par_iter()
            .step_by(chunk)
            .map(|from| {
                let mut scene = self.scene(&adds[..from]);
                let mut pairs = Vec::new();
                for at in from..adds.len().min(from + chunk) {
                    if !waits[at] {
                        scene.labels.insert(adds[at]);
                        continue;
                    }
                    let before = pairs.len();
                    self.place(&mut scene, adds[at], &mut pairs)?;
                    let new = pairs.len() - before;
                    if count.fetch_add(new, Ordering::Relaxed) + new > most {
                        break;
                    }
                }
                Some(pairs)
            })
            .collect();
        let pairs = found?.concat();
        Some((count.into_inner() <= most).then_some(pairs))
    }

    /// Puts an add in force, and has it wait for as few removes as keep it clear. `None` if it
    /// cannot be clear within the deadline.
    fn place(&self, scene: &mut Scene<'_>, add: u32, pairs: &mut Vec<(u32, u32)>) -> Option<()> {
        let Scene { labels, harmless, harmful } = scene;
        labels.insert(add);
        let in_time = |remove: u32| self.is_in_time(remove, add);
        let mut there: Vec<u32> = harmful.iter().copied().filter(|&r| !in_time(r)).collect();
        there.iter().for_each(|&remove| labels.insert(remove));
        let mut left_out = Vec::new();
        if !labels.start(add) {
            // What is harmless with everything new is not so with what is too late to wait for.
            let early: Vec<u32> = harmless.iter().copied().filter(|&r| in_time(r)).collect();
            early.iter().for_each(|&remove| labels.take(remove));
            if !labels.start(add) {
                return None;
            }
            left_out = early;
            left_out.retain(|&remove| !labels.try_insert(remove));
        }
        for &remove in harmful.iter().filter(|&&remove| in_time(remove)) {
            if labels.try_insert(remove) {
                there.push(remove);
            } else {
                pairs.push((remove, add));
            }
        }
        labels.forget();
        there.iter().for_each(|&remove| labels.take(remove));
        for remove in left_out {
            labels.insert(remove);
            pairs.push((remove, add));
        }
        Some(())
    }
}

impl Scene<'_> {
    /// Puts an add in force if it is clear without waiting for anything.
    fn goes_in(&mut self, add: u32) -> bool {
        let Self { labels, harmful, .. } = self;
        labels.insert(add);
        harmful.iter().for_each(|&remove| labels.insert(remove));
        let is_clear = labels.start(add);
        harmful.iter().for_each(|&remove| labels.take(remove));
        labels.forget();
        if !is_clear {
            labels.take(add);
        }
        is_clear
    }
}

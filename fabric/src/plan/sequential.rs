//! One rule at a time on each switch: how soon a change can be complete at all.
//!
//! Here an operation has no time of its own, as the rules of others are in its way. Every order is
//! bounded by the busiest switch; small changes are solved exactly.
//!
//! **Exactly**, the optimum is the least over all safe orders of the best schedule of each, and
//! only orders that no constraint can be left out of count. For one order: on each switch removes
//! come before adds, since nothing waits for an add; and the removes that something waits for come
//! in one order on all switches, that of their completion (permutation schedules are dominant where
//! the parts of a job run at the same time: Mastrolilli et al., "Minimizing the sum of weighted
//! completion times in a concurrent open shop", 2010). So all permutations are tried. What waits
//! for nothing fills the gaps.

use super::change::{Change, Dependencies};
use super::check::{self, Verdict};
use super::reduce::waits_of;
use crate::network::Network;

/// Pairs of a remove and an add of which every set is tried.
const PAIRS_MAX: usize = 9;

/// The best order of a small change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Optimum {
    /// When it is complete, in rules.
    pub(super) rules: u64,
    pub(super) pairs: Vec<(u32, u32)>,
}

/// Rules by switch, of all operations, and the switches of those that can be on a cycle.
pub(super) struct Load {
    /// By switch: rules of all operations.
    all: Vec<u64>,
    /// By operation of the dependencies: its switches.
    switches: Vec<Vec<usize>>,
}

impl Load {
    pub(super) fn new(network: &Network, change: &Change, dependencies: &Dependencies) -> Self {
        let of = |number: usize| {
            let route = &change.operations[number].path.route;
            route.switches(network).map(|switch| switch as usize).collect::<Vec<usize>>()
        };
        let mut all = vec![0; network.switches()];
        (0..change.operations.len()).flat_map(of).for_each(|switch| all[switch] += 1);
        let switches = dependencies.operation.iter().map(|&number| of(number as usize)).collect();
        Self { all, switches }
    }

    /// By switch: how many rules these operations have there.
    fn count(&self, operations: impl Iterator<Item = u32>) -> Vec<u64> {
        let mut count = vec![0; self.all.len()];
        let switches = operations.flat_map(|operation| &self.switches[operation as usize]);
        switches.for_each(|&switch| count[switch] += 1);
        count
    }

    /// What no safe order can be below, in rules. An add that closes a cycle with the old paths has
    /// to wait for a remove, so none of its rules can be the first; and none of the rules of a
    /// remove that closes one with the new paths can be the last.
    pub(super) fn lower_bound(&self, dependencies: &Dependencies) -> u64 {
        let waits = |add: &u32| !dependencies.is_acyclic(dependencies.removers().chain([*add]));
        let is_awaited = |r: &u32| !dependencies.is_acyclic(dependencies.adders().chain([*r]));
        let bound = [
            self.count(dependencies.adders().filter(waits)),
            self.count(dependencies.removers().filter(is_awaited)),
        ];
        let after_one = bound.iter().flatten().filter(|&&rules| rules > 0).map(|rules| rules + 1);
        // Something is on a cycle, so some add waits for some remove.
        let least = if dependencies.edges.is_empty() { 0 } else { 2 };
        after_one.chain(self.all.iter().copied()).max().unwrap_or(0).max(least)
    }

    /// The best order; `None` if there are too many to try.
    pub(super) fn optimum(&self, dependencies: &Dependencies) -> Option<Optimum> {
        let adds = dependencies.adders();
        let with = |remove| adds.clone().map(move |add| (remove, add));
        let all: Vec<(u32, u32)> = dependencies.removers().flat_map(with).collect();
        if all.len() > PAIRS_MAX {
            return None;
        }
        let mut sets: Vec<u32> = (0..1 << all.len()).collect();
        sets.sort_by_key(|set| set.count_ones());
        let mut safe: Vec<u32> = Vec::new();
        let mut best: Option<Optimum> = None;
        for set in sets {
            let is_larger = |&smaller: &u32| set | smaller == set;
            if safe.iter().any(is_larger) {
                continue;
            }
            let chosen = (0..).zip(&all).filter(|&(at, _)| set >> at & 1 == 1);
            let pairs: Vec<(u32, u32)> = chosen.map(|(_, &pair)| pair).collect();
            if check::check(dependencies, &waits_of(dependencies, &pairs), None) == Verdict::Safe {
                safe.push(set);
                let rules = self.best_schedule(dependencies, &pairs);
                if best.as_ref().is_none_or(|best| rules < best.rules) {
                    best = Some(Optimum { rules, pairs });
                }
            }
        }
        best
    }

    /// When the best schedule of an order of few removes is complete.
    pub(super) fn best_schedule(&self, dependencies: &Dependencies, pairs: &[(u32, u32)]) -> u64 {
        let mut awaited: Vec<u32> = pairs.iter().map(|pair| pair.0).collect();
        awaited.sort_unstable();
        awaited.dedup();
        let mut best = u64::MAX;
        permutations(&mut awaited, 0, &mut |row| {
            best = best.min(self.schedule(dependencies, pairs, row));
        });
        best
    }

    /// The same if the removes that are awaited come in the order of `row` on every switch.
    fn schedule(&self, dependencies: &Dependencies, pairs: &[(u32, u32)], row: &[u32]) -> u64 {
        let mut busy = vec![0_u64; self.all.len()];
        let mut ends = vec![0_u64; dependencies.edges.len()];
        for &remove in row {
            let mut end = 0;
            for &switch in &self.switches[remove as usize] {
                busy[switch] += 1;
                end = end.max(busy[switch]);
            }
            ends[remove as usize] = end;
        }
        let begins = |add: u32| {
            let awaited = pairs.iter().filter(|pair| pair.1 == add);
            awaited.map(|pair| ends[pair.0 as usize]).max()
        };
        let mut waiting: Vec<(u64, u32)> =
            dependencies.adders().filter_map(|add| Some((begins(add)?, add))).collect();
        waiting.sort_unstable();
        for (begin, add) in waiting {
            for &switch in &self.switches[add as usize] {
                busy[switch] = busy[switch].max(begin) + 1;
            }
        }
        // All that waits for nothing fills what is free, or comes last.
        busy.iter().zip(&self.all).map(|(&busy, &all)| busy.max(all)).max().unwrap_or(0)
    }
}

/// Calls `each` with every order of `items`, of which those before `from` stay.
fn permutations(items: &mut [u32], from: usize, each: &mut dyn FnMut(&[u32])) {
    if from == items.len() {
        return each(items);
    }
    for at in from..items.len() {
        items.swap(from, at);
        permutations(items, from + 1, each);
        items.swap(from, at);
    }
}

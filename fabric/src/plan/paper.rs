//! The reconfiguration paper's method for a single cycle (section 4.3), and what it takes to use it
//! on more.
//!
//! Of a cycle, let one old edge go before one different new edge comes: every path of the old
//! configuration that makes the one is removed before any path of the new one that makes the other
//! is added. Of all such pairs of edges take one that costs least.
//!
//! The rule has a gap. If a new path makes the old edge too, it comes back; if an old path makes
//! the new edge too, it is there from the start. The second of the two orders that the
//! reconfiguration paper gives for its Fig. 6 removes p3 before it adds p4, but p2 makes the edge
//! of p3 as well: p1, p2 and p4 close the cycle. [`Choice::is_sound`] tells such pairs; where many
//! cycles overlap, only sound ones are used here, and there always is one on a cycle.

use super::change::{Dependencies, Kind};
use super::check::{self, Verdict, makers};
use super::optimum::Times;
use super::reduce;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// A pair of edges of a cycle, one to go before the other comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// Every old path that makes the one.
    pub(super) removes: Vec<u32>,
    /// Every new path that makes the other.
    pub(super) adds: Vec<u32>,
    /// The time to remove the former and then add the latter.
    pub(super) cost: u64,
    /// Whether only old paths make the one, and only new paths the other.
    pub(super) is_sound: bool,
}

/// Every pair of edges of `cycle` that the rule allows, the cheapest first.
pub(super) fn choices(dependencies: &Dependencies, cycle: &[u32], times: Times<'_>) -> Vec<Choice> {
    let [olds, news] = [Kind::Remove, Kind::Add].map(|kind| makers(dependencies, cycle, kind));
    let longest = |of: &[u32]| of.iter().map(|&one| times[one as usize]).max().unwrap_or(0);
    let mut choices = Vec::new();
    for (one, removes) in olds.iter().enumerate().filter(|(_, removes)| !removes.is_empty()) {
        for (other, adds) in news.iter().enumerate().filter(|(_, adds)| !adds.is_empty()) {
            if one == other {
                continue;
            }
            let is_kept = |at: usize| dependencies.is_kept[cycle[at] as usize];
            let comes_back = !news[one].is_empty() || is_kept(one);
            let was_there = !olds[other].is_empty() || is_kept(other);
            choices.push(Choice {
                removes: removes.clone(),
                adds: adds.clone(),
                cost: longest(removes) + longest(adds),
                is_sound: !comes_back && !was_there,
            });
        }
    }
    choices.sort_by_key(|choice| choice.cost);
    choices
}

/// The optimal orders for one cycle, as the reconfiguration paper has them.
#[cfg(test)]
pub(super) fn single_cycle(
    dependencies: &Dependencies,
    cycle: &[u32],
    times: Times<'_>,
) -> Vec<Choice> {
    let mut choices = choices(dependencies, cycle, times);
    let least = choices.first().map(|choice| choice.cost);
    choices.retain(|choice| Some(choice.cost) == least);
    choices
}

/// The constraints of the rule, applied to one cycle after the other until the checker finds no
/// more. `None` if that takes longer than `patience`.
pub(super) fn cycle_by_cycle(
    dependencies: &Dependencies,
    times: Times<'_>,
    patience: Duration,
) -> Option<Vec<(u32, u32)>> {
    let begun = Instant::now();
    let mut waits = reduce::waits_of(dependencies, &[]);
    let mut pairs = BTreeSet::new();
    loop {
        let cycle = match check::check(dependencies, &waits, None) {
            Verdict::Safe => return Some(pairs.into_iter().collect()),
            Verdict::Cyclic(cycle) | Verdict::Unproven(cycle) => cycle,
        };
        let is_new = |choice: &Choice| {
            let mut all =
                choice.adds.iter().flat_map(|&a| choice.removes.iter().map(move |&r| (r, a)));
            choice.is_sound && all.any(|pair| !pairs.contains(&pair))
        };
        let choice = choices(dependencies, &cycle, times).into_iter().find(is_new)?;
        for &add in &choice.adds {
            let before = waits.get(&add).map(|removes| &removes[..]).unwrap_or_default();
            let removes: BTreeSet<u32> = before.iter().chain(&choice.removes).copied().collect();
            waits.insert(add, removes.into_iter().collect());
            pairs.extend(choice.removes.iter().map(|&remove| (remove, add)));
        }
        if begun.elapsed() > patience {
            return None;
        }
    }
}

//! The shortest completion that any safe order can have, exactly, for any number of cycles.
//!
//! Let each operation take its own time, and let all run at once but for the order. An order with
//! completion T only ever lets an add wait for a remove if their times sum to T at the most. More
//! constraints mean fewer reachable states. So if any order with completion T is safe, then so is
//! the one that has *every* such constraint. In that one, an add waits for all removes of up to
//! T less its own time: who takes longer waits for less, and the largest reachable states form a
//! chain, one for each time that an add can take. Whether all are acyclic is a search of the graph
//! for each, and the least T is found by bisection.

use super::change::Dependencies;
use std::collections::BTreeSet;

/// The times of the operations of `dependencies`, by number.
pub(super) type Times<'a> = &'a [u64];

/// Whether the order with every constraint of up to `deadline` passes through no cycle, if the adds
/// of `free` wait for nothing.
pub(super) fn is_safe_at(
    dependencies: &Dependencies,
    times: Times<'_>,
    deadline: u64,
    free: &[bool],
) -> bool {
    let time = |operation: u32| times[operation as usize];
    let is_free = |add: u32| free[add as usize];
    let levels: BTreeSet<u64> = dependencies.adders().filter(|&a| !is_free(a)).map(time).collect();
    let with = |level: u64| {
        let left =
            dependencies.removers().filter(move |&r| time(r).saturating_add(level) > deadline);
        let added = dependencies.adders().filter(move |&a| is_free(a) || time(a) >= level);
        left.chain(added)
    };
    // Before the first add that waits, everything old is there.
    let at_first = dependencies.removers().chain(dependencies.adders().filter(|&a| is_free(a)));
    dependencies.is_acyclic(at_first)
        && levels.into_iter().rev().all(|level| dependencies.is_acyclic(with(level)))
}

/// The shortest completion of any safe order. It is `least` at the least: what the operations take
/// that lie on no cycle.
pub(super) fn shortest(dependencies: &Dependencies, times: Times<'_>, least: u64) -> u64 {
    let distinct = |operations: std::ops::Range<u32>| {
        operations.map(|operation| times[operation as usize]).collect::<BTreeSet<u64>>()
    };
    let (removes, adds) = (distinct(dependencies.removers()), distinct(dependencies.adders()));
    let sums = removes.iter().flat_map(|r| adds.iter().map(move |a| r.saturating_add(*a)));
    let deadlines: BTreeSet<u64> = sums.filter(|&sum| sum > least).chain([least]).collect();
    let deadlines: Vec<u64> = deadlines.into_iter().collect();
    let none = vec![false; times.len()];
    // With the last of them every remove comes before every add.
    let at =
        deadlines.partition_point(|&deadline| !is_safe_at(dependencies, times, deadline, &none));
    deadlines[at.min(deadlines.len() - 1)]
}

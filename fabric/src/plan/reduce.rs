//! Drops constraints as long as the checker still proves what is left.

use super::change::Dependencies;
use super::check::{self, Verdict, Waits};
use super::optimum::Times;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Edges looked at, about, before it is too much work.
const WORK_MAX: usize = 20_000_000;

/// `pairs` without those that the proof can do without, and whether each was tried. The most
/// expensive go first. One pass is enough: with fewer constraints nothing becomes easier to prove.
pub(super) fn reduce(
    dependencies: &Dependencies,
    times: Times<'_>,
    pairs: Vec<(u32, u32)>,
) -> (Vec<(u32, u32)>, bool) {
    let mut waits = waits_of(dependencies, &pairs);
    let groups = waits.values().filter(|removes| !removes.is_empty()).count();
    let edges = dependencies.graph.edges() + dependencies.edges.len();
    if pairs.len().saturating_mul(groups).saturating_mul(edges) > WORK_MAX {
        return (pairs, false);
    }
    let mut tried = pairs;
    let cost = |&(remove, add): &(u32, u32)| times[remove as usize] + times[add as usize];
    tried.sort_by_key(|pair| (Reverse(cost(pair)), *pair));
    let mut needed = Vec::new();
    for (remove, add) in tried {
        let Some(removes) = waits.get(&add) else { continue };
        let others = removes.iter().copied().filter(|&other| other != remove).collect();
        let Some(before) = waits.insert(add, others) else { continue };
        if check::check(dependencies, &waits, None) != Verdict::Safe {
            needed.push((remove, add));
            waits.insert(add, before);
        }
    }
    (needed, true)
}

/// By add: the removes that it waits for because of `pairs`.
pub(super) fn waits_of(dependencies: &Dependencies, pairs: &[(u32, u32)]) -> Waits {
    let mut waits: BTreeMap<u32, Vec<u32>> =
        dependencies.adders().map(|add| (add, Vec::new())).collect();
    for &(remove, add) in pairs {
        waits.entry(add).or_default().push(remove);
    }
    let sorted = |(add, mut removes): (u32, Vec<u32>)| {
        removes.sort_unstable();
        removes.dedup();
        (add, removes.into())
    };
    waits.into_iter().map(sorted).collect()
}

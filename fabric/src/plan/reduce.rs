//! Drops constraints as long as the checker still proves what is left.

use super::change::Dependencies;
use super::check::{self, Verdict};
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
        let Some(removes) = waits.get_mut(&add) else { continue };
        removes.retain(|&other| other != remove);
        if check::check(dependencies, &waits, None) != Verdict::Safe {
            needed.push((remove, add));
            if let Some(removes) = waits.get_mut(&add) {
                removes.push(remove);
                removes.sort_unstable();
            }
        }
    }
    (needed, true)
}

/// By add: the removes that it waits for, sorted.
pub(super) fn waits_of(
    dependencies: &Dependencies,
    pairs: &[(u32, u32)],
) -> BTreeMap<u32, Vec<u32>> {
    let mut waits: BTreeMap<u32, Vec<u32>> =
        dependencies.adders().map(|add| (add, Vec::new())).collect();
    for &(remove, add) in pairs {
        waits.entry(add).or_default().push(remove);
    }
    waits.values_mut().for_each(|removes| removes.sort_unstable());
    waits
}

//! The checker: whether an order, of any origin, passes through no cycle. It shares nothing with
//! the planner but the graph.
//!
//! A state is reachable if it is closed under the order, and then so is everything in between: an
//! operation that has begun but not ended counts as an old path that is still there, or a new one
//! that is there already. So a cycle is reachable exactly if each of its edges can be given a path
//! such that no add among them waits, over any number of steps, for a remove among them.
//!
//! Choosing those paths is hard in general (it is finding a path that avoids forbidden pairs), so
//! the proof is a sieve. An add is clear if it is on no cycle among the kept paths, the old paths
//! that it does not wait for and the adds that are not clear yet; whatever is clear is on no
//! reachable cycle and falls through. If all do, the order is safe. On what remains, if it is
//! small, every set of adds is tried, which is exact; else the order counts as not proven.

use super::change::{Dependencies, Kind};
use super::order::{Order, OrderError};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Adds of which every set is tried.
const EXACT_MAX: usize = 12;
/// Parts of a row that are checked at the same time, if there are cores for it.
const CHUNKS: usize = 16;

/// What the checker found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No reachable state has a cycle.
    Safe,
    /// A state with this cycle is reachable: its edges, and the operations that make them.
    Cyclic(Vec<u32>),
    /// Neither could be shown. The cycle is one that the proof does not exclude.
    Unproven(Vec<u32>),
}

/// By add: the removes that it waits for, sorted. Adds behind one barrier share a list.
pub(super) type Waits = BTreeMap<u32, Arc<[u32]>>;

/// By add of `dependencies`: the removes of `dependencies` that must be done before it begins.
pub(super) fn waited_for(dependencies: &Dependencies, order: &Order) -> Result<Waits, OrderError> {
    let mut number = vec![u32::MAX; order.operations() + order.barriers()];
    for (of_knot, &operation) in (0..).zip(&dependencies.operation) {
        number[operation as usize] = of_knot;
    }
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); number.len()];
    order.pairs().iter().for_each(|&(b, a)| before[a as usize].push(b));
    let none: Arc<[u32]> = Arc::from([]);
    // By operation and barrier: the removes before it, and itself if it is one.
    let mut closed = vec![Arc::clone(&none); number.len()];
    let mut waits = Waits::new();
    for node in order.sorted()? {
        let at = node as usize;
        let removes = match before[at].as_slice() {
            [] => Arc::clone(&none),
            [only] => Arc::clone(&closed[*only as usize]),
            several => {
                let all = several.iter().flat_map(|&one| closed[one as usize].iter().copied());
                let mut all: Vec<u32> = all.collect();
                all.sort_unstable();
                all.dedup();
                all.into()
            }
        };
        closed[at] = removes;
        if dependencies.removers().contains(&number[at]) {
            let mut with_itself = [&closed[at][..], &[number[at]]].concat();
            with_itself.sort_unstable();
            closed[at] = with_itself.into();
        } else if dependencies.adders().contains(&number[at]) {
            waits.insert(number[at], Arc::clone(&closed[at]));
        }
    }
    Ok(waits)
}

/// Adds that wait for the same removes.
struct Group<'a> {
    removes: &'a [u32],
    adds: Vec<u32>,
}

/// The sieve, for adds that wait as `waits` says. `row` is an order of adds that is worth a try:
/// the first to be taken out is the last of it.
pub(super) fn check(dependencies: &Dependencies, waits: &Waits, row: Option<&[u32]>) -> Verdict {
    if row.is_some_and(|row| row_holds(dependencies, waits, row)) {
        return Verdict::Safe;
    }
    let left = sieve(dependencies, waits);
    if left.is_empty() {
        return Verdict::Safe;
    }
    if left.len() <= EXACT_MAX {
        return exact(dependencies, waits, &left);
    }
    let cycle =
        Counts::new(dependencies, &left).cycle_through(dependencies, &waits[&left[0]], left[0]);
    Verdict::Unproven(cycle)
}

/// Whether every add of the row is clear among those before it. Neighbors in the row that wait for
/// the same are judged together: if one is on a cycle, so is the last of them on it.
fn row_holds(dependencies: &Dependencies, waits: &Waits, row: &[u32]) -> bool {
    let mut seen = row.to_vec();
    seen.sort_unstable();
    seen.dedup();
    if seen.len() != waits.len() || seen.len() != row.len() {
        return false;
    }
    let mut runs: Vec<(usize, &[u32])> = Vec::new();
    for (at, add) in row.iter().enumerate() {
        let Some(removes) = waits.get(add) else { return false };
        match runs.last_mut() {
            Some((end, same)) if *same == &removes[..] => *end = at + 1,
            _ => runs.push((at + 1, removes)),
        }
    }
    let starts = [0].into_iter().chain(runs.iter().map(|run| run.0));
    let runs: Vec<(usize, usize, &[u32])> =
        starts.zip(&runs).map(|(start, &(end, removes))| (start, end, removes)).collect();
    let chunk = runs.len().div_ceil(CHUNKS).max(1);
    runs.par_chunks(chunk).all(|runs| {
        let Some(&(first, ..)) = runs.first() else { return true };
        let mut counts = Counts::new(dependencies, &row[..first]);
        runs.iter().all(|&(start, end, removes)| {
            row[start..end].iter().for_each(|&add| counts.add(dependencies, add));
            counts.stuck(dependencies, removes, &row[start..end]).is_empty()
        })
    })
}

/// The adds that do not fall through the sieve, sorted.
fn sieve(dependencies: &Dependencies, waits: &Waits) -> Vec<u32> {
    let mut by_removes: HashMap<&[u32], Vec<u32>> = HashMap::new();
    for (&add, removes) in waits {
        by_removes.entry(&removes[..]).or_default().push(add);
    }
    let mut groups: Vec<Group<'_>> =
        by_removes.into_iter().map(|(removes, adds)| Group { removes, adds }).collect();
    // Who waits for most is most likely to be clear.
    groups.sort_by_key(|group| (group.removes.len(), group.adds[0]));
    let all: Vec<u32> = waits.keys().copied().collect();
    let mut counts = Counts::new(dependencies, &all);
    loop {
        let before: usize = groups.iter().map(|group| group.adds.len()).sum();
        for group in groups.iter_mut().rev() {
            let stuck = counts.stuck(dependencies, group.removes, &group.adds);
            let clear = group.adds.extract_if(.., |add| !stuck.contains(add));
            let clear: Vec<u32> = clear.collect();
            clear.into_iter().for_each(|add| counts.remove(dependencies, add));
        }
        groups.retain(|group| !group.adds.is_empty());
        let left: usize = groups.iter().map(|group| group.adds.len()).sum();
        if left == before || left == 0 {
            let mut left: Vec<u32> = groups.into_iter().flat_map(|group| group.adds).collect();
            left.sort_unstable();
            return left;
        }
    }
}

/// By edge: how many paths make it, of the kept ones, the old ones, and some adds.
#[derive(Clone)]
struct Counts(Vec<u32>);

impl Counts {
    fn new(dependencies: &Dependencies, adds: &[u32]) -> Self {
        let mut counts =
            Self(dependencies.is_kept.iter().map(|&is_kept| u32::from(is_kept)).collect());
        for operation in dependencies.removers().chain(adds.iter().copied()) {
            dependencies.edges_of(operation).iter().for_each(|&edge| counts.0[edge as usize] += 1);
        }
        counts
    }

    fn add(&mut self, dependencies: &Dependencies, operation: u32) {
        dependencies.edges_of(operation).iter().for_each(|&edge| self.0[edge as usize] += 1);
    }

    fn remove(&mut self, dependencies: &Dependencies, operation: u32) {
        dependencies.edges_of(operation).iter().for_each(|&edge| self.0[edge as usize] -= 1);
    }

    /// Which of `adds` are on a cycle when `removes` are done.
    fn stuck(&self, dependencies: &Dependencies, removes: &[u32], adds: &[u32]) -> Vec<u32> {
        let mut there = self.clone();
        removes.iter().for_each(|&remove| there.remove(dependencies, remove));
        let ends = |edge: u32| {
            [dependencies.graph.tails[edge as usize], dependencies.graph.heads[edge as usize]]
        };
        let roots =
            adds.iter().flat_map(|&add| dependencies.edges_of(add)).map(|&edge| ends(edge)[0]);
        let component = dependencies.graph.components(roots, |edge| there.0[edge as usize] > 0);
        let is_stuck = |add: &u32| {
            dependencies.edges_of(*add).iter().any(|&edge| {
                let [tail, head] = ends(edge).map(|node| component[node as usize]);
                tail == head
            })
        };
        adds.iter().copied().filter(is_stuck).collect()
    }

    /// A cycle that the path of `add` is on when `removes` are done.
    fn cycle_through(&self, dependencies: &Dependencies, removes: &[u32], add: u32) -> Vec<u32> {
        let mut there = self.clone();
        removes.iter().for_each(|&remove| there.remove(dependencies, remove));
        let around = |&edge: &u32| {
            let (tail, head) =
                (dependencies.graph.tails[edge as usize], dependencies.graph.heads[edge as usize]);
            let way = dependencies.graph.way(head, tail, |edge| there.0[edge as usize] > 0);
            (!way.is_empty()).then(|| [vec![edge], way].concat())
        };
        let cycles = dependencies.edges_of(add).iter().filter_map(around);
        cycles.min_by_key(Vec::len).unwrap_or_default()
    }
}

/// Every set of the adds that are left, each with as few removes done as it can be reached with.
fn exact(dependencies: &Dependencies, waits: &Waits, adds: &[u32]) -> Verdict {
    for set in 0_u32..1 << adds.len() {
        let chosen = (0..).zip(adds).filter(|&(at, _)| set >> at & 1 == 1).map(|(_, &add)| add);
        let chosen: Vec<u32> = chosen.collect();
        let is_done =
            |remove: &u32| chosen.iter().any(|add| waits[add].binary_search(remove).is_ok());
        let left: Vec<u32> = dependencies.removers().filter(|remove| !is_done(remove)).collect();
        let there = || left.iter().chain(&chosen).copied();
        if !dependencies.is_acyclic(there()) {
            return Verdict::Cyclic(dependencies.cycle(there()));
        }
    }
    Verdict::Safe
}

/// For each edge of a cycle the operations that make it, of those a state may have.
pub(super) fn makers(dependencies: &Dependencies, cycle: &[u32], kind: Kind) -> Vec<Vec<u32>> {
    let operations = match kind {
        Kind::Remove => dependencies.removers(),
        Kind::Add => dependencies.adders(),
    };
    let makers = |edge: &u32| {
        operations.clone().filter(|&one| dependencies.edges_of(one).contains(edge)).collect()
    };
    cycle.iter().map(makers).collect()
}

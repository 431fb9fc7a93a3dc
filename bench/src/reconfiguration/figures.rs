//! The manuscript's figures that state a number or a property, counted.

use super::cases::{self, Case};
use fabric::plan::{Change, Kind, Model, Order, PlanError, Planner, Progress, Timing};
use std::collections::BTreeSet;
use std::error::Error;

/// Fig. 5: a configuration dependency graph of four operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fig5 {
    /// Orders in which all operations can be done.
    pub sortings: usize,
    /// Configuration paths: from an operation that waits for nothing to one that nothing waits for.
    pub paths: usize,
}

/// Counts both: o1 before o3 and o4, o2 before o3.
pub fn fig_5() -> Fig5 {
    let order = Order::new(4, vec![(0, 2), (0, 3), (1, 2)]);
    let mut ready = Vec::new();
    let progress = Progress::new(&order, &mut ready);
    let paths = ready.iter().map(|&first| paths_from(&order, first)).sum();
    Fig5 { sortings: sortings(&progress, &ready), paths }
}

fn sortings(progress: &Progress<'_>, ready: &[u32]) -> usize {
    if ready.is_empty() {
        return 1;
    }
    let after = |&next: &u32| {
        let mut left: Vec<u32> = ready.iter().copied().filter(|&other| other != next).collect();
        let mut progress = progress.clone();
        progress.done(next, &mut left);
        sortings(&progress, &left)
    };
    ready.iter().map(after).sum()
}

fn paths_from(order: &Order, operation: u32) -> usize {
    let after = order.after(operation);
    if after.is_empty() { 1 } else { after.iter().map(|&next| paths_from(order, next)).sum() }
}

/// A path, by its switches.
type SwitchPath = Vec<usize>;

/// A spanning tree of four switches, by its links.
type Tree = Vec<(usize, usize)>;

/// What is known of Fig. 3. Its drawings are lost; the text says what the trees have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fig3 {
    /// Quadruples of spanning trees that have every property of the text.
    pub quadruples: usize,
    /// Links that all of their networks have, and links that each has.
    pub common_links: BTreeSet<(usize, usize)>,
    /// Quadruples whose old or new paths close a cycle by themselves: the text says none do.
    pub cyclic_sides: usize,
    /// Quadruples for which the planner's order is proven and has fewer constraints than scheme 2.
    pub planned: usize,
    /// Constraints of the three schemes of Fig. 4 and of the planner, for the plainest quadruple.
    pub constraints: [usize; 4],
}

/// The links that four switches can have.
const LINKS: [(usize, usize); 6] = [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)];
/// The link that fails.
const FAILED: (usize, usize) = (2, 3);

/// All spanning trees of four switches.
fn spanning_trees() -> Vec<Tree> {
    let of = |set: u32| {
        let chosen = (0..).zip(LINKS).filter(move |&(at, _)| set >> at & 1 == 1);
        chosen.map(|(_, link)| link).collect::<Tree>()
    };
    // Three links that connect all twelve pairs close no cycle.
    let ends = |path: &SwitchPath| (path[0], path[path.len() - 1]);
    let is_tree = |tree: &Tree| {
        tree.len() == 3 && all_paths(tree).iter().map(ends).collect::<BTreeSet<_>>().len() == 12
    };
    (0..1 << LINKS.len()).map(of).filter(is_tree).collect()
}

/// The paths of a tree, from every switch to every other it reaches.
fn all_paths(tree: &Tree) -> BTreeSet<SwitchPath> {
    let mut paths: BTreeSet<SwitchPath> = BTreeSet::new();
    let mut work: Vec<SwitchPath> = (1..=4).map(|switch| vec![switch]).collect();
    while let Some(path) = work.pop() {
        let last = path[path.len() - 1];
        for next in 1..=4 {
            let link = (last.min(next), last.max(next));
            if tree.contains(&link) && !path.contains(&next) {
                let longer = [&path[..], &[next]].concat();
                paths.insert(longer.clone());
                work.push(longer);
            }
        }
    }
    paths
}

/// Whether a tree reaches S3 by the link that fails only: then S3 cannot be reached without it.
fn hangs_on_the_failed_link(tree: &Tree) -> bool {
    let at_3 = |link: &&(usize, usize)| link.0 == 3 || link.1 == 3;
    tree.iter().filter(at_3).collect::<Vec<_>>() == [&FAILED]
}

/// Three paths, one of each set, that close a cycle of three buffers together.
fn closes_a_cycle(sets: [&BTreeSet<SwitchPath>; 3]) -> bool {
    let turns = |set: &BTreeSet<SwitchPath>| -> BTreeSet<(usize, usize, usize)> {
        set.iter().flat_map(|path| path.windows(3).map(|w| (w[0], w[1], w[2]))).collect()
    };
    let [one, two, three] = sets.map(turns);
    one.iter().any(|&(a, b, c)| two.contains(&(b, c, a)) && three.contains(&(c, a, b)))
}

/// Searches all quadruples of spanning trees for those of the text: T1 and T2 reach S3 by the link
/// S2-S3 only, T3 and T4 do without it, and a path of T1 that goes, one of T3 and one of T4 that
/// come close a cycle.
///
/// # Errors
/// Never, unless a network is wrong.
pub fn fig_3() -> Result<Fig3, Box<dyn Error>> {
    let trees: Vec<(Tree, BTreeSet<SwitchPath>)> =
        spanning_trees().into_iter().map(|tree| (tree.clone(), all_paths(&tree))).collect();
    let before: Vec<_> = trees.iter().filter(|tree| hangs_on_the_failed_link(&tree.0)).collect();
    let after: Vec<_> = trees.iter().filter(|tree| !tree.0.contains(&FAILED)).collect();
    let mut found = Fig3 { common_links: LINKS.into(), ..Fig3::default() };
    for (first, second) in before.iter().flat_map(|t1| before.iter().map(move |t2| (t1, t2))) {
        for (third, fourth) in after.iter().flat_map(|t3| after.iter().map(move |t4| (t3, t4))) {
            let old: BTreeSet<SwitchPath> = first.1.union(&second.1).cloned().collect();
            let new: BTreeSet<SwitchPath> = third.1.union(&fourth.1).cloned().collect();
            let goes = first.1.difference(&new).cloned().collect();
            let come = [third, fourth].map(|t| t.1.difference(&old).cloned().collect());
            let are_distinct = first.0 != second.0 && third.0 != fourth.0;
            if are_distinct && closes_a_cycle([&goes, &come[0], &come[1]]) {
                let all = [&first.0, &second.0, &third.0, &fourth.0];
                let links: BTreeSet<_> = all.into_iter().flatten().copied().collect();
                found.add(&links, [old, new])?;
            }
        }
    }
    Ok(found)
}

impl Fig3 {
    /// Plans the change of one quadruple.
    fn add(
        &mut self,
        links: &BTreeSet<(usize, usize)>,
        paths: [BTreeSet<SwitchPath>; 2],
    ) -> Result<(), Box<dyn Error>> {
        self.quadruples += 1;
        self.common_links.retain(|link| links.contains(link));
        let [old, new] = paths.map(|paths| vec![paths.into_iter().collect::<Vec<_>>()]);
        let links: Vec<_> = links.iter().copied().collect();
        let Case { network, change, .. } = cases::trees(&links, &old, &new)?;
        let planner = match Planner::new(&network, &change, Timing::default()) {
            Ok(planner) => planner,
            Err(PlanError::Cyclic(..)) => {
                self.cyclic_sides += 1;
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let plan = planner.plan(Model::Parallel);
        let ours = plan.order.pairs().len();
        let removes = change.removes();
        let first = removes * (change.operations.len() - removes);
        let [second, third] = schemes(&change);
        let is_proven = planner.check(&plan.order).is_ok();
        self.planned += usize::from(is_proven && ours <= third && third < second);
        if self.constraints == [0; 4] || ours < self.constraints[3] {
            self.constraints = [first, second, third, ours];
        }
        Ok(())
    }
}

/// Constraints of schemes 2 and 3 of Fig. 4: for each of the two directions around the cycle, every
/// old path that turns there before every new one that does, and before those of one turn only.
fn schemes(change: &Change) -> [usize; 2] {
    let turning = |kind: Kind| {
        let of = change.operations.iter().filter(move |one| one.kind == kind);
        of.flat_map(|one| one.path.route.waits()).collect::<Vec<_>>()
    };
    let (old, new) = (turning(Kind::Remove), turning(Kind::Add));
    // On the cycle of a direction: an old turn that no new path makes, and the two new ones.
    let leads = |from: &(u32, u32), to: &(u32, u32)| from.1 == to.0;
    let (mut second, mut third) = (0, 0);
    for one in old.iter().filter(|one| !new.contains(one)) {
        for two in new.iter().filter(|two| leads(one, two)) {
            let closes = |three: &&(u32, u32)| leads(two, three) && leads(three, one);
            let count = new.iter().filter(closes).count();
            second += 2 * count;
            third += count;
        }
    }
    [second, third]
}

/// Equation 2: every state that an order lets be reached, tried for a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct States {
    /// States that can be reached.
    pub reached: u64,
    /// Those of them that have a cycle.
    pub cyclic: u64,
}

/// Operations up to which all states are tried.
const OPERATIONS_MAX: usize = 20;

/// Tries every set of operations that is closed under `order`; `None` if there are too many.
pub fn states(change: &Change, order: &Order) -> Option<States> {
    let count = change.operations.len();
    let pairs = order.pairwise(usize::MAX)?;
    if count > OPERATIONS_MAX {
        return None;
    }
    let mut states = States::default();
    for set in 0_u32..1 << count {
        let has = |operation: u32| set >> operation & 1 == 1;
        if pairs.iter().all(|&(before, after)| has(before) || !has(after)) {
            states.reached += 1;
            let there = (0..).zip(&change.operations);
            let there = there.filter(|&(at, one)| (one.kind == Kind::Add) == has(at));
            let edges = there.flat_map(|(_, one)| one.path.route.waits());
            let kept = change.kept.iter().flat_map(|path| path.route.waits());
            states.cyclic += u64::from(has_cycle(edges.chain(kept).collect()));
        }
    }
    Some(states)
}

/// Takes away what waits for nothing until nothing changes.
fn has_cycle(mut edges: BTreeSet<(u32, u32)>) -> bool {
    loop {
        let waiting: BTreeSet<u32> = edges.iter().map(|edge| edge.0).collect();
        let before = edges.len();
        edges.retain(|edge| waiting.contains(&edge.1));
        if edges.len() == before {
            return before > 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fig_5_has_five_sortings_and_three_configuration_paths() {
        assert_eq!(fig_5(), Fig5 { sortings: 5, paths: 3 });
    }

    #[test]
    fn every_quadruple_of_trees_that_fits_the_text_of_fig_3_is_planned() {
        assert_eq!(spanning_trees().len(), 16, "Cayley's formula");
        let found = fig_3().unwrap();
        assert!(found.quadruples > 0);
        assert_eq!((found.cyclic_sides, found.planned), (0, found.quadruples), "{found:?}");
        assert_eq!(found.common_links, BTreeSet::from([(1, 2), (1, 4), (2, 3), (2, 4)]));
    }

    #[test]
    fn of_the_two_orders_of_fig_6_one_reaches_a_state_with_a_cycle() {
        let Case { change, .. } = cases::ring().unwrap();
        let cyclic = |pairs| states(&change, &Order::new(4, pairs)).unwrap().cyclic;
        assert_eq!((cyclic(vec![(0, 3)]), cyclic(vec![(1, 3)]) > 0), (0, true));
        assert!(cyclic(Vec::new()) > 0);
    }
}

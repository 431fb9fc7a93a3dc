//! The reconfiguration paper's figures, and random networks against oracles that try everything.

use super::*;
use crate::support::{self, named_paths};
use proptest::prelude::*;
use random::Draw;
use std::collections::BTreeSet;

/// `names`, each linked to the next, and the last to the first.
fn ring(names: &[&str]) -> Network {
    let switches: Vec<(&str, usize)> = names.iter().map(|&name| (name, 2)).collect();
    let links: Vec<(String, String)> = (0..names.len())
        .map(|at| (format!("{}:2", names[at]), format!("{}:1", names[(at + 1) % names.len()])))
        .collect();
    support::network(&switches, &[], &by_name(&links))
}

fn by_name(links: &[(String, String)]) -> Vec<(&str, &str)> {
    links.iter().map(|(one, other)| (one.as_str(), other.as_str())).collect()
}

fn change(network: &Network, old: &str, new: &str) -> Change {
    Change::between(network, named_paths(network, old), named_paths(network, new))
}

/// A pair of an order by names: `p1 < p4`.
fn named(change: &Change, pairs: &[(u32, u32)]) -> Vec<String> {
    let name = |operation: u32| &change.operations[operation as usize].path.name;
    pairs.iter().map(|&(one, other)| format!("{} < {}", name(one), name(other))).collect()
}

/// The ring of Fig. 6. Link l1 is A to B, l4 is D to A. The text gives 4 as the time to add p4 and
/// 3 as the time of the set {p4}; three switches is what `P_t^(l4,l1) = {p4}` means.
fn fig_6() -> (Network, Change) {
    let network = ring(&["A", "B", "C", "D"]);
    // A path that makes (l1, l2) comes into B and goes on into C; so it starts at A.
    let (old, new) = ("p1: A B C\np3: C D A", "p2: B C D A\np4: D A B");
    let change = change(&network, old, new);
    (network, change)
}

fn fig_6_choices(times: &[u64]) -> (Change, Vec<paper::Choice>) {
    let (_, change) = fig_6();
    let dependencies = Dependencies::of(&change).on_cycles();
    let cycle = dependencies.cycle(0..4);
    assert_eq!(cycle.len(), 4, "one cycle of four buffers");
    (change, paper::single_cycle(&dependencies, &cycle, times))
}

#[test]
fn fig_6_has_the_two_optimal_graphs_of_the_paper_at_their_cost() {
    let (network, change) = fig_6();
    let times = Timing { rule_us: 1, ..Timing::default() };
    let times = times.operations_us(&network, Model::Parallel, &change);
    assert_eq!(times, [3, 3, 4, 3], "remove p1 and p3, add p2 and p4");
    let (change, optimal) = fig_6_choices(&times);
    let graphs: Vec<_> = optimal
        .iter()
        .map(|c| (named(&change, &[(c.removes[0], c.adds[0])]), c.cost, c.is_sound))
        .collect();
    let expected = [
        (vec!["p1 < p4".to_owned()], 6, true),
        // What the reconfiguration paper overlooks: p2 makes the edge of p3 too.
        (vec!["p3 < p4".to_owned()], 6, false),
    ];
    assert_eq!(graphs.len(), 2);
    assert!(expected.iter().all(|graph| graphs.contains(graph)), "{graphs:?}");
}

#[test]
fn the_second_graph_of_fig_6_can_deadlock_and_the_checker_says_how() {
    let (network, change) = fig_6();
    let planner = Planner::new(&network, &change, Timing::default()).unwrap();
    // Operations: remove p1, remove p3, add p2, add p4.
    assert_eq!(planner.check(&Order::new(4, vec![(0, 3)])), Ok(()));
    let Err(PlanError::Unsafe(found)) = planner.check(&Order::new(4, vec![(1, 3)])) else {
        panic!("it is not safe")
    };
    let names: BTreeSet<&str> = found.paths.iter().flatten().map(String::as_str).collect();
    assert!(["p1", "p2", "p4"].iter().all(|name| names.contains(name)), "{names:?}");
    let plan = planner.plan(Model::Parallel);
    assert_eq!(named(&change, plan.order.pairs()), ["p1 < p4"]);
    assert_eq!((plan.completion_us, plan.bound_us), (6_000, Some(6_000)));
    assert!(plan.is_minimal && plan.method == Method::Minimal);
}

#[test]
fn a_set_that_can_deadlock_by_itself_is_named_with_its_cycle() {
    let network = ring(&["A", "B", "C"]);
    let around = "p1: A B C\np2: B C A\np3: C A B";
    for (old, new, side) in [(around, "q: A B", Side::Old), ("q: A B", around, Side::New)] {
        let change = change(&network, old, new);
        let error = Planner::new(&network, &change, Timing::default()).unwrap_err();
        let PlanError::Cyclic(found, waits) = error else { panic!("{error}") };
        assert_eq!((found, waits.slots.len()), (side, 3));
        assert!(waits.paths.iter().all(|paths| paths.len() == 1));
    }
}

#[test]
fn paths_in_both_sets_are_left_alone_and_count() {
    let network = ring(&["A", "B", "C"]);
    // Two edges of the ring are kept: one old and one new path must never meet on the third.
    let kept = "k1: A B C\nk2: B C A\n";
    let change = change(&network, &format!("{kept}o: A B"), &format!("{kept}n: C A B"));
    assert_eq!((change.kept_paths, change.operations.len()), (2, 2));
    let planner = Planner::new(&network, &change, Timing::default());
    assert!(matches!(planner, Err(PlanError::Cyclic(Side::New, _))));
}

#[test]
fn without_a_cycle_nothing_waits() {
    let network = ring(&["A", "B", "C", "D"]);
    let change = change(&network, "p1: A B C", "p2: B C D\np3: A B");
    let planner = Planner::new(&network, &change, Timing::default()).unwrap();
    let plan = planner.plan(Model::Parallel);
    assert_eq!(
        (plan.order.pairs().len(), plan.method, planner.operations_on_cycles()),
        (0, Method::Free, 0)
    );
    assert_eq!(planner.barriers_us(Model::Parallel), [6_000, 6_000]);
    assert_eq!(plan.completion_us, 3_000);
}

mod barriers;
mod sequential;

/// A small network of `switches` switches, each linked to each, and random paths in it.
fn mesh(switches: usize) -> Network {
    let names: Vec<String> = (0..switches).map(|at| format!("S{at}")).collect();
    let pairs = (0..switches).flat_map(|one| (one + 1..switches).map(move |other| (one, other)));
    let links: Vec<(String, String)> = pairs
        .map(|(one, other)| (format!("S{one}:{other}"), format!("S{other}:{}", one + 1)))
        .collect();
    let switches: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), switches)).collect();
    support::network(&switches, &[], &by_name(&links))
}

const SWITCHES: usize = 5;

/// Random loop-free walks, as many as close no cycle.
fn acyclic_paths(seeds: &[u64], name: char) -> String {
    let mut edges: Vec<(String, String)> = Vec::new();
    let mut text = String::new();
    for (at, &seed) in seeds.iter().enumerate() {
        let mut switches: Vec<usize> = (0..SWITCHES).collect();
        random::seeded(seed).shuffle(&mut switches);
        switches.truncate(3 + usize::try_from(seed % 3).unwrap());
        let hops: Vec<String> = switches.windows(2).map(|p| format!("{}>{}", p[0], p[1])).collect();
        let own = hops.windows(2).map(|p| (p[0].clone(), p[1].clone()));
        let all: Vec<_> = edges.iter().cloned().chain(own).collect();
        if has_cycle(&all) {
            continue;
        }
        edges = all;
        let words: Vec<String> = switches.iter().map(|switch| format!("S{switch}")).collect();
        text += &format!("{name}{at}: {}\n", words.join(" "));
    }
    text
}

/// Slow and obvious: takes away what waits for nobody until nothing changes.
fn has_cycle(edges: &[(String, String)]) -> bool {
    let mut left = edges.to_vec();
    loop {
        let waiting: BTreeSet<String> = left.iter().map(|edge| edge.0.clone()).collect();
        let before = left.len();
        left.retain(|edge| waiting.contains(&edge.1));
        if left.len() == before {
            return before > 0;
        }
    }
}

/// What is in force when the operations of `done` are: the waits by the names of links.
fn state(network: &Network, change: &Change, done: &BTreeSet<u32>) -> Vec<(String, String)> {
    let is_there = |number: u32, operation: &Operation| {
        (operation.kind == Kind::Add) == done.contains(&number)
    };
    let there = (0..).zip(&change.operations).filter(|&(number, one)| is_there(number, one));
    let waits = there.flat_map(|(_, operation)| operation.path.route.waits());
    let waits = waits.chain(change.kept_waits.iter().copied());
    waits.map(|(one, other)| (network.show(one), network.show(other))).collect()
}

/// Slow and obvious: every set of operations that is closed under the order.
fn is_safe(network: &Network, change: &Change, order: &Order) -> bool {
    let count = u32::try_from(change.operations.len()).unwrap();
    (0_u64..1 << count).all(|set| {
        let has = |operation: u32| set >> operation & 1 == 1;
        let is_closed = order.pairs().iter().all(|&(before, after)| has(before) || !has(after));
        let done = (0..count).filter(|&operation| has(operation)).collect();
        !is_closed || !has_cycle(&state(network, change, &done))
    })
}

/// The least completion of any order of removes before adds, by trying every one: constraints are
/// the bits of `set`.
fn fastest(network: &Network, change: &Change, times: &[u64]) -> Option<u64> {
    let count = |of: usize| u32::try_from(of).unwrap();
    let (removes, end) = (count(change.removes()), count(change.operations.len()));
    let all: Vec<(u32, u32)> =
        (0..removes).flat_map(|r| (removes..end).map(move |a| (r, a))).collect();
    if all.len() > 9 {
        return None;
    }
    let orders = (0_u32..1 << all.len()).map(|set| {
        let pairs = (0..).zip(&all).filter(|&(at, _)| set >> at & 1 == 1).map(|(_, &pair)| pair);
        Order::new(change.operations.len(), pairs.collect())
    });
    orders.filter(|order| is_safe(network, change, order)).map(|order| order.longest(times)).min()
}

/// The operations in a random order that keeps `order`.
fn execution(order: &Order, rng: &mut random::SplitMix64) -> Vec<u32> {
    let mut ready = Vec::new();
    let mut progress = Progress::new(order, &mut ready);
    let mut done = Vec::new();
    while !ready.is_empty() {
        let operation = ready.swap_remove(rng.index(ready.len()));
        done.push(operation);
        progress.done(operation, &mut ready);
    }
    done
}

fn seeds(most: usize) -> impl Strategy<Value = Vec<u64>> {
    proptest::collection::vec(any::<u64>(), 1..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// Thousands of random executions of each plan, none cyclic at any moment.
    #[test]
    fn no_execution_of_a_plan_passes_through_a_cycle(
        old in seeds(12), new in seeds(12), rng in any::<u64>(),
    ) {
        let network = mesh(SWITCHES);
        let change = change(&network, &acyclic_paths(&old, 'o'), &acyclic_paths(&new, 'n'));
        let planner = Planner::new(&network, &change, Timing::default()).unwrap();
        let mut rng = random::seeded(rng);
        for model in Model::ALL {
            let plan = planner.plan(model);
            prop_assert!(plan.method != Method::Apart, "the fast way was proven");
            prop_assert_eq!(planner.check(&plan.order), Ok(()));
            let mut seen = BTreeSet::new();
            for _ in 0..1_000 {
                let mut done = BTreeSet::new();
                for operation in execution(&plan.order, &mut rng) {
                    done.insert(operation);
                    if seen.insert(done.clone()) && seen.len() < 3_000 {
                        prop_assert!(!has_cycle(&state(&network, &change, &done)), "{:?}", done);
                    }
                }
            }
            let [all, apart] = planner.barriers_us(model);
            prop_assert!(plan.completion_us <= apart && apart <= all);
            prop_assert!(plan.bound_us.is_some_and(|bound_us| bound_us <= plan.completion_us));
            if let Some(paper) = planner.paper(model, Duration::from_secs(3)) {
                prop_assert_eq!(planner.check(&paper.order), Ok(()));
                prop_assert!(model == Model::Sequential || plan.completion_us <= paper.completion_us);
            }
        }
    }

    /// The checker is right about any order, and the plan is minimal and as fast as can be.
    #[test]
    fn the_checker_and_the_plan_agree_with_trying_everything(
        old in seeds(6), new in seeds(6), chosen in any::<u64>(),
    ) {
        let network = mesh(SWITCHES);
        let change = change(&network, &acyclic_paths(&old, 'o'), &acyclic_paths(&new, 'n'));
        let planner = Planner::new(&network, &change, Timing::default()).unwrap();
        let count = change.operations.len();
        // Any order, adds before removes and chains too: along a random row of all operations.
        let mut row: Vec<u32> = (0..).take(count).collect();
        random::seeded(chosen).shuffle(&mut row);
        let all = (0..count).flat_map(|one| (one + 1..count).map(move |other| (one, other)));
        let pairs = all.map(|(one, other)| (row[one], row[other]));
        let pairs = (0_u32..).zip(pairs).filter(|&(at, _)| chosen.rotate_left(at) & 3 == 0);
        let order = Order::new(count, pairs.map(|(_, pair)| pair).collect());
        match planner.check(&order) {
            Ok(()) => prop_assert!(is_safe(&network, &change, &order)),
            Err(error) => {
                prop_assert!(matches!(error, PlanError::Unsafe(_)), "few adds are tried: {}", error);
                prop_assert!(!is_safe(&network, &change, &order));
            }
        }
        let plan = planner.plan(Model::Parallel);
        prop_assert!(plan.is_minimal);
        prop_assert!(is_safe(&network, &change, &plan.order));
        for without in 0..plan.order.pairs().len() {
            let mut pairs = plan.order.pairs().to_vec();
            pairs.remove(without);
            let order = Order::new(count, pairs);
            prop_assert!(!is_safe(&network, &change, &order), "every constraint is needed");
        }
        let times = Timing::default().operations_us(&network, Model::Parallel, &change);
        if let Some(fastest) = fastest(&network, &change, &times) {
            prop_assert_eq!(plan.completion_us, fastest);
            prop_assert_eq!(plan.bound_us, Some(fastest));
        }
    }
}

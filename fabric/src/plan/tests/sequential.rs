//! One rule at a time, against a search of every schedule.

use super::*;
use crate::plan::sequential::Load;

/// Slow and obvious: the fewest steps in which every rule is changed, if in each step every switch
/// changes any rule that may be, or none. `pairs` are a remove and an add that waits for it.
fn fewest_steps(tasks: &[(u32, u32)], pairs: &[(u32, u32)]) -> u64 {
    let whole = (1_u32 << tasks.len()) - 1;
    let mut states = BTreeSet::from([0_u32]);
    let mut steps = 0;
    while !states.contains(&whole) {
        steps += 1;
        states = states.iter().flat_map(|&done| next_states(tasks, pairs, done)).collect();
    }
    steps
}

/// What can be done one step after `done`.
fn next_states(tasks: &[(u32, u32)], pairs: &[(u32, u32)], done: u32) -> BTreeSet<u32> {
    let is_done = |at: usize| done >> at & 1 == 1;
    let has_ended =
        |operation: u32| (0..tasks.len()).all(|at| tasks[at].0 != operation || is_done(at));
    let may_begin = |operation: u32| {
        pairs.iter().all(|&(before, after)| after != operation || has_ended(before))
    };
    let switches: BTreeSet<u32> = tasks.iter().map(|task| task.1).collect();
    let mut states = BTreeSet::from([done]);
    for switch in switches {
        let may = |&at: &usize| tasks[at].1 == switch && !is_done(at) && may_begin(tasks[at].0);
        let choices: Vec<u32> = (0..tasks.len()).filter(may).map(|at| 1 << at).collect();
        let with = |&state: &u32| choices.iter().map(move |bit| state | bit).collect::<Vec<_>>();
        let more: Vec<u32> = states.iter().flat_map(with).collect();
        states.extend(more);
    }
    states
}

/// Paths around a ring of three switches, the last one the other way round.
const ARCS: [&str; 4] = ["A B C", "B C A", "C A B", "C B A"];

/// One or two of [`ARCS`], as a file of paths.
fn some_arcs(name: char) -> Vec<String> {
    let line = |at: usize| format!("{name}{at}: {}\n", ARCS[at]);
    let pairs = (0..ARCS.len()).flat_map(|one| (one..ARCS.len()).map(move |other| (one, other)));
    let text = |(one, other)| if one == other { line(one) } else { line(one) + &line(other) };
    pairs.map(text).collect()
}

/// The best schedule of an order is the best of all, the bound is one, and the plan keeps it.
#[test]
fn the_optimum_is_that_of_every_order_and_schedule() {
    let network = ring(&["A", "B", "C"]);
    let timing = Timing { rule_us: 1, ..Timing::default() };
    let mut solved = 0;
    for (old, new) in
        some_arcs('o').iter().flat_map(|o| some_arcs('n').into_iter().map(move |n| (o, n)))
    {
        let change = change(&network, old, &new);
        let Ok(planner) = Planner::new(&network, &change, timing) else { continue };
        let dependencies = &planner.dependencies;
        if dependencies.edges.is_empty() {
            continue;
        }
        solved += 1;
        let load = Load::new(&network, &change, dependencies);
        let least = slow_optimum(&network, &change, dependencies, &load);
        let optimum = load.optimum(dependencies).unwrap();
        assert_eq!(optimum.rules, least, "{old} {new}");
        assert!(load.lower_bound(dependencies) <= least, "{old} {new}");
        let plan = planner.plan(Model::Sequential);
        assert_eq!(plan.bound_us, Some(least));
        assert!(plan.completion_us >= least);
    }
    assert!(solved >= 10, "{solved} changes have a cycle");
}

/// The least of every safe order and every schedule of it.
fn slow_optimum(
    network: &Network,
    change: &Change,
    dependencies: &Dependencies,
    load: &Load,
) -> u64 {
    let of = |(number, one): (u32, &Operation)| {
        let switches = one.path.route.switches(network);
        switches.map(move |switch| (number, switch)).collect::<Vec<_>>()
    };
    let tasks: Vec<(u32, u32)> = (0..).zip(&change.operations).flat_map(of).collect();
    let with = |remove| dependencies.adders().map(move |add| (remove, add));
    let all: Vec<(u32, u32)> = dependencies.removers().flat_map(with).collect();
    let number = |operation: u32| dependencies.operation[operation as usize];
    let mut least = u64::MAX;
    for set in 0_u32..1 << all.len() {
        let chosen = (0..).zip(&all).filter(|&(at, _)| set >> at & 1 == 1);
        let pairs: Vec<(u32, u32)> = chosen.map(|(_, &pair)| pair).collect();
        let numbered: Vec<(u32, u32)> =
            pairs.iter().map(|&(r, a)| (number(r), number(a))).collect();
        let order = Order::new(change.operations.len(), numbered.clone());
        if is_safe(network, change, &order) {
            let steps = fewest_steps(&tasks, &numbered);
            assert_eq!(load.best_schedule(dependencies, &pairs), steps, "{numbered:?}");
            least = least.min(steps);
        }
    }
    least
}

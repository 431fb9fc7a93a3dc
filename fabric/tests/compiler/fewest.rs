//! Fewest priorities: the compiler against exhaustive search, its bounds against what they claim,
//! and networks for which one order of the switches is not enough.

use crate::exhaustive::{fewest_tags, suffice};
use crate::oracle::{Case, walk};
use crate::slow_proof::has_cycle;
use crate::support::{generated, listed};
use fabric::compile::{Algorithm, Bound, Budget, Compiled, Options, compile};
use fabric::paths::{PathKind, PathSet, PathSpec, Turn, Walks};
use fabric::{Network, RuleSet};
use random::{Draw, SplitMix64};
use std::ops::ControlFlow;

fn compiled(case: &Case) -> Compiled {
    let options = Options { algorithm: Algorithm::UpDown, lossless_max: 7, budget: Budget::Work };
    compile(&case.network, &case.paths, &options, &|_| {}).unwrap()
}

/// The channels of a path, each by the slot that it enters.
fn channels(network: &Network, turns: &[Turn]) -> Vec<u32> {
    turns.iter().filter_map(|&(_, output)| network.far_slot(output)).collect()
}

fn all_channels(case: &Case) -> Vec<Vec<u32>> {
    let walks = Walks::alike(&case.network, &case.paths);
    let mut all = Vec::new();
    let _ = walks.visit(0, &mut |turns| {
        all.push(channels(&case.network, turns));
        ControlFlow::Continue(())
    });
    all
}

/// Every path is lossless, no buffer waits for itself, and the witness shows what it claims.
fn check(case: &Case, compiled: &Compiled) {
    assert!(!has_cycle(&case.network, &compiled.rules));
    let (paths, lossless) = walk(case, &compiled.rules);
    assert_eq!(lossless, paths, "{}", compiled.method);
    assert!(compiled.priorities_min <= compiled.lossless_priorities);
    assert_eq!(compiled.is_open, compiled.priorities_min < compiled.lossless_priorities);
    let expected = all_channels(case);
    match &compiled.bound {
        Bound::One => assert_eq!(compiled.priorities_min, 1),
        Bound::Cycle(turns) => {
            assert_eq!(compiled.priorities_min, 2);
            for (at, &(from, to)) in turns.iter().enumerate() {
                assert_eq!(to, turns[(at + 1) % turns.len()].0, "turns of a cycle follow");
                let is_taken = |path: &Vec<u32>| path.windows(2).any(|pair| *pair == [from, to]);
                assert!(expected.iter().any(is_taken), "a path takes each turn");
            }
            assert!(!turns.is_empty());
        }
        Bound::Paths(priorities, paths) => {
            assert_eq!(compiled.priorities_min, usize::from(*priorities));
            let few: Vec<Vec<u32>> =
                paths.iter().map(|turns| channels(&case.network, turns)).collect();
            assert!(few.iter().all(|path| expected.contains(path)), "they are expected paths");
            assert_eq!(suffice(&few, priorities - 1), Some(false), "{few:?}");
        }
    }
}

/// A connected network of `switches` switches with `chords` more links, a host each.
fn network(switches: usize, chords: usize, rng: &mut SplitMix64) -> Network {
    let mut links: Vec<[usize; 2]> = (1..switches).map(|at| [rng.index(at), at]).collect();
    for _ in 0..chords {
        let ends = [rng.index(switches), rng.index(switches)];
        if ends[0] != ends[1] && !links.iter().any(|link| ends.iter().all(|end| link.contains(end)))
        {
            links.push(ends);
        }
    }
    crate::support::linked(switches, &links, links.len() + 1)
}

/// A random walk that never goes straight back; it may come to a switch again.
fn random_walk(network: &Network, rng: &mut SplitMix64) -> Vec<Turn> {
    let start = network.host_slot(u32::try_from(rng.index(network.hosts())).unwrap()).unwrap();
    let (mut turns, mut input) = (Vec::new(), start);
    for _ in 0..rng.index(7) + 1 {
        let ways: Vec<(u32, u32)> = network
            .neighbors(network.owner(input))
            .filter(|&(output, _)| output != input)
            .collect();
        let Some(&(output, far)) = ways.get(rng.index(ways.len().max(1))) else { break };
        turns.push((input, output));
        input = far;
    }
    let last = network.host_slots_of(network.owner(input)).next().unwrap();
    turns.push((input, last));
    turns
}

/// In at least 95 of 100 sets the compiler is optimal, and its bound is never above the optimum.
#[test]
fn five_hundred_random_path_sets_against_exhaustive_search() {
    let mut rng = random::seeded(20);
    let (mut judged, mut optimal, mut by_fewest) = (0, 0, [0; 8]);
    while judged < 500 {
        let switches = 3 + rng.index(6);
        let chords = rng.index(2 * switches);
        let network = network(switches, chords, &mut rng);
        let paths: Vec<Vec<Turn>> =
            (0..2 + rng.index(16)).map(|_| random_walk(&network, &mut rng)).collect();
        let of_channels: Vec<Vec<u32>> =
            paths.iter().map(|turns| channels(&network, turns)).collect();
        let Some(fewest) = fewest_tags(&of_channels) else { continue };
        let paths = listed(&network, &paths);
        let case = Case { network, paths };
        let compiled = compiled(&case);
        check(&case, &compiled);
        assert!(compiled.priorities_min <= usize::from(fewest), "no bound above the optimum");
        assert!(compiled.lossless_priorities >= usize::from(fewest), "the oracle is exhaustive");
        judged += 1;
        optimal += u32::from(compiled.lossless_priorities == usize::from(fewest));
        by_fewest[usize::from(fewest)] += 1;
    }
    println!("{optimal} of {judged} optimal; sets by their fewest priorities: {by_fewest:?}");
    assert!(optimal * 100 >= judged * 95, "{optimal} of {judged}");
    assert!(by_fewest[2] > 50 && by_fewest[3] > 5, "the sets are not all trivial: {by_fewest:?}");
}

/// Priorities of a case, which is checked, and the bound that is shown.
fn priorities(topology: &str, paths: &str) -> (usize, usize) {
    let case = Case::new(topology, paths);
    let compiled = compiled(&case);
    check(&case, &compiled);
    println!(
        "{topology} {paths}: {} priorities, at least {}, {} entries ({})",
        compiled.lossless_priorities,
        compiled.priorities_min,
        compiled.rules_max(),
        compiled.method
    );
    (compiled.lossless_priorities, compiled.priorities_min)
}

/// Tagger's proof that k bounces need k + 1 priorities (section IV-D) is for paths that go straight
/// back. Without these a leaf-spine network needs fewer.
#[test]
fn bounces_in_a_leaf_spine_network() {
    let clos = |leaves, spines| format!("kind = 'clos'\nleaves = {leaves}\nspines = {spines}");
    let bounces = |bounces| format!("kind = 'up-down'\nbounces = {bounces}");
    assert_eq!(priorities(&clos(4, 2), &bounces(1)), (2, 2));
    assert_eq!(priorities(&clos(4, 2), &bounces(2)), (2, 2));
    assert_eq!(priorities(&clos(4, 2), &bounces(3)), (3, 3));
    assert_eq!(priorities(&clos(4, 2), &bounces(4)), (3, 3));
    assert_eq!(priorities(&clos(4, 3), &bounces(3)), (3, 3));
}

#[test]
fn a_mesh_needs_two_priorities_for_all_shortest_paths() {
    assert_eq!(priorities("kind = 'mesh'\nshape = [5, 5]", "kind = 'shortest'"), (2, 2));
}

#[test]
fn tori() {
    let (found, _) = priorities("kind = 'torus'\nshape = [3, 3, 3]", "kind = 'shortest-trees'");
    assert!(found <= 2);
    let (found, _) = priorities("kind = 'torus'\nshape = [5, 5]", "kind = 'shortest'");
    assert!(found <= 3);
}

/// In a graph of diameter two: shortest paths, and those after the failure of any one link.
#[test]
fn slim_fly_with_detours_around_each_link() {
    let network = generated("kind = 'slim-fly'\nq = 5");
    assert_eq!(network.switches(), 50);
    let degree = |switch| network.neighbors(switch).count();
    assert!(network.all_switches().all(|switch| degree(switch) == 7));
    let mut paths: Vec<Vec<Turn>> = Vec::new();
    let mut failed = vec![None];
    failed.extend(network.all_switches().flat_map(|switch| {
        network.neighbors(switch).filter(|&(slot, far)| slot < far).map(Some).collect::<Vec<_>>()
    }));
    for failed in failed {
        paths.extend(crate::support::shortest_without(&network, failed));
    }
    paths.sort_unstable();
    paths.dedup();
    let paths = PathSet::build(
        &network,
        &PathSpec::new(PathKind::File(crate::support::list(&network, &paths))),
    );
    let case = Case { network, paths: paths.unwrap() };
    let compiled = compiled(&case);
    check(&case, &compiled);
    assert_eq!(compiled.lossless_priorities, 2, "{}", compiled.method);
}

/// Where several hosts of a switch stand for one, the rules are for all of them.
#[test]
fn irregular_rules_are_for_every_host_of_a_switch() {
    let case = Case::new("kind = 'torus'\nshape = [4, 4]\nhosts = 3", "kind = 'shortest'");
    let compiled = compiled(&case);
    let longest = |rules: &RuleSet| rules.entries.len();
    assert!(compiled.rules.iter().map(longest).max() > Some(4), "rules that leave turns open");
    check(&case, &compiled);
}

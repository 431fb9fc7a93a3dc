//! Switches that have new rules while others do not: every mixture, by trying them all.

use crate::oracle::{Case, walk};
use crate::random::any_case;
use crate::slow_proof::{answer, has_cycle};
use dataplane::ids::Tag;
use fabric::compile::{Algorithm, Budget, Options, compile};
use fabric::paths::Walks;
use fabric::plan::rollout::{StageKind, stages};
use fabric::verify::{Mixtures, NetworkRules, common_rules};
use fabric::{Network, RuleSet};
use petgraph::algo::is_cyclic_directed;
use petgraph::graphmap::DiGraphMap;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

fn compiled(case: &Case, algorithm: Algorithm) -> Vec<RuleSet> {
    let options = Options { algorithm, lossless_max: 7, budget: Budget::Work };
    compile(&case.network, &case.paths, &options, &|_| {}).unwrap().rules
}

fn known(set: &RuleSet, tag: Tag) -> bool {
    set.priorities.contains_key(&tag)
}

/// Whether buffers can wait for each other in a ring if each switch goes by any of the two sets,
/// frame by frame: what its queues hold while it changes.
fn union_has_cycle(network: &Network, sides: [&[RuleSet]; 2]) -> bool {
    let mut waits: DiGraphMap<(u32, u8), ()> = DiGraphMap::new();
    for rules in sides {
        for input in (0..).take(network.slots()) {
            let set = &rules[network.owner(input) as usize];
            for (&tag, priority) in &set.priorities {
                for output in network.slots_of(network.owner(input)) {
                    let new_tag = answer(network, rules, input, output, tag);
                    if let (Some(far), true) = (network.far_slot(output), known(set, new_tag)) {
                        let to = (far, set.priorities[&new_tag].value());
                        waits.add_edge((input, priority.value()), to, ());
                    }
                }
            }
        }
    }
    is_cyclic_directed(&waits)
}

/// Paths that are lossless whatever each switch of each path goes by.
fn always_lossless(case: &Case, sides: [&[RuleSet]; 2]) -> u64 {
    let walks = Walks::grouped(&case.network, &case.paths, |slot| slot);
    let mut lossless = 0;
    let _ = walks.visit(0, &mut |turns| {
        let mut tags = BTreeSet::from([sides[0][0].initial_tag]);
        let kept = turns.iter().all(|&(input, output)| {
            let at = case.network.owner(input) as usize;
            let mut next = BTreeSet::new();
            for rules in sides {
                for &tag in &tags {
                    let new = answer(&case.network, rules, input, output, tag);
                    if !known(&rules[at], tag) || !known(&rules[at], new) {
                        return false;
                    }
                    next.insert(new);
                }
            }
            tags = next;
            true
        });
        lossless += u64::from(kept);
        ControlFlow::Continue(())
    });
    lossless
}

fn network_rules(case: &Case, sets: &[RuleSet]) -> NetworkRules {
    NetworkRules::new(&case.network, sets.to_vec()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn mixtures_are_judged_as_by_the_oracle_and_stages_pass_only_safe_ones(
        case in any_case(),
        pair in prop::sample::select(&[
            (Algorithm::UpDown, Algorithm::Greedy),
            (Algorithm::BruteForce, Algorithm::UpDown),
            (Algorithm::Greedy, Algorithm::BruteForce),
        ]),
        picked in any::<u32>(),
    ) {
        let (old, new) = (compiled(&case, pair.0), compiled(&case, pair.1));
        let (before, after) = (network_rules(&case, &old), network_rules(&case, &new));
        let mixtures = Mixtures::new(&case.network, &case.paths, &before, &after);
        let Ok(verdict) = mixtures.verify(&before, &after) else {
            // Tags whose priorities contradict each other; the compiler numbers them alike.
            return Ok(());
        };
        let paths = walk(&case, &old).0;
        let is_cyclic = union_has_cycle(&case.network, [&old, &new]);
        prop_assert_eq!(!verdict.cycle.is_empty(), is_cyclic);
        let all = always_lossless(&case, [&old, &new]) == paths;
        prop_assert_eq!(verdict.lossless_paths == verdict.paths, all);
        for (rules, sets) in [(&before, &old), (&after, &new)] {
            let alone = mixtures.verify(rules, rules).unwrap();
            prop_assert_eq!(alone.cycle.is_empty(), !has_cycle(&case.network, sets));
            let all = always_lossless(&case, [sets, sets]) == paths;
            prop_assert_eq!(alone.lossless_paths == alone.paths, all);
        }
        // Any mixture at all is covered.
        let mixed: Vec<RuleSet> = (0..old.len())
            .map(|at| if picked >> at & 1 == 1 { new[at].clone() } else { old[at].clone() })
            .collect();
        prop_assert!(is_cyclic || !has_cycle(&case.network, &mixed));
        // The stages lead from old to new, and each is proven by the oracle.
        let stages = stages(&case.network, &case.paths, &before, &after).unwrap();
        let mut current = old.clone();
        for stage in &stages {
            let next = stage.after.sets();
            let changed = (0..).zip(current.iter().zip(next)).filter(|(_, (a, b))| a != b);
            let changed: BTreeSet<u32> = changed.map(|(at, _)| at).collect();
            prop_assert!(changed.is_subset(&stage.switches.iter().copied().collect()));
            prop_assert!(!union_has_cycle(&case.network, [&current, next]), "{:?}", stage.kind);
            let found = always_lossless(&case, [&current, next]);
            prop_assert_eq!(stage.verdict.lossless_paths == stage.verdict.paths, found == paths);
            let ends = [&old, &new].map(|sets| always_lossless(&case, [sets, sets]) == paths);
            let is_kept = stage.kind == StageKind::Lossless && ends == [true; 2];
            prop_assert!(!is_kept || found == paths, "{found} of {paths}");
            current = next.to_vec();
        }
        prop_assert_eq!(current, new);
    }

    #[test]
    fn common_rules_are_what_both_sets_say(case in any_case()) {
        let old = compiled(&case, Algorithm::UpDown);
        let new = compiled(&case, Algorithm::Greedy);
        let common: Vec<RuleSet> =
            old.iter().zip(&new).map(|(old, new)| common_rules(old, new)).collect();
        for input in (0..).take(case.network.slots()) {
            let at = case.network.owner(input) as usize;
            for output in case.network.slots_of(case.network.owner(input)) {
                for &tag in old[at].priorities.keys() {
                    let one = answer(&case.network, &old, input, output, tag);
                    let other = answer(&case.network, &new, input, output, tag);
                    let is_same = one == other && known(&new[at], tag);
                    let expected = if is_same { one } else { old[at].lossy_tag };
                    let found = answer(&case.network, &common, input, output, tag);
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}

/// Two ways round a ring, each free of a cycle, whose mixtures are not: some switches must go by
/// what both rules share, or one after the other.
#[test]
fn a_mixture_that_can_deadlock_is_found_and_avoided() {
    let mut found = 0;
    for seed in 0..20 {
        let topology = format!(
            "kind = 'jellyfish'\nswitches = 8\nports = 6\nnetwork_ports = 4\nseed = {seed}"
        );
        let case = Case::new(&topology, "kind = 'shortest'");
        let (old, new) = (compiled(&case, Algorithm::UpDown), compiled(&case, Algorithm::Greedy));
        let (before, after) = (network_rules(&case, &old), network_rules(&case, &new));
        let mixtures = Mixtures::new(&case.network, &case.paths, &before, &after);
        let Ok(verdict) = mixtures.verify(&before, &after) else {
            continue;
        };
        if verdict.cycle.is_empty() {
            continue;
        }
        found += 1;
        for (hop, next) in verdict.cycle.iter().zip(verdict.cycle.iter().cycle().skip(1)) {
            assert_eq!(case.network.far_slot(hop.output), Some(next.input));
        }
        let stages = stages(&case.network, &case.paths, &before, &after).unwrap();
        assert!(stages.len() > 1 && stages.iter().all(|stage| stage.verdict.cycle.is_empty()));
    }
    assert!(found > 0, "no seed has such a mixture");
}

//! Random networks, random paths, every algorithm.

use crate::oracle::{Case, walk};
use crate::slow_proof::has_cycle;
use dataplane::rules::TcamEntry;
use fabric::compile::{Algorithm, Budget, Options, compile};
use fabric::network::{End, Link, Network};
use fabric::paths::{PathKind, PathSet, PathSpec};
use fabric::verify::{NetworkRules, verify};
use proptest::prelude::*;

const ALGORITHMS: [Algorithm; 3] = [Algorithm::UpDown, Algorithm::Greedy, Algorithm::BruteForce];

/// A ring, so that it is connected and has a cycle, with chords; one or two hosts a switch.
fn network(chords: &[(usize, usize)], hosts: &[bool]) -> Network {
    let mut network = Network::new();
    let switches: Vec<u32> =
        (0..hosts.len()).map(|at| network.add_switch(format!("S{at}"), 24)).collect();
    let mut taken = vec![0_u32; hosts.len()];
    let mut port = |network: &Network, at: usize| {
        taken[at] += 1;
        End::Slot(network.slots_of(switches[at]).start + taken[at] - 1)
    };
    let ring = (0..hosts.len()).map(|at| (at, (at + 1) % hosts.len()));
    let chords = chords.iter().map(|&(a, b)| (a % hosts.len(), b % hosts.len()));
    for (one, other) in ring.chain(chords).filter(|(one, other)| one != other) {
        let ends = [port(&network, one), port(&network, other)];
        network.add_link(Link { ends, speed: None, length: None }).unwrap();
    }
    for (at, &two) in hosts.iter().enumerate() {
        for number in 0..=usize::from(two) {
            let host = network.add_host(format!("H{at}-{number}"));
            let ends = [End::Host(host), port(&network, at)];
            network.add_link(Link { ends, speed: None, length: None }).unwrap();
        }
    }
    network
}

pub(crate) fn any_case() -> impl Strategy<Value = Case> {
    let chords = proptest::collection::vec((0..7_usize, 0..7_usize), 0..6);
    let hosts = proptest::collection::vec(any::<bool>(), 3..7);
    let kind = prop_oneof![
        Just(PathKind::ShortestTrees),
        Just(PathKind::Shortest),
        Just(PathKind::UpDown { bounces: 1 }),
        Just(PathKind::KShortest { k: 3 }),
        Just(PathKind::AllSimple),
    ];
    (chords, hosts, kind, 0..30_usize, any::<u64>()).prop_map(
        |(chords, hosts, kind, random, seed)| {
            let network = network(&chords, &hosts);
            let spec = PathSpec { random, random_switches: Some(3), seed, ..PathSpec::new(kind) };
            let paths = PathSet::build(&network, &spec).unwrap();
            Case { network, paths }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_expected_path_is_lossless_and_no_buffer_waits_for_itself(case in any_case()) {
        for algorithm in ALGORITHMS {
            let options = Options { algorithm, lossless_max: 7, budget: Budget::Work };
            let compiled = compile(&case.network, &case.paths, &options, &|_| {}).unwrap();
            prop_assert!(!has_cycle(&case.network, &compiled.rules), "{:?}", algorithm);
            let (paths, lossless) = walk(&case, &compiled.rules);
            // Paths of more than seven hops, or raises, need more priorities than there are.
            let needs_more = case.paths.longest(&case.network) > 7;
            prop_assert!(needs_more || lossless == paths, "{:?}: {lossless} of {paths}", algorithm);
            prop_assert!(compiled.priorities_min <= compiled.lossless_priorities || needs_more);
            if let Some(raised) = compiled.raised_paths {
                prop_assert!(compiled.lossless_priorities == 1 || raised > 0);
            }
        }
    }

    #[test]
    fn broken_rules_are_judged_as_the_oracle_judges_them(
        case in any_case(),
        which in any::<prop::sample::Index>(),
        how in 0..3_u8,
        algorithm in prop::sample::select(&ALGORITHMS),
    ) {
        let options = Options { algorithm, lossless_max: 7, budget: Budget::Work };
        let mut rules = compile(&case.network, &case.paths, &options, &|_| {}).unwrap().rules;
        let entries: usize = rules.iter().map(|set| set.entries.len()).sum();
        let mut at = which.index(entries);
        let set = rules.iter_mut().find(|set| {
            let here = at < set.entries.len();
            if !here { at -= set.entries.len(); }
            here
        }).unwrap();
        match how {
            0 => drop(set.entries.remove(at)),
            1 => set.entries[at].new_tag = set.lossy_tag,
            _ => {
                let tag = set.entries[at].tag.value;
                let entry: &mut TcamEntry = &mut set.entries[at];
                entry.new_tag = dataplane::ids::Tag::new(tag).unwrap();
            }
        }
        let network_rules = NetworkRules::new(&case.network, rules.clone()).unwrap();
        let verdict = verify(&case.network, &network_rules, &case.paths);
        prop_assert_eq!(verdict.is_deadlock_free(), !has_cycle(&case.network, &rules));
        let (paths, lossless) = walk(&case, &rules);
        prop_assert_eq!(verdict.lossless_paths == verdict.paths, lossless == paths);
        prop_assert_eq!(verdict.lossy.is_empty(), lossless == paths);
    }
}

/// With every loop-free path expected, every entry of the Tagger paper's algorithms counts, and
/// every raise of an order: without it the rules are refused.
#[test]
fn every_entry_of_the_triangle_is_needed() {
    let case = Case::triangle();
    for algorithm in ALGORITHMS {
        let options = Options { algorithm, lossless_max: 7, budget: Budget::Work };
        let compiled = compile(&case.network, &case.paths, &options, &|_| {}).unwrap();
        for switch in 0..compiled.rules.len() {
            for at in 0..compiled.rules[switch].entries.len() {
                let mut rules = compiled.rules.clone();
                let entry = &mut rules[switch].entries[at];
                if algorithm != Algorithm::UpDown {
                    entry.new_tag = dataplane::ids::Tag::default();
                } else if entry.new_tag.value() > entry.tag.value {
                    entry.new_tag = dataplane::ids::Tag::new(entry.tag.value).unwrap();
                } else {
                    continue;
                }
                let rules = NetworkRules::new(&case.network, rules).unwrap();
                let verdict = verify(&case.network, &rules, &case.paths);
                let holds = verdict.is_deadlock_free() && verdict.lossless_paths == verdict.paths;
                assert!(!holds, "{algorithm:?}: switch {switch} does without entry {at}");
            }
        }
    }
}

//! The papers' experiments: every scenario of `netsim/scenarios/`, under every scheme that it says
//! something about, comes out as it says, with all checkers on.

use config::ScenarioConfig;
use config::scenario::SchemeKind;
use netsim::outcome::Outcome;
use netsim::scenario::{Options, judge, run};
use std::path::{Path, PathBuf};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let entries = std::fs::read_dir(folder).expect("netsim/scenarios");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    files
}

fn load(name: &str) -> ScenarioConfig {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    ScenarioConfig::load(&folder.join(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(config: &ScenarioConfig, scheme: SchemeKind) -> Outcome {
    let options = Options { scheme: Some(scheme), ..Options::default() };
    run(config, options).unwrap_or_else(|error| panic!("{}: {error}", config.name))
}

#[test]
fn every_experiment_comes_out_as_it_says() {
    let mut runs = 0;
    for file in files() {
        let config = ScenarioConfig::load(&file).unwrap_or_else(|error| panic!("{error}"));
        assert!(!config.expectations.is_empty(), "{} says nothing", config.name);
        for (&scheme, expected) in &config.expectations {
            let outcome = simulate(&config, scheme);
            let wrong = judge(&outcome, expected);
            assert!(wrong.is_empty(), "{} {}: {wrong:?}", config.name, scheme.name());
            assert!(outcome.violations.is_empty(), "{}: {:?}", config.name, outcome.violations);
            runs += 1;
        }
    }
    assert!(runs >= 20, "{runs} runs");
}

/// Reconfiguration paper, Fig. 1: 0.065 ms with a static threshold, 0.18 ms with a dynamic one.
#[test]
fn the_ring_deadlocks_within_a_factor_of_two_of_the_paper_and_later_with_a_dynamic_threshold() {
    let [fixed_ps, dynamic_ps] = ["ring.toml", "ring-dynamic.toml"]
        .map(|name| simulate(&load(name), SchemeKind::Pfc).deadlock.expect("a deadlock").closed_ps);
    let us = 1_000_000;
    assert!((65 * us / 2..=65 * us * 2).contains(&fixed_ps), "{fixed_ps} ps");
    assert!((180 * us / 2..=180 * us * 2).contains(&dynamic_ps), "{dynamic_ps} ps");
    assert!(dynamic_ps > fixed_ps);
}

/// The cycle is the Tagger paper's: L2, S1, L3, S2, each waiting for the next.
#[test]
fn the_cycle_of_two_bounces_is_named_switch_by_switch() {
    let deadlock = simulate(&load("tagger-bounce.toml"), SchemeKind::Pfc).deadlock;
    let cycle = deadlock.expect("a deadlock").cycle;
    let names: Vec<&str> = cycle.iter().map(|hop| hop.switch.as_str()).collect();
    let start = names.iter().position(|&name| name == "L2").expect("L2 is in it");
    let around: Vec<&str> = (0..4).map(|at| names[(start + at) % names.len()]).collect();
    assert_eq!((names.len(), around), (4, vec!["L2", "S1", "L3", "S2"]));
}

/// Tagger, Table VI: each lossless priority more loses less, and two lose nothing.
#[test]
fn two_lossless_priorities_lose_nothing_where_none_loses_much() {
    for senders in [8, 16, 24] {
        let mut config = load(&format!("failures-{senders}-to-1.toml"));
        let shares = [0_u8, 1, 2].map(|priorities| {
            config.scheme.priorities_max = priorities.max(1);
            let scheme = if priorities == 0 { SchemeKind::Lossy } else { SchemeKind::Tagger };
            let outcome = simulate(&config, scheme);
            let sent: u64 = outcome.flows.iter().map(|flow| flow.sent_frames).sum();
            assert_eq!(outcome.lossless_drops, 0);
            outcome.lossy_drops * 1_000_000 / sent
        });
        assert!(shares[0] > 10_000, "{senders}: {shares:?} of a million");
        assert!(shares[1] < shares[0] / 2, "{senders}: {shares:?}");
        assert_eq!(shares[2], 0, "{senders}: {shares:?}");
    }
}

/// One seed, one run, on every machine: the hashes are written down here.
#[test]
fn a_seed_is_one_run_to_the_bit() {
    for (name, scheme, hash) in [
        ("ring.toml", SchemeKind::Pfc, "2b939b3bcb5b96da"),
        ("ring.toml", SchemeKind::Tagger, "65d277c4fc31ede4"),
        ("levels-three.toml", SchemeKind::Tagger, "e4563e63a03a3fa5"),
        ("failures-8-to-1.toml", SchemeKind::Tagger, "edb0eae0b65360ac"),
    ] {
        let config = load(name);
        let [one, other] = [(), ()].map(|()| simulate(&config, scheme).trace_hash);
        assert_eq!(one, other, "{name}");
        assert_eq!(
            one,
            hash,
            "{name} {}: if frames, links or workers were meant to change, so may this",
            scheme.name()
        );
    }
}

//! TTL classes: what hosts must do, what a NIC that pauses by DSCP does to the scheme, and the
//! buffer in one pool or in a part for each class.

use config::ScenarioConfig;
use config::scenario::{FaultKind, SchemeKind};
use dataplane::time::Speed;
use netsim::outcome::Outcome;
use netsim::scenario::{Options, run};
use std::path::Path;

fn load(name: &str) -> ScenarioConfig {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    ScenarioConfig::load(&folder.join(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(config: &ScenarioConfig, seed: u64) -> Outcome {
    let options = Options { scheme: Some(SchemeKind::Ttl), seed: Some(seed), ..Options::default() };
    run(config, options).unwrap_or_else(|error| panic!("{}: {error}", config.name))
}

/// `ttl-hosts.toml` with hosts that pause by class or by DSCP, and receivers of this speed.
fn hosts(by_dscp: bool, translate: bool, partitions: bool, gbps: u64) -> ScenarioConfig {
    let mut config = load("ttl-hosts.toml");
    config.duration_ns = 1_000_000;
    config.scheme.hosts_by_dscp = by_dscp;
    config.scheme.translate = translate;
    config.scheme.partitions = partitions;
    for fault in &mut config.faults {
        if let FaultKind::SlowReceiver { speed, .. } = &mut fault.kind {
            *speed = Some(Speed::from_gbps(gbps));
        }
    }
    config
}

fn is_sound(outcome: &Outcome) -> bool {
    outcome.deadlock.is_none()
        && outcome.drained_ps.is_some()
        && outcome.lossless_drops == 0
        && outcome.violations.is_empty()
}

#[test]
fn hosts_that_pause_by_class_lose_nothing_and_nothing_deadlocks() {
    for partitions in [false, true] {
        for gbps in [1, 10, 30] {
            let outcome = simulate(&hosts(false, false, partitions, gbps), 1);
            assert!(is_sound(&outcome), "{gbps}G: {:?}", outcome.violations);
        }
    }
}

#[test]
fn a_nic_that_pauses_by_dscp_loses_frames_unless_the_leaf_translates() {
    for partitions in [false, true] {
        for gbps in [1, 10, 30] {
            let stock = simulate(&hosts(true, false, partitions, gbps), 1);
            assert!(stock.headroom_overruns > 0, "{gbps}G: the leaf does not obey its pause");
            assert_eq!(stock.headroom_overruns, stock.lossless_drops, "at hosts alone");
            assert!(stock.deadlock.is_none() && stock.drained_ps.is_some(), "classes still rise");
            let translated = simulate(&hosts(true, true, partitions, gbps), 1);
            assert!(is_sound(&translated), "{gbps}G: {:?}", translated.violations);
        }
    }
}

/// The scheme's claim (1.4.4) with a part of the buffer for each class: every scenario that
/// deadlocks under plain PFC drains under it, and loses nothing.
#[test]
fn with_partitions_no_cycle_closes_and_nothing_is_lost() {
    for name in ["ring.toml", "ring-dynamic.toml", "tagger-bounce.toml", "gentle-ring.toml"] {
        let mut config = load(name);
        let pfc = Options { scheme: Some(SchemeKind::Pfc), ..Options::default() };
        assert!(run(&config, pfc).unwrap().deadlock.is_some(), "{name} is no test");
        config.scheme.partitions = true;
        let outcome = simulate(&config, 2);
        assert!(is_sound(&outcome), "{name}: {:?} {:?}", outcome.deadlock, outcome.violations);
    }
}

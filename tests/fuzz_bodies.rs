//! The fuzz targets on a bounded number of inputs, without libFuzzer: random bytes, and seeds with
//! a few octets changed. The same inputs every time; `KNOTLESS_FUZZ_SEED` gives others, and
//! `KNOTLESS_FUZZ_SECONDS` more.

use random::{Draw, SplitMix64};
use std::env;
use std::panic;
use std::time::{Duration, Instant};
use tests::fuzz::{TARGETS, Target, seeds};
use tests::mutate::mutated;

/// Inputs of each target at least, however long they take.
const INPUTS_MIN: u32 = 500;

/// An input: bytes of no form, or a seed with a few changes.
fn input(rng: &mut SplitMix64, target: &Target, seeds: &[Vec<u8>]) -> Vec<u8> {
    if seeds.is_empty() || rng.index(3) == 0 {
        let length = rng.index(target.bytes_max);
        return (0..length).map(|_| rng.octet()).collect();
    }
    mutated(rng, seeds)
}

fn fuzz(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse().ok());
    let seconds = number("KNOTLESS_FUZZ_SECONDS").unwrap_or(2);
    let mut rng = random::seeded(number("KNOTLESS_FUZZ_SEED").unwrap_or(1));
    let seeds = seeds(target);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut count = 0;
    seeds.iter().for_each(|seed| (target.run)(seed));
    while count < INPUTS_MIN || Instant::now() < end {
        let bytes = input(&mut rng, target, &seeds);
        let run = panic::AssertUnwindSafe(|| (target.run)(&bytes));
        if let Err(fault) = panic::catch_unwind(run) {
            println!("{name}, input {count}: {bytes:?}");
            panic::resume_unwind(fault);
        }
        count += 1;
    }
    println!("{name}: {} seeds and {count} inputs", seeds.len());
}

#[test]
fn agent_frames() {
    fuzz("agent_frames");
}

#[test]
fn buffer_ops() {
    fuzz("buffer_ops");
}

#[test]
fn capture_filter() {
    fuzz("capture_filter");
}

#[test]
fn lldp_frames() {
    fuzz("lldp_frames");
}

#[test]
fn burst_lengths() {
    fuzz("burst_lengths");
}

#[test]
fn campaign_toml() {
    fuzz("campaign_toml");
}

#[test]
fn drivers() {
    fuzz("drivers");
}

#[test]
fn network_toml() {
    fuzz("network_toml");
}

#[test]
fn parse() {
    fuzz("parse");
}

#[test]
fn plan_files() {
    fuzz("plan_files");
}

#[test]
fn fpm_session() {
    fuzz("fpm_session");
}

#[test]
fn roce_frames() {
    fuzz("roce_frames");
}

#[test]
fn rules_json() {
    fuzz("rules_json");
}

#[test]
fn sonic_json() {
    fuzz("sonic_json");
}

#[test]
fn scenario_toml() {
    fuzz("scenario_toml");
}

#[test]
fn switch_toml() {
    fuzz("switch_toml");
}

#[test]
fn trace_frames() {
    fuzz("trace_frames");
}

#[test]
fn worker_ops() {
    fuzz("worker_ops");
}

#[test]
fn every_target_has_seeds_and_its_binary() {
    let manifest = tests::tree::root().join("tests/fuzz/Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    for target in &TARGETS {
        assert!(!seeds(target).is_empty(), "{}", target.name);
        let path = format!("tests/fuzz/fuzz_targets/{}.rs", target.name);
        assert!(tests::tree::root().join(&path).is_file(), "{path}");
        assert!(manifest.contains(&format!("name = \"{}\"", target.name)), "{}", target.name);
    }
}

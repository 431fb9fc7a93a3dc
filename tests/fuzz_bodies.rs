//! The fuzz targets on a bounded number of inputs, without libFuzzer: random bytes, and seeds with
//! a few octets changed. The same inputs every time; `KNOTLESS_FUZZ_SEED` gives others, and
//! `KNOTLESS_FUZZ_SECONDS` more.

use std::env;
use std::panic;
use std::time::{Duration, Instant};
use tests::fuzz::{TARGETS, Target, seeds};

/// Inputs of each target at least, however long they take.
const INPUTS_MIN: u32 = 500;

/// A generator of numbers: splitmix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.roll() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn octet(&mut self) -> u8 {
        self.roll().to_le_bytes()[0]
    }
}

/// An input: bytes of no form, or a seed with a few changes.
fn input(dice: &mut Dice, target: &Target, seeds: &[Vec<u8>]) -> Vec<u8> {
    if seeds.is_empty() || dice.below(3) == 0 {
        let length = dice.below(target.bytes_max);
        return (0..length).map(|_| dice.octet()).collect();
    }
    let mut bytes = seeds[dice.below(seeds.len())].clone();
    for _ in 0..dice.below(6) {
        let at = dice.below(bytes.len());
        match dice.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, dice.octet()),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => {
                // A piece of another seed in the place of what is there.
                let other = &seeds[dice.below(seeds.len())];
                let from = dice.below(other.len());
                let to = from + dice.below(other.len() - from);
                bytes.truncate(at);
                bytes.extend(&other[from..to]);
            }
            _ if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            _ => {}
        }
    }
    bytes
}

fn fuzz(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse().ok());
    let seconds = number("KNOTLESS_FUZZ_SECONDS").unwrap_or(2);
    let mut dice = Dice(number("KNOTLESS_FUZZ_SEED").unwrap_or(1));
    let seeds = seeds(target);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut count = 0;
    seeds.iter().for_each(|seed| (target.run)(seed));
    while count < INPUTS_MIN || Instant::now() < end {
        let bytes = input(&mut dice, target, &seeds);
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
fn lldp_frames() {
    fuzz("lldp_frames");
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
fn rules_json() {
    fuzz("rules_json");
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

//! TTL classes and what hosts do: pause by class, as the manuscript has it, or by DSCP, as NICs do,
//! with and without a leaf that translates; each with one pool and with a partition for each class.
//!
//! Receivers of `ttl-hosts.toml` take frames at a random speed of 1 to 30 Gb/s, drawn by 20 seeds.

use bench::stats::{Interval, SEEDS_MIN};
use config::ScenarioConfig;
use config::scenario::{FaultKind, SchemeKind};
use dataplane::time::Speed;
use netsim::scenario::{Options, run};
use random::Draw;
use rayon::prelude::*;
use std::error::Error;
use std::path::Path;

/// How long sources send.
const DURATION_NS: u64 = 1_000_000;

/// What hosts and leaves do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nic {
    ByClass,
    Stock,
    Translated,
}

impl Nic {
    pub(crate) const EACH: [Self; 3] = [Self::ByClass, Self::Stock, Self::Translated];
}

/// What came out of all seeds.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) nic: Nic,
    pub(crate) partitions: bool,
    /// By seed.
    pub(crate) runs: Vec<Run>,
}

/// What came out of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) deadlock: bool,
    pub(crate) drained: bool,
    /// Frames that hosts had no room for, and other lossless frames that were lost.
    pub(crate) overruns: u64,
    pub(crate) other_losses: u64,
    /// Lossless frames lost, in percent of those sent.
    pub(crate) lost_percent: f64,
    /// What all receivers took, in Gb/s.
    pub(crate) goodput_gbps: f64,
}

/// All settings.
///
/// # Errors
/// The scenario is wrong.
pub(crate) fn all() -> Result<Vec<Setting>, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../netsim/scenarios/ttl-hosts.toml");
    let mut config = ScenarioConfig::load(&path)?;
    config.duration_ns = DURATION_NS;
    let mut settings = Vec::new();
    for partitions in [false, true] {
        for nic in Nic::EACH {
            let mut config = config.clone();
            config.scheme.partitions = partitions;
            config.scheme.hosts_by_dscp = nic != Nic::ByClass;
            config.scheme.translate = nic == Nic::Translated;
            let runs: Result<Vec<Run>, String> =
                (0..SEEDS_MIN).into_par_iter().map(|seed| one(&config, seed)).collect();
            settings.push(Setting { nic, partitions, runs: runs? });
        }
    }
    Ok(settings)
}

fn one(config: &ScenarioConfig, seed: usize) -> Result<Run, String> {
    let mut config = config.clone();
    let mut rng = random::substream(seed as u64, 0);
    for fault in &mut config.faults {
        if let FaultKind::SlowReceiver { speed, .. } = &mut fault.kind {
            *speed = Some(Speed::from_bps(rng.between(1_000_000_000, 30_000_000_000)));
        }
    }
    let options = Options { scheme: Some(SchemeKind::Ttl), ..Options::default() };
    let outcome = run(&config, options).map_err(|error| error.to_string())?;
    let sent: u64 = outcome.flows.iter().map(|flow| flow.sent_frames).sum();
    let bytes: u64 = outcome.flows.iter().map(|flow| flow.received_bytes).sum();
    Ok(Run {
        deadlock: outcome.deadlock.is_some(),
        drained: outcome.drained_ps.is_some(),
        overruns: outcome.headroom_overruns,
        other_losses: outcome.lossless_drops.saturating_sub(outcome.headroom_overruns),
        lost_percent: outcome.lossless_drops as f64 * 100.0 / sent.max(1) as f64,
        goodput_gbps: bytes as f64 * 8_000.0 / outcome.duration_ps as f64,
    })
}

impl Setting {
    /// Seeds whose frames all arrived.
    pub(crate) fn lossless(&self) -> usize {
        self.runs.iter().filter(|run| run.overruns + run.other_losses == 0).count()
    }

    pub(crate) fn deadlocks(&self) -> usize {
        self.runs.iter().filter(|run| run.deadlock || !run.drained).count()
    }

    pub(crate) fn lost_percent(&self) -> Option<Interval> {
        Interval::of(&self.runs.iter().map(|run| run.lost_percent).collect::<Vec<_>>())
    }

    pub(crate) fn goodput_gbps(&self) -> Option<Interval> {
        Interval::of(&self.runs.iter().map(|run| run.goodput_gbps).collect::<Vec<_>>())
    }

    /// Whether nothing deadlocks, and frames are lost at hosts whose pauses nobody obeys, and only
    /// there.
    pub(crate) fn is_as_expected(&self) -> bool {
        let lossless = if self.nic == Nic::Stock { 0 } else { self.runs.len() };
        self.deadlocks() == 0
            && self.lossless() == lossless
            && self.runs.iter().all(|run| run.other_losses == 0)
    }
}

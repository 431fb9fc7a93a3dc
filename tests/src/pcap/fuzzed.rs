//! Frames that are not quite what a case expects, thousands of them, through the same switch: each
//! one ends somewhere, and none is counted as sent that is not in a file.

use super::case::Case;
use super::file::{self, Bytes};
use super::run::{self, RunError};
use crate::mutate::mutated;
use random::{Draw, SplitMix64};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Cases whose switches are unlike each other: bridged, routed, both, with tags of either kind.
pub const SWITCHES: [&str; 10] = [
    "jumbo",
    "l2-learn",
    "l2-rules",
    "remark-then-raise",
    "route-v4",
    "route-v6",
    "ttl-classes",
    "two-workers",
    "vlan-routed",
    "vlan-trunk",
];
/// Frames that each of them gets.
pub const FRAMES: usize = 10_000;
/// Frames as long as a port takes without tags, and up to three tags longer.
const LONG: std::ops::Range<usize> = 1_514..1_527;
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];

/// Sends [`FRAMES`] changed frames of `case` through its switch.
///
/// # Errors
/// The switch cannot be run; or [`RunError::Miscounted`], or [`RunError::Unbalanced`].
pub fn replay(case: &Case, program: &Path, seed: u64) -> Result<(), RunError> {
    let folder = TempDir::with_prefix("knotless-fuzzed-").map_err(run::io("a folder"))?;
    for from in case.given() {
        let to = folder.path().join(from.file_name().unwrap_or_default());
        fs::copy(&from, &to).map_err(run::io(from.display().to_string()))?;
    }
    let about = folder.path().join("about");
    fs::write(&about, &case.about).map_err(run::io(about.display().to_string()))?;
    let mut rng = random::seeded(seed);
    let seeds = case.frames();
    let inputs = case.arriving.len();
    for port in case.arriving.keys() {
        let frames: Vec<Bytes> = (0..FRAMES / inputs).map(|_| frame(&mut rng, &seeds)).collect();
        file::write(&folder.path().join(format!("in-{port}.pcap")), &frames)?;
    }
    let seen = run::run(&Case::load(folder.path())?, program)?;
    let value = |name: &str| seen.counters.get(name).copied().unwrap_or_default();
    let sum = |names: &[&str]| names.iter().map(|name| value(&format!("totals {name}"))).sum();
    let came = sum(&["received", "injected", "copied", "handoff_rx"]);
    let ended = sum(&["sent", "dropped", "punted", "consumed", "handoff_tx", "held"]);
    match came == ended {
        true => Ok(()),
        false => Err(RunError::Unbalanced { came, ended }),
    }
}

/// A changed frame, of at least an Ethernet header; no MAC control, which would stop the others.
fn frame(rng: &mut SplitMix64, seeds: &[Bytes]) -> Bytes {
    loop {
        let mut frame = mutated(rng, seeds);
        if rng.index(8) == 0 {
            frame.resize(LONG.start + rng.index(LONG.len()), 0);
        }
        if frame.len() >= 14 && !frame.windows(2).take(18).any(|at| at == MAC_CONTROL) {
            return frame;
        }
    }
}

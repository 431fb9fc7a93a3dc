//! Inputs to begin with: frames of the pcap cases, example files, and scripts that do something.

use super::Target;
use crate::pcap::cases;
use crate::tree;
use std::fs;
use std::path::Path;

/// Seeds for `target`, from files of this tree.
pub fn seeds(target: &Target) -> Vec<Vec<u8>> {
    let mut seeds = match target.name {
        "parse" => frames(),
        // A punted frame: the operation, the port, the reason, the next hop, the length.
        "agent_frames" => frames().iter().map(|frame| punted(frame)).collect(),
        "switch_toml" => texts("config/examples", "toml").into_iter().chain(switches()).collect(),
        "network_toml" => texts("config/examples/networks", "toml"),
        "scenario_toml" => texts("netsim/scenarios", "toml")
            .into_iter()
            .chain(texts("config/examples/scenarios", "toml"))
            .collect(),
        "rules_json" => texts("config/examples/rules", "json"),
        // Scripts have no form that would have to be met; anything counts up.
        _ => {
            (0..8_u8).map(|step| (0..255).map(|n: u8| n.wrapping_mul(step + 1)).collect()).collect()
        }
    };
    seeds.retain(|seed| seed.len() <= target.bytes_max);
    seeds
}

/// The frames that arrive in the pcap cases, one of each kind that matters and many more.
fn frames() -> Vec<Vec<u8>> {
    let cases = cases().unwrap_or_default();
    cases.into_iter().filter_map(|(_, case)| case.ok()).flat_map(|case| case.frames()).collect()
}

fn switches() -> Vec<Vec<u8>> {
    let cases = cases().unwrap_or_default().into_iter().filter_map(|(_, case)| case.ok());
    cases.filter_map(|case| fs::read(case.folder.join("switch.toml")).ok()).collect()
}

fn punted(frame: &[u8]) -> Vec<u8> {
    let length = u16::try_from(frame.len()).unwrap_or(u16::MAX).to_be_bytes();
    let reason = frame.first().copied().unwrap_or_default();
    [&[6, 0, reason % 6, 1, 1], &length[..], frame].concat()
}

fn texts(directory: &str, extension: &str) -> Vec<Vec<u8>> {
    let is_one = |path: &Path| path.extension().is_some_and(|e| e == extension);
    let entries = fs::read_dir(tree::root().join(directory)).into_iter().flatten();
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().filter(|path| is_one(path)).filter_map(|path| fs::read(path).ok()).collect()
}

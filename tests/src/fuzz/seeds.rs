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
        "lldp_frames" => exchanges(),
        "switch_toml" => texts("config/examples", "toml").into_iter().chain(switches()).collect(),
        "fpm_session" => records(),
        "trace_frames" => captures(),
        "network_toml" => texts("config/examples/networks", "toml"),
        "scenario_toml" => texts("netsim/scenarios", "toml")
            .into_iter()
            .chain(texts("config/examples/scenarios", "toml"))
            .collect(),
        "campaign_toml" => texts("config/examples/campaigns", "toml"),
        "plan_files" => texts("config/examples/plans", "txt")
            .into_iter()
            .chain(texts("config/examples/plans", "json"))
            .collect(),
        "rules_json" => texts("config/examples/rules", "json"),
        "sonic_json" => texts("config/tests/sonic", "json"),
        // Scripts have no form that would have to be met; anything counts up.
        _ => {
            (0..8_u8).map(|step| (0..255).map(|n: u8| n.wrapping_mul(step + 1)).collect()).collect()
        }
    };
    seeds.extend(found(target.name));
    seeds.retain(|seed| seed.len() <= target.bytes_max);
    seeds
}

/// What fuzzing found: inputs that once broke something, in a folder for each target.
fn found(target: &str) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(tree::root().join("tests/fuzz/found").join(target));
    let mut paths: Vec<_> =
        entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().filter_map(|path| fs::read(path).ok()).collect()
}

/// The frames that arrive in the pcap cases, one of each kind that matters and many more.
fn frames() -> Vec<Vec<u8>> {
    let cases = cases().unwrap_or_default();
    cases.into_iter().filter_map(|(_, case)| case.ok()).flat_map(|case| case.frames()).collect()
}

/// Captures of one frame each, and a request.
fn captures() -> Vec<Vec<u8>> {
    let capture = |frame: &Vec<u8>| {
        let length = u32::try_from(frame.len()).unwrap_or(u32::MAX).to_le_bytes();
        let head = [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes);
        [&head.concat(), &[0; 8][..], &length, &length, frame].concat()
    };
    let mut seeds: Vec<Vec<u8>> = frames().iter().map(capture).collect();
    let request = r#"{"request":"trace","port":"a","frame":{"described":{"source":"10.0.1.1",
        "destination":"10.0.2.1","dscp":26,"protocol":17,"source_port":1,"destination_port":4791,
        "ttl":64,"vlan":null,"pcp":0,"frame_bytes":128,"source_mac":null,"destination_mac":null}},
        "stations":[{"vlan":1,"mac":"02:00:00:00:02:01","port":"c"}]}"#;
    seeds.push(request.into());
    seeds
}

/// What a real zebra sent: each record as a whole, and its frames one by one.
fn records() -> Vec<Vec<u8>> {
    let octets = |line: &str| -> Vec<u8> {
        let pairs = (0..line.len()).step_by(2).filter_map(|at| line.get(at..at + 2));
        pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
    };
    let texts = texts("switch/src/fpm/recorded", "hex");
    let records = texts.iter().map(|text| String::from_utf8_lossy(text).into_owned());
    let frames: Vec<Vec<Vec<u8>>> =
        records.map(|text| text.lines().map(octets).collect()).collect();
    let whole = frames.iter().map(|frames| frames.concat());
    whole.chain(frames.iter().flatten().cloned()).collect()
}

fn switches() -> Vec<Vec<u8>> {
    let cases = cases().unwrap_or_default().into_iter().filter_map(|(_, case)| case.ok());
    cases.filter_map(|case| fs::read(case.folder.join("switch.toml")).ok()).collect()
}

/// A host, a leaf and a spine that say what they are, at ports that are up.
fn exchanges() -> Vec<Vec<u8>> {
    let up = [[2, 0, 1], [2, 1, 1], [2, 2, 1], [2, 3, 1]].concat();
    let says = |port: u8, name: u8, tlvs: &[u8]| {
        let length = u16::try_from(tlvs.len()).unwrap_or(u16::MAX).to_be_bytes();
        [&[4, port, name, 120][..], &length, tlvs].concat()
    };
    let standard = |device, level, port| [0xFE, 7, 0, 0x80, 0xC2, 0x14, device, level, port, 0, 0];
    let slides = |device, level, port| [0xFE, 7, 0x0A, 0x6B, 0x6E, 1, device, level, port, 0, 0];
    let host = says(0, 1, &standard(0, 0, 255));
    let spine = says(2, 2, &slides(1, 2, 2));
    let liar = says(1, 3, &standard(1, 1, 0));
    let rich = [
        &[
            0x0A, 2, b's', b'1', 0x0E, 4, 0, 0x14, 0, 0x10, 0x10, 12, 5, 1, 10, 0, 0, 1, 1, 0, 0,
            0, 0, 0,
        ][..],
        &[0xFE, 6, 0, 0x12, 0x0F, 4, 5, 0xEE, 0xFE, 6, 0, 0x80, 0xC2, 0x0B, 8, 0x18],
        &standard(2, 3, 1),
    ];
    let rich = says(3, 4, &rich.concat());
    let wait = [1, 0, 1, 0, 0, 0, 0x13, 0x88];
    let all = [&[0][..], &up, &host, &spine, &wait, &liar, &rich, &wait].concat();
    vec![
        all,
        [&[4][..], &up, &rich, &spine].concat(),
        [&[9][..], &up, &liar, &host, &rich].concat(),
    ]
}

fn punted(frame: &[u8]) -> Vec<u8> {
    let length = u16::try_from(frame.len()).unwrap_or(u16::MAX).to_be_bytes();
    let reason = frame.first().copied().unwrap_or_default();
    [&[6, 0, reason % 8, 1, 1], &length[..], frame].concat()
}

fn texts(directory: &str, extension: &str) -> Vec<Vec<u8>> {
    let is_one = |path: &Path| path.extension().is_some_and(|e| e == extension);
    let entries = fs::read_dir(tree::root().join(directory)).into_iter().flatten();
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().filter(|path| is_one(path)).filter_map(|path| fs::read(path).ok()).collect()
}

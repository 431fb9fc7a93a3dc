//! Files with random damage: they load or say what is wrong, in one line, and never panic.

mod damage;

use config::plan_file::PlanFile;
use config::rule_file;
use config::{NetworkConfig, ScenarioConfig, SwitchConfig};
use damage::{assert_one_line, damage, damaged};
use fabric::Network;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// Sizes around every limit there is.
const SIZES: &[&str] = &[
    "0",
    "1",
    "63",
    "64",
    "255",
    "1521",
    "1522",
    "3044",
    "\"9KB\"",
    "\"64KB\"",
    "\"100KB\"",
    "\"1MB\"",
    "\"3MB\"",
    "\"12MB\"",
    "\"64MiB\"",
    "\"4GB\"",
    "4294967295",
    "4294967296",
    "\"64GB\"",
    "9223372036854775807",
    "\"18446744073709551615\"",
];
const SIZE_FIELDS: &[&str] = &[
    "size",
    "cell",
    "lossy",
    "lossy_queue",
    "xoff",
    "static_th",
    "cable_length",
    "rx_desc",
    "tx_desc",
    "tx_byte_limit",
    "b1",
    "xon",
    "xon_offset",
    "headroom",
    "tx_limit",
    "peer_tx_limit",
    "quantum",
    "kmin",
    "kmax",
];
const NUMBERS: &[&str] = &[
    "-9",
    "-1",
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "16",
    "26",
    "32",
    "63",
    "64",
    "68",
    "1024",
    "1500",
    "4094",
    "4095",
    "9000",
    "9706",
    "9707",
    "32768",
    "65535",
    "65536",
    "9223372036854775807",
];
const NUMBER_FIELDS: &[&str] = &[
    "priority",
    "tag",
    "dscp",
    "pcp",
    "mtu",
    "worker",
    "count",
    "rx_ring",
    "tx_ring",
    "rx_backlog",
    "dynamic_th",
    "vlan",
    "native",
    "seed",
    "default_tag",
];
/// For the other fields: values that are right for some of them.
const VALUES: &[&str] = &[
    "0.0",
    "0.5",
    "1.0",
    "inf",
    "true",
    "false",
    "\"\"",
    "\"1\"",
    "\"1M\"",
    "\"10G\"",
    "\"1.6T\"",
    "\"0m\"",
    "\"300m\"",
    "\"1000km\"",
    "\"0ns\"",
    "\"1s\"",
    "\"8760h\"",
    "\"dscp\"",
    "\"pcp\"",
    "\"port\"",
    "\"busy\"",
    "\"poll\"",
    "\"always\"",
    "\"10.0.1.2\"",
    "\"fe80::2\"",
    "\"10.0.0.0/8\"",
    "\"::/0\"",
    "[]",
    "[0]",
    "[7]",
    "[1, 2, 3]",
    "[10, \"1-4094\"]",
    "[\"10.0.1.1/24\"]",
    "[\"fe80::7/64\"]",
    "[\"10.9.1.1\"]",
    "\"02:00:00:00:00:01\"",
    "\"net_null0\"",
    "\"0000:01:00.0\"",
    "{ 0 = 255 }",
];

fn values_of(field: &str) -> &'static [&'static str] {
    if SIZE_FIELDS.contains(&field) {
        SIZES
    } else if NUMBER_FIELDS.contains(&field) {
        NUMBERS
    } else {
        VALUES
    }
}

/// `text` with another value in some of its lines, so that the damage gets past the grammar.
fn revalued(text: &str, changes: &[(prop::sample::Index, prop::sample::Index)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let fields: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].contains(" = ")).collect();
    for (field, value) in changes {
        let line = &mut lines[fields[field.index(fields.len())]];
        let Some((key, _)) = line.split_once(" = ") else { continue };
        let values = values_of(key);
        *line = format!("{key} = {}", values[value.index(values.len())]);
    }
    lines.join("\n")
}

fn examples() -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let toml = files.filter(|file| file.extension().is_some_and(|e| e == "toml"));
    toml.map(|file| fs::read_to_string(file).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_damaged_switch_file_is_refused_or_means_something(
        which: prop::sample::Index,
        damages in prop::collection::vec(damage(), 1..5),
    ) {
        let examples = examples();
        let text = damaged(&examples[which.index(examples.len())], &damages);
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/damaged");
        match SwitchConfig::parse(&file, &text) {
            Err(error) => assert_one_line(&error, &text),
            Ok(config) => check_promises(&config),
        }
    }

    #[test]
    fn other_values_are_refused_or_mean_something(
        which: prop::sample::Index,
        changes in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 1..4),
    ) {
        let examples = examples();
        let text = revalued(&examples[which.index(examples.len())], &changes);
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/damaged");
        match SwitchConfig::parse(&file, &text) {
            Err(error) => assert_one_line(&error, &text),
            Ok(config) => check_promises(&config),
        }
    }

    #[test]
    fn a_damaged_scenario_is_refused_or_means_something(
        cut in prop::option::of(any::<prop::sample::Index>()),
        damages in prop::collection::vec(damage(), 0..5),
        changes in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..2),
    ) {
        let whole = include_str!("../examples/scenarios/every-key.toml");
        let mut text = damaged(&revalued(whole, &changes), &damages);
        if let Some(cut) = cut {
            let end = text.char_indices().map(|(at, _)| at).nth(cut.index(text.chars().count().max(1)));
            text.truncate(end.unwrap_or_default());
        }
        match ScenarioConfig::parse(Path::new("damaged"), &text) {
            Err(error) => assert_one_line(&error, &text),
            Ok(config) => {
                prop_assert!(config.duration_ns > 0);
                prop_assert!(!config.flows.is_empty() || !config.traffic.is_empty());
                prop_assert!(config.faults.iter().all(|f| f.until_ns.is_none_or(|u| u > f.at_ns)));
            }
        }
    }

    #[test]
    fn a_damaged_rule_file_is_refused_or_written_again(
        damages in prop::collection::vec(damage(), 1..5),
    ) {
        let text = damaged(include_str!("../examples/rules/spine1.json"), &damages);
        let file = Path::new("damaged");
        match rule_file::parse(file, &text) {
            Err(error) => assert_one_line(&error, &text),
            Ok(rules) => prop_assert_eq!(rule_file::parse(file, &rule_file::to_json(&rules)), Ok(rules)),
        }
    }

    #[test]
    fn a_damaged_network_is_refused_or_means_something(
        which: prop::sample::Index,
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let wholes = [
            include_str!("../examples/networks/triangle.toml"),
            include_str!("../examples/networks/pods.toml"),
            include_str!("../examples/knot/network.toml"),
        ];
        let text = damaged(wholes[which.index(wholes.len())], &damages);
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/networks/damaged");
        match NetworkConfig::parse(&file, &text) {
            Err(error) => assert_one_line(&error, &text),
            Ok(config) => prop_assert!(config.network.hosts() > 0),
        }
    }

    #[test]
    fn a_damaged_plan_is_refused_or_written_again(
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let text = damaged(include_str!("../examples/plans/ring.json"), &damages);
        match PlanFile::parse(Path::new("damaged"), &text) {
            Err(error) => assert_one_line(&error, &text),
            Ok(plan) => {
                let again = serde_json::to_string(&plan).unwrap();
                prop_assert_eq!(PlanFile::parse(Path::new("again"), &again), Ok(plan));
            }
        }
    }

    #[test]
    fn damaged_paths_are_refused_or_lead_somewhere(
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let network = ring();
        let text = damaged(include_str!("../examples/plans/ring-old.txt"), &damages);
        match config::path_file::parse(Path::new("damaged"), &text, &network) {
            Err(error) => assert_one_line(&error, &text),
            Ok(paths) => prop_assert!(paths.iter().all(|path| path.route.len() <= network.switches())),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The files that other files name: read from disk, as they are in earnest.
    #[test]
    fn damaged_routes_and_path_files_are_refused_or_read(
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
        let spine = SwitchConfig::load(&examples.join("spine.toml")).unwrap();
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("damaged");
        let text = damaged(include_str!("../examples/spine.routes"), &damages);
        fs::write(&file, &text).unwrap();
        match spine.with_routes(&file) {
            Err(error) => assert_one_line(&error, &text),
            Ok(spine) => check_promises(&spine),
        }
        let text = damaged(include_str!("../examples/networks/triangle.txt"), &damages);
        fs::write(&file, &text).unwrap();
        let network = fs::read_to_string(examples.join("networks/triangle.toml")).unwrap();
        let network = network.replace("triangle.txt", "damaged");
        if let Err(error) = NetworkConfig::parse(&place.path().join("N.toml"), &network) {
            assert_one_line(&error, &text);
        }
    }
}

fn ring() -> Network {
    let text = include_str!("../examples/plans/ring.toml");
    NetworkConfig::parse(Path::new("ring.toml"), text).unwrap().network
}

/// What the dataplane trusts of any configuration that was accepted.
fn check_promises(config: &SwitchConfig) {
    let settings = &config.settings;
    let set_aside: u64 = settings
        .ports
        .iter()
        .flat_map(|port| port.lossless.iter().flatten())
        .map(|viq| u64::from(viq.reserved_bytes) + u64::from(viq.headroom_bytes))
        .sum();
    assert!(set_aside + settings.buffer.lossy_bytes <= settings.buffer.size_bytes);
    assert!(
        settings.buffer.frames_max as u64 * u64::from(settings.buffer.cell_bytes)
            >= settings.buffer.size_bytes
    );
    assert!(config.memory.mbufs >= settings.buffer.frames_max);
    assert_eq!(settings.ports.len(), config.ports.len());
    assert!(settings.ports.iter().all(|port| port.worker.index() < config.workers.count));
    assert!(settings.scheduler.quantum_bytes.iter().all(|&quantum| quantum > 0));
    for port in &settings.ports {
        let frame = u32::from(port.frame_bytes_max);
        for viq in port.lossless.iter().flatten() {
            assert!(viq.reserved_bytes >= frame && viq.headroom_bytes >= frame);
            assert!(viq.xon_offset_bytes >= 2 * frame);
        }
    }
    config.routing_table().unwrap_or_else(|error| panic!("{error}"));
}

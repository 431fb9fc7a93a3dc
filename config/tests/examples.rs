//! Every example loads, means what its comments say, and together they show every field there is.

use config::SwitchConfig;
use config::rule_file;
use config::switch::{Device, Hugepages, Idle};
use dataplane::fib::Route;
use dataplane::ids::{PortId, Tag, WorkerId};
use dataplane::l2::Vid;
use dataplane::pipeline::classify::ClassifyBy;
use dataplane::queue::shaper::PeakRate;
use dataplane::settings::Threshold;
use dataplane::snapshot::PortMode;
use dataplane::time::Speed;
use std::fs;
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == extension)).collect();
    files.sort();
    files
}

fn load(name: &str) -> SwitchConfig {
    SwitchConfig::load(&examples().join(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn tag(value: u8) -> Tag {
    Tag::new(value).unwrap()
}

#[test]
fn every_example_loads_without_a_warning() {
    let mut all = files(&examples(), "toml");
    all.extend(files(&examples().join("demo"), "toml"));
    assert_eq!(all.len(), 12);
    for file in all {
        let config = SwitchConfig::load(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(config.warnings, [], "{}", file.display());
        let routes = config.routing_table().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(routes.routes().count(), config.routes.len(), "{}", file.display());
    }
}

#[test]
fn rule_files_are_as_they_would_be_written() {
    for file in files(&examples().join("rules"), "json") {
        let rules = rule_file::load(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(rules.switch, file.file_stem().unwrap().to_str().unwrap());
        assert_eq!(rule_file::to_json(&rules), fs::read_to_string(&file).unwrap());
    }
    let demo = examples().join("demo/rules.json");
    assert_eq!(
        rule_file::to_json(&rule_file::load(&demo).unwrap()),
        fs::read_to_string(&demo).unwrap()
    );
}

/// What serde says it would have taken in place of a field that no table has.
fn fields_of(table: &str) -> Vec<String> {
    let text = format!("name = 'A'\n{table}\nqwertyuiop = 1\n");
    let error = SwitchConfig::parse(Path::new("A.toml"), &text).unwrap_err();
    let (_, known) = error.message.split_once("known here: ").unwrap_or_else(|| panic!("{error}"));
    known.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_examples_show_every_field() {
    let texts: Vec<String> =
        files(&examples(), "toml").iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    // The text of the tables with this header, without comments.
    let shown = |header: &str| -> String {
        let mut inside = header.is_empty();
        let mut found = String::new();
        for line in texts.iter().flat_map(|text| ["[end]"].into_iter().chain(text.lines())) {
            if line.starts_with('[') {
                inside = line == header || header.is_empty() && line == "[end]";
            } else if inside && !line.starts_with('#') {
                found += &format!("\n{line}");
            }
        }
        found
    };
    let is_table = |field: &str| {
        texts
            .iter()
            .any(|t| t.contains(&format!("\n[{field}]")) || t.contains(&format!("\n[[{field}]]")))
    };
    let tables = [
        "[[lossless]]",
        "[[tag]]",
        "[[initial_tag]]",
        "[[port]]",
        "[[route]]",
        "[[neighbor]]",
        "[[ecn]]",
        "[[wred]]",
        "[[shaper]]",
    ];
    let single = [
        "[buffer]",
        "[headroom]",
        "[scheduler]",
        "[inband_telemetry]",
        "[workers]",
        "[memory]",
        "[control]",
        "[security]",
        "[metrics]",
        "[fleet]",
        "[dpdk]",
        "[sflow]",
        "[host]",
    ];
    for header in [""].into_iter().chain(tables).chain(single).chain(["[mac_table]"]) {
        let text = shown(header);
        for field in fields_of(header) {
            let shown = text.contains(&format!("\n{field} = "))
                || header.is_empty() && is_table(&field)
                || is_table(&format!("{}.{field}", header.trim_matches(['[', ']'])));
            assert!(shown, "no example shows `{field}` of {header}");
        }
    }
}

#[test]
fn a_leaf_bounces_to_tag_2_and_believes_only_switches() {
    let config = load("leaf.toml");
    let rules = config.rule_table().unwrap();
    let port = |number| PortId::from_number(number).unwrap();
    assert_eq!(rules.lookup(tag(1), port(1), port(3)), tag(1), "host to spine");
    assert_eq!(rules.lookup(tag(1), port(3), port(4)), tag(2), "spine to spine is a bounce");
    assert_eq!(rules.lookup(tag(2), port(3), port(4)), tag(0), "a second bounce is lossy");
    let trusted: Vec<bool> = config.ports.iter().map(|port| port.trust.trusted).collect();
    assert_eq!(trusted, [false, false, true, true]);
    assert!(config.settings.ports.iter().all(|port| port.paced && port.lossless_bits() == 0b110));
    let Route::Via(gateways) = &config.routes[0].1 else { panic!("the default route is a way up") };
    assert_eq!(gateways.len(), 2);
    assert_eq!(config.workers.idle, Idle::Sleep);
    assert_eq!(config.memory.hugepages, Hugepages::Never);
    assert_eq!(config.socket, Path::new("/run/knotless/leaf1.sock"));
    assert_eq!(config.ports[0].device, Device::Virtual("net_tap0,iface=kt1".to_owned()));
    assert_eq!(config.ports[0].device.key(), "net_tap0");
}

#[test]
fn a_vlan_switch_carries_roce_in_pcp_3_and_nothing_else() {
    let config = load("vlan.toml");
    let tags = &config.tag_map;
    assert_eq!(tags.dscp_to_tag[26], tag(3));
    assert_eq!(tags.pcp_to_tag[3], tag(3));
    assert_eq!(tags.lossless_tags, 1 << 3);
    let orphan = tags.dscp_to_tag[3];
    assert!(!tags.is_lossless(orphan), "DSCP 3 is not what the operator listed");
    assert_eq!(tags.dscp[orphan.index()], 3, "and leaves as it came");
    let vid = |value| Vid::new(value).unwrap();
    let PortMode::Bridged(trunk) = &config.ports[2].mode else { panic!("the trunk bridges") };
    assert_eq!(trunk.native, Some(vid(1)));
    let tagged = (1..=4_094).filter(|&value| trunk.tagged.contains(vid(value))).count();
    assert_eq!(tagged, 102);
    assert_eq!(config.ports[2].trust.by, ClassifyBy::Pcp);
    assert_eq!(config.ports[3].trust.default_tag, tag(32));
    assert_eq!(config.settings.ports[1].lossless_bits(), 0, "pfc = false");
    let viq = config.settings.ports[0].lossless[3].unwrap();
    assert_eq!(viq.threshold, Threshold::Static { xoff_bytes: 200_000 });
    assert_eq!(viq.xon_offset_bytes, 50_000);
    assert!(config.interfaces().is_empty());
}

#[test]
fn nics_have_the_headroom_that_is_given_or_computed() {
    let config = load("nic.toml");
    let [east, west] = &config.settings.ports[..] else { panic!("two ports") };
    // 25,724 B of IEEE 802.3, of which 7,552 are for 118 quanta that are 4.5 us here; 50 KB of our
    // poll, 50 KB of our transmit ring; 256 B for each 84.
    // With two queues, as much again for a second poll: that of the queue's own worker.
    let wire: u64 = 25_724 - 7_552 + 22_500 + 2 * 50_000 + 50_000;
    let computed = wire.div_ceil(84) * 256;
    assert_eq!(u64::from(east.lossless[3].unwrap().headroom_bytes), computed);
    assert_eq!(east.lossless[4].unwrap().headroom_bytes, 600_000, "the priority's own");
    assert_eq!(west.lossless[3].unwrap().headroom_bytes, 620_000, "the port's own");
    assert_eq!(config.ports[1].tx_limit_bytes, 16_000);
    assert_eq!(config.ports[0].device, Device::Pci("0000:01:00.0".to_owned()));
    assert!(!east.paced && east.rx_backlog_xoff_frames == 1_024);
    assert_eq!(config.workers.cores, [2, 3]);
    assert_eq!((east.worker.index(), &east.further_queues[..]), (0, &[WorkerId(1)][..]));
    assert_eq!((config.ports[0].queues, west.further_queues.len()), (2, 0));
    assert_eq!(config.memory.size_bytes, 1 << 30);
    let metrics = config.metrics.as_ref().map(ToString::to_string);
    assert_eq!((metrics.as_deref(), config.telemetry), (Some("127.0.0.1:9477"), true));
}

#[test]
fn a_spine_marks_and_spreads() {
    let config = load("spine.toml");
    let ecn = config.settings.ecn[3].unwrap();
    assert_eq!((ecn.kmin_bytes, ecn.kmax_bytes, ecn.pmax_q16), (100_000, 400_000, 3_277));
    assert_eq!(config.settings.ecn[0].unwrap().pmax_q16, 65_536);
    let wred = config.settings.wred[0].unwrap();
    assert_eq!((wred.kmin_bytes, wred.kmax_bytes, wred.pmax_q16), (60_000, 300_000, 6_554));
    assert_eq!(config.routes.len(), 8, "four of the tables, four of the file");
    assert_eq!(config.routes[7].1, Route::Blackhole);
    let Route::Via(gateways) = &config.routes[6].1 else { panic!("10.4.0.0/16 has gateways") };
    assert_eq!(gateways.len(), 2);
}

#[test]
fn strict_priority_has_no_weight_and_storage_has_three() {
    let config = load("strict.toml");
    let scheduler = &config.settings.scheduler;
    assert_eq!(scheduler.strict_bits, 1 << 7);
    assert_eq!(scheduler.quantum_bytes[0], 2_000);
    assert_eq!(scheduler.quantum_bytes[3], 6_000);
    assert_eq!(config.tag_map.priority[48].value(), 7);
    assert_eq!(config.tag_map.priority[46].value(), 0);
    let peak = |mbps: u64, burst_bytes| {
        Some(PeakRate { rate: Speed::from_bps(mbps * 1_000_000), burst_bytes })
    };
    let [first, second] = [0, 1].map(|port| config.settings.ports[port].peak_rates);
    assert_eq!((first[7], second[7]), (peak(50, 32_000), peak(20, 25_000 + 2 * 1_526)));
    assert_eq!((first[0], first[3], second[3]), (None, None, None));
}

#[test]
fn the_line_rate_bench_is_lossy_and_unpaced() {
    let config = load("line-rate.toml");
    assert_eq!(config.settings.buffer.frames_max, 65_536);
    assert_eq!(config.settings.buffer.lossy_bytes, config.settings.buffer.size_bytes);
    assert!(config.settings.ports.iter().all(|port| !port.paced && port.lossless_bits() == 0));
    assert_eq!(config.settings.ports[1].worker.index(), 1);
    assert_eq!(config.neighbors[1].port, PortId::FIRST);
}

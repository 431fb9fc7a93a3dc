//! Defaults, and what must hold whatever is written.

use config::SwitchConfig;
use config::switch::{PortConfig, changes_needing_restart};
use dataplane::ids::{PortId, Tag};
use dataplane::settings::Threshold;
use dataplane::wire::MacAddress;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn parse(text: &str) -> SwitchConfig {
    SwitchConfig::parse(Path::new("A.toml"), text).unwrap_or_else(|error| panic!("{error}"))
}

/// `count` ports with nothing but a device and an address.
fn ports(count: usize) -> String {
    let port = |n| format!("[[port]]\ndevice = 'net_null{n}'\naddresses = ['10.0.{n}.1/24']\n");
    (0..count).map(port).collect()
}

#[test]
fn four_ports_of_defaults_fit_256_mb_with_two_lossless_priorities() {
    let text =
        format!("name = 'A'\n[[lossless]]\npriority = 3\n[[lossless]]\npriority = 4\n{}", ports(4));
    let config = parse(&text);
    assert!(config.memory.size_bytes <= 256_000_000, "{} B", config.memory.size_bytes);
    let buffer = &config.settings.buffer;
    assert_eq!((buffer.size_bytes, buffer.lossy_bytes), (12_000_000, 3_000_000));
    assert!(buffer.frames_max as u64 * u64::from(buffer.cell_bytes) >= buffer.size_bytes);
    let viq = config.settings.ports[0].lossless[3].unwrap();
    assert_eq!(viq.threshold, Threshold::dynamic(0));
    assert_eq!((viq.reserved_bytes, viq.xon_offset_bytes), (3_044, 3_044));
    assert!(dataplane::buffer::lossless_shared_bytes(&config.settings) > 6_000_000);
    assert_eq!(config.warnings, []);
}

#[test]
fn names_macs_workers_and_seed_follow_from_order_and_name() {
    let text = |name: &str| format!("name = '{name}'\n[workers]\ncount = 2\n{}", ports(3));
    let config = parse(&text("A"));
    let names: Vec<&str> = config.ports.iter().map(|port| port.name.as_str()).collect();
    assert_eq!(names, ["1", "2", "3"]);
    let workers: Vec<usize> =
        config.settings.ports.iter().map(|port| port.worker.index()).collect();
    assert_eq!(workers, [0, 1, 0]);
    let macs = |config: &SwitchConfig| -> Vec<MacAddress> {
        config.settings.ports.iter().map(|port| port.mac).collect()
    };
    let [a, again, b] = [parse(&text("A")), config, parse(&text("B"))];
    assert_eq!(macs(&a), macs(&again));
    assert_eq!(a.settings.seed, again.settings.seed);
    assert_ne!(a.settings.seed, b.settings.seed);
    let mut all = [macs(&a), macs(&b)].concat();
    assert!(all.iter().all(|mac| mac.0[0] == 0x02 && !mac.is_multicast()));
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6);
}

#[test]
fn three_hundred_ports_are_too_many_and_256_are_not() {
    let many = |count: usize| {
        let port = |n| format!("[[port]]\ndevice = 'net_null{n}'\nvlan = 1\n");
        let text: String = (0..count).map(port).collect();
        SwitchConfig::parse(Path::new("A.toml"), &format!("name = 'A'\n{text}"))
    };
    let config = many(256).unwrap_or_else(|error| panic!("{error}"));
    let mut macs: Vec<MacAddress> = config.settings.ports.iter().map(|port| port.mac).collect();
    macs.sort();
    macs.dedup();
    assert_eq!(macs.len(), 256);
    assert_eq!(many(257).unwrap_err().message, "a switch has at most 256 ports");
}

#[test]
fn headroom_below_the_computed_one_is_a_warning_once_for_all_ports() {
    let lossless = "[[lossless]]\npriority = 3\nheadroom = '20KB'\n";
    let config = parse(&format!("name = 'A'\n{lossless}{}", ports(4)));
    let [warning] = &config.warnings[..] else { panic!("one warning: {:?}", config.warnings) };
    assert_eq!((warning.line, warning.column), (4, 12));
    assert!(warning.message.contains("frames can be lost"), "{warning}");
    assert_eq!(config.settings.ports[2].lossless[3].unwrap().headroom_bytes, 20_000);
}

#[test]
fn static_thresholds_beyond_the_pool_are_a_warning() {
    let lossless = "[[lossless]]\npriority = 3\nstatic_th = '4MB'\n";
    let config = parse(&format!("name = 'A'\n{lossless}{}", ports(4)));
    let [warning] = &config.warnings[..] else { panic!("one warning: {:?}", config.warnings) };
    assert!(warning.message.contains("more than the shared pool"), "{warning}");
}

#[test]
fn without_rules_and_tags_dscp_3_is_priority_3() {
    let tags = parse(&format!("name = 'A'\n[[lossless]]\npriority = 3\n{}", ports(1))).tag_map;
    for dscp in 0..64u8 {
        let tag = tags.dscp_to_tag[usize::from(dscp)];
        assert_eq!(tag.value(), dscp);
        assert_eq!(tags.is_lossless(tag), dscp == 3);
        assert_eq!(tags.priority[tag.index()].value(), if dscp == 3 { 3 } else { 0 });
    }
    assert_eq!((tags.lossy_tag.value(), tags.initial_tag.value()), (0, 3));
    let pcps: Vec<u8> = tags.pcp_to_tag.iter().map(|tag| tag.value()).collect();
    assert_eq!(pcps, [0, 8, 16, 3, 32, 40, 48, 56], "class selectors, but for the lossless one");
}

#[test]
fn if_priority_0_is_lossless_the_rest_goes_to_the_next() {
    let tags = parse(&format!("name = 'A'\n[[lossless]]\npriority = 0\n{}", ports(1))).tag_map;
    assert!(tags.is_lossless(tags.dscp_to_tag[0]));
    assert_eq!(tags.lossy_tag.value(), 1);
    assert_eq!(tags.priority[1].value(), 1);
    assert!(!tags.is_lossless(tags.pcp_to_tag[1]) && tags.is_lossless(tags.pcp_to_tag[0]));
}

const RULES: &str = r#"{"switch": "A", "ports": 2, "lossy_tag": 0, "initial_tag": 1,
    "priorities": {"1": 3, "2": 4}, "entries": [
    {"tag": 1, "in": [1], "out": [2], "new_tag": 2}, {"tag": 2, "in": [2], "out": [1], "new_tag": 2}]}"#;

/// A switch in a directory of its own, with a rule and a route file.
fn on_disk(
    toml: &str,
    rules: &str,
) -> (tempfile::TempDir, Result<SwitchConfig, config::ConfigError>) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("A.json"), rules).unwrap();
    fs::write(directory.path().join("A.routes"), "10.9.0.0/16 via 10.0.0.2 10.0.1.2\n").unwrap();
    let file = directory.path().join("A.toml");
    fs::write(&file, toml).unwrap();
    let config = SwitchConfig::load(&file);
    (directory, config)
}

fn with_rules() -> String {
    let lossless = "[[lossless]]\npriority = 3\n[[lossless]]\npriority = 4\n";
    format!("name = 'A'\nrules = 'A.json'\nroutes = 'A.routes'\n{lossless}{}", ports(2))
}

#[test]
fn rules_decide_the_lossless_tags() {
    let (_directory, config) = on_disk(&with_rules(), RULES);
    let config = config.unwrap_or_else(|error| panic!("{error}"));
    let tags = &config.tag_map;
    assert_eq!(tags.lossless_tags, 0b110);
    assert_eq!((tags.priority[1].value(), tags.priority[2].value()), (3, 4));
    assert_eq!((tags.pcp[1], tags.pcp[2]), (3, 4));
    assert!(!tags.is_lossless(tags.dscp_to_tag[3]), "DSCP 3 is a lossy tag of the same number");
    assert_eq!(config.rules.as_ref().unwrap().entries.len(), 2);
    assert!(config.rules_file.unwrap().ends_with("A.json"));
}

#[test]
fn rules_must_fit_the_switch() {
    let cases = [
        (with_rules(), RULES.replace("\"A\"", "\"B\""), "is for switch `B`, and this is `A`"),
        (
            with_rules(),
            RULES.replace("\"ports\": 2", "\"ports\": 3"),
            "with 3 ports, and there are 2",
        ),
        (
            with_rules(),
            RULES.replace("\"2\": 4", "\"2\": 5"),
            "tag 2 the priority 5, which is not lossless here; add [[lossless]] with priority = 5",
        ),
        (
            with_rules() + "[[tag]]\ntag = 2\npriority = 3\n",
            RULES.to_owned(),
            "tag 2 has the priority 4 in the rules",
        ),
        (
            with_rules() + "[[tag]]\ntag = 5\npriority = 3\n",
            RULES.to_owned(),
            "the rules do not know tag 5",
        ),
        (
            with_rules() + "[[tag]]\ntag = 0\npriority = 3\n",
            RULES.to_owned(),
            "tag 0 is the rules' lossy tag",
        ),
        (
            with_rules() + "[[tag]]\ntag = 9\ndscp = 2\n",
            RULES.to_owned(),
            "lossless tag 2 has no DSCP: 2 already carries tag 9",
        ),
        (with_rules().replace("A.json", "B.json"), RULES.to_owned(), "B.json cannot be read"),
        (with_rules().replace("A.routes", "B.routes"), RULES.to_owned(), "B.routes cannot be read"),
    ];
    for (toml, rules, words) in cases {
        let (_directory, config) = on_disk(&toml, &rules);
        let error = config.unwrap_err();
        assert!(error.message.contains(words), "{error}");
        assert!(error.file.ends_with("A.toml"), "{error}");
    }
    let (_directory, config) = on_disk(&with_rules(), &RULES.replace("\"in\": [2]", "\"in\": [3]"));
    let error = config.unwrap_err();
    assert!(
        error.file.ends_with("A.json"),
        "what is wrong in the rule file is said of it: {error}"
    );
}

#[test]
fn a_wrong_line_of_a_route_file_is_named() {
    let (directory, config) = on_disk(&with_rules(), RULES);
    let config = config.unwrap();
    let file = directory.path().join("other.routes");
    for (text, place, words) in [
        (
            "# fine\n10.8.0.0/16 via 10.0.0.2 10.7.7.7\n",
            (2, 26),
            "no port is in a network with 10.7.7.7",
        ),
        ("10.8.0.0/16 by 10.0.0.2\n", (1, 13), "a line is `PREFIX via ADDRESS"),
        ("10.8.0.0/16\n", (1, 1), "a line is"),
        ("10.8.0.0/16 via\n", (1, 13), "has 0 gateways"),
        ("10.8.0.0/16 blackhole now\n", (1, 13), "a line is"),
        ("10.8.0.0/33 blackhole\n", (1, 1), "with the length of its prefix"),
        ("10.8.0.0/16 blackhole\n  10.8.0.0/16 blackhole\n", (2, 3), "has a route already"),
    ] {
        fs::write(&file, text).unwrap();
        let error = config.with_routes(&file).unwrap_err();
        assert_eq!((error.line, error.column), place, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
}

#[test]
fn rules_and_routes_can_be_loaded_alone() {
    let (directory, config) = on_disk(&with_rules(), RULES);
    let config = config.unwrap();
    // SWITCH.toml is not looked at again, whatever has become of it.
    fs::write(directory.path().join("A.toml"), "broken").unwrap();
    let rules = directory.path().join("new.json");
    fs::write(&rules, RULES.replace("\"initial_tag\": 1", "\"initial_tag\": 2")).unwrap();
    let new = config.with_rules(&rules).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(new.tag_map.initial_tag.value(), 2);
    assert_eq!(new.routes, config.routes);
    assert_eq!(new.rules_file.as_deref(), Some(rules.as_path()));
    assert_eq!(changes_needing_restart(&config, &new), Vec::<String>::new());

    let routes = directory.path().join("new.routes");
    fs::write(&routes, "10.8.0.0/16 blackhole\n").unwrap();
    let newer = new.with_routes(&routes).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(newer.routes.len(), 1);
    assert_eq!(newer.tag_map.initial_tag.value(), 2, "the rules stay");
    let again = newer.with_rules(&rules).unwrap();
    assert_eq!(again.routes, newer.routes, "and the routes stay");
    assert_eq!(again.routes_file, newer.routes_file);

    fs::write(&rules, RULES.replace("\"2\": 4", "\"2\": 6")).unwrap();
    assert!(config.with_rules(&rules).unwrap_err().message.contains("which is not lossless here"));
}

/// A queue whose frames other workers may send gets its first peak rate at the start.
#[test]
fn a_reload_changes_peak_rates_and_gives_the_first_one_where_one_worker_sends() {
    let text = |workers: u32, peak: &str| {
        let shaper = "[[shaper]]\npriority = 3\nports = ['2']\npeak_rate = ";
        let shaper = if peak.is_empty() { String::new() } else { format!("{shaper}'{peak}'\n") };
        format!("name = 'A'\n{}{shaper}[workers]\ncount = {workers}\n", ports(2))
    };
    let changes = |workers, before: &str, after: &str| {
        changes_needing_restart(&parse(&text(workers, before)), &parse(&text(workers, after)))
    };
    let line = "port 2: shaper of priority 3: new, and there are several workers";
    for (workers, before, after, needed) in [
        (1, "", "10M", vec![]),
        (1, "10M", "", vec![]),
        (2, "10M", "20M", vec![]),
        (2, "10M", "", vec![]),
        (2, "", "10M", vec![line.to_owned()]),
    ] {
        assert_eq!(changes(workers, before, after), needed, "{workers}: {before} to {after}");
    }
}

#[test]
fn a_reload_says_what_it_cannot_do() {
    let base = format!("name = 'A'\n[[lossless]]\npriority = 3\n{}", ports(2));
    let old = parse(&base);
    let changes = |text: &str| changes_needing_restart(&old, &parse(text));
    assert_eq!(changes(&base), Vec::<String>::new());
    for harmless in [
        base.replace("10.0.1.1/24", "10.7.1.1/24"),
        base.replace("addresses = ['10.0.1.1/24']", "vlan = 5\ntrusted = true"),
        format!("{base}[[route]]\nto = '10.9.0.0/16'\nblackhole = true\n"),
        format!("{base}[[neighbor]]\naddress = '10.0.0.2'\nmac = '02:00:00:00:00:07'\n"),
        format!("{base}[[tag]]\ntag = 3\ndscp = 26\npriority = 3\n"),
        format!("{base}[[ecn]]\npriority = 0\nkmin = 1000\nkmax = 2000\n"),
        format!("{base}[[wred]]\npriority = 0\nkmin = 1000\nkmax = 2000\n"),
        format!("{base}[[shaper]]\npriority = 0\npeak_rate = '1M'\n"),
        format!("loopback = ['10.1.0.1/32']\n{base}[[tunnel]]\nname = 't'\nlocal = '10.1.0.1'\n"),
        base.replace("'net_null1'", "'net_null1'\nsource_check = true"),
        format!(
            "{}[[static_mac]]\nmac = '02:00:00:00:00:07'\nport = '2'\n",
            base.replace("addresses = ['10.0.1.1/24']", "vlan = 5")
        ),
    ] {
        assert_eq!(changes(&harmless), Vec::<String>::new(), "{harmless}");
    }
    for (what, text) in [
        ("port 2: device", base.replace("net_null1", "net_null7")),
        ("port 2: speed in bps", base.replace("'net_null1'", "'net_null1'\nspeed = '1G'")),
        ("port 2: mtu", base.replace("'net_null1'", "'net_null1'\nmtu = 9000")),
        ("port 2: lossless thresholds", base.replace("'net_null1'", "'net_null1'\npfc = false")),
        ("port 2: rx_desc", base.replace("'net_null1'", "'net_null1'\nrx_desc = 64")),
        ("number of ports", format!("{base}[[port]]\ndevice = 'net_tap0'\nvlan = 1\n")),
        ("buffer.size", format!("{base}[buffer]\nsize = '16MB'\n")),
        ("scheduler.strict", format!("{base}[scheduler]\nstrict = [7]\n")),
        ("workers.idle", format!("{base}[workers]\nidle = 'sleep'\n")),
        ("memory.hugepages", format!("{base}[memory]\nhugepages = 'never'\n")),
        ("control.socket", format!("{base}[control]\nsocket = '/tmp/A'\n")),
        ("metrics.listen", format!("{base}[metrics]\nlisten = '127.0.0.1:9477'\n")),
        ("dpdk.telemetry", format!("{base}[dpdk]\ntelemetry = true\n")),
        ("mac_table", format!("{base}[mac_table]\nsize = 5\n")),
        ("seed", base.replace("name = 'A'", "name = 'A'\nseed = 1")),
        ("name", base.replace("name = 'A'", "name = 'B'")),
    ] {
        let found = changes(&text);
        assert!(
            found.iter().any(|line| line.starts_with(&format!("{what}: "))),
            "{what}: {found:?}"
        );
        assert!(!found.iter().any(|line| line.contains(['(', '{', '['])), "{what}: {found:?}");
    }
    let named = changes(&base.replace("name = 'A'", "name = 'B'"));
    let mac = named.iter().find(|line| line.starts_with("port 1: mac: ")).unwrap();
    assert!(mac.contains("02:") && mac.contains(" -> 02:"), "{mac}");
}

/// A `[[tag]]`: its number and what else is given.
type TagLine = (u8, Option<u8>, Option<u8>, Option<u8>);

fn tag_text((tag, dscp, pcp, priority): TagLine) -> String {
    let line = |name, value: Option<u8>| value.map_or(String::new(), |v| format!("{name} = {v}\n"));
    let lines = [line("dscp", dscp), line("pcp", pcp), line("priority", priority)];
    format!("[[tag]]\ntag = {tag}\n{}", lines.concat())
}

fn tag_lines() -> impl Strategy<Value = Vec<TagLine>> {
    let line = (
        0..64u8,
        proptest::option::of(0..64u8),
        proptest::option::weighted(0.2, 0..8u8),
        proptest::option::weighted(0.8, 0..8u8),
    );
    proptest::collection::vec(line, 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever tables and priorities: every DSCP has a tag of its own and leaves as it came, and
    /// nothing is lossless that was not meant to be.
    #[test]
    fn tags_and_markings_are_one_to_one(lines in tag_lines(), lossless: u8) {
        // Without rules a lossless priority must have a tag, so only those of the lines are
        // lossless.
        let used = lines.iter().filter_map(|line| line.3).fold(0, |bits, p| bits | 1u8 << p);
        let lossless = if lines.is_empty() { lossless } else { lossless & used };
        let tables = Tag::all().take(8).filter(|tag| lossless >> tag.value() & 1 == 1);
        let mut text = String::from("name = 'A'\n[buffer]\nsize = '64MB'\n");
        text.extend(tables.map(|tag| format!("[[lossless]]\npriority = {tag}\n")));
        text.extend(lines.iter().map(|&line| tag_text(line)));
        text += &ports(1);
        let Ok(config) = SwitchConfig::parse(Path::new("A.toml"), &text) else { return Ok(()) };
        let tags = &config.tag_map;
        for tag in Tag::all() {
            prop_assert_eq!(tags.dscp_to_tag[usize::from(tags.dscp[tag.index()])], tag);
            let priority = tags.priority[tag.index()];
            prop_assert_eq!(tags.is_lossless(tag), lossless & priority.bit() != 0);
            let listed = lines.iter().find(|line| line.0 == tag.value());
            if tags.is_lossless(tag) && !lines.is_empty() {
                prop_assert!(listed.is_some(), "tag {} is lossless and nobody said so", tag);
            }
            if let Some(&(_, dscp, pcp, priority)) = listed {
                prop_assert_eq!(tags.dscp[tag.index()], dscp.unwrap_or_else(|| tag.value()));
                prop_assert!(pcp.is_none_or(|pcp| tags.pcp[tag.index()] == pcp));
                prop_assert!(priority.is_none_or(|p| tags.priority[tag.index()].value() == p));
            }
        }
        for (pcp, &tag) in tags.pcp_to_tag.iter().enumerate() {
            let carries = |tag: &Tag| usize::from(tags.pcp[tag.index()]) == pcp;
            let is_lossless = Tag::all().any(|tag| tags.is_lossless(tag) && carries(&tag));
            prop_assert_eq!(tags.is_lossless(tag), is_lossless);
            let highest = Tag::all().filter(|tag| tags.is_lossless(*tag)).filter(carries).last();
            prop_assert!(highest.is_none_or(|highest| highest == tag), "tags never fall");
        }
        prop_assert!(!tags.is_lossless(tags.lossy_tag));
        prop_assert!(tags.lossless_tags == 0 || tags.is_lossless(tags.initial_tag));
    }
}

#[test]
fn a_port_is_found_by_its_place() {
    let config = parse(&format!("name = 'A'\n{}", ports(3)));
    let ids: Vec<PortId> = config.ports.iter().map(|port: &PortConfig| port.id).collect();
    assert_eq!(ids, (0..3).filter_map(PortId::from_index).collect::<Vec<_>>());
    assert_eq!(config.forwarding().len(), 3);
    assert_eq!(config.interfaces().len(), 3);
    assert_eq!(config.routing_table().unwrap().interfaces().count(), 6, "link-local ones, too");
}

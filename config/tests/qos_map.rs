//! `[[qos_map]]`, the priorities of tags by port, and `[[lossless]]` of some ports.

use config::SwitchConfig;
use dataplane::ids::Priority;
use dataplane::settings::Threshold;
use std::path::Path;

/// Priorities 3 and 4 are lossless; port h3 has no PFC.
const SWITCH: &str = "name = 'A'
[[lossless]]
priority = 3
[[lossless]]
priority = 4
[[port]]
name = 'h1'
device = 'net_null0'
vlan = 1
[[port]]
name = 'h2'
device = 'net_null1'
vlan = 1
[[port]]
name = 'h3'
device = 'net_null2'
vlan = 1
pfc = false
";

fn load(toml: &str) -> Result<SwitchConfig, String> {
    SwitchConfig::parse(Path::new("A.toml"), toml).map_err(|error| error.message)
}

/// The priorities of tags 0, 3, 4, 10 and 46 at a port: received and sent.
fn priorities(config: &SwitchConfig, port: usize) -> [[u8; 5]; 2] {
    let forwarding = config.forwarding();
    let of = |all: &[Priority]| [0, 3, 4, 10, 46].map(|tag: usize| all[tag].value());
    match &forwarding[port].qos_map {
        Some(map) => [of(&map.priority_group), of(&map.queue)],
        None => [of(&config.tag_map.priority); 2],
    }
}

#[test]
fn a_port_goes_by_the_map_that_names_it_then_by_the_general_one_then_by_the_tags() {
    let named = "[[qos_map]]\nports = ['h1', '3']\npriority_group = { 3 = 4, '10-45' = 1 }\n\
                 queue = { 4 = 3, 46 = 5 }\n";
    let config = load(&format!("{SWITCH}{named}")).unwrap();
    let plain = [0, 3, 4, 0, 0];
    for port in [0, 2] {
        assert_eq!(priorities(&config, port), [[0, 4, 4, 1, 0], [0, 3, 3, 0, 5]]);
    }
    assert_eq!(priorities(&config, 1), [plain; 2]);
    let config = load(&format!("{SWITCH}{named}[[qos_map]]\nqueue = {{ 46 = 7 }}\n")).unwrap();
    assert_eq!(priorities(&config, 0)[1], [0, 3, 3, 0, 5]);
    assert_eq!(priorities(&config, 1), [plain, [0, 3, 4, 0, 7]]);
}

#[test]
fn a_map_that_loses_frames_or_says_two_things_is_refused() {
    for (map, message) in [
        ("ports = ['h1']\n", "this map maps nothing; add `priority_group` or `queue`"),
        ("queue = { 3 = 0 }\n", "tag 3 is lossless and priority 0 is not, so its frames could"),
        ("priority_group = { 46 = 4 }\n", "tag 46 is lossy and priority 4 is lossless, so lossy"),
        ("queue = { 64 = 1 }\n", "`64` is no tag; a key of `queue` is a tag, 0 to 63, or a range"),
        ("queue = { '9-5' = 1 }\n", "`9-5` is no tag"),
        ("queue = { '5-9' = 1, 7 = 1 }\n", "tag 7 stands twice in `queue`; keep one"),
        ("ports = ['h4']\nqueue = { 5 = 1 }\n", "there is no port `h4`; did you mean `h"),
        ("ports = ['h1', '1']\nqueue = { 5 = 1 }\n", "port `h1` has a [[qos_map]] already"),
        (
            "queue = { 5 = 1 }\n[[qos_map]]\nqueue = { 5 = 1 }\n",
            "a [[qos_map]] without `ports` is there already; name the ports of one",
        ),
    ] {
        let found = load(&format!("{SWITCH}[[qos_map]]\n{map}")).unwrap_err();
        assert!(found.starts_with(message), "{map}\n{found}");
    }
}

#[test]
fn classes_by_hops_have_no_map() {
    let hops = "name = 'A'\n[[lossless]]\npriority = 1\n[[lossless]]\npriority = 2\n\
                [ttl]\nclasses = [0, 1, 2]\n\
                [[port]]\ndevice = 'net_null0'\naddresses = ['10.0.0.1/24']\n";
    let found = load(&format!("{hops}[[qos_map]]\nqueue = {{ 5 = 3 }}\n")).unwrap_err();
    assert!(found.contains("remove [[qos_map]]"), "{found}");
    let found = load(&hops.replacen("priority = 1", "priority = 1\nports = ['1']", 1)).unwrap_err();
    assert_eq!(found, "the classes of [ttl] are lossless on every port; remove `ports`");
}

/// The static thresholds of priorities 3 and 4 at each port.
fn thresholds(config: &SwitchConfig) -> Vec<[Option<u32>; 2]> {
    let threshold = |viq: Option<dataplane::settings::ViqSettings>| match viq?.threshold {
        Threshold::Static { xoff_bytes } => Some(xoff_bytes),
        Threshold::Dynamic { .. } => Some(0),
    };
    let ports = config.settings.ports.iter();
    ports.map(|port| [3, 4].map(|priority: usize| threshold(port.lossless[priority]))).collect()
}

#[test]
fn a_lossless_priority_may_be_that_of_some_ports_and_differ_between_ports() {
    let plain = load(SWITCH).unwrap();
    assert_eq!(thresholds(&plain), [[Some(0), Some(0)], [Some(0), Some(0)], [None, None]]);
    let toml = SWITCH
        .replacen("priority = 3", "priority = 3\nstatic_th = '40KB'\nports = ['h2']", 1)
        .replacen(
            "priority = 4",
            "priority = 4\n[[lossless]]\npriority = 4\nports = ['1']\n\
                  static_th = '60KB'",
            1,
        );
    let config = load(&toml).unwrap();
    let expected = [[None, Some(60_000)], [Some(40_000), Some(0)], [None, None]];
    assert_eq!(thresholds(&config), expected);
}

#[test]
fn a_port_has_one_table_of_a_lossless_priority() {
    for (from, to, message) in [
        (
            "priority = 4",
            "priority = 3",
            "priority 3 has a [[lossless]] already; one is enough, unl",
        ),
        (
            "priority = 3",
            "priority = 3\nports = ['h3']",
            "port `h3` has pfc = false, so nothing is",
        ),
        ("priority = 3", "priority = 3\nports = ['h1', 'h1']", "port `h1` has a [[lossless]] with"),
        ("priority = 3", "priority = 3\nports = ['x']", "there is no port `x`"),
    ] {
        let found = load(&SWITCH.replacen(from, to, 1)).unwrap_err();
        assert!(found.starts_with(message), "{to}\n{found}");
    }
}

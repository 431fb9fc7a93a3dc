//! `[lldp]` and `[fabric]`: what they come to, and what is refused.

use agents::lldp::{AllowedPeer, Device, LldpSettings, PortRole, Profile};
use config::{ConfigError, SwitchConfig};
use fabric::compile::port_roles;
use std::path::Path;

const PORTS: &str = "\n[[port]]\ndevice = 'net_null0'\naddresses = ['10.0.0.1/24']\n\
                     [[port]]\ndevice = 'net_null1'\naddresses = ['10.0.1.1/24']\ntrusted = true\n";
const LOSSLESS: &str = "\n[[lossless]]\npriority = 1\n[[lossless]]\npriority = 2\n";

fn parse(text: &str) -> Result<SwitchConfig, ConfigError> {
    SwitchConfig::parse(Path::new("A.toml"), &format!("name = 'A'\n{text}{PORTS}"))
}

/// `text` is refused where `place` stands, with a message that has `words`.
#[track_caller]
fn refused(text: &str, place: &str, words: &str) {
    let whole = format!("name = 'A'\n{text}{PORTS}");
    let error = SwitchConfig::parse(Path::new("A.toml"), &whole).expect_err(text);
    let line = whole.lines().nth(error.line - 1).unwrap_or_default();
    let found: String = line.chars().skip(error.column - 1).collect();
    assert!(found.starts_with(place), "at `{found}`, not at `{place}`: {error}");
    assert!(error.message.contains(words), "{error}");
}

#[test]
fn nothing_is_said_unless_asked_for() {
    assert_eq!(parse("").unwrap().lldp, None);
    assert_eq!(parse("[lldp]\nenable = false\n").unwrap().lldp, None);
    let lldp = parse("[lldp]\n").unwrap().lldp.unwrap();
    let plain = LldpSettings { device: Device::Router, learns: false, ..LldpSettings::default() };
    assert_eq!((lldp.settings, lldp.bounces), (plain, None));
    assert_eq!(
        lldp.faces,
        [AllowedPeer::Host, AllowedPeer::Any],
        "trusted ports may face switches"
    );
}

#[test]
fn a_fabric_has_its_times_and_first_rules() {
    let text = format!(
        "[lldp]\ninterval = '5s'\nhold = 3\nprofile = 'slides'\n[fabric]\nlevel = 2\nbounces = 1\n{LOSSLESS}"
    );
    let config = parse(&text).unwrap();
    let lldp = config.lldp.unwrap();
    assert_eq!((lldp.settings.interval_s, lldp.settings.ttl_s()), (5, 15));
    assert_eq!((lldp.settings.profile, lldp.settings.level), (Profile::Slides, Some(2)));
    assert_eq!((lldp.settings.learns, lldp.bounces), (true, Some(1)));
    let rules = config.rules.unwrap();
    assert_eq!(rules, port_roles::rules("A", &[PortRole::Downlink, PortRole::Uplink], 1));
    assert_eq!(config.rules_file, None);
}

#[test]
fn tags_may_have_other_priorities_and_markings() {
    let tags = "[fabric]\n[[tag]]\ntag = 1\ndscp = 40\npriority = 5\n[[tag]]\ntag = 2\ndscp = 48\npriority = 6\n\
                [[lossless]]\npriority = 5\n[[lossless]]\npriority = 6\n";
    let config = parse(tags).unwrap();
    let map = &config.tag_map;
    assert_eq!((map.priority[1].value(), map.priority[2].value()), (5, 6));
    assert_eq!((map.dscp[1], map.dscp[2], map.initial_tag.value()), (40, 48, 1));
    assert_eq!(map.lossless_tags, 0b110);
}

#[test]
fn what_contradicts_itself_is_refused() {
    refused(
        "[fabric]\n",
        "[fabric]",
        "the rules give tag 1 the priority 1, which is not lossless here",
    );
    let with = |text: &str| format!("{text}{LOSSLESS}");
    refused(&with("[lldp]\nenable = false\n[fabric]\n"), "[fabric]", "which [lldp] turns off");
    refused(&with("rules = 'r.json'\n[fabric]\n"), "'r.json'", "the switch writes its own rules");
    refused(&with("[fabric]\nlevel = 0\n"), "0", "switches with hosts are 1");
    refused(&with("[fabric]\nlevel = 9\n"), "9", "8 is the most");
    refused(&with("[fabric]\nlevels = 255\n"), "255", "LLDP can state 2 to 254");
    refused(&with("[fabric]\nlevels = 1\n"), "1", "LLDP can state 2 to 254");
    refused(&with("[fabric]\nlevels = 20\nlevel = 21\n"), "21", "20 is the most (`levels`)");
    refused(&with("[fabric]\nbounces = 7\n"), "7", "6 are the most");
    refused("[lldp]\ninterval = '500ms'\n", "'500ms'", "1 to 3600 whole seconds");
    refused("[lldp]\ninterval = '2h'\n", "'2h'", "");
    refused("[lldp]\nhold = 11\n", "11", "it is 2 to 10");
    refused("[lldp]\nprofile = 'standart'\n", "'standart'", "did you mean `standard`?");
    refused("[lldp]\nintervall = '1s'\n", "intervall", "did you mean `interval`?");
    let port = |rest: &str| format!("[[port]]\ndevice = 'net_null2'\nvlan = 5\n{rest}");
    refused(&port("peer = 'host'\n"), "'host'", "add [lldp] or [fabric]");
    refused(
        &with(&format!("[fabric]\n{}", port("peer = 'switch'\n"))),
        "'switch'",
        "must be `trusted`",
    );
}

//! How a port's speed and cable become its buffer profile: `tests/qos/test_buffer.py` and
//! `test_buffer_traditional.py`, as far as there is a counterpart. The rows of
//! `pg_profile_lookup.ini` themselves are in `config/tests/published_headroom.rs`.

use config::{ConfigError, SwitchConfig};
use dataplane::settings::{SwitchSettings, Threshold, ViqSettings};
use std::path::Path;

/// A switch of NICs; `port` is added to the first port, `lossless` to the first table.
fn parse(port: &str, lossless: &str, buffer: &str) -> Result<SwitchConfig, ConfigError> {
    let text = format!(
        r#"
name = "A"
[buffer]
{buffer}
[[lossless]]
priority = 3
{lossless}
[[lossless]]
priority = 4
[[tag]]
tag = 3
priority = 3
[[tag]]
tag = 4
priority = 4
[[port]]
name = "p1"
pci = "0000:01:00.0"
addresses = ["10.0.1.1/24"]
{port}
[[port]]
name = "p2"
pci = "0000:01:00.1"
speed = "100G"
addresses = ["10.0.2.1/24"]
"#
    );
    SwitchConfig::parse(Path::new("A.toml"), &text)
}

fn settings(port: &str, lossless: &str) -> SwitchSettings {
    parse(port, lossless, "").unwrap_or_else(|error| panic!("{error}")).settings
}

/// The profile of group 3 of the first port.
fn profile(port: &str, lossless: &str) -> ViqSettings {
    settings(port, lossless).ports[0].lossless[3].unwrap()
}

/// test_change_speed_cable, test_buffer_pg and test_buffer_deployment: headroom follows the cable,
/// there and back at the speed of light in glass, 5 ns a metre, filled with the frames that cost
/// the buffer most: the shortest, 84 bytes on the wire, of which each takes a cell of 256.
#[test]
fn change_speed_cable() {
    for (speed, bytes_a_us) in [("10G", 1_250), ("100G", 12_500), ("400G", 50_000)] {
        let headroom = |metres: u32| {
            let port = format!("speed = \"{speed}\"\ncable_length = \"{metres}m\"");
            u64::from(profile(&port, "").headroom_bytes)
        };
        let longer = headroom(300) - headroom(40);
        let flight = 2 * 260 * 5 * bytes_a_us / 1_000 * 256 / 84;
        assert!(
            longer.abs_diff(flight) <= flight / 20,
            "{speed}: {longer} B more, and not {flight}"
        );
    }
    let headroom = |port: &str| profile(port, "").headroom_bytes;
    let at = |speed: &str| headroom(&format!("speed = \"{speed}\"\ncable_length = \"40m\""));
    assert!(at("10G") < at("25G") && at("25G") < at("100G") && at("100G") < at("400G"));
    let mtu =
        |mtu: u16| headroom(&format!("speed = \"100G\"\ncable_length = \"40m\"\nmtu = {mtu}"));
    assert!(mtu(1_500) + 7_600 <= mtu(9_100), "a longer frame may be on its way");
    // The other port keeps its own.
    let other = |port: &str| settings(port, "").ports[1].lossless;
    assert_eq!(
        other("speed = \"10G\"\ncable_length = \"5m\""),
        other("speed = \"400G\"\ncable_length = \"300m\"")
    );
}

/// test_headroom_override: a headroom that is given is the headroom, of this group alone.
#[test]
fn headroom_override() {
    let port = "speed = \"100G\"\ncable_length = \"40m\"";
    let computed = settings(port, "").ports[0].lossless;
    let given = settings(port, "headroom = \"1MB\"").ports[0].lossless;
    assert_eq!(given[3].unwrap().headroom_bytes, 1_000_000);
    assert_eq!(given[4], computed[4]);
}

/// test_lossless_pg: an alpha that is not the default, of this group alone.
#[test]
fn lossless_pg() {
    let port = "speed = \"100G\"\ncable_length = \"40m\"";
    for dynamic_th in [-7, -3, 1, 3] {
        let groups = settings(port, &format!("dynamic_th = {dynamic_th}")).ports[0].lossless;
        assert_eq!(groups[3].unwrap().threshold, Threshold::dynamic(dynamic_th));
        assert_eq!(groups[4], settings(port, "").ports[0].lossless[4]);
    }
    assert!(parse(port, "dynamic_th = 40", "").is_err());
}

/// test_exceeding_headroom: what is promised beyond the buffer is refused, and says so.
#[test]
fn exceeding_headroom() {
    let port = "speed = \"100G\"\ncable_length = \"300m\"";
    let fits = parse(port, "", "size = \"24MB\"").unwrap();
    assert!(fits.settings.buffer.size_bytes == 24_000_000);
    let error = parse(port, "headroom = \"30MB\"", "size = \"24MB\"").unwrap_err();
    assert!(error.message.contains("buffer") || error.message.contains("headroom"), "{error}");
}

/// test_shared_headroom_pool_configure: the pool follows the ratio, a size goes before it, and
/// without both each group has its own; a ratio is 1 to the number of ports.
#[test]
fn shared_headroom_pool_configure() {
    let port = "speed = \"100G\"\ncable_length = \"40m\"";
    let with = |buffer: &str| {
        let config = parse(port, "", &format!("size = \"24MB\"\n{buffer}"));
        config.unwrap_or_else(|error| panic!("{error}"))
    };
    let own = with("").settings;
    let groups = own.ports.iter().flat_map(|port| port.lossless.iter().flatten());
    let all: u64 = groups.map(|group| u64::from(group.headroom_bytes)).sum();
    assert_eq!((own.buffer.headroom_pool_bytes, own.headroom_bytes()), (None, all));

    for (buffer, pool) in [
        ("over_subscribe_ratio = 1", all),
        ("over_subscribe_ratio = 2", all / 2),
        ("headroom_pool = \"4MB\"", 4_000_000),
        ("headroom_pool = \"20MB\"", all),
    ] {
        let config = with(buffer);
        let shared = |settings: &SwitchSettings| dataplane::buffer::lossless_shared_bytes(settings);
        assert_eq!(config.settings.headroom_bytes(), pool, "{buffer}");
        assert_eq!(config.settings.ports[0].lossless, own.ports[0].lossless, "{buffer}");
        assert_eq!(shared(&config.settings) - shared(&own), all - pool, "{buffer}: what is saved");
    }
    let refused = |buffer: &str| parse(port, "", buffer).unwrap_err().message;
    assert!(refused("over_subscribe_ratio = 0").contains("it is 1 to 2, the number of ports"));
    assert!(refused("over_subscribe_ratio = 3").contains("it is 1 to 2, the number of ports"));
    assert!(refused("headroom_pool = \"10KB\"").contains("one lossless priority of a port needs"));
    let both = "headroom_pool = \"4MB\"\nover_subscribe_ratio = 2";
    assert!(refused(both).contains("give one of them"));
}

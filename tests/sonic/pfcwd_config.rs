//! What a configuration of the watchdog may say: `tests/pfcwd/test_pfc_config.py`. Theirs looks for
//! an error in the log; here the configuration is refused, at its place.

use config::{ConfigError, SwitchConfig};
use dataplane::pfc::watchdog::{Action, WatchdogSettings};
use std::path::Path;

/// Two ports, and the lossless priorities of SONiC.
const SWITCH: &str = r#"
name = "A"
[[lossless]]
priority = 3
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
device = "net_tap0,iface=kt0"
addresses = ["10.0.1.1/24"]
[[port]]
name = "p2"
device = "net_tap1,iface=kt1"
addresses = ["10.0.2.1/24"]
"#;

fn parse(watchdog: &str) -> Result<SwitchConfig, ConfigError> {
    SwitchConfig::parse(Path::new("A.toml"), &format!("{SWITCH}{watchdog}"))
}

/// A watchdog with these values is refused, where `place` stands, with `words`.
#[track_caller]
fn is_refused(action: &str, detection: &str, restoration: &str, place: &str, words: &str) {
    let table = format!(
        "[watchdog]\naction = {action}\ndetection_time = {detection}\nrestoration_time = {restoration}\n"
    );
    let error = parse(&table).expect_err(&table);
    let text = format!("{SWITCH}{table}");
    let line = text.lines().nth(error.line - 1).unwrap();
    assert_eq!(&line[error.column - 1..], place, "{error}");
    assert!(error.message.contains(words), "{error}");
}

const MS: u64 = 1_000_000;

#[test]
fn forward_action_cfg() {
    let table =
        "[watchdog]\naction = \"forward\"\ndetection_time = \"4s\"\nrestoration_time = \"5s\"\n";
    let config = parse(table).unwrap();
    let expected = WatchdogSettings {
        detection_ns: 4_000 * MS,
        restoration_ns: 5_000 * MS,
        action: Action::Forward,
    };
    for port in config.settings.ports {
        assert_eq!(port.watchdog, Some(expected), "{}", port.name);
    }
}

#[test]
fn invalid_action_cfg() {
    is_refused("\"invalid\"", "\"4s\"", "\"5s\"", "\"invalid\"", "there is no action `invalid`");
}

#[test]
fn invalid_detect_and_restore_time_cfg() {
    is_refused("\"forward\"", "\"400a\"", "\"5s\"", "\"400a\"", "400a");
    is_refused("\"forward\"", "\"4s\"", "\"500c\"", "\"500c\"", "500c");
}

/// SONiC's least times are 100 ms; here they are 1 ms, since nothing polls.
#[test]
fn low_detect_and_restore_time_cfg() {
    is_refused("\"forward\"", "\"999us\"", "\"5s\"", "\"999us\"", "it is 1 ms to 5 s");
    is_refused("\"forward\"", "\"4s\"", "\"999us\"", "\"999us\"", "it is 1 ms to 60 s");
}

/// The most are SONiC's: 5 seconds and 60 seconds.
#[test]
fn high_detect_and_restore_time_cfg() {
    is_refused("\"forward\"", "\"4000s\"", "\"5s\"", "\"4000s\"", "it is 1 ms to 5 s");
    is_refused("\"forward\"", "\"4s\"", "\"50000s\"", "\"50000s\"", "it is 1 ms to 60 s");
    assert!(parse("[watchdog]\ndetection_time = \"5s\"\nrestoration_time = \"60s\"\n").is_ok());
}

/// test_default_cfg_after_load_mg: SONiC starts its watchdog if its configuration says so. So it is
/// here: an empty table is a watchdog at each lossless port, and without one there is none.
#[test]
fn default_cfg() {
    let of = |text: &str| parse(text).unwrap().settings.ports.into_iter().map(|port| port.watchdog);
    let default =
        WatchdogSettings { detection_ns: 200 * MS, restoration_ns: 400 * MS, action: Action::Drop };
    assert!(of("[watchdog]\n").eq([Some(default); 2]));
    assert!(of("").eq([None; 2]));
}

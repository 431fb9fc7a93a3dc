//! What `ctl` changes: kept over kill -9, shown, saved to the files, or dropped.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod binary;

use binary::{Place, Switch};
use nix::sys::signal::Signal;
use std::fs;

const SWITCH: &str = r#"# A comment that stays.
name = "s1"
routes = "more.routes" # racks

[buffer]
size = "4MB"
[control]
socket = "s.sock"
[memory]
hugepages = "never"
[workers]
idle = "sleep"
[[lossless]]
priority = 3
[[port]]
name = "a"
device = "net_null0,no-rx=1"
addresses = ["10.0.1.254/24"]
[[port]]
name = "b"
device = "net_null1,no-rx=1"
addresses = ["10.0.2.254/24"]

# To the other rack.
[[route]]
to = "10.9.0.0/16"
via = ["10.0.2.1"]
"#;

const ROUTES: &str = "10.8.0.0/16 via 10.0.1.1 # rack 8\n10.7.0.0/16 blackhole\n";

const RULES: &str = r#"{"switch":"s1","ports":2,"lossy_tag":0,"initial_tag":1,
    "priorities":{"1":3},"entries":[{"tag":1,"in":[1],"out":[2],"new_tag":1}]}"#;

fn place() -> Place {
    let place = Place::new(SWITCH);
    place.write("more.routes", ROUTES);
    place.write("new.json", RULES);
    place
}

/// Everything that can be changed.
fn change_all(switch: &Switch<'_>) {
    switch.ask(&["route", "add", "10.5.0.0/16", "via", "10.0.2.1"]);
    switch.ask(&["route", "add", "10.8.0.0/16", "via", "10.0.1.1", "10.0.2.1"]);
    switch.ask(&["route", "del", "10.9.0.0/16"]);
    switch.ask(&["route", "del", "10.7.0.0/16"]);
    switch.ask(&["rules", "new.json"]);
}

fn prefixes(switch: &Switch<'_>) -> Vec<String> {
    let routes = switch.json(&["routes"]);
    let rows = routes["routes"].as_array().unwrap().iter();
    let rows = rows.filter(|row| row["kind"] != "connected");
    rows.map(|row| row["prefix"].as_str().unwrap().to_owned()).collect()
}

fn text(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path(name)).unwrap()
}

#[test]
fn changes_outlive_kill_9_and_a_save_writes_them_to_the_files() {
    let place = place();
    let switch = place.start(&[]);
    change_all(&switch);
    switch.signal(Signal::SIGKILL);
    drop(switch);
    let switch = place.start(&[]);
    assert!(
        switch
            .startup_output
            .contains("5 changes on top of the files, kept in s.sock.changes.json"),
        "{}",
        switch.startup_output
    );
    assert_eq!(prefixes(&switch), ["10.5.0.0/16", "10.8.0.0/16"]);
    let rules = place.path("new.json");
    let expected = format!(
        "+ rules = {}\n+ 10.5.0.0/16 via 10.0.2.1\n- 10.7.0.0/16 blackhole\n\
         - 10.8.0.0/16 via 10.0.1.1\n+ 10.8.0.0/16 via 10.0.1.1 10.0.2.1\n\
         - 10.9.0.0/16 via 10.0.2.1\n",
        rules.display()
    );
    assert_eq!(switch.ask(&["diff"]), expected);

    assert_eq!(switch.ask(&["save"]), format!("{expected}saved\n"));
    assert_eq!(prefixes(&switch), ["10.5.0.0/16", "10.8.0.0/16"], "as before");
    let toml = text(&place, "SWITCH.toml");
    let without = "\n# To the other rack.\n[[route]]\nto = \"10.9.0.0/16\"\nvia = [\"10.0.2.1\"]\n";
    let saved = SWITCH
        .replace(without, "")
        .replace("# racks\n", &format!("# racks\nrules = \"{}\"\n", rules.display()));
    assert_eq!(toml, saved);
    assert_eq!(
        text(&place, "more.routes"),
        "10.8.0.0/16 via 10.0.1.1 10.0.2.1  # rack 8\n10.5.0.0/16 via 10.0.2.1\n"
    );
    assert!(!place.path("s.sock.changes.json").exists());
    assert_eq!(switch.ask(&["diff"]).lines().count(), 1, "as SWITCH.toml says");
    assert!(switch.ask(&["save"]).ends_with("nothing to save\n"));
    switch.interrupt();
    let switch = place.start(&[]);
    assert!(!switch.startup_output.contains("on top of"), "{}", switch.startup_output);
    assert_eq!(prefixes(&switch), ["10.5.0.0/16", "10.8.0.0/16"]);
    switch.interrupt();
}

#[test]
fn a_rollback_is_as_if_nothing_had_been_changed() {
    let place = place();
    let switch = place.start(&[]);
    let before = prefixes(&switch);
    change_all(&switch);
    assert_ne!(prefixes(&switch), before);
    assert!(switch.ask(&["rollback"]).contains("is in use, from SWITCH.toml"));
    assert_eq!(prefixes(&switch), before);
    assert_eq!(
        (text(&place, "SWITCH.toml"), text(&place, "more.routes")),
        (SWITCH.into(), ROUTES.into())
    );
    switch.interrupt();
}

#[test]
fn what_the_switch_would_refuse_is_not_saved_and_the_files_stay() {
    let place = place();
    let switch = place.start(&[]);
    switch.ask(&["route", "add", "10.5.0.0/16", "via", "10.0.2.1"]);
    // The file was edited meanwhile, and now needs a restart.
    let edited = SWITCH.replace("4MB", "5MB");
    place.write("SWITCH.toml", &edited);
    let refused = switch.ctl(&["save"]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{error}");
    assert!(error.contains("needs a restart: ") && error.contains("buffer.size"), "{error}");
    assert_eq!((text(&place, "SWITCH.toml"), text(&place, "more.routes")), (edited, ROUTES.into()));
    assert_eq!(prefixes(&switch).len(), 4, "the change is still in use");
    switch.interrupt();
}

#[test]
fn a_file_of_changes_that_is_none_or_does_not_fit_stops_the_start() {
    let place = place();
    place.write("s.sock.changes.json", "{\"routes\": {\"10.5.0.0/16\": [\"10.77.0.1\"]}}");
    let error = place.refused(&["run", "SWITCH.toml"]);
    assert!(error.contains("s.sock.changes.json") && error.contains("10.77.0.1"), "{error}");
    assert!(error.contains("or remove the file"), "{error}");
    place.write("s.sock.changes.json", "nonsense");
    let error = place.refused(&["run", "SWITCH.toml"]);
    assert!(error.starts_with("s.sock.changes.json:1:") && error.contains("remove it"), "{error}");
}

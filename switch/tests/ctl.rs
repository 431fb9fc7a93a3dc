//! `knotless ctl` against a running switch.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod binary;

use binary::Place;

const SWITCH: &str = r#"
name = "s1"
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
device = "net_ring0"
addresses = ["10.0.1.254/24"]
[[port]]
name = "b"
device = "net_null0,no-rx=1"
addresses = ["10.0.2.254/24"]
[[route]]
to = "10.9.0.0/16"
via = ["10.0.2.1"]
[[neighbor]]
address = "10.0.2.1"
mac = "02:00:00:01:02:01"
"#;

#[test]
fn every_view_is_a_table_for_people_and_one_object_for_programs() {
    let place = Place::new(SWITCH);
    let switch = place.start(&[]);
    for (view, column, key) in [
        ("stats", "lossless drops", "/totals/received"),
        ("ports", "device", "/ports/1/device"),
        ("counters", "counter", "/ports/0/rx_frames/7"),
        ("pfc", "XOFF sent", "/ports/0/pfc/tx_xoff/3"),
        ("queues", "headroom peak", "/ports/1/queues/3/headroom_size_bytes"),
        ("waits", "no queue is paused by its peer", "/waits"),
        ("neighbors", "static", "/neighbors/0/mac"),
        ("routes", "10.9.0.0/16", "/routes/0/prefix"),
        ("mac", "vlan", "/addresses"),
        ("rules", "lossless tags: 3 (priority 3)", "/tags/0/tag"),
        ("latency", "99.9 %", "/workers/0/turn_ns/p999"),
        ("metrics", "knotless_port_rx_frames_total{switch=\"s1\",port=\"a\",", "/metrics"),
    ] {
        let text = switch.ask(&[view]);
        assert!(text.contains(column), "{view}: {text}");
        let json = switch.json(&[view]);
        assert!(json.is_object() && json.pointer(key).is_some(), "{view}: {json}");
    }
    assert!(switch.ask(&["link", "b", "down"]).contains("out of service"));
    switch.wait_for("the link", |switch| switch.json(&["ports"])["ports"][1]["up"] == false);
    assert!(switch.ask(&["link", "2", "up"]).contains("port b is in service"));
    switch.interrupt();
}

#[test]
fn a_reload_takes_effect_or_is_refused_with_the_reason() {
    let place = Place::new(SWITCH);
    let switch = place.start(&[]);
    place.write(
        "SWITCH.toml",
        &format!("{SWITCH}[[route]]\nto = \"10.8.0.0/16\"\nblackhole = true\n"),
    );
    assert!(switch.ask(&["reload"]).contains("is in use, from SWITCH.toml"));
    assert!(switch.ask(&["routes"]).contains("blackhole"));
    let epoch = switch.number("/epoch");

    for (text, reason) in [
        (SWITCH.replace("4MB", "5MB"), "buffer.size: 4000000 -> 5000000"),
        (SWITCH.replace("10.0.2.1\"]", "10.7.2.1\"]"), "SWITCH.toml:23:8: "),
        (SWITCH.replace("[[port]]", "[[prot]]"), "unknown field `prot`; did you mean `port`?"),
    ] {
        place.write("SWITCH.toml", &text);
        let error = binary::refusal(&switch.ctl(&["reload"]));
        assert!(error.starts_with("refused: ") && error.contains(reason), "{error}");
    }
    let rules = r#"{"switch":"s2","ports":2,"lossy_tag":0,"initial_tag":1,
        "priorities":{"1":3},"entries":[]}"#;
    place.write("other.json", rules);
    let error = binary::refusal(&switch.ctl(&["rules", "other.json"]));
    assert!(error.contains("is for switch `s2`"), "{error}");
    let error = binary::refusal(&switch.ctl(&["routes", "nowhere.routes"]));
    assert!(error.contains("nowhere.routes") && error.contains("cannot be read"), "{error}");
    assert_eq!(switch.number("/epoch"), epoch, "the old tables are in use");
    assert!(switch.ask(&["routes"]).contains("blackhole"));
    switch.interrupt();
}

#[test]
fn a_route_is_added_changed_and_removed_one_by_one() {
    let place = Place::new(SWITCH);
    let switch = place.start(&[]);
    let has = |prefix: &str, via: &str| {
        let rows = switch.json(&["routes"])["routes"].as_array().unwrap().clone();
        rows.iter().any(|row| row["prefix"] == prefix && row["via"].to_string().contains(via))
    };
    assert!(switch.ask(&["route", "add", "10.7.0.0/16", "via", "10.0.2.1"]).contains("in use"));
    assert!(has("10.7.0.0/16", "10.0.2.1%b"));
    switch.ask(&["route", "add", "10.7.0.0/16", "10.0.1.7", "10.0.2.1"]);
    assert!(has("10.7.0.0/16", "10.0.1.7%a") && has("10.9.0.0/16", "10.0.2.1%b"));
    switch.ask(&["route", "del", "10.7.0.0/16"]);
    assert!(!has("10.7.0.0/16", ""));
    for (words, reason) in [
        (&["route", "del", "10.7.0.0/16"][..], "there is no route to 10.7.0.0/16"),
        (&["route", "add", "10.7.0.1/16", "via", "10.0.2.1"], "write 10.7.0.0/16"),
        (&["route", "add", "10.7.0.0/16", "via", "10.3.2.1"], "no port is in a network with"),
        (&["route", "add", "10.0.1.0/24", "via", "10.0.2.1"], "is connected to port `a`"),
    ] {
        let error = binary::refusal(&switch.ctl(words));
        assert!(error.contains(reason), "{error}");
    }
    switch.interrupt();
}

#[test]
fn a_second_switch_behind_the_same_socket_is_refused() {
    let place = Place::new(SWITCH);
    let switch = place.start(&[]);
    let error = place.refused(&["run", "SWITCH.toml"]);
    assert!(error.contains(&format!("process {}", switch.pid())), "{error}");
    assert!(error.contains("s.sock"), "{error}");
    assert!(switch.ask(&["stats"]).contains("s1: process "), "the first is as it was");
    assert!(switch.ask(&["stop"]).contains("has ended"));
    switch.ended_well();
}

#[test]
fn a_switch_that_was_killed_leaves_nothing_in_the_way() {
    let place = Place::new(SWITCH);
    let killed = place.start(&[]);
    killed.signal(nix::sys::signal::Signal::SIGKILL);
    drop(killed);
    assert!(place.path("s.sock").exists(), "left behind");
    place.start(&[]).interrupt();
}

#[test]
fn without_a_switch_there_is_an_error() {
    let place = Place::new("");
    for (words, reason) in [
        (&["ctl", "--socket", "no.sock", "stats"][..], "no switch listens on no.sock"),
        (&["ctl", "--name", "nobody", "stats"], "no switch listens on /run/knotless/nobody.sock"),
    ] {
        let error = place.refused(words);
        assert!(error.contains(reason) && error.contains("knotless run"), "{error}");
    }
}

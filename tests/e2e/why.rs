//! `knotless trace`, `why`, `watch` and the flight recorder, of a switch under load; and of three
//! that deadlock.

use crate::can_run;
use crate::lab::{Lab, Setup, knotless};
use crate::process::{LOOK, Running};
use crate::script::{Script, assert_said};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a process may take to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Less than the ports carry: only a pause makes frames wait.
const FLOWS: &str = "--speed 1G --duration 120s \
    --flow name=three,dst-ip=10.1.3.2,dscp=26,size=1000,rate=30M";

/// What `knotless COMMAND` says of the lab's switch.
fn knotless_says(lab: &Lab, command: &str) -> String {
    let output = Command::new(knotless())
        .args(command.split_whitespace())
        .arg("--socket")
        .arg(lab.path("lab.sock"))
        .output()
        .expect("it runs");
    let (said, error) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.success(), "{command}: {error}");
    String::from_utf8(said).expect("it is text")
}

fn json(lab: &Lab, command: &str) -> Value {
    let said = knotless_says(lab, &format!("{command} --json"));
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// Starts `knotless watch`, and waits until it tells what happens.
fn watch(lab: &Lab) -> Running {
    let mut command = Command::new(knotless());
    command.args(["watch", "--json", "--for", "120s", "--socket"]).arg(lab.path("lab.sock"));
    let watch = Running::start(command, lab.directory.path(), "watch");
    let asked = Instant::now();
    while events(&watch).is_empty() {
        assert!(asked.elapsed() < PATIENCE, "{}", watch.told());
        for way in ["down", "up"] {
            knotless_says(lab, &format!("ctl link h2 {way}"));
            // Whoever looks for changes has to see both.
            std::thread::sleep(20 * LOOK);
        }
    }
    watch
}

/// What `watch` has told.
fn events(watch: &Running) -> Vec<Value> {
    watch.said().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn a_paused_queue_is_explained_by_each_command() {
    let recorder = "[flight_recorder]\nfile = \"lab.flight.jsonl\"\nsample = \"20ms\"\n\
                    stall = \"400ms\"\n";
    let setup = Setup::new().head(recorder).port(1, "trusted = true");
    let Some(mut lab) = setup.start() else { return };
    lab.host(1).ping("10.1.3.2");

    // Nothing is in the way, and the way is known.
    let trace = "trace --src 10.1.1.2 --dst 10.1.3.2 --dscp 26";
    let free = json(&lab, trace);
    assert_eq!(
        (&free["end"]["verdict"], &free["end"]["sent"][0]["port"]),
        (&"sent".into(), &"h3".into())
    );
    assert_eq!(free["end"]["now"], Value::Array(vec![]), "{free}");
    let links = lab.host(3).run("ip", "-j link show kt3").success();
    let links: Value = serde_json::from_str(&links).expect("iproute2 writes JSON");
    assert_eq!(free["stages"][2]["next_hops"][0]["mac"], links[0]["address"], "{free}");
    let calm = knotless_says(&lab, "why h3 --over 200ms");
    assert!(calm.contains("port h3: nothing is slow or lossy here"), "{calm}");

    let receiver = lab.host(3).recv("");
    let sender = lab.host(1).send(FLOWS);
    let watch = watch(&lab);
    let pauser = lab.host(3).pause("--classes 3:65535 --repeat 50ms");
    lab.switch.stats_when("a second of pause, upstream too", |stats| {
        stats.ports[2].queues[3].rx_paused_for_ns > 1_000_000_000
            && stats.ports[0].queues[3].tx_paused
    });

    let why = json(&lab, "why h3 3 --over 1s");
    let found = &why["findings"][0];
    assert_eq!(found["kind"], "paused", "{why}");
    assert!(found["figures"]["paused_share"].as_f64().is_some_and(|it| it > 0.5), "{why}");
    let text = found["text"].as_str().unwrap_or_default();
    assert!(text.contains("they came in by h1 priority 3 ("), "{text}");
    assert!(text.ends_with("which pauses its peer"), "{text}");
    assert_eq!(why["deadlock"], false);
    let upstream = knotless_says(&lab, "why 1 --over 200ms");
    assert!(upstream.contains("port h1 priority 3: pauses its peer"), "{upstream}");
    assert!(upstream.contains("they wait at h3 priority 3"), "{upstream}");
    let waits = json(&lab, trace);
    let now = waits["end"]["now"].to_string();
    assert!(now.contains("the peer pauses port h3 priority 3"), "{waits}");
    assert_eq!(waits["end"]["sent"], free["end"]["sent"], "the tables are the same");

    // The recorder has the pause and the stall, in memory and in its file.
    let recorded = json(&lab, "ctl recorder");
    let file = std::fs::read_to_string(lab.path("lab.flight.jsonl")).expect("it is written");
    let written: Vec<Value> =
        file.lines().map(|line| serde_json::from_str(line).expect("JSON lines")).collect();
    assert_eq!(written[0]["trigger"], "stall");
    for events in [recorded["events"].as_array().expect("events"), &written] {
        let of = |kind: &str| events.iter().find(|it| it["event"] == kind && it["port"] == "h3");
        let (paused, stall) = (of("paused").expect("a pause"), of("stall").expect("a stall"));
        assert!(paused["uptime_ns"].as_u64() < stall["uptime_ns"].as_u64());
        assert_eq!(stall["origins"][0]["port"], "h1", "{stall}");
    }

    pauser.signal(Signal::SIGTERM);
    pauser.end(PATIENCE).success();
    lab.host(3).traffic("pfc", "--classes 3:0").end(PATIENCE).success();
    lab.switch.stats_when("the end of the pause", |stats| !stats.ports[2].queues[3].rx_paused);
    knotless_says(&lab, "ctl link h2 down");
    lab.switch.stats_when("h2 down", |stats| !stats.ports[1].up);
    let down = knotless_says(&lab, "why h2 --over 300ms");
    assert!(down.contains("port h2 is down since ") && down.contains("out of service"), "{down}");
    let dropped = json(&lab, "trace --src 10.1.1.2 --dst 10.1.2.2");
    let verdict = &dropped["end"]["verdict"];
    assert!(
        verdict == "waits" || verdict == "dropped",
        "no frame leaves a port that is down: {dropped}"
    );
    let is_down = |event: &Value| event["event"] == "link" && event["up"] == false;
    let asked = Instant::now();
    while !events(&watch).last().is_some_and(is_down) {
        assert!(asked.elapsed() < PATIENCE, "{}", watch.told());
        std::thread::sleep(LOOK);
    }
    let events = events(&watch);
    watch.signal(Signal::SIGKILL);
    let _killed = watch.end(PATIENCE);
    let has = |kind: &str, port: &str| {
        events.iter().any(|it| it["event"] == kind && it["port"] == port && it["switch"] == "lab")
    };
    assert!(has("paused", "h3") && has("xoff_sent", "h1") && has("stall", "h3"), "{events:?}");
    assert!(has("resumed", "h3") && has("link", "h2"), "{events:?}");
    assert!(events.iter().any(|it| it["event"] == "chain"), "{events:?}");
    sender.stop();
    receiver.report();
    lab.stop();
}

#[test]
fn why_names_a_deadlock_and_the_recorder_has_the_moment_in_which_it_closed() {
    if !can_run() {
        return;
    }
    let said = Script::start("knot", &["--seconds", "4"]).end(0);
    let parts = [
        "Why, as `knotless why` of switch A says it",
        "port to-B priority 1: paused by the peer 100 % of the last ",
        "A:to-B priority 1 waits for B:3: ",
        "deadlock: A:3 > B:3 > C:3 > A:3",
        "the cycle closed at ",
        "(the flight recorder says)",
        "yes  plain PFC: `knotless why` names the cycle that `verify` names, and when it closed",
        "yes  plain PFC: the flight recorder of the switch that closed it has that moment, and its file too",
    ];
    assert_said(&said, &parts);
}

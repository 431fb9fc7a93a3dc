//! Starts and ends, good ones and bad ones.

use crate::lab::{Setup, knotless};
use crate::process::{LOOK, Running};
use crate::switch::Switch;
use nix::sys::signal::Signal;
use serde_json::json;
use std::time::Duration;

#[test]
fn after_kill_9_it_starts_again_and_only_one_can_run() {
    let setup = Setup::new();
    let toml = setup.toml();
    let Some(mut lab) = setup.start() else { return };
    lab.host(1).ping("10.1.3.2");

    let second = Switch::launch(knotless(), &lab.namespace, lab.directory.path(), "lab");
    let id = lab.switch.stats().pid;
    refused(second, &["a switch is already running", &format!("process {id}")]);
    lab.host(1).ping("10.1.3.2");

    lab.switch.signal(Signal::SIGKILL);
    while lab.switch.is_running() {
        std::thread::sleep(LOOK);
    }
    assert!(lab.path("lab.sock").exists(), "nobody cleaned up");
    lab.switch = Switch::start(knotless(), &lab.namespace, lab.directory.path(), "lab", &toml);
    // The hosts' interfaces went with the old ports.
    lab.connect();
    lab.host(1).ping("10.1.3.2");
    lab.host(3).ping("fd00:1:2::2");
    lab.stop();
}

#[test]
fn a_client_can_end_it() {
    let Some(mut lab) = Setup::new().start() else { return };
    let answer = lab.switch.ask(&json!({ "request": "stop" }));
    assert!(answer["stopping"].is_u64(), "{answer}");
    let ended = lab.switch.end();
    assert!(ended.stdout.contains("buffers are back"), "{}", ended.stdout);
    ended.success();
}

#[test]
fn what_cannot_start_says_why_in_a_line() {
    let Some(lab) = Setup::new().start() else { return };
    let start = |name: &str, toml: &str| {
        lab.write(&format!("{name}.toml"), toml);
        Switch::launch(knotless(), &lab.namespace, lab.directory.path(), name)
    };
    let broken = start("broken", "name = \"broken\"\nports = 3\n");
    refused(broken, &["broken.toml:2:1: ", "`ports`"]);
    let port = "[[port]]\naddresses = [\"10.0.0.1/24\"]\ndevice";
    let no_device = format!("name = \"none\"\n{port} = \"net_af_packet0,iface=nowhere\"\n");
    refused(start("none", &no_device), &["port 1", "give iface= an existing interface"]);
    let missing = Switch::launch(knotless(), &lab.namespace, lab.directory.path(), "missing");
    refused(missing, &["missing.toml"]);
    lab.stop();
}

/// It ends with status 2, and the last line on stderr has all of `words`.
fn refused(running: Running, words: &[&str]) {
    let ended = running.end(Duration::from_secs(20));
    assert_eq!(ended.status.code(), Some(2), "{}{}", ended.stdout, ended.stderr);
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(words.iter().all(|word| last.contains(word)), "{}", ended.stderr);
}

#[test]
fn a_port_out_of_service_passes_nothing_until_it_is_back() {
    let Some(mut lab) = Setup::new().start() else { return };
    lab.host(1).ping("10.1.3.2");
    lab.switch.ask(&json!({ "request": "link", "port": "h3", "up": false }));
    let dropped = |stats: &switch::control::stats::Stats| {
        stats.ports[2].drops.get("port_down").copied().unwrap_or_default()
    };
    assert_eq!(dropped(&lab.switch.stats()), 0);
    let ended = lab.host(1).run("ping", "-n -c 3 -i 0.1 -W 0.3 10.1.3.2");
    assert!(ended.stdout.contains("100% packet loss"), "{}", ended.stdout);
    lab.host(1).ping("10.1.2.2");
    assert!(!lab.switch.stats().ports[2].up);
    lab.switch.ask(&json!({ "request": "link", "port": "3", "up": true }));
    lab.host(1).ping("10.1.3.2");
    let stats = lab.switch.settled();
    assert!(stats.ports[2].up);
    assert_eq!(stats.totals.imbalance, 0);
    lab.stop();
}

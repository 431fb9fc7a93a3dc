//! A running switch and the emulator's do the same, to the frame and to the counter.
//!
//! What happens at the ports of one is recorded under load and replayed in the other one: what it
//! sends at each port, in which order, and what it counts is equal. See `docs/parity.md`.
//!
//! `make test-parity` takes all twenty configurations; the other tests take a few.

mod configurations;
mod emulated;

use crate::can_run;
use crate::lab::knotless;
use crate::namespace::Namespace;
use crate::process::{Ended, LOOK, Running};
use configurations::{ALL, Configuration, port_mac};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// The configurations to be tried: one in four, or all if `KNOTLESS_PARITY` is `all`.
fn chosen() -> impl Iterator<Item = &'static Configuration> {
    let all = std::env::var("KNOTLESS_PARITY").is_ok_and(|chosen| chosen == "all");
    let only = std::env::var("KNOTLESS_PARITY").ok().filter(|chosen| chosen != "all");
    ALL.iter()
        .enumerate()
        .filter(move |(number, configuration)| match &only {
            Some(name) => configuration.name == name,
            None => all || number % 4 == 0,
        })
        .map(|(_, configuration)| configuration)
}

/// Writes the files of `configuration` to `directory`; with `pace` the switch holds its ports to
/// their speeds.
fn write_files(configuration: &Configuration, directory: &Path, pace: bool) {
    let socket = format!("[control]\nsocket = \"{}\"\n", directory.join("switch.sock").display());
    fs::write(directory.join("switch.toml"), configuration.toml(pace) + &socket)
        .expect("it is ours");
    if let Some(rules) = configuration.rule_file() {
        fs::write(directory.join("rules.json"), rules).expect("it is ours");
    }
}

/// `knotless replay` of the recording in `directory`, with more arguments.
fn replay(directory: &Path, arguments: &[&str]) -> Value {
    let mut command = Command::new(knotless());
    command.arg("replay").arg(directory.join("switch.toml")).arg(directory.join("ports.pcapng"));
    let Ended { status, stdout, stderr } = Running::start(
        {
            command.args(arguments).arg("--json");
            command
        },
        directory,
        "replay",
    )
    .end(PATIENCE);
    assert!(matches!(status.code(), Some(0 | 1)), "{status}: {stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"))
}

/// Frames in and out of the recording in `directory`, as tshark sees them.
fn tshark_frames(directory: &Path) -> [u64; 2] {
    let path = directory.join("ports.pcapng");
    let seen = Command::new("tshark")
        .arg("-r")
        .arg(path)
        .args(["-T", "fields", "-e", "frame.packet_flags_direction"])
        .output()
        .expect("tshark is installed");
    let text = String::from_utf8(seen.stdout).expect("it is ASCII");
    ["1", "2"].map(|way| {
        let is_so = |line: &&str| {
            u64::from_str_radix(line.trim_start_matches("0x"), 16).ok() == way.parse().ok()
        };
        text.lines().filter(is_so).count() as u64
    })
}

/// A switch on taps, both of whose ends are in one namespace.
struct Recorded<'a> {
    namespace: Namespace,
    directory: &'a Path,
}

impl Recorded<'_> {
    /// `knotless` in the namespace.
    fn start(&self, name: &str, arguments: &str) -> Running {
        let mut command = self.namespace.command("nice");
        command.args(["-n", if name == "switch" { "-15" } else { "0" }]).arg(knotless());
        command.args(arguments.split_whitespace());
        Running::start(command, self.directory, name)
    }

    /// Records the switch under load; its figures are then in `stats.json`.
    fn record(&self, configuration: &Configuration) {
        let path = |name: &str| self.directory.join(name).display().to_string();
        let (file, recording) = (path("switch.toml"), path("ports.pcapng"));
        let mut switch = self.start("switch", &format!("run --record {recording} {file}"));
        self.await_answer(&mut switch);
        let recv = format!("traffic recv --dev kp3 --any-mac --speed 100M{}", configuration.recv);
        let mut receiver = self.start("recv", &recv);
        receiver.wait_for("listening");
        let send = |number| self.start(&format!("send-{number}"), &send(configuration, number));
        for sender in [1, 2].map(send) {
            sender.end(PATIENCE).success();
        }
        receiver.signal(Signal::SIGTERM);
        receiver.end(PATIENCE);
        let stats = self.settled();
        fs::write(self.directory.join("stats.json"), stats).expect("it is ours");
        switch.signal(Signal::SIGTERM);
        switch.end(PATIENCE).success();
    }

    /// Waits until the switch answers.
    fn await_answer(&self, switch: &mut Running) {
        let asked = Instant::now();
        while UnixStream::connect(self.directory.join("switch.sock")).is_err() {
            assert!(switch.is_running(), "it did not start: {}", switch.told());
            assert!(asked.elapsed() < PATIENCE, "it does not answer: {}", switch.told());
            std::thread::sleep(LOOK);
        }
    }

    /// The switch's figures once nothing changes any more.
    fn settled(&self) -> String {
        let ask = || {
            let socket = self.directory.join("switch.sock").display().to_string();
            let asked = self.start("ctl", &format!("ctl --socket {socket} --json stats"));
            asked.end(PATIENCE).success()
        };
        let asked = Instant::now();
        loop {
            let stats = ask();
            let figures: Value = serde_json::from_str(&stats).expect("its own form");
            let paused = figures["ports"].as_array().expect("a list").iter().any(|port| {
                let queues = port["queues"].as_array().expect("a list");
                queues.iter().any(|queue| queue["tx_paused"] == true || queue["stormed"] == true)
            });
            if figures["totals"]["held"] == 0 && !paused {
                return stats;
            }
            assert!(asked.elapsed() < PATIENCE, "it does not settle: {}", figures["totals"]);
            std::thread::sleep(20 * LOOK);
        }
    }
}

/// The arguments of the sender of host `number`.
fn send(configuration: &Configuration, number: usize) -> String {
    // The station that is spoken to is the router, or, where ports are bridged, one at h3.
    let to = match configuration.mode {
        configurations::Mode::Routed => port_mac(number),
        configurations::Mode::Bridged => port_mac(3),
    };
    let flow = |dscp: &u8| {
        let from = if configuration.spoofs && *dscp == 0 { 1 } else { number };
        format!(
            " --flow name=f{number}-{dscp},dst-ip=10.0.0.3,src-ip=10.0.0.{from},dst-mac={to},\
             src-mac=02:00:00:00:0{number}:00,dscp={dscp},size=1000,rate=80M{}",
            configuration.flow
        )
    };
    let flows: String = configuration.dscps.iter().map(flow).collect();
    format!("traffic send --dev kp{number} --speed 1G --duration 800ms{flows}")
}

#[test]
fn what_was_recorded_of_a_running_switch_is_what_the_emulator_does() {
    if !can_run() {
        return;
    }
    for configuration in chosen() {
        let name = configuration.name;
        let directory = tempfile::tempdir().expect("there is room");
        let directory = directory.path();
        write_files(configuration, directory, true);
        let namespace = Namespace::new();
        namespace.ipv4_only();
        Recorded { namespace, directory }.record(configuration);
        let seen = tshark_frames(directory);
        let stats = directory.join("stats.json").display().to_string();
        for arguments in [&["--emulator", "--stats", &stats][..], &["--stats", &stats]] {
            let replayed = replay(directory, arguments);
            let count = |key: &str| -> u64 {
                replayed[key].as_array().expect("a list").iter().filter_map(Value::as_u64).sum()
            };
            let (received, sent) = (count("received_frames"), count("sent_frames"));
            assert_eq!([received, sent], seen, "{name}: tshark counts others");
            let compared = &replayed["counters"];
            println!("{name}: {received} received, {sent} sent, {compared} counters {arguments:?}");
            assert_eq!(replayed["first_difference"], Value::Null, "{name} {arguments:?}");
            assert_eq!(replayed["counter_differences"], serde_json::json!([]), "{name}");
            assert_eq!(replayed["equal"], true, "{name} {arguments:?}");
            assert!(received > 5_000 && sent > 2_000, "{name}: too little happened");
        }
    }
}

/// Another threshold, or another weight, is found out: the comparison can fail.
#[test]
fn a_switch_that_is_configured_otherwise_is_found_out() {
    if !can_run() {
        return;
    }
    let directory = tempfile::tempdir().expect("there is room");
    let directory = directory.path();
    let plain = &ALL[0];
    write_files(plain, directory, true);
    let namespace = Namespace::new();
    namespace.ipv4_only();
    Recorded { namespace, directory }.record(plain);
    let path = directory.join("switch.toml");
    let toml = fs::read_to_string(&path).expect("it was written");
    for (was, is) in [("60KB", "61KB"), ("[workers]", "[scheduler]\nquantum = 3000\n[workers]")] {
        fs::write(&path, toml.replace(was, is)).expect("it is ours");
        let replayed = replay(directory, &["--emulator"]);
        assert_eq!(replayed["equal"], false, "{is}");
        assert!(replayed["first_difference"].is_string(), "{is}");
    }
}

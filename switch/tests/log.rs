//! What a running switch logs: lines of text on a terminal, entries with fields in the journal.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod binary;
mod privilege;

use binary::{Place, bridge_toml};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take. The machine may have other work.
const PATIENCE: Duration = Duration::from_secs(60);

const RINGS: [&str; 2] = ["net_ring0", "net_ring1"];

/// Waits until `knotless ctl` answers.
fn wait_until_it_answers(place: &Place) {
    let until = Instant::now() + PATIENCE;
    while !ctl(place, &["ports"]) {
        assert!(Instant::now() < until, "the switch does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn ctl(place: &Place, words: &[&str]) -> bool {
    place.knotless(&[&["ctl", "--socket", "s.sock"], words].concat()).status.success()
}

/// A switch that does not outlive its test.
struct Running(Child);

impl Running {
    fn stop(mut self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.0.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _it_has_ended = self.0.kill();
        let _it_was_waited_for = self.0.wait();
    }
}

/// Takes a port out of service and back, `flaps` times, and loads a wrong file.
fn provoke_events(place: &Place, flaps: usize) {
    for _ in 0..flaps {
        assert!(ctl(place, &["link", "right", "down"]));
        assert!(ctl(place, &["link", "right", "up"]));
    }
    fs::write(place.path("SWITCH.toml"), "name = \"s1\"\nwrong = 1\n").unwrap();
    assert!(!ctl(place, &["reload"]));
}

#[test]
fn without_a_journal_events_are_lines_and_repetitions_are_left_out() {
    let place = Place::new(&bridge_toml(RINGS));
    let log = fs::File::create(place.path("log")).unwrap();
    let mut command = place.command(&["run", "SWITCH.toml"]);
    let switch = Running(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
    wait_until_it_answers(&place);
    let begin = Instant::now();
    provoke_events(&place, 25);
    let took = begin.elapsed();
    switch.stop();
    let log = fs::read_to_string(place.path("log")).unwrap();
    let count = |line: &str| log.lines().filter(|it| it.starts_with(line)).count();
    let out = "knotless: port right is out of service";
    let flaps = count(out) + count("knotless: port right is in service again");
    // Thirty in ten seconds, however slow the machine is.
    let spans = usize::try_from(took.as_secs() / 10).unwrap() + 1;
    assert!(flaps >= 30 && flaps <= 30 * spans, "{flaps} in {took:?}:\n{log}");
    assert_eq!(count("knotless: reload refused, the tables in use do not change: "), 1, "{log}");
    assert_eq!(count("knotless: stopping"), 1, "{log}");
}

/// One entry of the journal, as systemd's native protocol has it: `NAME=VALUE` lines, or `NAME`, a
/// length of eight octets and a value of any octets.
fn entry(mut octets: &[u8]) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    while let Some(end) = octets.iter().position(|&octet| octet == b'\n') {
        let (line, rest) = (&octets[..end], &octets[end + 1..]);
        let (name, value) = match line.iter().position(|&octet| octet == b'=') {
            Some(at) => {
                octets = rest;
                (&line[..at], &line[at + 1..])
            }
            None => {
                let (length, rest) = rest.split_first_chunk::<8>().unwrap();
                let (value, rest) =
                    rest.split_at(usize::try_from(u64::from_le_bytes(*length)).unwrap());
                octets = &rest[1..];
                (line, value)
            }
        };
        let text = |octets: &[u8]| String::from_utf8(octets.to_vec()).unwrap();
        fields.insert(text(name), text(value));
    }
    fields
}

/// The journal of a namespace of its own, in which this test is journald.
#[test]
fn in_the_journal_each_event_has_its_port_and_its_kind() {
    if !privilege::can_run() {
        return;
    }
    let place = Place::new(&bridge_toml(RINGS));
    fs::create_dir(place.path("journal")).unwrap();
    let journal = UnixDatagram::bind(place.path("journal/socket")).unwrap();
    journal.set_read_timeout(Some(PATIENCE)).unwrap();
    let script = "mount -t tmpfs none /run && mkdir -p /run/systemd/journal && \
                  mount --bind journal /run/systemd/journal && \
                  JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec \"$0\" run SWITCH.toml";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_knotless")])
        .current_dir(place.path(""));
    let log = fs::File::create(place.path("log")).unwrap();
    let switch = Running(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
    wait_until_it_answers(&place);
    provoke_events(&place, 1);
    switch.stop();
    let mut entries: Vec<BTreeMap<String, String>> = Vec::new();
    while entries.last().is_none_or(|it| it["KNOTLESS_EVENT"] != "stop") {
        let mut octets = [0; 65_536];
        let count = journal.recv(&mut octets).unwrap();
        // The first one is empty: it asks whether there is a journal.
        entries.extend((count > 0).then(|| entry(&octets[..count])));
    }
    let field = |entry: &BTreeMap<String, String>, name: &str| {
        entry.get(name).cloned().unwrap_or_else(|| "-".to_owned())
    };
    let rows: Vec<String> = entries
        .iter()
        .map(|entry| {
            assert_eq!(entry["SYSLOG_IDENTIFIER"], "knotless");
            let names = ["PRIORITY", "KNOTLESS_EVENT", "KNOTLESS_PORT", "MESSAGE"];
            names.map(|name| field(entry, name)).join(" ")
        })
        .collect();
    let has = |row: &str| assert!(rows.iter().any(|it| it.starts_with(row)), "{row}: {rows:#?}");
    has("5 service right port right is out of service");
    has("5 service right port right is in service again");
    has("3 reload - reload refused, the tables in use do not change: ");
    has("5 stop - stopping");
    let log = fs::read_to_string(place.path("log")).unwrap();
    assert!(!log.contains("stopping"), "not said twice: {log}");
}

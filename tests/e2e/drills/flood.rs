//! A control socket that is flooded.

use super::{end_without_loss, tell};
use crate::switch::Switch;
use crate::taps::{Flow, Taps};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Clients of the flood, all of the operator's own user.
const CLIENTS: usize = 200;
/// An idle client gives its place up after 10 s, half a request after 5 s; then a busy machine.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// What the switch may grow by: stacks and lines of the 32 clients that it takes.
const GROWTH_KB_MAX: u64 = 32 * 1_024;

#[test]
fn a_flood_at_the_control_socket_costs_no_frame_and_the_operator_is_answered() {
    let Some(taps) = Taps::new(2) else { return };
    let mut switch = taps.start("flooded", &taps.toml("flooded", ""));
    let socket = taps.directory().join("flooded.sock");
    let receivers = vec![taps.recv(2, "")];
    let senders = vec![taps.send(&[Flow { from: 1, to: 2, priority: 3, rate: "50M" }])];
    let stats = switch.stats_when("frames", |stats| stats.ports[1].tx_frames[3] > 1_000);
    let memory_before = resident_kb(stats.pid);

    let flood: Vec<UnixStream> = (0..CLIENTS).filter_map(|number| join(&socket, number)).collect();
    assert_eq!(flood.len(), CLIENTS, "all could connect, to be refused or not");
    let asked = Instant::now();
    let mut slowest = Duration::ZERO;
    let answer = loop {
        // One that was connected before is answered all the time.
        let began = Instant::now();
        switch.stats();
        slowest = slowest.max(began.elapsed());
        match ask_once(&socket) {
            Some(answer) if answer["error"].is_null() => break answer,
            _ => assert!(asked.elapsed() < ANSWER_MAX, "the operator is locked out"),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let waited = asked.elapsed();
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    assert_eq!(answer["name"], "flooded");
    let growth = resident_kb(stats.pid).saturating_sub(memory_before);
    assert!(growth < GROWTH_KB_MAX, "{growth} kB more than {memory_before} kB");
    drop(flood);
    all_threads_gone(&switch, stats.pid);

    let sent = end_without_loss(switch, senders, receivers);
    tell(
        "control socket flooded by 200 clients",
        &format!(
            "a client from before is answered within {} ms, a new one after {} ms; {growth} kB more \
             memory",
            slowest.as_millis(),
            waited.as_millis()
        ),
        &format!("0 of {sent}"),
        "`32 clients are connected already` until one of them is idle for 10 s",
    );
}

/// One client of the flood: it says nothing, nonsense, half a request, or too long a line.
fn join(socket: &Path, number: usize) -> Option<UnixStream> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_nonblocking(true).ok()?;
    let text = match number % 4 {
        0 => Vec::new(),
        1 => b"\x00\xFF{]\n[[[[\n{\"request\":7}\n".repeat(50),
        2 => b"{\"request\":\"st".to_vec(),
        _ => vec![b'x'; 16 * 1_024],
    };
    // One that is refused finds the connection closed.
    let _refused = stream.write_all(&text);
    Some(stream)
}

/// What a new connection is answered; `None` if it is closed first.
fn ask_once(socket: &Path) -> Option<Value> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(ANSWER_MAX)).ok()?;
    let _refused = stream.write_all(format!("{}\n", json!({ "request": "stats" })).as_bytes());
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}

/// The memory of a process.
fn resident_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// The threads of clients end with the clients; ours, by `switch`, has one.
fn all_threads_gone(switch: &Switch, pid: u32) {
    let asked = Instant::now();
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
        let names =
            tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
        names.filter(|name| name.trim() == "ctl-client").count()
    };
    while threads() > 2 {
        assert!(asked.elapsed() < ANSWER_MAX, "{} threads: {}", threads(), switch.told());
        std::thread::sleep(Duration::from_millis(20));
    }
}

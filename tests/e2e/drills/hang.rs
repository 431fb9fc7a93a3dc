//! A worker that hangs: a debugger holds its thread, and nothing else.

use super::tell;
use crate::taps::{Flow, Taps, all_ended, sent_and_lost};
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::time::{Duration, Instant};

/// For how long it hangs: a worker counts as hung after 3 to 4 s.
const HANG: Duration = Duration::from_secs(9);
/// 5,500 frames a second: the queue of a tap at 1G, 32,768 frames, holds what is sent until then,
/// and not what would be sent as long as the worker hangs.
const RATE: &str = "44M";

/// Ports h1 and h3 are worker 0's, h2 is worker 1's.
#[test]
fn when_a_worker_hangs_its_peers_keep_their_frames_and_other_ports_go_on() {
    let Some(taps) = Taps::new(3) else { return };
    let toml = taps.toml("hung", "").replace("[workers]\n", "[workers]\ncount = 2\n");
    let mut switch = taps.start("hung", &toml);
    let receivers = (1..=3).map(|number| taps.recv(number, "")).collect();
    let flow = |from, to, priority, rate| Flow { from, to, priority, rate };
    let senders = vec![
        taps.send(&[flow(1, 3, 4, "20M"), flow(1, 2, 3, RATE)]),
        taps.send(&[flow(2, 1, 3, RATE)]),
        taps.send(&[flow(3, 1, 4, "20M")]),
    ];
    let pid = switch.stats_when("frames", |stats| stats.ports[1].tx_frames[3] > 100).pid;
    let worker = thread(pid, "worker-1");
    ptrace::seize(worker, ptrace::Options::empty()).expect("root may");
    ptrace::interrupt(worker).expect("it runs");
    waitpid(worker, Some(WaitPidFlag::__WALL)).expect("it stops");
    let hung = Instant::now();

    switch.wait_for("worker 1 does not answer; its core is blocked");
    switch.wait_for("until the worker answers: h2\n");
    let noticed = hung.elapsed();
    assert_eq!([1, 2, 3].map(|number| has_carrier(&taps, number)), [true, false, true]);
    let passed = |taps: &Taps| [frames_to(taps, 1), frames_to(taps, 3)];
    let before = passed(&taps);
    std::thread::sleep(HANG.saturating_sub(hung.elapsed()));
    let during = passed(&taps);
    assert!((0..2).all(|at| during[at] > before[at] + 1_000), "{before:?} {during:?}");

    ptrace::detach(worker, None).expect("it is ours");
    switch.wait_for("worker 1 answers again, after ");
    switch.wait_for("links taken up again: h2\n");
    switch.await_links();
    assert!(!switch.told().contains("port h2 is down"), "no lost link: {}", switch.told());
    let back = switch.stats().ports[1].tx_frames[3];
    switch.stats_when("frames by the worker", |stats| stats.ports[1].tx_frames[3] > back + 100);
    let reports = all_ended(&mut switch, senders, receivers);
    let flows = [(1, 3, 4), (1, 2, 3), (2, 1, 3), (3, 1, 4)];
    let counted = flows.map(|(from, to, priority)| sent_and_lost(&reports, from, to, priority));
    assert_eq!(counted.map(|(_, lost)| lost), [0; 4], "{counted:?}");
    let stats = switch.stats();
    assert_eq!(stats.lossless_dropped(), 0, "{:?}", stats.lossless_drops_by_cause());
    switch.stop();
    tell(
        &format!("a worker hangs for {} s", HANG.as_secs()),
        &format!(
            "other ports forward; links of its ports down after {} ms until it answers",
            noticed.as_millis()
        ),
        &format!("0 of {}", counted.map(|(sent, _)| sent).iter().sum::<u64>()),
        "`worker 1 does not answer`, `links taken down`, and that both ended",
    );
}

/// The thread of this name.
fn thread(pid: u32, name: &str) -> Pid {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let mut tasks = tasks.filter_map(|task| Some(task.ok()?.path()));
    let is_it = |comm: String| comm.trim() == name;
    let task = tasks.find(|task| fs::read_to_string(task.join("comm")).is_ok_and(is_it));
    let task = task.expect("a worker's thread");
    let number = task.file_name().and_then(|name| name.to_str()?.parse().ok());
    Pid::from_raw(number.expect("a number"))
}

/// Whether the station at tap `number` sees a link.
fn has_carrier(taps: &Taps, number: u8) -> bool {
    let line = ip(taps, &format!("-o link show dev kt{number}"));
    !line.contains("NO-CARRIER")
}

/// Frames that the switch has sent to tap `number`.
fn frames_to(taps: &Taps, number: u8) -> u64 {
    let line = ip(taps, &format!("-j -s link show dev kt{number}"));
    let links: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    links[0]["stats64"]["rx"]["packets"].as_u64().unwrap_or_else(|| panic!("{line}"))
}

fn ip(taps: &Taps, arguments: &str) -> String {
    let mut command = taps.namespace.command("ip");
    let output = command.args(arguments.split(' ')).output().expect("ip is installed");
    String::from_utf8(output.stdout).expect("text")
}

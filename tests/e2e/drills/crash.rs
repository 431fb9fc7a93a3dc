//! kill -9 under load, and a start after it.

use super::tell;
use crate::process::LOOK;
use crate::taps::{Flow, Taps, all_ended, sent_and_lost};
use nix::sys::signal::Signal;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

/// Frames that may be in the switch and in the queues of its taps when it ends: the buffer of 32 MB
/// in frames of 1,000 bytes, and what two taps hold.
const INSIDE_MAX: u64 = 32_000 + 2 * 1_000;

#[test]
fn kill_9_loses_what_is_inside_and_the_next_start_goes_on() {
    let Some(taps) = Taps::new(2) else { return };
    let toml = taps.toml("killed", "");
    let mut switch = taps.start("killed", &toml);
    let receivers = (1..=2).map(|number| taps.recv(number, "")).collect();
    let flow = |from, to| [Flow { from, to, priority: 3, rate: "100M" }];
    let senders = vec![taps.send(&flow(1, 2)), taps.send(&flow(2, 1))];
    let forwards = |stats: &switch::control::stats::Stats| {
        (0..2).all(|port| stats.ports[port].tx_frames[3] > 1_000)
    };
    switch.stats_when("frames", forwards);
    switch.signal(Signal::SIGKILL);
    while switch.is_running() {
        std::thread::sleep(LOOK);
    }
    assert_eq!(switch.end().status.signal(), Some(9));
    let socket = taps.directory().join("killed.sock");
    assert!(socket.exists(), "nobody cleaned up");
    std::thread::sleep(Duration::from_millis(300));

    let started = Instant::now();
    let mut switch = taps.start("killed", &toml);
    let start = started.elapsed();
    switch.stats_when("frames after it", forwards);
    let reports = all_ended(&mut switch, senders, receivers);
    let (sent, lost): (Vec<u64>, Vec<u64>) =
        [(1, 2), (2, 1)].map(|(from, to)| sent_and_lost(&reports, from, to, 3)).into_iter().unzip();
    let (sent, lost) = (sent.iter().sum::<u64>(), lost.iter().sum::<u64>());
    assert!(lost <= INSIDE_MAX, "{lost} of {sent}");
    assert_eq!(switch.stats().lossless_dropped(), 0, "by the second one");
    switch.stop();
    tell(
        "kill -9 under load, start",
        &format!("forwards again; start to links up {} ms", start.as_millis()),
        &format!("{lost} of {sent} lossless frames, which were inside"),
        "ended by signal 9; the next start needs nothing removed",
    );
}

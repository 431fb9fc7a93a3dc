//! A link that goes down and up again and again, as that of a NIC that is reset.

use super::tell;
use crate::switch::Switch;
use crate::taps::{Flow, Taps, all_ended, sent_and_lost};
use std::time::{Duration, Instant};

const FLAPS: usize = 10;
/// How long the link is up in between.
const UP: Duration = Duration::from_millis(100);

#[test]
fn a_link_that_flaps_loses_only_what_was_for_it() {
    let Some(taps) = Taps::new(3) else { return };
    let mut switch = taps.start("flaps", &taps.toml("flaps", ""));
    let receivers = (1..=3).map(|number| taps.recv(number, "")).collect();
    let flow = |from, to, priority| Flow { from, to, priority, rate: "50M" };
    let senders = vec![
        taps.send(&[flow(1, 2, 3)]),
        taps.send(&[flow(2, 3, 3), flow(2, 1, 4)]),
        taps.send(&[flow(3, 2, 4)]),
    ];
    switch.stats_when("frames", |stats| (0..3).all(|port| sent(stats, port) > 1_000));
    for flap in 1..=FLAPS {
        taps.namespace.ip("link set kt1 down");
        wait_for_lines(&mut switch, "port h1 is down\n", flap);
        taps.namespace.ip("link set kt1 up");
        wait_for_lines(&mut switch, "port h1 is up\n", flap);
        std::thread::sleep(UP);
    }
    let stats = switch.stats();
    let before = sent(&stats, 0);
    switch.stats_when("frames to it", |stats| sent(stats, 0) > before + 1_000);
    let reports = all_ended(&mut switch, senders, receivers);
    let of_others = [(1, 2, 3), (2, 3, 3), (3, 2, 4)];
    let counted = of_others.map(|(from, to, priority)| sent_and_lost(&reports, from, to, priority));
    assert_eq!(counted.map(|(_, lost)| lost), [0; 3], "{counted:?}");
    let (sent_to_it, lost) = sent_and_lost(&reports, 2, 1, 4);
    let stats = switch.stats();
    let named = stats.lossless_drops_by_cause();
    assert_eq!(stats.totals.imbalance, 0);
    assert!(named.keys().all(|&cause| ["port_down", "tx_error"].contains(&cause)), "{named:?}");
    // What the kernel had taken for the station when its interface went down is in no count.
    let unnamed = lost.checked_sub(stats.lossless_dropped());
    assert!(lost > 0 && lost < sent_to_it, "{lost} of {sent_to_it}, {named:?}");
    assert!(unnamed.is_some_and(|frames| frames < lost / 2), "{lost} lost, {named:?}");
    switch.stop();
    tell(
        "a link goes down and up 10 times",
        "other ports forward; frames of the port itself wait at its peer",
        &format!(
            "0 of {} from and between; {lost} of {sent_to_it} to it, named {named:?}",
            counted.map(|(sent, _)| sent).iter().sum::<u64>()
        ),
        "`port h1 is down`, `port h1 is up`, each time; lost frames by cause",
    );
}

fn sent(stats: &switch::control::stats::Stats, port: usize) -> u64 {
    stats.ports[port].tx_frames[3] + stats.ports[port].tx_frames[4]
}

/// Waits until it has said `line` this many times.
fn wait_for_lines(switch: &mut Switch, line: &str, times: usize) {
    let asked = Instant::now();
    while switch.told().matches(line).count() < times {
        assert!(
            switch.is_running() && asked.elapsed() < Duration::from_secs(20),
            "{}",
            switch.told()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

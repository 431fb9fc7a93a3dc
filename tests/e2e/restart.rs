//! A planned restart under load: no lossless frame of a peer that obeys PFC is lost. The peers are
//! `knotless traffic` on taps that were made before, which lose their carrier while the switch is
//! away.
//!
//! `make test-restart` does it a hundred times and says how long the outages were.

use crate::lab::knotless;
use crate::process::Running;
use crate::switch::Switch;
use crate::taps::{Flow, Taps, ended};
use nix::sys::signal::Signal;
use std::time::Duration;
use switch::traffic::report::{RecvReport, SendReport};

/// Longer than a busy machine keeps a sender from its core; shorter than a restart.
const OUTAGE: &str = "25ms";
/// How long the switch forwards before it is restarted.
const BETWEEN: Duration = Duration::from_millis(400);

/// Restarts: a few, or as many as `KNOTLESS_RESTARTS` says.
fn restarts() -> usize {
    std::env::var("KNOTLESS_RESTARTS").map_or(3, |text| text.parse().expect("a number"))
}

/// What went from one host to the other.
#[derive(Debug)]
struct Way {
    sent: SendReport,
    received: RecvReport,
}

impl Way {
    /// Every lossless frame came once and in order.
    fn is_whole(&self) {
        let sent = self.sent.flows.iter().find(|flow| flow.priority == 3).expect("it was sent");
        let received = &self.received;
        let flow = received.flows.iter().find(|flow| flow.flow == sent.flow).expect("it came");
        assert_eq!(received.dropped_by_own_socket, 0, "the receiver lost frames, not the switch");
        assert_eq!((flow.lost, flow.reordered, flow.duplicates), (0, 0, 0), "{flow:?}");
        assert_eq!(flow.frames, sent.frames, "{sent:?}");
        assert!(sent.frames > 1_000, "{sent:?}");
        let pauses = &self.sent.priorities[3];
        assert!(pauses.xoff > 0, "nobody was paused, so nothing was tested");
    }
}

#[test]
fn a_restart_under_load_loses_no_lossless_frame() {
    let Some(taps) = Taps::new(2) else { return };
    let toml = taps.toml("restarted", "");
    let start = || Switch::start(knotless(), &taps.namespace, taps.directory(), "restarted", &toml);
    let mut switch = start();
    switch.await_links();
    let receive = |number| taps.recv(number, &format!(" --outages {OUTAGE}"));
    let send = |from, to| {
        let flow = |priority, rate| Flow { from, to, priority, rate };
        taps.send(&[flow(3, "100M"), flow(0, "20M")])
    };
    let receivers: Vec<Running> = (1..=2).map(receive).collect();
    let senders = vec![send(1, 2), send(2, 1)];
    for number in 1..=restarts() {
        let forwards = |stats: &switch::control::stats::Stats| {
            (0..2).all(|port| stats.ports[port].tx_frames[3] > 100)
        };
        switch.stats_when("frames", forwards);
        std::thread::sleep(BETWEEN);
        switch.signal(Signal::SIGTERM);
        let last = switch.end();
        let told = last.stderr.clone();
        let said = last.success();
        assert!(!told.contains("dropped"), "restart {number}: {told}");
        assert!(said.contains("imbalance 0"), "restart {number}: {said}");
        assert!(said.contains("lossless drops: 0\n"), "restart {number}: {said}");
        switch = start();
    }
    std::thread::sleep(BETWEEN);
    let sent: Vec<SendReport> = senders.into_iter().map(ended).collect();
    let settled = switch.settled();
    assert_eq!(settled.lossless_dropped(), 0, "{:?}", settled.lossless_drops_by_cause());
    std::thread::sleep(Duration::from_millis(200));
    // What host 1 sent came to host 2, and the other way round.
    let received: Vec<RecvReport> = receivers.into_iter().map(ended).collect();
    let ways: Vec<Way> = sent
        .into_iter()
        .zip(received.into_iter().rev())
        .map(|(sent, received)| Way { sent, received })
        .collect();
    tell(&ways);
    ways.iter().for_each(Way::is_whole);
    switch.stop();
}

/// Says how long the outages were.
fn tell(ways: &[Way]) {
    for way in ways {
        let mut outages_ns = way.received.outages_ns.clone().expect("they were asked for");
        outages_ns.sort_unstable();
        let at = |percent: usize| {
            let place = outages_ns.len() * percent / 100;
            outages_ns
                .get(place.min(outages_ns.len().saturating_sub(1)))
                .map_or(0, |ns| ns / 1_000_000)
        };
        println!(
            "{} frames sent, {} restarts; {} outages: p50 {} ms, p99 {} ms, longest {} ms",
            way.sent.frames,
            restarts(),
            outages_ns.len(),
            at(50),
            at(99),
            at(100),
        );
    }
}

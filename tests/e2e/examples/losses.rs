//! Lossless frames that are lost on purpose: the figure of losses tells each of them.
//!
//! A frame that was sent is one of these: it arrived; the switch lost it and says so; or the switch
//! ended before it had taken the frame out of its tap's queue, which the kernel frees.
//! What the switch took it counts by class, so the last are what was sent less that.

use super::network::Network;
use crate::can_run;
use crate::process::Running;
use nix::sys::signal::Signal;
use serde::de::DeserializeOwned;
use std::time::{Duration, Instant};
use switch::control::stats::Stats;
use switch::traffic::report::{RecvReport, SendReport};
use tests::tree;

const PATIENCE: Duration = Duration::from_secs(30);

fn start(example: &str) -> Network {
    Network::start(&tree::root().join("config/examples").join(example))
}

/// A sender at `port` until it is told to end.
fn send(network: &Network, port: usize, flow: &str) -> Running {
    network.hosts[port].traffic("send", &format!("--speed 200M --duration 120s --flow {flow}"))
}

/// A receiver at `port` until it is told to end, or its interface goes.
fn receive(network: &Network, port: usize) -> Running {
    let mut receiver = network.hosts[port].traffic("recv", "--duration 145s");
    receiver.wait_for("listening");
    receiver
}

/// What `running` reports, asked to end if it has not by itself, for want of an interface.
fn report<T: DeserializeOwned>(mut running: Running) -> T {
    if running.is_running() {
        running.signal(Signal::SIGTERM);
    }
    let ended = running.end(PATIENCE);
    let wrong = |error| panic!("{error}: {}{}", ended.stdout, ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap_or_else(wrong)
}

/// Frames of lossless classes that were lost by now.
fn lost(stats: &Stats) -> u64 {
    stats.lossless_dropped()
}

/// The figures once no frame comes or goes any more: a port that is down may hold some for ever.
fn at_rest(network: &mut Network) -> Stats {
    let asked = Instant::now();
    let mut before = network.switch.stats();
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let now = network.switch.stats();
        let moved = |stats: &Stats| (stats.totals.received, stats.totals.sent, lost(stats));
        if moved(&now) == moved(&before) {
            return now;
        }
        assert!(asked.elapsed() < PATIENCE, "frames go on and on: {:?}", now.totals);
        before = now;
    }
}

/// Checks the last figures of a switch against what the hosts counted. Returns how many frames
/// the kernel freed with the taps' queues.
fn account(what: &str, last: &Stats, sent: &[SendReport], received: u64, from: &[usize]) -> u64 {
    let sent: u64 = sent.iter().map(|sender| sender.frames).sum();
    let taken: u64 = (from.iter().map(|&port| &last.ports[port]))
        .map(|port| {
            let lossless = (0..8).filter(|&priority| port.queues[priority].lossless);
            let classified: u64 = lossless.map(|priority| port.rx_frames[priority]).sum();
            classified + port.device_losses.rx_after_stop_frames
        })
        .sum();
    let figure = lost(last);
    eprintln!(
        "{what}: {sent} sent, {taken} taken by the switch, {received} received, {figure} lost: {:?}",
        last.lossless_drops_by_cause()
    );
    assert_eq!(last.totals.imbalance, 0, "{what}");
    assert!(taken <= sent, "{what}: the switch took {taken} of {sent} frames");
    assert_eq!(taken, received + figure, "{what}: taken = received + lost");
    sent - taken
}

#[test]
fn a_watchdogs_drops_are_in_the_figure_of_losses() {
    if !can_run() {
        return;
    }
    // Frames come down from a spine to a host that pauses without end.
    let mut network = start("ttl.toml");
    let path = network.path(1, 0);
    let receiver = receive(&network, 0);
    let pauser = network.hosts[0].pause("--classes 4:65535 --repeat 50ms");
    let is_paused = |stats: &Stats| stats.ports[0].queues[4].rx_paused;
    network.switch.stats_when("the pause", is_paused);
    let sender = send(&network, 1, &format!("{path},dscp=2,ttl=62,priority=3,rate=100M"));
    network.switch.stats_when("a storm", |stats| lost(stats) > 500);
    let sent = report(sender);
    pauser.signal(Signal::SIGTERM);
    pauser.end(PATIENCE).success();
    network.hosts[0].traffic("pfc", "--classes 4:0").end(PATIENCE).success();
    at_rest(&mut network);
    let received: RecvReport = report(receiver);
    let last = network.switch.last_stats();
    assert!(last.lossless_drops_by_cause().contains_key("watchdog"));
    assert_eq!(account("watchdog", &last, &[sent], received.frames, &[1]), 0);
}

#[test]
fn frames_for_a_host_that_never_answers_are_in_the_figure_of_losses() {
    if !can_run() {
        return;
    }
    let mut network = start("leaf.toml");
    network.path(0, 1);
    let sender = send(&network, 0, "dst-ip=10.1.2.99,dscp=1,priority=1,rate=100M");
    network.switch.stats_when("the end of patience", |stats| lost(stats) > 500);
    let sent = report(sender);
    network.switch.settled();
    let last = network.switch.last_stats();
    assert_eq!(account("no answer", &last, &[sent], 0, &[0]), 0);
}

#[test]
fn frames_for_a_tap_that_is_set_down_are_in_the_figure_of_losses() {
    if !can_run() {
        return;
    }
    let mut network = start("leaf.toml");
    let path = network.path(0, 1);
    let receiver = receive(&network, 1);
    let sender = send(&network, 0, &format!("{path},dscp=1,priority=1,rate=100M"));
    network.switch.stats_when("a stream", |stats| stats.ports[1].tx_frames[1] > 2_000);
    network.hosts[1].namespace.ip(&format!("link set {} down", network.hosts[1].dev));
    let received: RecvReport = report_of_itself(receiver);
    std::thread::sleep(Duration::from_secs(2));
    let sent = report(sender);
    at_rest(&mut network);
    let last = network.switch.last_stats();
    let received = received.frames;
    assert!(received < last.ports[0].rx_frames[1], "the stream went on when the tap was down");
    account("tap down", &last, &[sent], received, &[0]);
}

/// What a receiver reports whose interface goes.
fn report_of_itself(mut receiver: Running) -> RecvReport {
    let asked = Instant::now();
    while receiver.is_running() && asked.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    report(receiver)
}

#[test]
fn frames_that_a_switch_has_when_it_is_told_to_end_are_in_the_figure_of_losses() {
    if !can_run() {
        return;
    }
    // The senders are as many as fill the port and some of the buffer.
    let mut network = start("leaf.toml");
    let paths = [network.path(0, 1), network.path(2, 1)];
    let receiver = receive(&network, 1);
    let flow = |path: &str, name: &str| format!("name={name},{path},dscp=1,priority=1,rate=150M");
    let senders =
        [send(&network, 0, &flow(&paths[0], "h1")), send(&network, 2, &flow(&paths[1], "up1"))];
    network.switch.stats_when("frames that wait", |stats| stats.totals.held > 2_000);
    let queue_frames: u64 =
        network.config.ports.iter().filter_map(|port| port.rx_queue_frames).map(u64::from).sum();
    let last = network.switch.last_stats();
    // Their interfaces have gone with the switch.
    let sent: [SendReport; 2] = senders.map(report);
    let received: RecvReport = report_of_itself(receiver);
    let freed = account("told to end", &last, &sent, received.frames, &[0, 2]);
    eprintln!("told to end: {freed} frames were still in the taps' queues");
    assert!(freed <= queue_frames.max(2_000), "{freed} frames of {queue_frames}");
}

//! A planned restart under load: no lossless frame of a peer that obeys PFC is lost. The peers are
//! `knotless traffic` on taps that were made before, which lose their carrier while the switch is
//! away.
//!
//! `make test-restart` does it a hundred times and says how long the outages were.

use crate::can_run;
use crate::host::parse;
use crate::lab::{HEAD, knotless};
use crate::namespace::Namespace;
use crate::process::Running;
use crate::switch::Switch;
use nix::sys::signal::Signal;
use serde::de::DeserializeOwned;
use std::path::Path;
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

/// Two routed ports on taps that were made before, and whose stations never have to be asked for.
fn toml() -> String {
    let port = |number| {
        format!(
            "\n[[port]]\nname = \"h{number}\"\ndevice = \"net_tap{number},iface=kt{number}\"\n\
             speed = \"1G\"\nmac = \"02:00:00:00:00:0{number}\"\n\
             addresses = [\"10.1.{number}.1/24\"]\n"
        )
    };
    let neighbor = |number| {
        format!(
            "\n[[neighbor]]\naddress = \"10.1.{number}.2\"\nmac = \"02:00:00:00:01:0{number}\"\n\
             port = \"h{number}\"\n"
        )
    };
    let ports: String = (1..=2).map(port).collect();
    let neighbors: String = (1..=2).map(neighbor).collect();
    format!("name = \"restarted\"\n{HEAD}{ports}{neighbors}")
}

/// Two taps, which stay when the switch is away.
fn make_taps(namespace: &Namespace) {
    namespace.ipv4_only();
    for number in 1..=2 {
        namespace.ip(&format!("tuntap add dev kt{number} mode tap multi_queue"));
        namespace.ip(&format!("link set kt{number} address 02:00:00:00:01:0{number} up"));
    }
}

/// `knotless traffic` at tap `number`, which holds what it has to send while the link is down.
fn traffic(namespace: &Namespace, directory: &Path, what: &str, number: u8, more: &str) -> Running {
    let mut command = namespace.command(knotless().to_str().expect("a path of ours"));
    command.args(["traffic", what, "--json", "--hold", "30s", "--dev"]);
    command.arg(format!("kt{number}")).args(more.split(' '));
    Running::start(command, directory, &format!("{what}{number}"))
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
    if !can_run() {
        return;
    }
    let directory = tempfile::tempdir().expect("there is room");
    let namespace = Namespace::new();
    make_taps(&namespace);
    let start = || Switch::start(knotless(), &namespace, directory.path(), "restarted", &toml());
    let mut switch = start();
    switch.await_links();
    let receive = |number| {
        let more = format!("--duration 1000s --any-mac --outages {OUTAGE}");
        let mut receiver = traffic(&namespace, directory.path(), "recv", number, &more);
        receiver.wait_for("listening");
        receiver
    };
    let send = |from: u8, to: u8| {
        let flow = |dscp, priority, rate| {
            format!(
                "--flow src-ip=10.1.{from}.2,dst-ip=10.1.{to}.2,dst-mac=02:00:00:00:00:0{from},\
                 priority={priority},size=1000,dscp={dscp},rate={rate}"
            )
        };
        let more = format!("--speed 1G {} {}", flow(26, 3, "100M"), flow(0, 0, "20M"));
        traffic(&namespace, directory.path(), "send", from, &more)
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
        let ended = switch.end();
        let told = ended.stderr.clone();
        let said = ended.success();
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

/// Asks for its end and returns its report.
fn ended<T: DeserializeOwned>(running: Running) -> T {
    running.signal(Signal::SIGTERM);
    parse(running)
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

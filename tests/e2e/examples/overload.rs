//! Obedient senders that ask more of one port than it takes.

use super::class::{Class, classes};
use super::network::Network;
use crate::host::{Host, Sender};
use crate::load_seconds;
use switch::control::stats::Stats;
use switch::traffic::report::{RecvReport, SendReport};

/// The fastest flow, in bits per second: a busy machine makes and takes so many frames.
const RATE_BPS_MAX: u64 = 300_000_000;

/// A machine that keeps a worker from its core for longer may cost what a device's queue cannot
/// keep.
const LONG_GAP_NS: u64 = 150_000_000;

/// Who sends what to whom.
#[derive(Debug)]
pub(super) struct Overload {
    /// The port that is asked for too much.
    to: usize,
    /// The ports of the senders, and their classes.
    from: Vec<(usize, Vec<Class>)>,
}

/// Overloads that together put every lossless class of the example under pressure: of one port
/// from two others, a host's and a switch's, as far as there are any.
pub(super) fn overloads(network: &Network) -> Vec<Overload> {
    let config = &network.config;
    let is_trusted = |port: usize| config.ports[port].trust.trusted;
    let mut lossless: Vec<usize> =
        (0..config.ports.len()).filter(|&port| !classes(config, port).is_empty()).collect();
    // The last host first, then switches.
    lossless.sort_by_key(|&port| (is_trusted(port), usize::MAX - port));
    let mut missing: Vec<usize> = lossless
        .iter()
        .flat_map(|&port| classes(config, port))
        .map(|class| class.priority)
        .collect();
    missing.sort_unstable();
    missing.dedup();
    let mut overloads = Vec::new();
    for &to in &lossless {
        let peers =
            lossless.iter().copied().filter(|&port| port != to && network.is_path(port, to));
        let mut peers: Vec<usize> = peers.collect();
        let others =
            peers.iter().skip(1).position(|&port| is_trusted(port) != is_trusted(peers[0]));
        if let Some(other) = others {
            peers.swap(1, other + 1);
        }
        peers.truncate(2);
        let from: Vec<_> = peers.into_iter().map(|port| (port, classes(config, port))).collect();
        let sends = |priority: usize| {
            from.iter().flat_map(|(_, classes)| classes).any(|class| class.priority == priority)
        };
        let before = missing.len();
        missing.retain(|&priority| !sends(priority));
        if missing.len() < before {
            overloads.push(Overload { to, from });
        }
    }
    assert!(missing.is_empty() && !overloads.is_empty(), "no host can send in classes {missing:?}");
    overloads
}

impl Overload {
    /// Sends, and checks by what senders and receiver counted that nothing was lost. `meanwhile` is
    /// called when all have begun to send.
    pub(super) fn run(&self, network: &mut Network, meanwhile: impl FnOnce(&Network)) {
        let paths: Vec<String> =
            self.from.iter().map(|&(port, _)| network.path(port, self.to)).collect();
        let before = network.switch.settled();
        let receiver = network.hosts[self.to].recv(&self.pauses(network));
        let senders: Vec<Sender> = (self.from.iter().zip(&paths))
            .map(|((port, classes), path)| send(network, *port, classes, path))
            .collect();
        meanwhile(network);
        let sent: Vec<SendReport> = senders.into_iter().map(Sender::report).collect();
        let received = receiver.report();
        let after = network.switch.settled();
        self.print(&sent, &received, &before, &after);
        self.check(network, &sent, &received, &before, &after);
    }

    /// One sender cannot overload a port as fast as its own, and several none that is held to no
    /// speed: the receiver is slow then.
    fn pauses(&self, network: &Network) -> String {
        let port = &network.config.settings.ports[self.to];
        if self.from.len() > 1 && port.paced {
            return String::new();
        }
        let mut priorities: Vec<usize> =
            self.from.iter().flat_map(|(_, classes)| classes).map(|class| class.priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        let paused = |priority: usize| format!("--pause-class {priority}");
        let classes: Vec<String> = priorities.into_iter().map(paused).collect();
        let speed = port.speed.bps();
        // Eight ninths of the time. Half of the longest pause, after which it would be said again,
        // is longer at the speeds of taps, so that no watchdog takes it for a storm.
        format!("{} --pause-for 80ms --pause-every 90ms --speed {speed}", classes.join(" "))
    }

    /// What happened, for a log that somebody reads who looks for lost frames.
    fn print(&self, sent: &[SendReport], received: &RecvReport, before: &Stats, after: &Stats) {
        let counted =
            |count: fn(&Stats, usize) -> u64, port: usize| count(after, port) - count(before, port);
        for ((port, _), sender) in self.from.iter().zip(sent) {
            eprintln!(
                "  {}: {} frames sent, {} refused and {} dropped by the interface, paused {} times; \
                 {} taken by the switch",
                sender.interface,
                sender.frames,
                sender.refused,
                sender.interface_tx_dropped,
                sender.priorities.iter().map(|class| class.pauses).sum::<u64>(),
                counted(|stats, port| stats.ports[port].rx_frames.iter().sum(), *port),
            );
        }
        let gaps = after.workers.iter().map(|worker| worker.poll_gap_ns_max);
        eprintln!(
            "  {}: {} frames sent by the switch, {} received; lossless losses {:?}; longest polling \
             gap {} us",
            received.interface,
            counted(|stats, port| stats.ports[port].tx_frames.iter().sum(), self.to),
            received.frames,
            after.lossless_drops_by_cause(),
            gaps.max().unwrap_or(0) / 1_000
        );
    }

    fn check(
        &self,
        network: &Network,
        sent: &[SendReport],
        received: &RecvReport,
        before: &Stats,
        after: &Stats,
    ) {
        assert_eq!(received.dropped_by_own_socket, 0, "the receiver was too slow");
        assert_eq!((received.misdelivered, received.damaged_headers), (0, 0));
        let mut missing = 0;
        for flow in sent.iter().flat_map(|sender| &sender.flows) {
            let arrived = received.flows.iter().find(|arrived| arrived.name == flow.name);
            let arrived = arrived.unwrap_or_else(|| panic!("nothing of {} arrived", flow.name));
            let faults = (arrived.reordered, arrived.duplicates, arrived.corrupt);
            assert_eq!(faults, (0, 0, 0), "reordered, repeated, damaged frames of {}", flow.name);
            missing += flow.frames - arrived.frames;
        }
        let lost = after.lossless_drops_by_cause();
        let gap_ns = after.workers.iter().map(|worker| worker.poll_gap_ns_max).max().unwrap_or(0);
        let figure = after.lossless_dropped() - before.lossless_dropped();
        if gap_ns < LONG_GAP_NS {
            assert_eq!((missing, figure), (0, 0), "{lost:?}");
        }
        // What a queue of the device had no room for while the worker had no core: a tap says so to
        // the sender, who sends it again; on other devices it is gone. Nothing else is lost.
        let refused: u64 = sent.iter().map(|sender| sender.interface_tx_dropped).sum();
        assert_eq!(missing + refused, figure, "{lost:?}");
        assert!(lost.keys().all(|&cause| cause == "rx_missed"), "{lost:?}");
        assert_eq!((after.totals.imbalance, after.totals.held), (0, 0));
        for ((port, classes), sender) in self.from.iter().zip(sent) {
            for class in classes {
                let frames = |stats: &Stats| stats.ports[*port].rx_frames[class.priority];
                assert!(frames(after) > frames(before), "nothing came in {class:?}");
                let heard = &sender.priorities[class.paused_as];
                // Gentle flow control slows a sender that obeys rates, so that it need not stop.
                let slowed = |stats: &Stats| stats.ports[*port].pfc.tx_slowed[class.paused_as];
                let was_held_back = heard.xoff > 0 || slowed(after) > slowed(before);
                assert!(was_held_back, "no pause in {class:?}, so nothing was tested: {heard:?}");
            }
        }
        let lossless = &network.config.settings.ports[self.to].lossless;
        let lossy = (0..8).filter(|&priority| lossless[priority].is_none());
        let sent_lossy: u64 = lossy
            .map(|priority| {
                after.ports[self.to].tx_frames[priority] - before.ports[self.to].tx_frames[priority]
            })
            .sum();
        assert!(sent_lossy < 100, "{sent_lossy} frames left in lossy classes");
    }
}

/// Starts the sender at `port`: each of its classes could fill three quarters of the port.
fn send(network: &Network, port: usize, classes: &[Class], path: &str) -> Sender {
    let speed = network.config.settings.ports[port].speed.bps();
    let rate = (speed / 4 * 3).min(RATE_BPS_MAX);
    let host: &Host = &network.hosts[port];
    let flow = |class: &Class| {
        let Class { priority, paused_as, marking } = class;
        format!(
            "--flow name=port{}-class{priority},{path},{marking},priority={paused_as},rate={rate}",
            port + 1
        )
    };
    let flows: Vec<String> = classes.iter().map(flow).collect();
    let gfc = if network.config.settings.ports[port].gfc.is_some() { "--gfc" } else { "" };
    let seconds = load_seconds(3);
    host.send(&format!("--speed {speed} --duration {seconds}s {gfc} {}", flows.join(" ")))
}

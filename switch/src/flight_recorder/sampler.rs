//! Events from two samples: what differs between them, and what passes a limit.

use super::event::{StallOrigin, What};
use crate::control::new_drops::{NewDrops, new_drops};
use crate::control::stats::{PortStats, Stats, Wait};
use dataplane::limits::PRIORITIES;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// A pause that lasts in both samples counts as one if its ages differ from the time between the
/// samples by no more than this: the workers report at a time of their own.
const SLACK_NS: u64 = 20_000_000;

/// What the control thread knows that the statistics do not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Knowledge {
    /// Neighbors that are known: name of the port, and MAC address.
    pub neighbors: BTreeMap<IpAddr, (String, String)>,
    /// All routes.
    pub routes: u64,
    /// A hash of the rules' entries, and how many there are.
    pub rules: (u64, usize),
}

/// The last sample.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    last: Option<Box<Stats>>,
    known: Knowledge,
    /// Queues that are known to be stalled: port number and priority.
    stalled: BTreeSet<(usize, usize)>,
}

/// An event, and when it happened on the workers' clock.
pub(crate) type Timed = (u64, What);

impl Sampler {
    /// The events since the last sample, the earliest first. `known` is given if the tables may
    /// have changed.
    pub(crate) fn take(
        &mut self,
        stats: &Stats,
        known: Option<Knowledge>,
        stall_ns: u64,
    ) -> Vec<Timed> {
        let now = stats.uptime_ns;
        let mut events = Vec::new();
        if let Some(last) = self.last.take() {
            let elapsed = now.saturating_sub(last.uptime_ns);
            for (before, port) in last.ports.iter().zip(&stats.ports) {
                of_port(before, port, now, elapsed, &mut events);
            }
            if last.epoch != stats.epoch {
                events.push((now, What::Tables { epoch: stats.epoch }));
            }
            if let Some(known) = &known {
                self.differences(known, now, &mut events);
            }
        }
        self.stalls(stats, stall_ns, &mut events);
        if let Some(known) = known {
            self.known = known;
        }
        self.last = Some(Box::new(stats.clone()));
        events.sort_by_key(|(at, _)| *at);
        events
    }

    /// Changes of neighbors, routes and rules.
    fn differences(&self, known: &Knowledge, now: u64, events: &mut Vec<Timed>) {
        let before = &self.known;
        for (&address, (port, mac)) in &known.neighbors {
            if before.neighbors.get(&address).is_none_or(|it| it != &(port.clone(), mac.clone())) {
                let (port, mac) = (port.clone(), Some(mac.clone()));
                events.push((now, What::Neighbor { address, port, mac }));
            }
        }
        for (&address, (port, _)) in &before.neighbors {
            if !known.neighbors.contains_key(&address) {
                let port = port.clone();
                events.push((now, What::Neighbor { address, port, mac: None }));
            }
        }
        if before.routes != known.routes {
            events.push((now, What::Routes { routes: known.routes }));
        }
        if before.rules != known.rules {
            events.push((now, What::Rules { entries: known.rules.1 }));
        }
    }

    /// Queues that wait for longer than `stall_ns`, each once until it goes on.
    fn stalls(&mut self, stats: &Stats, stall_ns: u64, events: &mut Vec<Timed>) {
        let long: Vec<&Wait> =
            stats.waits.iter().filter(|wait| wait.paused_for_ns >= stall_ns).collect();
        self.stalled.retain(|place| long.iter().any(|it| (it.port, it.priority) == *place));
        for wait in long {
            if !self.stalled.insert((wait.port, wait.priority)) {
                continue;
            }
            let origins = wait.origins.iter().map(|it| StallOrigin {
                port: it.name.clone(),
                priority: it.priority,
                paused: it.paused,
            });
            let what = What::Stall {
                port: wait.name.clone(),
                priority: wait.priority,
                paused_for_ns: wait.paused_for_ns,
                frames: wait.frames,
                bytes: wait.bytes,
                origins: origins.collect(),
            };
            events.push((stats.uptime_ns, what));
        }
    }
}

/// Whether a pause that is `for_ns` old is the one that was `before_ns` old before.
const fn is_same(before_ns: u64, for_ns: u64, elapsed_ns: u64) -> bool {
    for_ns.saturating_add(SLACK_NS) >= before_ns.saturating_add(elapsed_ns)
}

fn of_port(before: &PortStats, port: &PortStats, now: u64, elapsed: u64, events: &mut Vec<Timed>) {
    let name = || port.name.clone();
    if before.up != port.up {
        events.push((now, What::Link { port: name(), up: port.up }));
    }
    for priority in 0..PRIORITIES {
        of_pauses(before, port, priority, now, elapsed, events);
        let new = |field: fn(&PortStats) -> &[u64; PRIORITIES]| {
            field(port)[priority] > field(before)[priority]
        };
        if new(|port| &port.pfc.storms) {
            events.push((now, What::Storm { port: name(), priority }));
        }
        if new(|port| &port.pfc.restored) {
            events.push((now, What::StormEnded { port: name(), priority }));
        }
        let (old, queue) = (&before.queues[priority], &port.queues[priority]);
        let depths = |it: &dataplane::report::QueueGauges| {
            (it.viq_bytes, it.headroom_bytes, it.veq_frames, it.veq_bytes)
        };
        if depths(old) != depths(queue) {
            let (viq_bytes, headroom_bytes, veq_frames, veq_bytes) = depths(queue);
            let port = name();
            events.push((
                now,
                What::Depth { port, priority, viq_bytes, headroom_bytes, veq_frames, veq_bytes },
            ));
        }
    }
    of_drops(before, port, now, events);
}

fn of_pauses(
    before: &PortStats,
    port: &PortStats,
    priority: usize,
    now: u64,
    elapsed: u64,
    events: &mut Vec<Timed>,
) {
    let name = || port.name.clone();
    let (old, queue) = (&before.queues[priority], &port.queues[priority]);
    let lasts = queue.rx_paused
        && old.rx_paused
        && is_same(old.rx_paused_for_ns, queue.rx_paused_for_ns, elapsed);
    let mut received = port.pfc.rx_pauses[priority].saturating_sub(before.pfc.rx_pauses[priority]);
    if old.rx_paused && !lasts {
        let paused_for_ns = if queue.rx_paused { 0 } else { queue.rx_recent_pause_ns };
        let paused_for_ns = paused_for_ns.max(old.rx_paused_for_ns);
        let began = now.saturating_sub(elapsed).saturating_sub(old.rx_paused_for_ns);
        let ended = began.saturating_add(paused_for_ns).min(now);
        events.push((ended, What::Resumed { port: name(), priority, paused_for_ns }));
    }
    if queue.rx_paused && !lasts {
        received = received.saturating_sub(1);
        let at = now.saturating_sub(queue.rx_paused_for_ns);
        events.push((at, What::Paused { port: name(), priority }));
    }
    let lasts = queue.tx_paused
        && old.tx_paused
        && is_same(old.tx_paused_for_ns, queue.tx_paused_for_ns, elapsed);
    let mut sent = port.pfc.tx_pauses[priority].saturating_sub(before.pfc.tx_pauses[priority]);
    if old.tx_paused && !lasts {
        events.push((now, What::XonSent { port: name(), priority }));
    }
    if queue.tx_paused && !lasts {
        sent = sent.saturating_sub(1);
        let at = now.saturating_sub(queue.tx_paused_for_ns);
        events.push((at, What::XoffSent { port: name(), priority }));
    }
    if received > 0 || sent > 0 {
        events.push((now, What::ShortPauses { port: name(), priority, received, sent }));
    }
}

fn of_drops(before: &PortStats, port: &PortStats, now: u64, events: &mut Vec<Timed>) {
    for NewDrops { cause, frames, lossless_frames } in new_drops(before, port) {
        if frames > 0 {
            let (port, cause) = (port.name.clone(), cause.to_owned());
            events.push((now, What::Drops { port, cause, frames, lossless_frames }));
        }
    }
}

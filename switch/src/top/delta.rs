//! The difference between two samples of a switch: rates, shares of the interval, and what is new.
//!
//! No IO: two [`Stats`] in, a [`View`] out. What needs more than two samples (peaks since they were
//! reset, how long a class has been quiet) is added by [`history`](super::history).

use super::sample::{Cause, ClassView, Count, Pauses, PortView, Rate, View, WorkerView};
use crate::control::stats::{ByPriority, PortStats, Stats, Wait, WorkerStats, loss_cause};

/// The time between two samples.
#[derive(Clone, Copy, Debug)]
struct Interval {
    ns: u64,
}

impl Interval {
    /// How often a second; 0 if no time has passed.
    fn per_second(self, new: u64) -> f64 {
        if self.ns == 0 { 0.0 } else { new as f64 * 1e9 / self.ns as f64 }
    }

    /// Which share of it `ns` is. Two counters are read microseconds apart, so it may seem to be
    /// more than all.
    fn share(self, ns: f64) -> f64 {
        if self.ns == 0 { 0.0 } else { (ns / self.ns as f64).clamp(0.0, 1.0) }
    }

    fn rate(self, frames: u64, bytes: u64) -> Rate {
        Rate { frames: self.per_second(frames), bits: self.per_second(bytes) * 8.0 }
    }
}

/// Whether `now` continues `before`: the same process, later. Otherwise the switch has been
/// restarted, and its counters with it.
pub(super) fn continues(before: &Stats, now: &Stats) -> bool {
    before.pid == now.pid && before.name == now.name && before.uptime_ns <= now.uptime_ns
}

/// What happened between `before` and `now`, or since the switch's start if there is nothing before
/// or `now` does not continue it.
pub(super) fn compare(before: Option<&Stats>, now: &Stats) -> View {
    let start = Stats::default();
    let earlier = before.filter(|before| continues(before, now));
    let before = earlier.unwrap_or(&start);
    let interval = Interval { ns: now.uptime_ns.saturating_sub(before.uptime_ns) };
    let waits = |number: usize| -> Vec<Wait> {
        now.waits.iter().filter(|wait| wait.port == number).cloned().collect()
    };
    let ports = now.ports.iter();
    let ports: Vec<PortView> = ports
        .map(|now| PortView { waits: waits(now.number), ..port(before, now, interval) })
        .collect();
    let sum = |part: fn(&PortView) -> Rate| {
        ports.iter().map(part).fold(Rate::default(), |sum, part| Rate {
            frames: sum.frames + part.frames,
            bits: sum.bits + part.bits,
        })
    };
    let dropped = count(before.totals.dropped, now.totals.dropped);
    View {
        name: now.name.clone(),
        version: now.version.clone(),
        pid: now.pid,
        epoch: now.epoch,
        level: now.lldp.as_ref().and_then(|lldp| lldp.level),
        uptime_ns: now.uptime_ns,
        interval_ns: interval.ns,
        since_start: earlier.is_none(),
        rx: sum(|port| port.rx),
        tx: sum(|port| port.tx),
        dropped,
        dropped_rate: interval.per_second(dropped.new),
        lossless_drops: count(before.lossless_dropped(), now.lossless_dropped()),
        totals: now.totals,
        buffer: now.buffer,
        mbufs: now.mbufs,
        latency_ns: now.latency_ns.clone(),
        workers: now.workers.iter().map(|now| worker(before, now, interval)).collect(),
        ports,
    }
}

const fn count(before: u64, now: u64) -> Count {
    Count { total: now, new: now.saturating_sub(before) }
}

fn worker(before: &Stats, now: &WorkerStats, interval: Interval) -> WorkerView {
    let before = before.workers.iter().find(|before| before.number == now.number);
    let busy_ns = |worker: &WorkerStats| worker.turn_ns.count as f64 * worker.turn_ns.mean;
    WorkerView {
        number: now.number,
        core: now.core,
        busy: interval.share(busy_ns(now) - before.map_or(0.0, busy_ns)),
        poll_gap_ns: now.poll_gap_ns_max,
        commands_lost: now.commands_lost,
    }
}

fn port(before: &Stats, now: &PortStats, interval: Interval) -> PortView {
    let start = PortStats::default();
    let before = before.ports.iter().find(|before| before.number == now.number).unwrap_or(&start);
    let new = |part: fn(&PortStats) -> u64| count(part(before), part(now)).new;
    let rx_frames = new(|port| total(&port.rx_frames).saturating_add(port.rx_unclassified_frames));
    PortView {
        number: now.number,
        name: now.name.clone(),
        state: match (now.in_service, now.link) {
            (false, _) => "off",
            (true, false) => "down",
            (true, true) => "up",
        },
        speed_bps: now.speed_bps,
        rx: interval.rate(rx_frames, new(|port| total(&port.rx_bytes))),
        tx: interval.rate(new(|port| total(&port.tx_frames)), new(|port| total(&port.tx_bytes))),
        dropped: count(total(before.drops.values()), total(now.drops.values())),
        lossless_drops: count(before.lossless_dropped(), now.lossless_dropped()),
        drops: drops(before, now),
        losses: losses(before, now),
        pfc_ignored: pfc_ignored(before, now),
        classes: std::array::from_fn(|priority| class(before, now, priority, interval)),
        waits: Vec::new(),
        lldp: now.lldp.clone(),
    }
}

fn class(before: &PortStats, now: &PortStats, priority: usize, interval: Interval) -> ClassView {
    let queue = now.queues[priority];
    let new =
        |of: fn(&PortStats) -> &ByPriority| count(of(before)[priority], of(now)[priority]).new;
    let pauses =
        |xoff, times: fn(&PortStats) -> &ByPriority, ns: fn(&PortStats) -> &ByPriority| Pauses {
            xoff,
            times: count(times(before)[priority], times(now)[priority]),
            share: interval.share(new(ns) as f64),
            paused_ns: ns(now)[priority],
        };
    let mut class = ClassView {
        lossless: queue.lossless,
        rx: interval.rate(new(|port| &port.rx_frames), new(|port| &port.rx_bytes)),
        tx: interval.rate(new(|port| &port.tx_frames), new(|port| &port.tx_bytes)),
        viq_bytes: queue.viq_bytes.into(),
        viq_peak_bytes: queue.viq_peak_bytes.into(),
        veq_bytes: queue.veq_bytes.into(),
        veq_peak_bytes: queue.veq_peak_bytes.into(),
        headroom_bytes: queue.headroom_bytes.into(),
        headroom_peak_bytes: queue.headroom_peak_bytes.into(),
        headroom_size_bytes: queue.headroom_size_bytes.into(),
        sent: pauses(queue.tx_paused, |port| &port.pfc.tx_pauses, |port| &port.pfc.tx_paused_ns),
        received: pauses(
            queue.rx_paused,
            |port| &port.pfc.rx_pauses,
            |port| &port.pfc.rx_paused_ns,
        ),
        lossless_drops: count(before.lossless_drops[priority], now.lossless_drops[priority]),
        quiet: false,
    };
    class.quiet = !is_active(&class);
    class
}

/// Whether anything happened in a class, or waits in it.
fn is_active(class: &ClassView) -> bool {
    let paused = |pauses: &Pauses| pauses.xoff || pauses.times.new > 0 || pauses.share > 0.0;
    class.rx.frames + class.tx.frames > 0.0
        || class.viq_bytes + class.veq_bytes > 0
        || class.lossless_drops.new > 0
        || paused(&class.sent)
        || paused(&class.received)
}

fn drops(before: &PortStats, now: &PortStats) -> Vec<Cause> {
    let mut causes: Vec<Cause> = now
        .drops
        .iter()
        .filter(|&(_, &frames)| frames > 0)
        .map(|(name, &frames)| {
            let before = before.drops.get(name).copied().unwrap_or_default();
            let is_lossless = now.lossless_drops_by_cause.contains_key(name);
            Cause { name: name.clone(), count: count(before, frames), is_lossless }
        })
        .collect();
    causes.sort_by_key(|cause| !cause.is_lossless);
    causes
}

fn losses(before: &PortStats, now: &PortStats) -> Vec<Cause> {
    let counters = before.device_lost().zip(now.device_lost());
    let causes = counters.map(|((_, before), (counter, now))| (loss_cause(counter), before, now));
    named(now, causes)
}

fn pfc_ignored(before: &PortStats, now: &PortStats) -> Vec<Cause> {
    let counters = |port: &PortStats| {
        [
            ("pfc_for_lossy_class", total(&port.pfc.rx_ignored)),
            ("link_pause", port.pfc.rx_link_pause_frames),
            ("unknown", port.pfc.rx_unknown_frames),
            ("truncated", port.pfc.rx_truncated_frames),
        ]
    };
    let pairs = counters(before).into_iter().zip(counters(now));
    named(now, pairs.map(|((_, before), (name, now))| (name, before, now)))
}

/// The counters that are not zero: name, value before, value now.
fn named(port: &PortStats, counters: impl Iterator<Item = (&'static str, u64, u64)>) -> Vec<Cause> {
    let causes = counters.map(|(name, before, now)| Cause {
        name: name.to_owned(),
        count: count(before, now),
        is_lossless: port.lossless_drops_by_cause.contains_key(name),
    });
    causes.filter(|cause| cause.count.total > 0).collect()
}

/// Saturating, for what comes over a socket may be anything.
fn total<'a, I: IntoIterator<Item = &'a u64>>(values: I) -> u64 {
    values.into_iter().fold(0, |total, &value| total.saturating_add(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::fixture::{in_trouble, only, switch};

    fn near(value: f64, wanted: f64) -> bool {
        (value - wanted).abs() <= wanted * 1e-9
    }

    fn causes(causes: &[Cause]) -> Vec<(&str, u64, u64)> {
        causes.iter().map(|cause| (&*cause.name, cause.count.total, cause.count.new)).collect()
    }

    #[test]
    fn rates_are_differences_over_the_time_between() {
        let (before, mut now) = in_trouble();
        now.uptime_ns += 1_000_000_000;
        let view = compare(Some(&before), &now);
        assert!(!view.since_start);
        assert_eq!(view.interval_ns, 2_000_000_000);
        let h1 = &view.ports[0];
        assert!(near(h1.classes[3].rx.frames, 50_000.0), "{:?}", h1.classes[3]);
        assert!(near(h1.classes[3].rx.bits, 600e6), "{:?}", h1.classes[3]);
        assert!(near(h1.rx.frames, 50_500.0) && near(h1.rx.bits, 606e6), "{:?}", h1.rx);
        assert!(near(view.rx.bits, 606e6) && near(view.tx.bits, 594e6));
        assert!(near(view.dropped_rate, 6_008.5), "{}", view.dropped_rate);
        assert!(near(h1.classes[3].sent.share, 0.117), "{:?}", h1.classes[3].sent);
    }

    #[test]
    fn changes_are_shown_by_port_and_class() {
        let (before, now) = in_trouble();
        let view = compare(Some(&before), &now);
        let [h1, up1, up2] = &view.ports[..] else { panic!("three ports") };
        assert_eq!(
            causes(&h1.drops),
            [("headroom_overrun", 17, 17), ("tail_drop", 12_000, 12_000)]
        );
        assert_eq!(
            (h1.lossless_drops, view.lossless_drops),
            (Count { total: 17, new: 17 }, h1.lossless_drops)
        );
        assert_eq!(h1.dropped, Count { total: 12_017, new: 12_017 });
        assert!(h1.classes[3].sent.xoff && !h1.classes[3].received.xoff);
        assert_eq!(h1.classes[3].sent.times, Count { total: 12, new: 12 });
        assert_eq!(h1.classes[3].sent.paused_ns, 234_000_000);
        assert_eq!(causes(&up1.losses), [("rx_missed", 8, 8)]);
        assert_eq!(causes(&up1.pfc_ignored), [("link_pause", 5, 5)]);
        assert_eq!((h1.state, up2.state), ("up", "down"));
        let busy: Vec<f64> = view.workers.iter().map(|worker| worker.busy).collect();
        assert!(near(busy[0], 0.3) && near(busy[1], 0.05), "{busy:?}");
    }

    #[test]
    fn a_class_is_quiet_only_if_nothing_moves_or_waits_or_is_paused() {
        let (before, now) = in_trouble();
        let active = |view: &View| -> Vec<(usize, usize)> {
            let ports = view.ports.iter().enumerate();
            let classes = ports.flat_map(|(port, view)| {
                view.classes.iter().enumerate().map(move |(class, view)| (port, class, view.quiet))
            });
            classes.filter(|&(_, _, quiet)| !quiet).map(|(port, class, _)| (port, class)).collect()
        };
        assert_eq!(active(&compare(Some(&before), &now)), [(0, 0), (0, 3), (1, 3)]);

        let mut later = now.clone();
        later.uptime_ns += 1;
        later.ports[1].queues[3].veq_bytes = 0;
        // It is paused still, and so is what waits.
        assert_eq!(active(&compare(Some(&now), &later)), [(0, 3)]);
        later.ports[0].queues[3] = before.ports[0].queues[3];
        assert_eq!(active(&compare(Some(&now), &later)), []);
        later.ports[2].pfc.rx_pauses = only(4, 1);
        assert_eq!(active(&compare(Some(&now), &later)), [(2, 4)]);
    }

    #[test]
    fn without_an_earlier_moment_all_is_since_the_start() {
        let (before, now) = in_trouble();
        let mut restarted = now.clone();
        restarted.pid += 1;
        let mut younger = now.clone();
        younger.uptime_ns = 1;
        for (before, now) in [(None, &now), (Some(&restarted), &now), (Some(&before), &younger)] {
            let before = before.filter(|before| !continues(before, now));
            let view = compare(before, now);
            assert!(view.since_start);
            assert_eq!(view.interval_ns, now.uptime_ns);
            assert_eq!(view.lossless_drops, Count { total: 17, new: 17 });
        }
        assert!(continues(&before, &now) && !continues(&restarted, &now));
        assert!(!continues(&before, &younger));
    }

    #[test]
    fn an_empty_interval_divides_by_nothing() {
        let (_, now) = in_trouble();
        let view = compare(Some(&now), &now);
        assert_eq!((view.rx, view.dropped_rate, view.workers[0].busy), (Rate::default(), 0.0, 0.0));
        let nothing = compare(None, &switch(0, Vec::new()));
        assert_eq!(nothing.tx, Rate::default());
    }

    #[test]
    fn a_pause_is_never_more_than_all_the_time() {
        let (before, mut now) = in_trouble();
        now.ports[0].pfc.tx_paused_ns = only(3, 1_000_003_000);
        let view = compare(Some(&before), &now);
        assert_eq!(view.ports[0].classes[3].sent.share, 1.0);
    }

    #[test]
    fn frames_without_a_class_count_for_the_port() {
        let (before, mut now) = in_trouble();
        now.ports[2].rx_unclassified_frames = 7;
        let view = compare(Some(&before), &now);
        assert!(near(view.ports[2].rx.frames, 7.0));
    }
}

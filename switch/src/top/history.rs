//! What needs more than two samples: peaks since they were reset, and how long a class has been
//! quiet.

use super::delta::{compare, continues};
use super::sample::{ClassView, View};
use crate::control::stats::Stats;
use dataplane::limits::PRIORITIES;
use dataplane::report::QueueGauges;
use std::collections::BTreeMap;

/// A class is folded when nothing has happened in it for so long. Bursts are intermittent; a line
/// that appears and disappears with them cannot be read.
const QUIET_NS: u64 = 30_000_000_000;

/// The last samples of a switch, and what is kept of earlier ones.
#[derive(Debug, Default)]
pub(super) struct History {
    before: Option<Stats>,
    now: Option<Stats>,
    /// By port number.
    ports: BTreeMap<usize, [ClassMemory; PRIORITIES]>,
    shared: Peak,
    lossy: Peak,
}

#[derive(Clone, Copy, Debug, Default)]
struct ClassMemory {
    /// When something happened last, on the switch's clock.
    moved_ns: Option<u64>,
    viq: Peak,
    veq: Peak,
    headroom: Peak,
}

/// A peak since it was reset in this view. The peak in the sample is since the start of the switch,
/// and shared with other clients. While that has not risen since the reset, the best known value is
/// the largest that was sampled here.
#[derive(Clone, Copy, Debug, Default)]
struct Peak {
    of_switch_at_reset: u64,
    seen: u64,
}

impl Peak {
    fn see(&mut self, now: u64) {
        self.seen = self.seen.max(now);
    }

    fn reset(&mut self, of_switch: u64, now: u64) {
        *self = Self { of_switch_at_reset: of_switch, seen: now };
    }

    /// The peak to show, given the peak in the sample.
    fn shown(self, of_switch: u64) -> u64 {
        if of_switch > self.of_switch_at_reset { of_switch } else { self.seen }
    }
}

impl History {
    /// Takes the next sample. One that does not continue the last resets everything.
    pub(super) fn take(&mut self, stats: Stats) {
        if self.now.as_ref().is_some_and(|now| !continues(now, &stats)) {
            *self = Self::default();
        }
        self.before = self.now.replace(stats);
        self.remember();
    }

    /// Resets all peaks to the current values. The peaks in the switch do not change.
    pub(super) fn reset_peaks(&mut self) {
        let Some(now) = &self.now else { return };
        self.shared.reset(now.buffer.shared_peak_bytes, now.buffer.shared_bytes);
        self.lossy.reset(now.buffer.lossy_peak_bytes, now.buffer.lossy_bytes);
        for port in &now.ports {
            let memories = self.ports.entry(port.number).or_default();
            for (memory, queue) in memories.iter_mut().zip(&port.queues) {
                memory.reset(queue);
            }
        }
    }

    /// The view of the last sample.
    pub(super) fn view(&self) -> Option<View> {
        let mut view = compare(self.before.as_ref(), self.now.as_ref()?);
        view.buffer.shared_peak_bytes = self.shared.shown(view.buffer.shared_peak_bytes);
        view.buffer.lossy_peak_bytes = self.lossy.shown(view.buffer.lossy_peak_bytes);
        let now_ns = view.uptime_ns;
        for port in &mut view.ports {
            let memories = self.ports.get(&port.number).copied().unwrap_or_default();
            for (class, memory) in port.classes.iter_mut().zip(memories) {
                memory.complete(class, now_ns);
            }
        }
        Some(view)
    }

    fn remember(&mut self) {
        let Some(now) = &self.now else { return };
        let compared = compare(self.before.as_ref(), now);
        self.shared.see(now.buffer.shared_bytes);
        self.lossy.see(now.buffer.lossy_bytes);
        for (port, view) in now.ports.iter().zip(&compared.ports) {
            let memories = self.ports.entry(port.number).or_default();
            for (priority, memory) in memories.iter_mut().enumerate() {
                memory.see(&port.queues[priority]);
                if !view.classes[priority].quiet {
                    memory.moved_ns = Some(now.uptime_ns);
                }
            }
        }
    }
}

impl ClassMemory {
    fn see(&mut self, queue: &QueueGauges) {
        self.viq.see(queue.viq_bytes.into());
        self.veq.see(queue.veq_bytes.into());
        self.headroom.see(queue.headroom_bytes.into());
    }

    fn reset(&mut self, queue: &QueueGauges) {
        self.viq.reset(queue.viq_peak_bytes.into(), queue.viq_bytes.into());
        self.veq.reset(queue.veq_peak_bytes.into(), queue.veq_bytes.into());
        self.headroom.reset(queue.headroom_peak_bytes.into(), queue.headroom_bytes.into());
    }

    fn complete(self, class: &mut ClassView, now_ns: u64) {
        class.viq_peak_bytes = self.viq.shown(class.viq_peak_bytes);
        class.veq_peak_bytes = self.veq.shown(class.veq_peak_bytes);
        class.headroom_peak_bytes = self.headroom.shown(class.headroom_peak_bytes);
        // A class that lost lossless frames is always shown.
        class.quiet = class.lossless_drops.total == 0
            && self.moved_ns.is_none_or(|moved_ns| now_ns.saturating_sub(moved_ns) > QUIET_NS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::fixture::in_trouble;

    /// `stats` later by `seconds`, with nothing happening meanwhile.
    fn later(stats: &Stats, seconds: u64) -> Stats {
        Stats { uptime_ns: stats.uptime_ns + seconds * 1_000_000_000, ..stats.clone() }
    }

    fn class_3(history: &History) -> ClassView {
        history.view().unwrap().ports[0].classes[3]
    }

    #[test]
    fn peaks_are_the_switch_s_own_until_they_are_reset() {
        let (before, now) = in_trouble();
        let mut history = History::default();
        history.take(before);
        history.take(now.clone());
        assert_eq!(class_3(&history).viq_peak_bytes, 640_000);

        history.reset_peaks();
        let class = class_3(&history);
        assert_eq!((class.viq_peak_bytes, class.headroom_peak_bytes), (612_000, 96_000));
        assert_eq!(history.view().unwrap().buffer.shared_peak_bytes, 612_000);

        // Seen here, below the switch's old peak.
        let mut higher = later(&now, 1);
        higher.ports[0].queues[3].viq_bytes = 620_000;
        history.take(higher.clone());
        history.take(later(&now, 2));
        assert_eq!(class_3(&history).viq_peak_bytes, 620_000);

        // A peak between two samples, above the old one.
        let mut risen = later(&now, 3);
        risen.ports[0].queues[3].viq_peak_bytes = 700_000;
        history.take(risen);
        assert_eq!(class_3(&history).viq_peak_bytes, 700_000);
    }

    #[test]
    fn a_restart_forgets_what_was_before() {
        let (before, now) = in_trouble();
        let mut history = History::default();
        history.take(before);
        history.take(now.clone());
        history.reset_peaks();
        let mut restarted = now;
        restarted.pid += 1;
        restarted.uptime_ns = 1_000_000_000;
        history.take(restarted);
        let view = history.view().unwrap();
        assert!(view.since_start);
        assert_eq!(class_3(&history).viq_peak_bytes, 640_000);
    }

    #[test]
    fn a_class_is_folded_after_a_while() {
        let (before, mut now) = in_trouble();
        now.ports[0].queues[3] = before.ports[0].queues[3];
        let quiet = |history: &History| {
            let view = history.view().unwrap();
            [0, 1, 3].map(|priority| view.ports[0].classes[priority].quiet)
        };
        let mut history = History::default();
        history.take(before);
        assert_eq!(quiet(&history), [true, true, true], "nothing has happened yet");
        history.take(now.clone());
        assert_eq!(quiet(&history), [false, true, false]);
        history.take(later(&now, 30));
        assert_eq!(quiet(&history), [false, true, false]);
        history.take(later(&now, 31));
        assert_eq!(quiet(&history), [true, true, false], "lost frames stay in sight");
    }

    #[test]
    fn a_class_that_was_used_before_is_seen_at_first() {
        let (_, now) = in_trouble();
        let mut history = History::default();
        assert_eq!(history.view(), None);
        history.take(now);
        assert!(!class_3(&history).quiet);
    }
}

//! Latency, burst-size and turn-time histograms: recorded by each worker at a few nanoseconds a
//! burst, merged by the control thread.
//!
//! A frame that leaves in the turn in which it arrived has that turn's time as its latency; the
//! worker loop measures it once for all such frames. Queued frames come in runs of equal age; a run
//! that completes [`WAITED_STRIDE`] frames is recorded for all frames since the last record.

use dataplane::ids::PortId;
use dataplane::limits::BURST_MAX;
use dataplane::probe::Probe;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::platform::DeviceLosses;

/// Of the queued frames, at least one in so many is timed and counts for all of them. A prime, so
/// that it does not align with ports that are served in turn.
pub(crate) const WAITED_STRIDE: u64 = 7;

/// The longest time in the histograms; longer ones count as this.
const NS_MAX: u64 = 10_000_000_000;

/// Bounds of a time's buckets, 1 ns to 2^33 ns; the longest times are above all of them.
const TIME_BUCKETS: u32 = 34;

/// Bounds of the buckets of burst sizes, 1 to 128 frames.
const BURST_BUCKETS: u32 = BURST_MAX.next_power_of_two().ilog2() + 1;

/// Two digits: 1 % error, and 30 KB a histogram, of which the used lines stay in the cache.
const SIGNIFICANT_DIGITS: u8 = 2;

/// The histograms of an interval.
#[derive(Clone, Debug)]
pub(crate) struct WorkerHistograms {
    /// From the start of the turn in which a frame was received to its hand-over to the device.
    latency_ns: Histogram<u64>,
    /// Turns in which something moved.
    turn_ns: Histogram<u64>,
    /// Received bursts, by their number of frames.
    bursts: [u64; BURST_MAX + 1],
    /// The longest polling gap.
    poll_gap_ns_max: u64,
}

impl Default for WorkerHistograms {
    fn default() -> Self {
        let of_time = || {
            Histogram::new_with_max(NS_MAX, SIGNIFICANT_DIGITS)
                .expect("the bounds of a histogram are constants that fit")
        };
        Self {
            latency_ns: of_time(),
            turn_ns: of_time(),
            bursts: [0; BURST_MAX + 1],
            poll_gap_ns_max: 0,
        }
    }
}

impl WorkerHistograms {
    /// Adds what `other` holds.
    pub(crate) fn add(&mut self, other: &Self) {
        // Cannot fail: all have the same bounds.
        let _same_bounds = self.latency_ns.add(&other.latency_ns);
        let _same_bounds = self.turn_ns.add(&other.turn_ns);
        for (mine, theirs) in self.bursts.iter_mut().zip(&other.bursts) {
            *mine += theirs;
        }
        self.poll_gap_ns_max = self.poll_gap_ns_max.max(other.poll_gap_ns_max);
    }

    /// Clears it and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.latency_ns.reset();
        self.turn_ns.reset();
        self.bursts = [0; BURST_MAX + 1];
        self.poll_gap_ns_max = 0;
    }

    /// Latency of frames, in nanoseconds.
    pub(crate) fn latency_ns(&self) -> Distribution {
        Distribution::of(&self.latency_ns, TIME_BUCKETS)
    }

    /// Length of the turns in which something moved, in nanoseconds.
    pub(crate) fn turn_ns(&self) -> Distribution {
        Distribution::of(&self.turn_ns, TIME_BUCKETS)
    }

    /// Frames of the bursts that were received.
    pub(crate) fn burst_frames(&self) -> Distribution {
        let mut histogram = Histogram::<u64>::new_with_max(BURST_MAX as u64, 3)
            .expect("the bounds of a histogram are constants that fit");
        // Recording a value no times would still count as the largest seen.
        for (frames, &count) in self.bursts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            histogram.saturating_record_n(frames as u64, count);
        }
        Distribution::of(&histogram, BURST_BUCKETS)
    }

    /// The longest polling gap in nanoseconds, which headroom must cover.
    pub(crate) const fn poll_gap_ns_max(&self) -> u64 {
        self.poll_gap_ns_max
    }
}

/// A histogram in a few numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Values counted.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Half of them are at or below this.
    pub p50: u64,
    /// 99 % are.
    pub p99: u64,
    /// 99.9 % are.
    pub p999: u64,
    /// The largest, to the histogram's precision.
    pub max: u64,
    /// Their sum, to the histogram's precision.
    #[serde(default)]
    pub sum: u64,
    /// How many are at most 1, 2, 4, 8 and so on, to the histogram's precision. Empty before the
    /// first value.
    #[serde(default)]
    pub buckets: Vec<u64>,
}

impl Distribution {
    /// With so many buckets. Each value is in the same bucket every time, so no bucket decreases
    /// while values are added.
    fn of(histogram: &Histogram<u64>, bounds: u32) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let mut buckets = vec![0_u64; bounds as usize];
        let mut sum = 0_u64;
        for step in histogram.iter_recorded() {
            let (value, count) = (step.value_iterated_to(), step.count_at_value());
            sum = sum.saturating_add(histogram.median_equivalent(value).saturating_mul(count));
            // A line of the histogram that begins at a bound counts as that bound.
            let lowest = histogram.lowest_equivalent(value).max(1);
            let bound = lowest.next_power_of_two().ilog2() as usize;
            for bucket in buckets.iter_mut().skip(bound) {
                *bucket += count;
            }
        }
        Self {
            count: histogram.len(),
            mean: histogram.mean(),
            p50: histogram.value_at_quantile(0.5),
            p99: histogram.value_at_quantile(0.99),
            p999: histogram.value_at_quantile(0.999),
            max: histogram.max(),
            sum,
            buckets,
        }
    }
}

/// What a worker returns on request: the histograms since the last request, and the device's losses
/// since start.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    /// Histograms.
    pub histograms: WorkerHistograms,
    /// By port.
    pub losses: Vec<(PortId, DeviceLosses)>,
}

/// The worker's side: records what the core reports to its probe.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    histograms: WorkerHistograms,
    passed_this_turn: u64,
    waited_untimed: u64,
    waited_ns: u32,
}

impl Recorder {
    /// A turn that took `turn_ns` is over.
    #[inline(always)]
    pub(crate) fn end_turn(&mut self, turn_ns: u64, is_busy: bool) {
        if is_busy {
            self.histograms.turn_ns.saturating_record(turn_ns);
        }
        if self.passed_this_turn > 0 {
            self.histograms.latency_ns.saturating_record_n(turn_ns, self.passed_this_turn);
            self.passed_this_turn = 0;
        }
    }

    /// A turn began `gap_ns` after the one before it.
    #[inline(always)]
    pub(crate) fn poll_gap(&mut self, gap_ns: u64) {
        self.histograms.poll_gap_ns_max = self.histograms.poll_gap_ns_max.max(gap_ns);
    }

    /// The queued frames since the last record count as the last of them.
    #[inline(always)]
    fn record_waited(&mut self) {
        let frames = std::mem::take(&mut self.waited_untimed);
        self.histograms.latency_ns.saturating_record_n(u64::from(self.waited_ns), frames);
    }

    /// Exchanges what was counted for the empty tallies in `sample`.
    pub(crate) fn swap(&mut self, sample: &mut Sample) {
        if self.waited_untimed > 0 {
            self.record_waited();
        }
        std::mem::swap(&mut self.histograms, &mut sample.histograms);
    }
}

impl Probe for Recorder {
    #[inline(always)]
    fn received(&mut self, frames: usize) {
        self.histograms.bursts[frames.min(BURST_MAX)] += 1;
    }

    #[inline(always)]
    fn waited(&mut self, ns: u32, frames: usize) {
        self.waited_ns = ns;
        self.waited_untimed += frames as u64;
        if self.waited_untimed >= WAITED_STRIDE {
            self.record_waited();
        }
    }

    #[inline(always)]
    fn passed(&mut self, frames: usize) {
        self.passed_this_turn += frames as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_passed_took_the_time_of_their_turn() {
        let mut recorder = Recorder::default();
        recorder.received(3);
        recorder.passed(2);
        recorder.passed(1);
        recorder.end_turn(5_000, true);
        recorder.end_turn(100, false);
        let mut sample = Sample::default();
        recorder.swap(&mut sample);
        let latency = sample.histograms.latency_ns();
        assert_eq!(latency.count, 3);
        assert!((4_950..=5_050).contains(&latency.p50), "{latency:?}");
        assert_eq!(sample.histograms.turn_ns().count, 1, "an idle turn is no news");
        let bursts = sample.histograms.burst_frames();
        assert_eq!((bursts.count, bursts.max), (1, 3));
    }

    #[test]
    fn one_of_several_frames_that_waited_counts_for_all_of_them() {
        let mut recorder = Recorder::default();
        for frames in [1, 1, 1, 1, 1, 1, 1, 64, 3] {
            recorder.waited(1_000, frames);
        }
        recorder.waited(9_000, 1);
        let mut sample = Sample::default();
        recorder.swap(&mut sample);
        let latency = sample.histograms.latency_ns();
        assert_eq!(latency.count, 75, "those that are left over, too");
        assert!((990..=1_010).contains(&latency.p50), "{latency:?}");
        assert!((8_900..=9_100).contains(&latency.max), "{latency:?}");
    }

    #[test]
    fn tallies_add_up_and_start_over() {
        let mut recorder = Recorder::default();
        let mut sum = WorkerHistograms::default();
        let mut sample = Sample::default();
        for turn_ns in [100, 10_000] {
            recorder.passed(1);
            recorder.end_turn(turn_ns, true);
            recorder.poll_gap(turn_ns * 2);
            recorder.swap(&mut sample);
            sum.add(&sample.histograms);
            sample.histograms.clear();
        }
        let latency = sum.latency_ns();
        assert_eq!(latency.count, 2);
        assert!(latency.p50 <= 101 && latency.max >= 9_900, "{latency:?}");
        assert_eq!(sum.poll_gap_ns_max(), 20_000);
        assert_eq!(WorkerHistograms::default().latency_ns(), Distribution::default());
    }

    #[test]
    fn buckets_are_cumulative_by_powers_of_two_and_never_decrease() {
        let mut recorder = Recorder::default();
        let mut sum = WorkerHistograms::default();
        let mut sample = Sample::default();
        let mut before = sum.turn_ns();
        for turn_ns in [1, 2, 3, 1_000, 1_024, 1_100, 1 << 33, (1 << 33) + (1 << 32), 5] {
            recorder.end_turn(turn_ns, true);
            recorder.swap(&mut sample);
            sum.add(&sample.histograms);
            sample.histograms.clear();
            let now = sum.turn_ns();
            assert!(now.buckets.is_sorted(), "{now:?}");
            assert!(before.buckets.iter().zip(&now.buckets).all(|(old, new)| old <= new));
            assert!(now.sum > before.sum && now.count == before.count + 1);
            before = now;
        }
        assert_eq!(before.buckets[..4], [1, 2, 3, 4], "at most 1, 2, 4 and 8 ns");
        assert_eq!((before.buckets[9], before.buckets[10], before.buckets[11]), (4, 6, 7));
        assert_eq!((before.buckets[32], before.buckets[33], before.count), (7, 8, 9));
    }

    #[test]
    fn bursts_have_exact_buckets_and_an_exact_sum() {
        let mut recorder = Recorder::default();
        for frames in [1, 3, 4, 33, 64, BURST_MAX] {
            recorder.received(frames);
        }
        let bursts = recorder.histograms.burst_frames();
        assert_eq!(bursts.buckets, [1, 1, 3, 3, 3, 3, 5, 6]);
        assert_eq!((bursts.sum, bursts.count), (105 + BURST_MAX as u64, 6));
    }

    #[test]
    fn a_time_beyond_the_range_counts_as_the_longest() {
        let mut recorder = Recorder::default();
        recorder.passed(1);
        recorder.end_turn(u64::MAX, true);
        let mut sample = Sample::default();
        recorder.swap(&mut sample);
        assert_eq!(sample.histograms.latency_ns().count, 1);
    }
}

//! Loss, reordering and duplication from sequence numbers.
//!
//! The missing numbers below the highest received one are kept as ranges, so the result is exact
//! however late a frame arrives, and costs nothing while frames arrive in order. Reordered is used
//! as in RFC 4737: a first arrival whose number is below an earlier one.

use std::collections::BTreeMap;

/// The maximum number of ranges. Beyond it the oldest is dropped: its frames stay lost, and one
/// that still arrives counts as a duplicate.
const GAPS_MAX: usize = 1 << 18;

/// The tracker of one flow in one run.
#[derive(Clone, Debug, Default)]
pub(super) struct SequenceTracker {
    /// One more than the highest number received: the next expected.
    next: u64,
    /// Missing numbers below `next`: first of a range to one past its last. Disjoint, not touching.
    gaps: BTreeMap<u64, u64>,
    lost: u64,
    reordered: u64,
    extent_max: u64,
    duplicates: u64,
}

/// The kind of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// Its number is the highest so far.
    InOrder,
    /// The first time, after a higher number.
    Late,
    /// Not for the first time.
    Duplicate,
}

impl SequenceTracker {
    /// Records `sequence`; the flow starts at 0.
    pub(super) fn record(&mut self, sequence: u64) -> Arrival {
        if sequence >= self.next {
            if sequence > self.next {
                self.open_gap(self.next, sequence);
            }
            self.next = sequence + 1;
            Arrival::InOrder
        } else if self.fill_gap(sequence) {
            self.lost -= 1;
            self.reordered += 1;
            self.extent_max = self.extent_max.max(self.next - 1 - sequence);
            Arrival::Late
        } else {
            self.duplicates += 1;
            Arrival::Duplicate
        }
    }

    fn open_gap(&mut self, first: u64, end: u64) {
        self.lost += end - first;
        self.gaps.insert(first, end);
        if self.gaps.len() > GAPS_MAX {
            self.gaps.pop_first();
        }
    }

    /// Takes `sequence` out of the gap it lies in; false if it lies in none.
    fn fill_gap(&mut self, sequence: u64) -> bool {
        let Some((&first, &end)) = self.gaps.range(..=sequence).next_back() else { return false };
        if sequence >= end {
            return false;
        }
        self.gaps.remove(&first);
        if first < sequence {
            self.gaps.insert(first, sequence);
        }
        if sequence + 1 < end {
            self.gaps.insert(sequence + 1, end);
        }
        true
    }

    /// One more than the highest number seen.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Numbers below the highest seen that have not come.
    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Frames that came for the first time after a higher number.
    pub(super) const fn reordered(&self) -> u64 {
        self.reordered
    }

    /// The largest distance of such a frame behind the highest number.
    pub(super) const fn extent_max(&self) -> u64 {
        self.extent_max
    }

    /// Duplicates.
    pub(super) const fn duplicates(&self) -> u64 {
        self.duplicates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[derive(Debug, Default, PartialEq, Eq)]
    struct Totals {
        lost: u64,
        reordered: u64,
        extent_max: u64,
        duplicates: u64,
    }

    fn tracked(arrivals: &[u64]) -> Totals {
        let mut tracker = SequenceTracker::default();
        for &sequence in arrivals {
            tracker.record(sequence);
        }
        Totals {
            lost: tracker.lost(),
            reordered: tracker.reordered(),
            extent_max: tracker.extent_max(),
            duplicates: tracker.duplicates(),
        }
    }

    /// The definitions, word for word, over the whole history.
    fn slowly(arrivals: &[u64]) -> Totals {
        let mut seen = BTreeSet::new();
        let mut totals = Totals::default();
        for &sequence in arrivals {
            let highest = seen.last().copied();
            if !seen.insert(sequence) {
                totals.duplicates += 1;
            } else if let Some(behind) = highest.and_then(|highest| highest.checked_sub(sequence)) {
                totals.reordered += 1;
                totals.extent_max = totals.extent_max.max(behind);
            }
        }
        let sent = seen.last().map_or(0, |highest| highest + 1);
        totals.lost = (0..sent).filter(|sequence| !seen.contains(sequence)).count() as u64;
        totals
    }

    #[test]
    fn in_order_is_nothing_to_report() {
        let arrivals: Vec<u64> = (0..1_000).collect();
        assert_eq!(tracked(&arrivals), Totals::default());
    }

    #[test]
    fn a_late_frame_is_reordered_and_no_longer_lost() {
        let totals = tracked(&[0, 3, 1, 1]);
        assert_eq!(totals, Totals { lost: 1, reordered: 1, extent_max: 2, duplicates: 1 });
    }

    #[test]
    fn frames_before_the_first_that_came_are_lost() {
        assert_eq!(tracked(&[5]).lost, 5);
    }

    #[test]
    fn gaps_beyond_the_limit_stay_lost_and_memory_stays_bounded() {
        let mut tracker = SequenceTracker::default();
        let odd = (0..GAPS_MAX as u64 + 10).map(|index| 2 * index + 1);
        for sequence in odd {
            tracker.record(sequence);
        }
        assert_eq!(tracker.gaps.len(), GAPS_MAX);
        assert_eq!(tracker.lost(), GAPS_MAX as u64 + 10);
        assert_eq!(tracker.record(0), Arrival::Duplicate);
        assert_eq!(tracker.record(40), Arrival::Late);
    }

    proptest! {
        #[test]
        fn agrees_with_the_definitions(arrivals in prop::collection::vec(0_u64..40, 0..60)) {
            prop_assert_eq!(tracked(&arrivals), slowly(&arrivals));
        }

        #[test]
        fn agrees_on_a_shuffled_stream_with_losses(
            seeds in prop::collection::vec((0_u64..12, 0_u8..10), 0..300),
        ) {
            let mut stream: Vec<(u64, u64)> = Vec::new();
            for (index, (delay, fate)) in (0_u64..).zip(seeds) {
                match fate {
                    0 => {}
                    1 => stream.extend([(index + delay, index), (index + 2 * delay, index)]),
                    2 => stream.push((index + delay, index)),
                    _ => stream.push((index, index)),
                }
            }
            stream.sort();
            let arrivals: Vec<u64> = stream.into_iter().map(|(_, sequence)| sequence).collect();
            prop_assert_eq!(tracked(&arrivals), slowly(&arrivals));
        }
    }
}

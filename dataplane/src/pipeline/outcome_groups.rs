//! The outcome groups of a burst: which frames have the same outcome, and their sums.
//!
//! The frames of a burst mostly have few outcomes: the same ingress port, a few egress ports, one
//! or two priorities. Admission, counters and disposition are computed once for each group, not for
//! each frame. Frames keep their order: those of one flow have the same outcome, and are dispatched
//! in the order of the burst.

use crate::frame_sums::FrameSums;
use crate::limits::BURST_MAX;
use crate::pipeline::outcome::{FrameOutcome, Outcome, OutcomeGroup};
use arrayvec::ArrayVec;

/// Buckets of the index: twice the frames of a burst, so that probe sequences stay short.
const BUCKETS: usize = 2 * BURST_MAX;
/// An empty bucket.
const EMPTY: u8 = u8::MAX;

/// Maps a key to an index of a burst's table: open addressing over bytes, two cache lines.
#[derive(Debug)]
pub(crate) struct GroupIndex([u8; BUCKETS]);

impl Default for GroupIndex {
    fn default() -> Self {
        Self([EMPTY; BUCKETS])
    }
}

impl GroupIndex {
    /// Empties the buckets of `keys`, which must be all the keys that were set.
    #[inline(always)]
    pub(crate) fn clear(&mut self, keys: impl Iterator<Item = u64>) {
        // Most bursts have one outcome, and so one bucket to empty.
        for key in keys {
            let mut bucket = first_bucket(key);
            while self.0[bucket] != EMPTY {
                self.0[bucket] = EMPTY;
                bucket = (bucket + 1) % BUCKETS;
            }
        }
    }

    /// The index whose key, which `key_at` returns, is `key`; or else the bucket to insert it at.
    #[inline(always)]
    pub(crate) fn find(&self, key: u64, key_at: impl Fn(u8) -> Option<u64>) -> Result<u8, usize> {
        let mut bucket = first_bucket(key);
        loop {
            let at = self.0[bucket];
            match key_at(at) {
                Some(there) if there == key => return Ok(at),
                Some(_) => bucket = (bucket + 1) % BUCKETS,
                None => return Err(bucket),
            }
        }
    }

    /// Stores index `at` in a bucket that [`Self::find`] returned.
    #[inline(always)]
    pub(crate) fn set(&mut self, bucket: usize, at: u8) {
        self.0[bucket] = at;
    }
}

/// The outcome groups of the current burst.
#[derive(Debug)]
pub(crate) struct OutcomeGroups {
    index: GroupIndex,
    /// The minimum buffer cost of a frame.
    pub(crate) cell_bytes: u32,
    pub(crate) groups: ArrayVec<OutcomeGroup, BURST_MAX>,
}

impl OutcomeGroups {
    /// No groups; each frame will cost at least `cell_bytes`.
    pub(crate) fn new(cell_bytes: u32) -> Self {
        Self { index: GroupIndex::default(), cell_bytes, groups: ArrayVec::new() }
    }

    /// Removes the groups of the previous burst.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.index.clear(self.groups.iter().map(|group| group.outcome.key()));
        self.groups.clear();
    }

    /// Adds a frame of the burst to its group, and returns the index of the group.
    #[inline(always)]
    pub(crate) fn add(&mut self, frame_outcome: &FrameOutcome) -> u8 {
        let at = self.group_index(frame_outcome.outcome);
        let group = &mut self.groups[usize::from(at)];
        group.rx_bytes += u32::from(frame_outcome.rx_bytes);
        group.sums.add(FrameSums::of_one(frame_outcome.bytes, self.cell_bytes));
        at
    }

    /// The index of the group of `outcome`, which is created if there is none.
    #[inline(always)]
    pub(crate) fn group_index(&mut self, outcome: Outcome) -> u8 {
        let groups = &self.groups;
        let key_at =
            |at| groups.get(usize::from(at)).map(|group: &OutcomeGroup| group.outcome.key());
        match self.index.find(outcome.key(), key_at) {
            Ok(at) => at,
            Err(bucket) => self.new_group(bucket, outcome),
        }
    }

    #[inline(never)]
    fn new_group(&mut self, bucket: usize, outcome: Outcome) -> u8 {
        #[expect(clippy::cast_possible_truncation, reason = "a burst has 64 outcomes at the most")]
        let at = self.groups.len() as u8;
        self.groups.push(OutcomeGroup { outcome, rx_bytes: 0, sums: FrameSums::default() });
        self.index.set(bucket, at);
        at
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "seven bits are left")]
const fn first_bucket(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BUCKETS.trailing_zeros())) as usize
}

const _: () = assert!(BUCKETS.is_power_of_two() && BURST_MAX < EMPTY as usize);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::DropReason;
    use crate::pipeline::outcome::Verdict;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// Dropped frames: the index of the drop reason, and the length.
    fn burst() -> impl Strategy<Value = Vec<(usize, u16)>> {
        proptest::collection::vec((0_usize..20, 60_u16..1500), 0..=BURST_MAX)
    }

    proptest! {
        /// Compares the groups of successive bursts, in the same memory, with sums over the frames.
        #[test]
        fn tallies_are_the_sums_of_their_frames(
            bursts in proptest::collection::vec(burst(), 1..20),
        ) {
            let mut outcomes = OutcomeGroups::new(256);
            for burst in bursts {
                outcomes.clear();
                let frame_outcome = |&(reason, bytes): &(usize, u16)| {
                    FrameOutcome::ends(Verdict::Drop(DropReason::ALL[reason]), None, bytes)
                };
                let frame_outcomes: Vec<FrameOutcome> = burst.iter().map(frame_outcome).collect();
                let places: Vec<u8> = frame_outcomes.iter().map(|frame_outcome| outcomes.add(frame_outcome)).collect();
                for (frame_outcome, &group) in frame_outcomes.iter().zip(&places) {
                    prop_assert_eq!(outcomes.groups[usize::from(group)].outcome, frame_outcome.outcome);
                }
                for group in &outcomes.groups {
                    let mine = || frame_outcomes.iter().filter(|frame_outcome| frame_outcome.outcome == group.outcome);
                    prop_assert_eq!(group.sums.frames as usize, mine().count());
                    prop_assert_eq!(group.rx_bytes, mine().map(|it| u32::from(it.rx_bytes)).sum::<u32>());
                    prop_assert_eq!(group.sums.cost_bytes, mine().map(|it| u32::from(it.bytes).max(256)).sum::<u32>());
                }
            }
        }
    }
}

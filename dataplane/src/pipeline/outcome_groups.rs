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
const BUCKETS: usize = (2 * BURST_MAX).next_power_of_two();
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

    /// Takes a frame of the group at `at`, which was received and is transmitted with these
    /// lengths, to the group of its outcome as one that is [followed](Outcome::followed). Returns
    /// the index of that group.
    pub(crate) fn follow(&mut self, at: u8, rx_bytes: u16, tx_bytes: u16) -> u8 {
        let group = &mut self.groups[usize::from(at)];
        let bytes = if group.outcome.is_forward() { tx_bytes } else { rx_bytes };
        let outcome = group.outcome.followed();
        if group.sums.frames > 1 {
            group.rx_bytes -= u32::from(rx_bytes);
            group.sums.remove(FrameSums::of_one(bytes, self.cell_bytes));
            return self.add(&FrameOutcome { outcome, rx_bytes, bytes });
        }
        // No group is empty: it becomes the other one. The index forgets it, and maybe some groups
        // beside it, which then have a second group for further frames.
        self.index.clear(core::iter::once(group.outcome.key()));
        group.outcome = outcome;
        at
    }

    #[inline(never)]
    fn new_group(&mut self, bucket: usize, outcome: Outcome) -> u8 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a burst has BURST_MAX outcomes at the most"
        )]
        let at = self.groups.len() as u8;
        self.groups.push(OutcomeGroup { outcome, rx_bytes: 0, sums: FrameSums::default() });
        self.index.set(bucket, at);
        at
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "eight bits are left")]
const fn first_bucket(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BUCKETS.trailing_zeros())) as usize
}

const _: () = assert!(BUCKETS.is_power_of_two() && BURST_MAX < EMPTY as usize);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::DropReason;
    use crate::limits::BurstBits;
    use crate::pipeline::outcome::Verdict;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// Dropped frames: the index of the drop reason, and the length; and bits of those that are
    /// followed afterwards.
    fn burst() -> impl Strategy<Value = (Vec<(usize, u16)>, BurstBits)> {
        let frames = proptest::collection::vec((0_usize..20, 60_u16..1500), 0..=BURST_MAX);
        (frames, prop_oneof![Just(0), any::<BurstBits>(), Just(BurstBits::MAX)])
    }

    fn ended(&(reason, bytes): &(usize, u16)) -> FrameOutcome {
        FrameOutcome::ends(Verdict::Drop(DropReason::ALL[reason]), None, bytes)
    }

    /// Each frame is in a group of its outcome, and each group has the sums of its frames.
    fn check(outcomes: &OutcomeGroups, frames: &[FrameOutcome], places: &[u8]) {
        for (frame, &place) in frames.iter().zip(places) {
            assert_eq!(outcomes.groups[usize::from(place)].outcome, frame.outcome);
        }
        for (at, group) in (0..).zip(&outcomes.groups) {
            let mine = || frames.iter().zip(places).filter(|(_, place)| **place == at);
            let mine = || mine().map(|(frame, _)| frame);
            assert_ne!(group.sums.frames, 0, "{group:?}");
            assert_eq!(group.sums.frames as usize, mine().count());
            assert_eq!(group.sums.bytes, mine().map(|it| u32::from(it.bytes)).sum::<u32>());
            assert_eq!(group.rx_bytes, mine().map(|it| u32::from(it.rx_bytes)).sum::<u32>());
            let cost_bytes = mine().map(|it| u32::from(it.bytes).max(256)).sum::<u32>();
            assert_eq!(group.sums.cost_bytes, cost_bytes);
        }
    }

    proptest! {
        /// Compares the groups of successive bursts, in the same memory, with sums over the frames.
        #[test]
        fn tallies_are_the_sums_of_their_frames(
            bursts in proptest::collection::vec(burst(), 1..20),
        ) {
            let mut outcomes = OutcomeGroups::new(256);
            for (burst, followed) in bursts {
                outcomes.clear();
                let mut frames: Vec<FrameOutcome> = burst.iter().map(ended).collect();
                let mut places: Vec<u8> = frames.iter().map(|frame| outcomes.add(frame)).collect();
                check(&outcomes, &frames, &places);
                let is_one_group_each = |groups: &[OutcomeGroup]| {
                    groups.iter().all(|group| {
                        groups.iter().filter(|other| other.outcome == group.outcome).count() == 1
                    })
                };
                assert!(is_one_group_each(&outcomes.groups));
                for at in (0..burst.len()).filter(|at| followed >> at & 1 == 1) {
                    let FrameOutcome { outcome, rx_bytes, bytes } = frames[at];
                    places[at] = outcomes.follow(places[at], rx_bytes, bytes);
                    frames[at].outcome = outcome.followed();
                }
                check(&outcomes, &frames, &places);
            }
        }
    }
}

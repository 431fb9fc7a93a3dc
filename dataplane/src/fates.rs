//! The fates of a burst: which frames share one, and what they come to together.
//!
//! Traffic of a burst mostly has a few fates: the same ingress port, a few egress ports, one or two
//! priorities. Admission, counters and the way to a port are looked up once for each fate, not for
//! each frame. Frames keep their order: those of one flow have one fate, and are handed on in the
//! order of the burst.

use crate::lane::{Fate, Lane};
use crate::limits::BURST_MAX;
use arrayvec::ArrayVec;

/// Buckets of the index: twice the frames of a burst, so that runs of full ones stay short.
const BUCKETS: usize = 2 * BURST_MAX;
/// An empty bucket.
const EMPTY: u8 = u8::MAX;

/// What frames of one fate come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) fate: Fate,
    pub(crate) frames: u32,
    pub(crate) rx_bytes: u32,
    pub(crate) bytes: u32,
    /// What they cost in the buffer: a cell each at the least.
    pub(crate) cost_bytes: u32,
}

impl Tally {
    /// Of one frame, whose charge is settled elsewhere.
    pub(crate) fn of_one(lane: &Lane) -> Self {
        let (rx_bytes, bytes) = (u32::from(lane.rx_bytes), u32::from(lane.bytes));
        Self { fate: lane.fate, frames: 1, rx_bytes, bytes, cost_bytes: 0 }
    }
}

/// Finds places of a burst's table by key: open addressing over bytes, two cache lines.
#[derive(Debug)]
pub(crate) struct Index([u8; BUCKETS]);

impl Default for Index {
    fn default() -> Self {
        Self([EMPTY; BUCKETS])
    }
}

impl Index {
    /// Empties the buckets of `keys`, which must be all that were set.
    #[inline(always)]
    pub(crate) fn clear(&mut self, keys: impl Iterator<Item = u64>) {
        // A burst of one fate leaves one bucket to be emptied, which is most of them.
        for key in keys {
            let mut bucket = first_bucket(key);
            while self.0[bucket] != EMPTY {
                self.0[bucket] = EMPTY;
                bucket = (bucket + 1) % BUCKETS;
            }
        }
    }

    /// The place whose key, as `key_at` says, is `key`; or the bucket where it would go.
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

    /// Puts `at` into a bucket that [`Self::find`] gave.
    #[inline(always)]
    pub(crate) fn set(&mut self, bucket: usize, at: u8) {
        self.0[bucket] = at;
    }
}

/// The fates of the burst in hand.
#[derive(Debug)]
pub(crate) struct Fates {
    index: Index,
    /// The shortest charge.
    pub(crate) cell_bytes: u32,
    pub(crate) tallies: ArrayVec<Tally, BURST_MAX>,
}

impl Fates {
    /// No burst yet; frames will be charged `cell_bytes` at the least.
    pub(crate) fn new(cell_bytes: u32) -> Self {
        Self { index: Index::default(), cell_bytes, tallies: ArrayVec::new() }
    }

    /// Forgets the burst before.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.index.clear(self.tallies.iter().map(|tally| tally.fate.key()));
        self.tallies.clear();
    }

    /// Counts a frame of the burst; the place of its tally.
    #[inline(always)]
    pub(crate) fn add(&mut self, lane: &Lane) -> u8 {
        let at = self.place(lane.fate);
        let tally = &mut self.tallies[usize::from(at)];
        tally.frames += 1;
        tally.rx_bytes += u32::from(lane.rx_bytes);
        tally.bytes += u32::from(lane.bytes);
        tally.cost_bytes += u32::from(lane.bytes).max(self.cell_bytes);
        at
    }

    /// The place of the tally of `fate`, a new one if there is none.
    #[inline(always)]
    pub(crate) fn place(&mut self, fate: Fate) -> u8 {
        let tallies = &self.tallies;
        let key_at = |at| tallies.get(usize::from(at)).map(|tally: &Tally| tally.fate.key());
        match self.index.find(fate.key(), key_at) {
            Ok(at) => at,
            Err(bucket) => self.found(bucket, fate),
        }
    }

    #[inline(never)]
    fn found(&mut self, bucket: usize, fate: Fate) -> u8 {
        #[expect(clippy::cast_possible_truncation, reason = "a burst has 64 fates at the most")]
        let at = self.tallies.len() as u8;
        self.tallies.push(Tally { fate, frames: 0, rx_bytes: 0, bytes: 0, cost_bytes: 0 });
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
    use crate::lane::Verdict;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// Frames by the reason they are dropped for, and their length.
    fn burst() -> impl Strategy<Value = Vec<(usize, u16)>> {
        proptest::collection::vec((0_usize..20, 60_u16..1500), 0..=BURST_MAX)
    }

    proptest! {
        /// Burst after burst in the same memory, against sums over the frames.
        #[test]
        fn tallies_are_the_sums_of_their_frames(
            bursts in proptest::collection::vec(burst(), 1..20),
        ) {
            let mut fates = Fates::new(256);
            for burst in bursts {
                fates.clear();
                let lane = |&(reason, bytes): &(usize, u16)| {
                    Lane::ends(Verdict::Drop(DropReason::ALL[reason]), None, bytes)
                };
                let lanes: Vec<Lane> = burst.iter().map(lane).collect();
                let places: Vec<u8> = lanes.iter().map(|lane| fates.add(lane)).collect();
                for (lane, &tally) in lanes.iter().zip(&places) {
                    prop_assert_eq!(fates.tallies[usize::from(tally)].fate, lane.fate);
                }
                for tally in &fates.tallies {
                    let mine = || lanes.iter().filter(|lane| lane.fate == tally.fate);
                    prop_assert_eq!(tally.frames as usize, mine().count());
                    prop_assert_eq!(tally.rx_bytes, mine().map(|lane| u32::from(lane.rx_bytes)).sum::<u32>());
                    prop_assert_eq!(tally.cost_bytes, mine().map(|lane| u32::from(lane.bytes).max(256)).sum::<u32>());
                }
            }
        }
    }
}

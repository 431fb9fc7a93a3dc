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
#[derive(Clone, Copy, Debug)]
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

/// What one frame has to itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Single {
    /// Its tally's place.
    pub(crate) tally: u8,
    /// Offset of its IP header as it leaves, 0 if there is none.
    pub(crate) l3: u8,
    /// Length as it leaves, in bytes.
    pub(crate) bytes: u16,
}

/// The fates of the burst in hand.
#[derive(Debug)]
pub(crate) struct Fates {
    buckets: [u8; BUCKETS],
    pub(crate) tallies: ArrayVec<Tally, BURST_MAX>,
    /// By frame of the burst.
    pub(crate) singles: ArrayVec<Single, BURST_MAX>,
}

impl Default for Fates {
    fn default() -> Self {
        Self { buckets: [EMPTY; BUCKETS], tallies: ArrayVec::new(), singles: ArrayVec::new() }
    }
}

impl Fates {
    /// Forgets the burst before.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        // A burst of one fate leaves one bucket to be emptied, which is most of them.
        for tally in &self.tallies {
            let mut bucket = first_bucket(tally.fate);
            while self.buckets[bucket] != EMPTY {
                self.buckets[bucket] = EMPTY;
                bucket = (bucket + 1) % BUCKETS;
            }
        }
        self.tallies.clear();
        self.singles.clear();
    }

    /// Adds the next frame of the burst, with the shortest charge `cell_bytes`.
    #[inline(always)]
    pub(crate) fn push(&mut self, lane: &Lane, cell_bytes: u32) {
        let at = self.place(lane.fate);
        let tally = &mut self.tallies[at];
        tally.frames += 1;
        tally.rx_bytes += u32::from(lane.rx_bytes);
        tally.bytes += u32::from(lane.bytes);
        tally.cost_bytes += u32::from(lane.bytes).max(cell_bytes);
        #[expect(clippy::cast_possible_truncation, reason = "a burst has 64 fates at the most")]
        self.singles.push(Single { tally: at as u8, l3: lane.l3, bytes: lane.bytes });
    }

    /// The place of the tally of `fate`, a new one if there is none.
    #[inline(always)]
    fn place(&mut self, fate: Fate) -> usize {
        let mut bucket = first_bucket(fate);
        loop {
            let at = usize::from(self.buckets[bucket]);
            match self.tallies.get(at) {
                Some(tally) if tally.fate == fate => return at,
                Some(_) => bucket = (bucket + 1) % BUCKETS,
                None => return self.found(bucket, fate),
            }
        }
    }

    #[inline(never)]
    fn found(&mut self, bucket: usize, fate: Fate) -> usize {
        let at = self.tallies.len();
        self.tallies.push(Tally { fate, frames: 0, rx_bytes: 0, bytes: 0, cost_bytes: 0 });
        self.buckets[bucket] = u8::try_from(at).unwrap_or(EMPTY);
        at
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "seven bits are left")]
const fn first_bucket(fate: Fate) -> usize {
    (fate.key().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BUCKETS.trailing_zeros())) as usize
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
            let mut fates = Fates::default();
            for burst in bursts {
                fates.clear();
                let lane = |&(reason, bytes): &(usize, u16)| {
                    Lane::ends(Verdict::Drop(DropReason::ALL[reason]), None, bytes)
                };
                let lanes: Vec<Lane> = burst.iter().map(lane).collect();
                lanes.iter().for_each(|lane| fates.push(lane, 256));
                for (lane, single) in lanes.iter().zip(&fates.singles) {
                    prop_assert_eq!(fates.tallies[usize::from(single.tally)].fate, lane.fate);
                    prop_assert_eq!(single.bytes, lane.bytes);
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

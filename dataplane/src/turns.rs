//! One frame in N, at random distances (sFlow version 5, section 3.1): a random number of frames is
//! skipped, of mean N, then one is taken. Traffic that repeats itself is not taken alike.

use crate::limits::BurstBits;
use rand_core::Rng;
use rand_xoshiro::SplitMix64;

/// The largest N of one frame in N.
pub const RATE_MAX: u32 = 1 << 24;

/// When the next turn is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    rate: u32,
    /// The frame to take next is so many frames away; 1 is the next one.
    skip: u32,
}

impl Turns {
    /// One in `rate` frames, up to [`RATE_MAX`]; 0 is none.
    pub(crate) fn new(rate: u32, rng: &mut SplitMix64) -> Self {
        let rate = rate.min(RATE_MAX);
        Self { rate, skip: skip(rate, rng) }
    }

    /// Bit i is set if it is the turn of the i-th of the next `frames` frames, of which there are
    /// at most [`BURST_MAX`](crate::limits::BURST_MAX).
    #[inline]
    pub(crate) fn take(&mut self, frames: usize, rng: &mut SplitMix64) -> BurstBits {
        let frames = u32::try_from(frames).unwrap_or(u32::MAX);
        if self.skip > frames {
            self.skip -= frames;
            return 0;
        }
        self.choose(frames, rng)
    }

    /// The same of the frames whose bits are set: those of them whose turn it is.
    pub(crate) fn take_among(&mut self, bits: BurstBits, rng: &mut SplitMix64) -> BurstBits {
        let mut chosen = self.take(bits.count_ones() as usize, rng);
        if chosen == 0 {
            return 0;
        }
        let (mut left, mut taken) = (bits, 0);
        while left != 0 {
            let lowest = left & left.wrapping_neg();
            taken |= lowest * (chosen & 1);
            chosen >>= 1;
            left ^= lowest;
        }
        taken
    }

    /// Chooses among `frames` frames, of which at least one has its turn.
    #[cold]
    fn choose(&mut self, frames: u32, rng: &mut SplitMix64) -> BurstBits {
        let mut bits = 0;
        while self.skip <= frames {
            // With a rate of 0 there is nothing to choose; it comes here once in 2^32 frames.
            if self.rate > 0 {
                bits |= BurstBits::from(1_u8).checked_shl(self.skip - 1).unwrap_or(0);
            }
            self.skip = self.skip.saturating_add(skip(self.rate, rng));
        }
        self.skip -= frames;
        bits
    }
}

/// How far the next turn is away: 1 to 2 `rate` - 1, each as likely, so `rate` on average.
fn skip(rate: u32, rng: &mut SplitMix64) -> u32 {
    let Some(span) = (2 * rate).checked_sub(1) else { return u32::MAX };
    let fraction = rng.next_u64() >> 32;
    1 + u32::try_from((fraction * u64::from(span)) >> 32).unwrap_or(u32::MAX - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_core::SeedableRng;

    #[test]
    fn a_rate_of_zero_is_none_beyond_two_to_the_32_frames_too() {
        let mut rng = SplitMix64::seed_from_u64(5);
        let mut turns = Turns::new(0, &mut rng);
        turns.skip = 3;
        assert_eq!(turns.take(64, &mut rng), 0);
        assert_eq!(turns.skip, u32::MAX - 64);
    }

    proptest! {
        /// Frames with other ones between them have the turns that they have in a row.
        #[test]
        fn turns_among_some_frames_are_those_of_a_row(
            seed: u64,
            rate in 0..40_u32,
            bursts in prop::collection::vec(any::<BurstBits>(), 1..60),
        ) {
            let mut rngs = [seed, seed].map(SplitMix64::seed_from_u64);
            let [mut among, mut row] = rngs.each_mut().map(|rng| Turns::new(rate, rng));
            for bits in bursts {
                let taken = among.take_among(bits, &mut rngs[0]);
                prop_assert_eq!(taken & !bits, 0);
                let mut ordinals = 0;
                let places = (0..BurstBits::BITS).filter(|at| bits >> at & 1 == 1);
                places.enumerate().for_each(|(ordinal, at)| ordinals |= (taken >> at & 1) << ordinal);
                prop_assert_eq!(ordinals, row.take(bits.count_ones() as usize, &mut rngs[1]));
            }
        }
    }
}

//! Tells by their headers the frames of a burst that a capture may follow, once the fast path has
//! read them.

use super::eight::{OTHER, WORDS};
use super::{ALL, EIGHTS, LANES, LaneState};
use crate::capture::filter::HeaderPair;
use crate::limits::{BurstBits, burst_bits};
use wide::u32x8;

impl LaneState {
    /// Bit i is set if frame i of the burst of `frames` that was classified last fulfills one of
    /// `compares`, or if these do not tell it apart: it is not taken, or not IPv4 without a VLAN
    /// tag.
    #[inline(always)]
    pub(crate) fn frames_with(&self, frames: usize, compares: &[HeaderPair]) -> BurstBits {
        let bits = compares.iter().fold(0, |bits, pair| bits | self.found_with(frames, pair));
        bits & burst_bits(frames)
    }

    /// [`Self::frames_with`] for two compares. Bits after the last frame have no meaning.
    #[inline(always)]
    fn found_with(&self, frames: usize, pair: &HeaderPair) -> BurstBits {
        let [one, other] = pair.map(|compare| {
            let (mask, value) = (u32x8::splat(compare.mask), u32x8::splat(compare.value));
            (compare.word.min(WORDS - 1), mask, value)
        });
        let mut bits = 0;
        for at in 0..frames.div_ceil(LANES).min(EIGHTS) {
            let eight = &self.eights[at];
            let is_equal = |(word, mask, value): (usize, u32x8, u32x8)| -> u32x8 {
                (eight.words[word] & mask).simd_eq(value)
            };
            let is_other: u32x8 = eight.marking.simd_eq(u32x8::splat(OTHER));
            let found = (is_other | is_equal(one) | is_equal(other)).to_bitmask() | eight.v6;
            let found = if eight.is_tagged { ALL } else { found };
            bits |= BurstBits::from(found) << (LANES * at);
        }
        bits
    }
}

//! Tells by their headers the frames of a burst that a capture may follow, once the fast path has
//! read them.

use super::eight::{OTHER, WORDS};
use super::{ALL, EIGHTS, LANES, LaneState};
use crate::capture::filter::{BEHIND_HEADER, HeaderPair};
use crate::limits::burst_bits;
use wide::u32x8;

impl LaneState {
    /// Bit i is set if frame i of the burst of `frames` that was classified last fulfills one of
    /// `compares`, or if these do not tell it apart: it is not taken, or not IPv4 without a VLAN
    /// tag.
    #[inline(always)]
    pub(crate) fn frames_with(&self, frames: usize, compares: &[HeaderPair]) -> u64 {
        let mut bits = 0;
        for pair in compares {
            bits |= if pair.iter().any(|compare| compare.word == BEHIND_HEADER) {
                self.found_with::<true>(frames, pair)
            } else {
                self.found_with::<false>(frames, pair)
            };
        }
        bits & burst_bits(frames)
    }

    /// [`Self::frames_with`] for two compares. `IS_BEHIND` says that one of them is of words behind
    /// the header. Bits after the last frame have no meaning.
    #[inline(always)]
    fn found_with<const IS_BEHIND: bool>(&self, frames: usize, pair: &HeaderPair) -> u64 {
        let [one, other] = pair.map(|compare| {
            let (mask, value) = (u32x8::splat(compare.mask), u32x8::splat(compare.value));
            (compare.word, mask, value)
        });
        let mut bits = 0;
        for at in 0..frames.div_ceil(LANES).min(EIGHTS) {
            let eight = &self.eights[at];
            let is_equal = |(word, mask, value): (usize, u32x8, u32x8)| -> u32x8 {
                let is_behind = IS_BEHIND && word == BEHIND_HEADER;
                let word =
                    if is_behind { &eight.behind } else { &eight.words[word.min(WORDS - 1)] };
                (*word & mask).simd_eq(value)
            };
            let is_other: u32x8 = eight.marking.simd_eq(u32x8::splat(OTHER));
            let found = (is_other | is_equal(one) | is_equal(other)).to_bitmask() | eight.v6;
            let found = if eight.is_tagged { ALL } else { found };
            bits |= u64::from(found) << (LANES * at);
        }
        bits
    }
}

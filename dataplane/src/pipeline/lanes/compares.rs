//! Tells by their headers the frames of a burst that a capture may follow, while the fast path
//! reads them.

use super::eight::{Eight, OTHER, WORDS, WordsBehind};
use super::{ALL, LaneState};
use crate::capture::filter::{BEHIND_HEADER, HeaderCompare};
use crate::frame::Frame;
use crate::limits::burst_bits;
use crate::snapshot::FastPathPort;
use wide::u32x8;

impl LaneState {
    /// [`Eight::classify_burst`] of a routed port. Bit i of the second result is set if frame i
    /// fulfills one of `compares`, or if these do not tell it apart: it is not taken, or not IPv4
    /// without a VLAN tag.
    #[inline(never)]
    pub(crate) fn classify_comparing<F: Frame>(
        &mut self,
        compares: &[HeaderCompare],
        port: &FastPathPort,
        rx: &[F],
        frame_bytes_max: u16,
    ) -> (u64, u64) {
        let eights = &mut self.eights;
        let (control_bits, found) =
            Eight::classify_burst::<_, false, true>(eights, compares, port, rx, frame_bytes_max);
        (control_bits, found & burst_bits(rx.len()))
    }
}

impl Eight {
    /// Bit i is set if frame i fulfills one of `compares`, or these do not tell it apart. Bits
    /// after the last frame have no meaning.
    #[inline(always)]
    pub(super) fn fulfilling(&self, behind: WordsBehind, compares: &[HeaderCompare]) -> u32 {
        let mut found: u32x8 = self.marking.simd_eq(u32x8::splat(OTHER));
        for compare in compares {
            let is_behind = compare.word == BEHIND_HEADER;
            let word = if is_behind { behind } else { self.words[compare.word.min(WORDS - 1)] };
            found |= (word & u32x8::splat(compare.mask)).simd_eq(u32x8::splat(compare.value));
        }
        if self.is_tagged { ALL } else { found.to_bitmask() | self.v6 }
    }
}

//! The words that the IP headers of eight frames leave with.

use super::eight::Eight;
use super::header::IpStart;
use super::{LANES, octet};
use wide::u32x8;

impl Eight {
    /// [`Self::rewritten`] with the TTL as it came. A header whose TOS keeps all bits does not
    /// change, even if its checksum is the other zero.
    #[inline(always)]
    pub(super) fn marked(&self, tos_kept: u32x8, tos_set: u32x8) -> [u32x8; 3] {
        let [first, second, third] = self.rewritten(tos_kept, tos_set, u32x8::ZERO);
        let is_kept = tos_kept.simd_eq(u32x8::splat(0xFF));
        [first, second, is_kept.select(self.words[2], third)]
    }

    /// The start of each IP header, whose first 12 octets are these words.
    #[inline(always)]
    pub(super) fn starts(&self, [first, second, third]: [u32x8; 3]) -> [IpStart; LANES] {
        let (fourth, none) = (self.words[3], u32x8::ZERO);
        let lanes = u32x8::transpose([first, second, third, fourth, none, none, none, none]);
        let [a, b, c, d, e, f, g, h] = lanes;
        let start = |lane: u32x8| {
            let [start, _]: [IpStart; 2] = bytemuck::cast(lane);
            start
        };
        // Written out: the compiler makes a call of a closure over so many elements.
        [start(a), start(b), start(c), start(d), start(e), start(f), start(g), start(h)]
    }

    /// By lane: the first 12 octets of the IP header, with TOS set to its bits in `tos_kept` and
    /// those of `tos_set`, and the TTL less `hops`. The checksum is mended for both.
    #[inline(always)]
    pub(super) fn rewritten(&self, tos_kept: u32x8, tos_set: u32x8, hops: u32x8) -> [u32x8; 3] {
        let [first, second, third, ..] = self.words;
        let (octet_1, low) = (u32x8::splat(0xFF00), u32x8::splat(0xFFFF));
        let v4_first: u32x8 = first & (tos_kept << 8 | !octet_1) | tos_set << 8;
        let changed: u32x8 = (first & octet_1) + hops - (v4_first & octet_1);
        let v4_third: u32x8 = ((third & low) - hops) | (mended(third >> 16, changed) << 16);
        if self.v6 == 0 {
            return [v4_first, second, v4_third];
        }
        let class = |tos: u32x8| -> u32x8 { octet(tos) >> 4 | (tos & u32x8::splat(0xF)) << 12 };
        let v6_first: u32x8 =
            first & (class(tos_kept) | !class(octet(u32x8::MAX))) | class(tos_set);
        let v6_second: u32x8 = second - (hops << 24);
        let is_v6 = self.is_v6();
        [
            is_v6.select(v6_first, v4_first),
            is_v6.select(v6_second, second),
            is_v6.select(third, v4_third),
        ]
    }
}

/// By lane: the checksum, as it lies in a header of which halves have fallen by `changed` in sum
/// (RFC 1624, equation 3, as in `ipv4::set_tos_and_ttl`).
#[inline(always)]
pub(super) fn mended(checksum: u32x8, changed: u32x8) -> u32x8 {
    let low = u32x8::splat(0xFFFF);
    let sum: u32x8 = checksum + u32x8::splat(0x1_FFFE) + changed;
    let sum: u32x8 = (sum & low) + (sum >> 16);
    // Less than 65,535 wraps around below zero, and then the first is the smaller one.
    sum.min(sum - low)
}

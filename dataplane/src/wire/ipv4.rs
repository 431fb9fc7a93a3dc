//! IPv4: reading what the pipeline needs, and rewriting it with an incremental checksum (RFC 1624).

use core::net::Ipv4Addr;

/// The header without options.
pub const HEADER_BYTES: usize = 20;
/// [`HEADER_BYTES`], as lengths in headers are.
pub(crate) const HEADER_LENGTH: u8 = 20;
/// Offset of the length of the whole packet.
pub(crate) const TOTAL_LENGTH: usize = 2;
/// The protocol number of IPv4 in IP (RFC 2003).
pub(crate) const PROTOCOL_IPV4: u8 = 4;
/// The protocol number of IPv6 in IP (RFC 4213).
pub(crate) const PROTOCOL_IPV6: u8 = 41;
/// Flags of a packet that must not be fragmented, with its fragment offset.
const DONT_FRAGMENT: u16 = 0x4000;

/// Offsets of the fields the pipeline reads or writes.
mod field {
    pub(super) const TOS: usize = 1;
    pub(super) const TTL: usize = 8;
    pub(super) const CHECKSUM: usize = 10;
}

/// Whether the header's checksum holds; `header` is the whole header, options included.
#[inline(always)]
pub fn checksum_holds(header: &[u8]) -> bool {
    // The common header is five words of 32 bits: added as such, folded once.
    if let Ok(plain) = <&[u8; HEADER_BYTES]>::try_from(header) {
        // Folded it is 0xFFFF: a multiple of that, which is one multiplication to find out; and not
        // zero.
        let sum = sum_20(plain);
        return sum.is_multiple_of(0xFFFF) && sum != 0;
    }
    let words = header.chunks_exact(2).map(|two| u64::from(u16::from_ne_bytes([two[0], two[1]])));
    fold(words.sum()) == 0xFFFF
}

/// Ones'-complement addition does not care about byte order, so the words are taken as they come.
#[inline(always)]
fn sum_20(header: &[u8; HEADER_BYTES]) -> u64 {
    let word = |at: usize| {
        u64::from(u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]))
    };
    word(0) + word(4) + word(8) + word(12) + word(16)
}

#[inline(always)]
fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xFFFF_FFFF) + (sum >> 32);
    let sum = (sum & 0xFFFF) + (sum >> 16);
    let sum = (sum & 0xFFFF) + (sum >> 16);
    #[expect(clippy::cast_possible_truncation, reason = "what is above 16 bits was folded in")]
    let folded = ((sum & 0xFFFF) + (sum >> 16)) as u16;
    folded
}

/// A header without options. No router fragments its packet, so it needs no identification (RFC
/// 6864).
pub(crate) fn header(
    tos: u8,
    total_bytes: u16,
    ttl: u8,
    protocol: u8,
    source: Ipv4Addr,
    destination: Ipv4Addr,
) -> [u8; HEADER_BYTES] {
    let [length, flags] = [total_bytes, DONT_FRAGMENT].map(u16::to_be_bytes);
    let ([a, b, c, d], [e, f, g, h]) = (source.octets(), destination.octets());
    let mut header = [
        0x45, tos, length[0], length[1], 0, 0, flags[0], flags[1], ttl, protocol, 0, 0, a, b, c, d,
        e, f, g, h,
    ];
    let checksum = !fold(sum_20(&header));
    [header[field::CHECKSUM], header[field::CHECKSUM + 1]] = checksum.to_ne_bytes();
    header
}

/// The protocol that the packet carries.
pub(crate) const fn protocol(header: &[u8; HEADER_BYTES]) -> u8 {
    header[9]
}

/// Whether the header is longer than [`HEADER_BYTES`].
pub(crate) const fn has_options(header: &[u8; HEADER_BYTES]) -> bool {
    header[0] & 0x0F != 5
}

/// Whether the packet is a fragment of a longer one.
pub(crate) const fn is_fragment(header: &[u8; HEADER_BYTES]) -> bool {
    u16::from_be_bytes([header[6], header[7]]) & 0x3FFF != 0
}

/// Source and destination.
pub(crate) const fn addresses(header: &[u8; HEADER_BYTES]) -> (Ipv4Addr, Ipv4Addr) {
    let [.., a, b, c, d, e, f, g, h] = *header;
    (Ipv4Addr::new(a, b, c, d), Ipv4Addr::new(e, f, g, h))
}

/// Sets the TOS octet and the TTL and mends the checksum for both.
#[inline(always)]
pub fn set_tos_and_ttl(header: &mut [u8; HEADER_BYTES], tos: u8, ttl: u8) {
    // RFC 1624, equation 3: HC' = ~(~HC + ~m + m'), which is HC + m - m' modulo 65,535. Taken as
    // they come on a little-endian machine, TOS is the high octet of its word and TTL the low one
    // of its own; byte order does not matter to such sums. With 65,535 twice it is never negative.
    let old = (u32::from(header[field::TOS]) << 8) + u32::from(header[field::TTL]);
    let new = (u32::from(tos) << 8) + u32::from(ttl);
    let checksum = u16::from_le_bytes([header[field::CHECKSUM], header[field::CHECKSUM + 1]]);
    let sum = u32::from(checksum) + old + 0x1_FFFE - new;
    let sum = (sum & 0xFFFF) + (sum >> 16);
    #[expect(clippy::cast_possible_truncation, reason = "below 65,535")]
    let checksum = (if sum >= 0xFFFF { sum - 0xFFFF } else { sum }) as u16;
    header[field::TOS] = tos;
    header[field::TTL] = ttl;
    [header[field::CHECKSUM], header[field::CHECKSUM + 1]] = checksum.to_le_bytes();
}

/// Marks congestion experienced if the frame is ECN-capable; whether it was marked (or was before).
pub(crate) fn mark_congestion(header: &mut [u8; HEADER_BYTES]) -> bool {
    let tos = header[field::TOS];
    if tos & 0b11 == 0 {
        return false;
    }
    set_tos_and_ttl(header, tos | 0b11, header[field::TTL]);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 791's checksum, the obvious way.
    fn checksum(header: &[u8]) -> u16 {
        let mut sum = 0_u32;
        for (at, two) in header.chunks(2).enumerate() {
            if at != 5 {
                sum += u32::from(u16::from_be_bytes([two[0], two[1]]));
            }
        }
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        !u16::try_from(sum).unwrap()
    }

    fn with_checksum(mut header: std::vec::Vec<u8>) -> std::vec::Vec<u8> {
        let sum = checksum(&header).to_be_bytes();
        header[10..12].copy_from_slice(&sum);
        header
    }

    proptest! {
        #[test]
        fn a_rewrite_keeps_the_checksum_what_it_would_be_from_scratch(
            bytes in proptest::collection::vec(any::<u8>(), 20), tos: u8, ttl: u8,
        ) {
            let mut header: [u8; 20] = with_checksum(bytes).try_into().unwrap();
            prop_assert!(checksum_holds(&header));
            set_tos_and_ttl(&mut header, tos, ttl);
            prop_assert_eq!((header[1], header[8]), (tos, ttl));
            prop_assert!(checksum_holds(&header));
            // 0x0000 and 0xFFFF are the same number in ones' complement; RFC 1624 never makes a
            // header that an honest verifier refuses.
            let scratch = checksum(&header);
            let mended = u16::from_be_bytes([header[10], header[11]]);
            prop_assert!(mended == scratch || (mended == 0xFFFF && scratch == 0));
        }

        #[test]
        fn any_broken_bit_is_seen(
            words in 5_usize..=15, at in 0_usize..60, bit in 0_u8..8, seed: u64,
        ) {
            let bytes = (0..words * 4).map(|i| (seed >> (i % 57)) as u8 ^ i as u8).collect();
            let mut header = with_checksum(bytes);
            prop_assert!(checksum_holds(&header));
            let length = header.len();
            header[at % length] ^= 1 << bit;
            prop_assert!(!checksum_holds(&header));
        }
    }

    #[test]
    fn only_ecn_capable_frames_are_marked() {
        for (ecn, marked) in [(0, false), (1, true), (2, true), (3, true)] {
            let mut header: [u8; 20] =
                with_checksum([&[0x45, 0x68 | ecn], &[7_u8; 18][..]].concat()).try_into().unwrap();
            assert_eq!(mark_congestion(&mut header), marked);
            assert_eq!(header[1], if marked { 0x6B } else { 0x68 });
            assert!(checksum_holds(&header));
        }
    }
}

//! The plain frame: untagged IPv4 without options, to the router. Nearly all frames are; this says
//! of one, in one go, what parse and classify would, for the burst's lookup in the routes.
//!
//! Nothing is decided here that the general stages would decide otherwise: whatever is not plain
//! gets `None` and goes through [`route::general`](crate::route::general), which is also the oracle
//! that this and [`recipe`](crate::recipe) are tested against, frame by frame.

use crate::classify::Class;
use crate::route;
use crate::snapshot::PlainPort;
use crate::wire::{ethernet, ipv4};

/// Ethernet and IPv4 header.
pub(crate) const PLAIN_BYTES: usize = ethernet::HEADER_BYTES + ipv4::HEADER_BYTES;
/// Ethertype IPv4, version 4, header of five words, as the four octets from offset 12 on; the
/// fourth, TOS, may be anything.
const START: u32 = u32::from_le_bytes([0x08, 0x00, 0x45, 0x00]);
const START_MASK: u32 = u32::from_le_bytes([0xFF, 0xFF, 0xFF, 0x00]);

/// By a source's first octet: whether such a frame may be plain. 169/8 has the link-local network
/// in it, which takes a closer look.
const IS_SOURCE: [bool; 256] = {
    let mut is_source = [false; 256];
    let mut octet = 0_u8;
    while octet < u8::MAX {
        is_source[octet as usize] = route::is_v4_source(octet) && octet != 169;
        octet += 1;
    }
    is_source
};

/// Class and destination of a plain frame of `frame_bytes`, at most `frame_bytes_max`.
#[inline(always)]
pub(crate) fn examine(
    port: &PlainPort,
    head: &[u8],
    frame_bytes: usize,
    frame_bytes_max: usize,
) -> Option<(Class, u32)> {
    let header: &[u8; PLAIN_BYTES] = head.first_chunk()?;
    let [d0, d1, d2, d3, d4, d5, ..] = *header;
    let dst_mac = u64::from_le_bytes([d0, d1, d2, d3, d4, d5, 0, 0]);
    let start = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
    let total_bytes = usize::from(u16::from_be_bytes([header[16], header[17]]));
    let ip: &[u8; ipv4::HEADER_BYTES] = header.last_chunk()?;
    // Without short cuts: one branch, never taken, instead of eight.
    let plain = (dst_mac == port.mac_bits)
        & (start & START_MASK == START)
        // From the header's own length to all of the frame; one compare, since the frame has it.
        & (total_bytes.wrapping_sub(ipv4::HEADER_BYTES) <= frame_bytes.wrapping_sub(PLAIN_BYTES))
        & (frame_bytes <= frame_bytes_max)
        & (ip[8] > 1)
        & IS_SOURCE[usize::from(ip[12])]
        & (ip[16] < 224)
        & ipv4::checksum_holds(ip);
    if !plain {
        return None;
    }
    let class = port.by_dscp[usize::from(header[15] >> 2)];
    let class = port.hops.as_ref().map_or(class, |hops| hops.of(class, ip[8]));
    Some((class, u32::from_be_bytes([ip[16], ip[17], ip[18], ip[19]])))
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;

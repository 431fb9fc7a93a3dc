//! Fast path: parses and classifies, in one step, an untagged IPv4 frame without options that is
//! addressed to the router. Nearly all frames are such. The result is the input of the burst's
//! route lookup.
//!
//! For such a frame the result is the same as on the generic path. Every other frame gets `None`
//! and takes [`generic_path`](crate::pipeline::route::generic_path). The tests compare this
//! file and [`rewrite_entry`](crate::pipeline::rewrite_entry) with that function, frame by frame.

use crate::pipeline::class::Class;
use crate::pipeline::rewrite_entry::FAST_PATH_HEAD_BYTES;
use crate::pipeline::routed;
use crate::snapshot::FastPathPort;
use crate::wire::ipv4;

/// The four octets from offset 12 on: ethertype IPv4, version 4 with a header of five words, TOS.
/// The mask leaves out TOS.
const START: u32 = u32::from_le_bytes([0x08, 0x00, 0x45, 0x00]);
const START_MASK: u32 = u32::from_le_bytes([0xFF, 0xFF, 0xFF, 0x00]);

/// By the first octet of the source address: whether the fast path may take the frame. 169/8 is
/// excluded because it contains the link-local network, which the generic path checks.
const IS_SOURCE: [bool; 256] = {
    let mut is_source = [false; 256];
    let mut octet = 0_u8;
    while octet < u8::MAX {
        is_source[octet as usize] = routed::is_v4_source(octet) && octet != 169;
        octet += 1;
    }
    is_source
};

/// Class and destination address of a fast-path frame of `frame_bytes`; `None` for any other frame,
/// and for one longer than `frame_bytes_max`.
#[inline(always)]
pub(crate) fn classify(
    port: &FastPathPort,
    head: &[u8],
    frame_bytes: usize,
    frame_bytes_max: usize,
) -> Option<(Class, u32)> {
    let header: &[u8; FAST_PATH_HEAD_BYTES] = head.first_chunk()?;
    let [d0, d1, d2, d3, d4, d5, ..] = *header;
    let dst_mac = u64::from_le_bytes([d0, d1, d2, d3, d4, d5, 0, 0]);
    let start = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
    let total_bytes = usize::from(u16::from_be_bytes([header[16], header[17]]));
    let ip: &[u8; ipv4::HEADER_BYTES] = header.last_chunk()?;
    // `&` instead of `&&`: one branch, almost never taken, instead of eight.
    let fast_path = (dst_mac == port.mac_bits)
        & (start & START_MASK == START)
        // The total length is at least the header's and at most what the frame has. One compare
        // is enough, since the frame contains the whole header.
        & (total_bytes.wrapping_sub(ipv4::HEADER_BYTES) <= frame_bytes.wrapping_sub(FAST_PATH_HEAD_BYTES))
        & (frame_bytes <= frame_bytes_max)
        & (ip[8] > 1)
        & IS_SOURCE[usize::from(ip[12])]
        & (ip[16] < 224)
        & ipv4::checksum_holds(ip);
    if !fast_path {
        return None;
    }
    let class = port.by_dscp[usize::from(header[15] >> 2)];
    let class = port.ttl_classes.as_ref().map_or(class, |ttl_classes| ttl_classes.of(class, ip[8]));
    Some((class, u32::from_be_bytes([ip[16], ip[17], ip[18], ip[19]])))
}

#[cfg(test)]
#[path = "fast_path_tests.rs"]
mod tests;

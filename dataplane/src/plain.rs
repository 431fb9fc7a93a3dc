//! The plain frame: untagged IPv4 without options, to the router, with a route and a resolved next
//! hop. Nearly all frames are; this takes one through parse, classify, forward, rules and rewrite
//! in one go.
//!
//! Nothing is decided here that the general stages would decide otherwise: whatever is not plain
//! gets `None` and goes through [`route::general`](crate::route::general), which is also the oracle
//! that this is tested against, frame by frame.

use crate::classify::Class;
use crate::fib::{Hop, Leaf};
use crate::frame::{Frame, length_bytes};
use crate::ids::PortId;
use crate::lane::{self, Lane};
use crate::route;
use crate::snapshot::{PlainPort, Snapshot};
use crate::wire::{ethernet, ipv4};

/// Ethernet and IPv4 header.
const PLAIN_BYTES: usize = ethernet::HEADER_BYTES + ipv4::HEADER_BYTES;
/// Ethertype IPv4, version 4, header of five words, as the four octets from offset 12 on; the
/// fourth, TOS, may be anything.
const START: u32 = u32::from_le_bytes([0x08, 0x00, 0x45, 0x00]);
const START_MASK: u32 = u32::from_le_bytes([0xFF, 0xFF, 0xFF, 0x00]);

/// First pass: class and leaf of a plain frame of `frame_bytes`, at most `frame_bytes_max`.
#[inline(always)]
pub(crate) fn look_up(
    snapshot: &Snapshot,
    port: &PlainPort,
    head: &[u8],
    frame_bytes: usize,
    frame_bytes_max: usize,
) -> Option<(Class, Leaf)> {
    let header: &[u8; PLAIN_BYTES] = head.first_chunk()?;
    let [d0, d1, d2, d3, d4, d5, ..] = *header;
    let dst_mac = u64::from_le_bytes([d0, d1, d2, d3, d4, d5, 0, 0]);
    let start = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
    let total_bytes = usize::from(u16::from_be_bytes([header[16], header[17]]));
    let ip: &[u8; ipv4::HEADER_BYTES] = header.last_chunk()?;
    // Without short cuts: one branch, never taken, instead of eight.
    let plain = (dst_mac == port.mac_bits)
        & (start & START_MASK == START)
        & (total_bytes >= ipv4::HEADER_BYTES)
        & (total_bytes + ethernet::HEADER_BYTES <= frame_bytes)
        & (frame_bytes <= frame_bytes_max)
        & (ip[8] > 1)
        & route::is_v4_source(ip[12])
        & !route::is_v4_link_local([ip[12], ip[13]])
        & (ip[16] < 224)
        & ipv4::checksum_holds(ip);
    if !plain {
        return None;
    }
    let class = port.by_dscp[usize::from(header[15] >> 2)];
    Some((class, snapshot.fib.v4([ip[16], ip[17], ip[18], ip[19]])))
}

/// Second pass: the lane of a plain frame, and its headers rewritten.
#[inline(always)]
pub(crate) fn finish<F: Frame>(
    snapshot: &Snapshot,
    input: PortId,
    class: Class,
    leaf: Leaf,
    frame: &mut F,
) -> Option<Lane> {
    let bytes = length_bytes(frame);
    // The whole head: the flow's ports lie behind the headers.
    let hash = if leaf.is_group() {
        route::flow_hash_v4(snapshot, frame.head(), ethernet::HEADER_BYTES)
    } else {
        0
    };
    let header: &mut [u8; PLAIN_BYTES] = frame.head_mut().first_chunk_mut()?;
    let Hop::Forward(adjacency) = snapshot.fib.hop(leaf, hash) else { return None };
    if adjacency.vlan.is_some() || bytes > adjacency.frame_bytes_max {
        return None;
    }
    let tagged = lane::tag(snapshot, class, input, adjacency.out);
    let tos = tagged.dscp.map_or(header[15], |dscp| dscp << 2 | header[15] & 0b11);
    let ttl = header[22] - 1;
    ipv4::set_tos_and_ttl(header.last_chunk_mut()?, tos, ttl);
    *header.first_chunk_mut()? = *adjacency.macs();
    Some(Lane { fate: tagged.fate, rx_bytes: bytes, bytes, l3: 14 })
}

#[cfg(test)]
#[path = "plain_tests.rs"]
mod tests;

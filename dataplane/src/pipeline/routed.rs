//! A frame for the router: what the stages know of it from its classification on, and how it ends
//! if it goes no further. Routes, the beginning of a tunnel and its end share this.

use crate::counters::DropReason;
use crate::fib::{Adjacency, Hop, Leaf};
use crate::frame::{Frame, length_bytes};
use crate::pipeline::class::Class;
use crate::pipeline::outcome::{FrameOutcome, Verdict};
use crate::punt::PuntReason;
use crate::rx_queues::Ingress;
use crate::snapshot::Snapshot;
use crate::wire::parse::{Kind, Parsed, flow_ports};
use crate::wire::{array_at, ethernet};

/// A frame of a routed port that is classified, and for the router.
#[derive(Clone, Copy)]
pub(super) struct Routed<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) input: Ingress,
    pub(super) class: Class,
    /// The header that is forwarded: of a frame that leaves a tunnel, the inner one.
    pub(super) parsed: Parsed,
    /// Whether an outer header is in front of that.
    pub(super) is_decapsulated: bool,
}

impl Routed<'_> {
    /// Why the frame, with `more_bytes` of headers, cannot be sent to a next hop: its TTL or its
    /// length.
    pub(super) fn cannot_pass<F: Frame>(
        &self,
        adjacency: &Adjacency,
        more_bytes: usize,
        frame: &F,
    ) -> Option<Verdict> {
        if self.parsed.ttl <= 1 {
            return Some(Verdict::Punt(PuntReason::TtlExpired));
        }
        let tag_bytes = usize::from(self.parsed.l3) - ethernet::HEADER_BYTES;
        let is_too_big =
            frame.len() - tag_bytes + more_bytes > usize::from(adjacency.frame_bytes_max);
        is_too_big.then_some(Verdict::Punt(PuntReason::TooBig))
    }

    /// The outcome of the frame if it is not forwarded. If it left a tunnel, the outcome says where
    /// its inner header is.
    pub(super) fn ends<F: Frame>(&self, verdict: Verdict, frame: &F) -> FrameOutcome {
        let mut ends =
            FrameOutcome::ends(verdict, Some(self.class.priority()), length_bytes(frame));
        if self.is_decapsulated && matches!(verdict, Verdict::Punt(_)) {
            ends.outcome = ends.outcome.with_l3(self.parsed.l3);
        }
        ends
    }
}

#[cold]
pub(super) fn without_adjacency(hop: &Hop, ttl: u8) -> Verdict {
    match hop {
        Hop::Local => Verdict::Punt(PuntReason::ForUs),
        Hop::Discard => Verdict::Drop(DropReason::Blackhole),
        _ if ttl <= 1 => Verdict::Punt(PuntReason::TtlExpired),
        Hop::Resolve { .. } => Verdict::Punt(PuntReason::Unresolved),
        Hop::NoRoute | Hop::Tunnel(_) | Hop::Forward(_) => Verdict::Punt(PuntReason::NoRoute),
    }
}

/// Looks up the destination of an IP header.
///
/// # Errors
/// The verdict of a packet that no router forwards.
pub(super) fn route_of(snapshot: &Snapshot, parsed: &Parsed, head: &[u8]) -> Result<Leaf, Verdict> {
    let l3 = usize::from(parsed.l3);
    let unroutable = Err(Verdict::Drop(DropReason::Unroutable));
    if parsed.kind == Kind::Ipv4 {
        return match array_at::<8>(head, l3 + 12) {
            Some(&[s0, .., d0, d1, d2, d3]) if is_v4_source(s0) && d0 < 224 => {
                Ok(snapshot.fib.v4([d0, d1, d2, d3]))
            }
            _ => unroutable,
        };
    }
    match (array_at(head, l3 + 8), array_at(head, l3 + 24)) {
        (Some(source), Some(target)) if is_v6_source(source) && target[0] != 0xFF => {
            Ok(snapshot.fib.v6(*target))
        }
        _ => unroutable,
    }
}

/// RFC 1812, 5.3.7: a source address is not "this network", loopback, multicast or reserved.
#[inline(always)]
pub(crate) const fn is_v4_source(first_octet: u8) -> bool {
    first_octet != 0 && first_octet < 224 && first_octet != 127
}

/// RFC 4291, 2.5.2, 2.5.3, 2.7: a source address is not unspecified, loopback or multicast.
fn is_v6_source(source: &[u8; 16]) -> bool {
    source[0] != 0xFF && u128::from_be_bytes(*source) > 1
}

/// 169.254/16, link-local (RFC 3927, 2.7).
#[inline(always)]
pub(crate) const fn is_v4_link_local(first_octets: [u8; 2]) -> bool {
    u16::from_be_bytes(first_octets) == 0xA9FE
}

/// Whether the source address is link-local. Routers must not forward such a frame, since a
/// receiver on another link cannot reply (RFC 3927, 2.7; RFC 4291, 2.5.6).
pub(super) fn is_from_link_local(parsed: &Parsed, head: &[u8]) -> bool {
    let is_v4 = parsed.kind == Kind::Ipv4;
    let source = usize::from(parsed.l3) + if is_v4 { 12 } else { 8 };
    let Some(&first) = array_at(head, source) else { return false };
    // fe80::/10
    if is_v4 { is_v4_link_local(first) } else { first[0] == 0xFE && first[1] & 0xC0 == 0x80 }
}

/// The flow hash of an IP frame.
pub(super) fn flow_hash(snapshot: &Snapshot, parsed: &Parsed, head: &[u8]) -> u32 {
    flow_hash_at(snapshot, head, parsed.kind, usize::from(parsed.l3))
}

/// The flow hash of a frame with an IP header of this kind at `l3`.
pub(crate) fn flow_hash_at(snapshot: &Snapshot, head: &[u8], kind: Kind, l3: usize) -> u32 {
    if kind == Kind::Ipv4 {
        return flow_hash_v4(snapshot, head, l3);
    }
    let flow = flow_ports(head, kind, l3);
    let address = |at: usize| array_at(head, at).copied().unwrap_or_default();
    snapshot.flow_hash.v6(address(l3 + 8), address(l3 + 24), flow.protocol, flow.ports)
}

/// The flow hash of a frame with an IPv4 header at `l3`.
#[inline(never)]
pub(crate) fn flow_hash_v4(snapshot: &Snapshot, head: &[u8], l3: usize) -> u32 {
    let flow = flow_ports(head, Kind::Ipv4, l3);
    let address = |at: usize| array_at(head, at).copied().unwrap_or_default();
    snapshot.flow_hash.v4(address(l3 + 12), address(l3 + 16), flow.protocol, flow.ports)
}

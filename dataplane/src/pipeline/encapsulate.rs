//! Encapsulate: adds the outer header of a tunnel.
//!
//! Reads: the tunnel, the inner header. Writes: both headers, the Ethernet header. Counts: nothing.
//! The way to the other end of the tunnel is looked up like any destination; equal-cost paths are
//! chosen by the inner flow, since all outer headers of a tunnel are alike (RFC 6438, 3).

use super::outcome::{FrameOutcome, Verdict};
use super::route::{self, Routed};
use super::{rewrite, rules};
use crate::counters::DropReason;
use crate::fib::Hop;
use crate::frame::{Frame, length_bytes};
use crate::punt::PuntReason;
use crate::tunnel::{Tunnel, TunnelId, TunnelMode};
use crate::wire::parse::{Kind, Parsed};
use crate::wire::{be16, ipv4, ipv6};
use core::net::Ipv4Addr;

/// Makes a frame ready to be queued whose route leads into the tunnel `id`.
#[inline(never)]
pub(super) fn finish<F: Frame>(routed: Routed<'_>, id: TunnelId, frame: &mut F) -> FrameOutcome {
    let Routed { snapshot, input, class, parsed, .. } = routed;
    let ends = snapshot.tunnels.get(id).and_then(|tunnel| Some((tunnel, tunnel.remote?)));
    let Some((tunnel, remote)) = ends else {
        return routed.ends(Verdict::Punt(PuntReason::NoRoute), frame);
    };
    let leaf = snapshot.fib.v4(remote.octets());
    let hash = if leaf.is_group() { route::flow_hash(snapshot, &parsed, frame.head()) } else { 0 };
    let adjacency = match snapshot.fib.hop(leaf, hash) {
        Hop::Forward(adjacency) => adjacency,
        // No tunnel leads through another, or to its own beginning.
        Hop::Tunnel(_) | Hop::Local => {
            return routed.ends(Verdict::Punt(PuntReason::NoRoute), frame);
        }
        other => return routed.ends(route::without_adjacency(other, parsed.ttl), frame),
    };
    if let Some(verdict) = routed.cannot_pass(adjacency, ipv4::HEADER_BYTES, frame) {
        return routed.ends(verdict, frame);
    }
    let through = rules::apply_through(snapshot, class, input, adjacency.out, &tunnel.outer_tag);
    // A router forwards a packet before it encapsulates it (RFC 2003, 3.1).
    let ttl = parsed.ttl - 1;
    rewrite::ip(frame.head_mut(), &parsed, through.inner_dscp, ttl);
    let inner_dscp = through.inner_dscp.unwrap_or(parsed.tos >> 2);
    let dscp = through.outer.dscp.unwrap_or(inner_dscp);
    // ECN is copied out: RFC 6040, 4.1, normal mode.
    let tos = dscp << 2 | parsed.tos & 0b11;
    let ends = (tunnel.local, remote);
    let Some(outer) = outer_header(tunnel, ends, &parsed, frame.head(), (tos, ttl)) else {
        return routed.ends(Verdict::Drop(DropReason::TooLong), frame);
    };
    let pcp = snapshot.tags.pcp[through.outer.tag.index()];
    let rx_bytes = length_bytes(frame);
    let Some(l3) = rewrite::encapsulated(frame, &parsed, &outer, adjacency, pcp) else {
        return routed.ends(Verdict::Drop(DropReason::TooLong), frame);
    };
    let inner_l3 = u16::from(l3) + u16::from(ipv4::HEADER_LENGTH);
    let bytes = rx_bytes + inner_l3 - u16::from(parsed.l3);
    FrameOutcome { outcome: through.outer.outcome.with_l3(l3), rx_bytes, bytes }
}

/// The outer header of a packet whose inner header is parsed; `None` if it would be too long.
fn outer_header(
    tunnel: &Tunnel,
    (local, remote): (Ipv4Addr, Ipv4Addr),
    parsed: &Parsed,
    head: &[u8],
    (tos, ttl): (u8, u8),
) -> Option<[u8; ipv4::HEADER_BYTES]> {
    let l3 = usize::from(parsed.l3);
    let (protocol, inner_bytes) = match parsed.kind {
        Kind::Ipv6 => {
            let payload_bytes = be16(head, l3 + ipv6::PAYLOAD_LENGTH)?;
            (ipv4::PROTOCOL_IPV6, payload_bytes.checked_add(ipv6::HEADER_LENGTH.into())?)
        }
        _ => (ipv4::PROTOCOL_IPV4, be16(head, l3 + ipv4::TOTAL_LENGTH)?),
    };
    let ttl = if tunnel.ttl == TunnelMode::Pipe { Tunnel::PIPE_TTL } else { ttl };
    let total_bytes = inner_bytes.checked_add(ipv4::HEADER_LENGTH.into())?;
    Some(ipv4::header(tos, total_bytes, ttl, protocol, local, remote))
}

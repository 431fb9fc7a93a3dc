//! Decapsulate: finds the inner header of a frame that comes out of a tunnel, and its class.
//!
//! Reads: both headers, the tunnels. Writes: nothing; the outer header goes when the frame is
//! rewritten for its next hop. Drops: what the inner header is worth, and `bad_header` for a packet
//! whose loss the outer header asks for (RFC 6040, 4.2).

use super::outcome::Verdict;
use super::routed::{Routed, route_of};
use crate::counters::DropReason;
use crate::fib::{Hop, Leaf};
use crate::snapshot::PortTables;
use crate::tunnel::{Tunnel, TunnelMode};
use crate::wire::parse::{Kind, Parsed, parse_inner};
use crate::wire::{array_at, be16, ipv4};

/// Congestion experienced.
const CE: u8 = 0b11;
const ECT_1: u8 = 0b01;

/// The inner packet of a frame whose destination resolved to `leaf`, classified and looked up;
/// `None` if the frame does not come out of a tunnel, an error if it ends here.
#[inline]
pub(super) fn inner<'a>(
    routed: &Routed<'a>,
    tables: &PortTables,
    leaf: Leaf,
    head: &[u8],
) -> Option<Result<(Routed<'a>, Leaf), Verdict>> {
    if !matches!(routed.snapshot.fib.hop_at(leaf.first()), Hop::Local) {
        return None;
    }
    let (tunnel, is_v6) = tunnel_of(routed, head)?;
    Some(of_tunnel(routed, tables, (tunnel, is_v6), head))
}

/// The tunnel that a packet for one of our addresses comes out of, and whether it carries IPv6. No
/// fragment does: what fragments a tunnel ends at its other end (RFC 2003, 5.1).
fn tunnel_of<'a>(routed: &Routed<'a>, head: &[u8]) -> Option<(&'a Tunnel, bool)> {
    let l3 = usize::from(routed.parsed.l3);
    if routed.parsed.kind != Kind::Ipv4 {
        return None;
    }
    let header: &[u8; ipv4::HEADER_BYTES] = array_at(head, l3)?;
    let is_v6 = match ipv4::protocol(header) {
        ipv4::PROTOCOL_IPV4 => false,
        ipv4::PROTOCOL_IPV6 => true,
        _ => return None,
    };
    if ipv4::has_options(header) || ipv4::is_fragment(header) {
        return None;
    }
    let (source, destination) = ipv4::addresses(header);
    Some((routed.snapshot.tunnels.ending(source, destination)?, is_v6))
}

fn of_tunnel<'a>(
    routed: &Routed<'a>,
    tables: &PortTables,
    (tunnel, is_v6): (&Tunnel, bool),
    head: &[u8],
) -> Result<(Routed<'a>, Leaf), Verdict> {
    let outer = routed.parsed;
    let l3 = usize::from(outer.l3);
    let end = l3 + usize::from(be16(head, l3 + ipv4::TOTAL_LENGTH).unwrap_or_default());
    let parsed = parse_inner(head, end, l3 + ipv4::HEADER_BYTES, is_v6, outer.tci);
    if let Kind::Bad(reason) = parsed.kind {
        return Err(Verdict::Drop(reason));
    }
    let ecn =
        merged_ecn(outer.tos & CE, parsed.tos & CE).ok_or(Verdict::Drop(DropReason::BadHeader))?;
    let dscp_of = if tunnel.dscp == TunnelMode::Uniform { outer } else { parsed };
    let ttl_of = if tunnel.ttl == TunnelMode::Uniform { outer } else { parsed };
    let parsed = Parsed { tos: dscp_of.tos & !CE | ecn, ttl: ttl_of.ttl, ..parsed };
    let inner = tables.classifier.of(&parsed);
    let input = routed.input.port;
    let class = routed.snapshot.class_after_tunnel(tunnel, input, routed.class, inner);
    let leaf = route_of(routed.snapshot, &parsed, head)?;
    Ok((Routed { class, parsed, is_decapsulated: true, ..*routed }, leaf))
}

/// The ECN field after the tunnel (RFC 6040, figure 4); `None` if the packet must be dropped:
/// congestion was experienced, and its receiver would not hear of it.
const fn merged_ecn(outer: u8, inner: u8) -> Option<u8> {
    match (outer, inner) {
        (CE, 0) => None,
        (_, 0) => Some(0),
        (CE, _) => Some(CE),
        (ECT_1, 0b10) => Some(ECT_1),
        (_, inner) => Some(inner),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 4 of RFC 6040, a row for each inner field: not ECT, ECT(0), ECT(1), CE; in columns
    /// the outer field in the same order.
    #[test]
    fn the_ecn_field_is_that_of_the_standard() {
        let (not_ect, ect_0, ect_1, ce) = (0b00, 0b10, 0b01, 0b11);
        let fields = [not_ect, ect_0, ect_1, ce];
        let expected = [
            [Some(not_ect), Some(not_ect), Some(not_ect), None],
            [Some(ect_0), Some(ect_0), Some(ect_1), Some(ce)],
            [Some(ect_1), Some(ect_1), Some(ect_1), Some(ce)],
            [Some(ce); 4],
        ];
        for (inner, row) in fields.into_iter().zip(expected) {
            assert_eq!(fields.map(|outer| merged_ecn(outer, inner)), row, "inner {inner:02b}");
        }
    }
}

//! Forward, routed: longest-prefix match, ECMP, TTL.
//!
//! Reads: the parsed headers, the port's tables. Writes: the frame outcome; on [`Verdict::Forward`]
//! the frame's headers too. Drops: `not_our_mac`, `vlan_not_allowed`, `reserved_address`, `not_ip`,
//! `source_check`, `unroutable`, `blackhole`. Punts the frames that the control thread must
//! process.
//!
//! [`generic_path`] takes any frame. [`fast_path`](crate::pipeline::fast_path) takes the common
//! frames, faster and with the same outcome.

use crate::counters::DropReason;
use crate::fib::{Adjacency, Hop, Leaf};
use crate::frame::{Frame, length_bytes};
use crate::ids::PortId;
use crate::l2::Vid;
use crate::pipeline::class::Class;
use crate::pipeline::outcome::{FrameOutcome, Verdict, ends_with};
use crate::pipeline::rewrite;
use crate::pipeline::rules;
use crate::pipeline::{decapsulate, encapsulate};
use crate::punt::PuntReason;
use crate::rx_queues::Ingress;
use crate::snapshot::{PortTables, Snapshot};
use crate::wire::parse::{Kind, Parsed, flow_ports, parse};
use crate::wire::{MacAddress, array_at, ethernet};

/// Takes one frame of a routed port through all stages before dispatch.
#[inline(never)]
pub(crate) fn generic_path<F: Frame>(
    snapshot: &Snapshot,
    tables: &PortTables,
    vlan: Option<Vid>,
    input: Ingress,
    frame_bytes_max: usize,
    frame: &mut F,
) -> FrameOutcome {
    let parsed = parse(frame.head(), frame.len());
    if parsed.kind == Kind::MacControl {
        return FrameOutcome::ends(Verdict::Consume, None, length_bytes(frame));
    }
    // Classify before the length check: a frame that is too long may be lossless, and its loss is
    // then counted in its class.
    let class = tables.classifier.of(&parsed);
    let parsed = within(parsed, frame.len(), frame_bytes_max);
    let found = look_up(snapshot, tables, vlan, &parsed, frame.head()).and_then(|leaf| {
        if tables.checks_source && !has_source_on(snapshot, input.port, &parsed, frame.head()) {
            return Err(Verdict::Drop(DropReason::SourceCheck));
        }
        Ok(leaf)
    });
    let leaf = match found {
        Ok(leaf) => leaf,
        Err(verdict) => return ends_with(verdict, class.priority(), length_bytes(frame)),
    };
    let routed = Routed { snapshot, input, class, parsed, is_decapsulated: false };
    let inner = decapsulate::inner(&routed, tables, leaf, frame.head());
    match inner {
        None => routed.finish(leaf, frame),
        Some(Ok((inner, leaf))) => inner.finish(leaf, frame),
        Some(Err(verdict)) => routed.ends(verdict, frame),
    }
}

/// `parsed`, marked as [`DropReason::TooLong`] if `frame_bytes` exceeds `frame_bytes_max` and two
/// VLAN tags.
pub(crate) const fn within(parsed: Parsed, frame_bytes: usize, frame_bytes_max: usize) -> Parsed {
    if frame_bytes > frame_bytes_max + 2 * ethernet::TAG_BYTES {
        Parsed { kind: Kind::Bad(DropReason::TooLong), ..parsed }
    } else {
        parsed
    }
}

/// Checks that the frame is addressed to the router, and looks up its destination.
///
/// # Errors
/// The verdict of a frame that ends here.
fn look_up(
    snapshot: &Snapshot,
    port: &PortTables,
    vlan: Option<Vid>,
    parsed: &Parsed,
    head: &[u8],
) -> Result<Leaf, Verdict> {
    let drop = |reason| Err(Verdict::Drop(reason));
    if let Kind::Bad(reason) = parsed.kind {
        return drop(reason);
    }
    if !vlan_allowed(parsed, vlan) {
        return drop(DropReason::VlanNotAllowed);
    }
    let Some(dst_mac) = head.first_chunk::<6>().copied().map(MacAddress) else {
        return drop(DropReason::Truncated);
    };
    if dst_mac != port.mac {
        return Err(match not_to_us(dst_mac, parsed.kind) {
            Verdict::Drop(_) if port.has_tap && dst_mac.is_multicast() => {
                Verdict::Punt(PuntReason::Host)
            }
            verdict => verdict,
        });
    }
    match parsed.kind {
        Kind::Ipv4 | Kind::Ipv6 => route_of(snapshot, parsed, head),
        Kind::Arp => Err(Verdict::Punt(PuntReason::ForUs)),
        _ if port.has_tap => Err(Verdict::Punt(PuntReason::Host)),
        _ => drop(DropReason::NotIp),
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
fn is_from_link_local(parsed: &Parsed, head: &[u8]) -> bool {
    let is_v4 = parsed.kind == Kind::Ipv4;
    let source = usize::from(parsed.l3) + if is_v4 { 12 } else { 8 };
    let Some(&first) = array_at(head, source) else { return false };
    // fe80::/10
    if is_v4 { is_v4_link_local(first) } else { first[0] == 0xFE && first[1] & 0xC0 == 0x80 }
}

/// Whether the source address of an IP frame is reached by `port`. A link-local address is on every
/// link.
#[cold]
fn has_source_on(snapshot: &Snapshot, port: PortId, parsed: &Parsed, head: &[u8]) -> bool {
    let (fib, l3) = (&snapshot.fib, usize::from(parsed.l3));
    let leaf = if parsed.kind == Kind::Ipv4 {
        array_at(head, l3 + 12).map(|&source| fib.v4(source))
    } else {
        array_at(head, l3 + 8).map(|&source| fib.v6(source))
    };
    is_from_link_local(parsed, head) || leaf.is_some_and(|leaf| fib.has_hop_on(leaf, port))
}

/// Whether the frame is untagged, priority-tagged, or tagged with the port's VLAN.
#[inline(always)]
fn vlan_allowed(parsed: &Parsed, vlan: Option<Vid>) -> bool {
    !parsed.is_tagged() || {
        let vid = ethernet::vid(parsed.tci);
        vid == 0 || vlan.is_some_and(|vlan| vlan.value() == vid)
    }
}

/// Verdict for a frame that is not addressed to the router's MAC address. A multicast or broadcast
/// frame is punted if the control thread may have to answer it.
#[cold]
fn not_to_us(dst_mac: MacAddress, kind: Kind) -> Verdict {
    match kind {
        Kind::Lldp if dst_mac == MacAddress::LLDP => Verdict::Punt(PuntReason::Lldp),
        _ if dst_mac.is_link_local() => Verdict::Drop(DropReason::ReservedAddress),
        Kind::Arp if dst_mac == MacAddress::BROADCAST => Verdict::Punt(PuntReason::ForUs),
        Kind::Ipv6 if dst_mac.0[..2] == [0x33, 0x33] => Verdict::Punt(PuntReason::ForUs),
        Kind::Ipv4 | Kind::Ipv6 if dst_mac.is_multicast() => Verdict::Drop(DropReason::Unroutable),
        Kind::Arp | Kind::Lldp | Kind::Other if dst_mac.is_multicast() => {
            Verdict::Drop(DropReason::NotIp)
        }
        _ => Verdict::Drop(DropReason::NotOurMac),
    }
}

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
    /// Selects the next hop of `leaf` and makes the frame ready to be queued.
    fn finish<F: Frame>(self, leaf: Leaf, frame: &mut F) -> FrameOutcome {
        let Self { snapshot, input, class, parsed, .. } = self;
        let hash = if leaf.is_group() { flow_hash(snapshot, &parsed, frame.head()) } else { 0 };
        let hop = snapshot.fib.hop(leaf, hash);
        if !matches!(hop, Hop::Local) && is_from_link_local(&parsed, frame.head()) {
            return self.ends(Verdict::Drop(DropReason::Unroutable), frame);
        }
        let adjacency = match hop {
            Hop::Forward(adjacency) => adjacency,
            Hop::Tunnel(id) => return encapsulate::finish(self, *id, frame),
            other => return self.ends(without_adjacency(other, parsed.ttl), frame),
        };
        if let Some(verdict) = self.cannot_pass(adjacency, 0, frame) {
            return self.ends(verdict, frame);
        }
        let tagged = rules::apply(snapshot, class, input, adjacency.out);
        rewrite::ip(frame.head_mut(), &parsed, tagged.dscp, parsed.ttl - 1);
        let pcp = snapshot.tags.pcp[tagged.tag.index()];
        let rx_bytes = length_bytes(frame);
        let Some(l3) = rewrite::ethernet_routed(frame, &parsed, adjacency, pcp) else {
            return self.ends(Verdict::Drop(DropReason::TooLong), frame);
        };
        let bytes = rx_bytes + u16::from(l3) - u16::from(parsed.l3);
        FrameOutcome { outcome: tagged.outcome.with_l3(l3), rx_bytes, bytes }
    }

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

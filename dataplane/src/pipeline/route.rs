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
use crate::fib::{Hop, Leaf};
use crate::frame::{Frame, length_bytes};
use crate::ids::PortId;
use crate::l2::Vid;
use crate::pipeline::outcome::{FrameOutcome, Verdict, ends_with};
use crate::pipeline::rewrite;
use crate::pipeline::routed::{Routed, flow_hash, is_from_link_local, route_of, without_adjacency};
use crate::pipeline::rules;
use crate::pipeline::{decapsulate, encapsulate};
use crate::punt::PuntReason;
use crate::rx_queues::Ingress;
use crate::snapshot::{PortTables, Snapshot};
use crate::wire::parse::{Kind, Parsed, parse};
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
        None => finish(routed, leaf, frame),
        Some(Ok((inner, leaf))) => finish(inner, leaf, frame),
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

/// Selects the next hop of `leaf` and makes the frame ready to be queued.
fn finish<F: Frame>(routed: Routed<'_>, leaf: Leaf, frame: &mut F) -> FrameOutcome {
    let Routed { snapshot, input, class, parsed, .. } = routed;
    let hash = if leaf.is_group() { flow_hash(snapshot, &parsed, frame.head()) } else { 0 };
    let hop = snapshot.fib.hop(leaf, hash);
    if !matches!(hop, Hop::Local) && is_from_link_local(&parsed, frame.head()) {
        return routed.ends(Verdict::Drop(DropReason::Unroutable), frame);
    }
    let adjacency = match hop {
        Hop::Forward(adjacency) => adjacency,
        Hop::Tunnel(id) => return encapsulate::finish(routed, *id, frame),
        other => return routed.ends(without_adjacency(other, parsed.ttl), frame),
    };
    if let Some(verdict) = routed.cannot_pass(adjacency, 0, frame) {
        return routed.ends(verdict, frame);
    }
    let tagged = rules::apply(snapshot, class, input, adjacency.out);
    rewrite::ip(frame.head_mut(), &parsed, tagged.dscp, parsed.ttl - 1);
    let pcp = snapshot.tags.pcp[tagged.tag.index()];
    let rx_bytes = length_bytes(frame);
    let Some(l3) = rewrite::ethernet_routed(frame, &parsed, adjacency, pcp) else {
        return routed.ends(Verdict::Drop(DropReason::TooLong), frame);
    };
    let bytes = rx_bytes + u16::from(l3) - u16::from(parsed.l3);
    FrameOutcome { outcome: tagged.outcome.with_l3(l3), rx_bytes, bytes }
}

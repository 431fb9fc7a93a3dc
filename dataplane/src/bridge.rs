//! Forward, bridged: VLAN admission, learning, lookup by MAC address.
//!
//! Reads: the Ethernet header. Writes: the MAC table, the lane; [`finish`] the frame's headers.
//! Ends: `truncated`, `vlan_not_allowed`, `reserved_address`, `same_port`; flooding ends in
//! dispatch.

use crate::agent::PuntReason;
use crate::classify::Class;
use crate::counters::DropReason;
use crate::frame::{Frame, length_bytes};
use crate::ids::PortId;
use crate::l2::{EgressForm, Learnt, MacTable, Vid, VlanPort};
use crate::lane::{self, Lane, Verdict};
use crate::rewrite;
use crate::snapshot::{PortMode, Snapshot};
use crate::time::Instant;
use crate::wire::parse::{Kind, Parsed};
use crate::wire::{MacAddress, ethernet};

/// Where a bridged frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// To one port of this VLAN.
    Port(PortId, Vid),
    /// To every port of this VLAN but the one it came from.
    Flood(Vid),
    /// The frame ends here.
    Ends(Verdict),
}

/// Learns the sender and finds the receiver; `news` hears of a sender that is new on this port.
#[inline]
pub(crate) fn look_up(
    table: &mut MacTable,
    vlan_port: &VlanPort,
    input: PortId,
    parsed: &Parsed,
    head: &[u8],
    now: Instant,
    news: impl FnOnce(Vid, MacAddress),
) -> Destination {
    let drop = |reason| Destination::Ends(Verdict::Drop(reason));
    let Some(&[d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5]) = head.first_chunk::<12>() else {
        return drop(DropReason::Truncated);
    };
    let (dst, src) = (MacAddress([d0, d1, d2, d3, d4, d5]), MacAddress([s0, s1, s2, s3, s4, s5]));
    if dst.is_link_local() {
        // The address is shared with other protocols of one link (gPTP, for one).
        return if dst == MacAddress::LLDP && parsed.kind == Kind::Lldp {
            Destination::Ends(Verdict::Punt(PuntReason::Lldp))
        } else {
            drop(DropReason::ReservedAddress)
        };
    }
    let Some(vid) = vlan_port.admit(parsed.is_tagged().then_some(ethernet::vid(parsed.tci))) else {
        return drop(DropReason::VlanNotAllowed);
    };
    if let Learnt::New | Learnt::Moved { .. } = table.learn(vid, src, input, now) {
        news(vid, src);
    }
    if dst.is_multicast() {
        return Destination::Flood(vid);
    }
    match table.lookup(vid, dst) {
        Some(out) if out == input => drop(DropReason::SamePort),
        Some(out) => Destination::Port(out, vid),
        None => Destination::Flood(vid),
    }
}

/// Rules, marking and VLAN form for one egress port of a bridged frame.
#[inline]
pub(crate) fn finish<F: Frame>(
    snapshot: &Snapshot,
    input: PortId,
    class: Class,
    parsed: &Parsed,
    (out, vid): (PortId, Vid),
    frame: &mut F,
) -> Lane {
    let rx_bytes = length_bytes(frame);
    let ends = |reason| Lane::ends(Verdict::Drop(reason), Some(class.priority()), rx_bytes);
    let Some(PortMode::Bridged(form)) = snapshot.ports.get(out.index()).map(|port| &*port.mode)
    else {
        // The table still names a port that has become a routed one.
        return ends(DropReason::VlanNotAllowed);
    };
    let Some(egress) = form.egress(vid) else {
        return ends(DropReason::VlanNotAllowed);
    };
    let tagged = lane::tag(snapshot, class, input, out);
    let is_ip = matches!(parsed.kind, Kind::Ipv4 | Kind::Ipv6);
    if is_ip && tagged.dscp.is_some() {
        rewrite::ip(frame.head_mut(), parsed, tagged.dscp, parsed.ttl);
    }
    let tci = (egress == EgressForm::Tagged).then(|| {
        let pcp = if parsed.is_tagged() && tagged.dscp.is_none() {
            ethernet::pcp(parsed.tci)
        } else {
            snapshot.tags.pcp[tagged.tag.index()]
        };
        let drop_eligible = if parsed.is_tagged() { parsed.tci & 0x1000 } else { 0 };
        ethernet::with_pcp(vid.value() | drop_eligible, pcp)
    });
    let Some(moved) = rewrite::vlan_form(frame, parsed, tci) else {
        return ends(DropReason::TooLong);
    };
    let l3 = if is_ip { parsed.l3.wrapping_add_signed(moved) } else { 0 };
    let bytes = rx_bytes.wrapping_add_signed(i16::from(moved));
    Lane { fate: tagged.fate.with_l3(l3), rx_bytes, bytes }
}

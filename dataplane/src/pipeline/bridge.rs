//! Forward, bridged: VLAN admission, learning, lookup by MAC address.
//!
//! Reads: the Ethernet header. Writes: the MAC table, the frame outcome; [`finish`] writes the
//! frame's headers. Drops: `truncated`, `vlan_not_allowed`, `reserved_address`,
//! `source_check`, `source_port_filtered`, `too_long`.

use crate::counters::DropReason;
use crate::frame::{Frame, length_bytes};
use crate::handoff::ring::MacEvent;
use crate::ids::PortId;
use crate::l2::{EgressForm, Learned, MacTable, Vid, VlanPort};
use crate::pipeline::class::Class;
use crate::pipeline::outcome::{FrameOutcome, Verdict};
use crate::pipeline::rewrite;
use crate::pipeline::rules::{self, Tagged};
use crate::punt::PuntReason;
use crate::rx_queues::Ingress;
use crate::snapshot::{PortMode, Snapshot};
use crate::time::Instant;
use crate::wire::parse::{Kind, Parsed};
use crate::wire::{MacAddress, ethernet};

/// The destination of a bridged frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// To one port of this VLAN.
    Port(PortId, Vid),
    /// To every port of this VLAN except the ingress port.
    Flood(Vid),
    /// The frame ends here.
    Ends(Verdict),
}

/// The port where bridged frames came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BridgeInput<'a> {
    pub(crate) port: PortId,
    pub(crate) vlan_port: &'a VlanPort,
    /// Whether a frame ends here if its source address stays on another port.
    pub(crate) checks_source: bool,
}

impl BridgeInput<'_> {
    /// What other workers have to know of an address.
    pub(crate) const fn event(
        &self,
        vid: Vid,
        mac: MacAddress,
        learned: Learned,
        now: Instant,
    ) -> Option<MacEvent> {
        match learned {
            Learned::New => Some(MacEvent::Learned(vid, mac, self.port, now)),
            Learned::Moved { .. } => Some(MacEvent::Moved(vid, mac, self.port, now)),
            Learned::Refreshed | Learned::Kept { .. } | Learned::Full | Learned::Ignored => None,
        }
    }
}

/// Learns the source address and looks up the destination. Calls `mac_events` if the source address
/// is new on this port.
#[inline]
pub(crate) fn look_up(
    table: &mut MacTable,
    input: BridgeInput<'_>,
    parsed: &Parsed,
    head: &[u8],
    now: Instant,
    mac_events: impl FnOnce(MacEvent),
) -> Destination {
    let drop = |reason| Destination::Ends(Verdict::Drop(reason));
    let Some(&[d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5]) = head.first_chunk::<12>() else {
        return drop(DropReason::Truncated);
    };
    let (dst, src) = (MacAddress([d0, d1, d2, d3, d4, d5]), MacAddress([s0, s1, s2, s3, s4, s5]));
    if dst.is_link_local() {
        // Other link-local protocols, for example gPTP, use the same address.
        return if dst == MacAddress::LLDP && parsed.kind == Kind::Lldp {
            Destination::Ends(Verdict::Punt(PuntReason::Lldp))
        } else {
            drop(DropReason::ReservedAddress)
        };
    }
    let frame_vid = parsed.is_tagged().then_some(ethernet::vid(parsed.tci));
    look_up_station(table, input, frame_vid, (dst, src), now, mac_events)
}

/// [`look_up`] for a frame to `dst`, an address that bridges forward.
#[inline(always)]
pub(crate) fn look_up_station(
    table: &mut MacTable,
    input: BridgeInput<'_>,
    frame_vid: Option<u16>,
    (dst, src): (MacAddress, MacAddress),
    now: Instant,
    mac_events: impl FnOnce(MacEvent),
) -> Destination {
    let drop = |reason| Destination::Ends(Verdict::Drop(reason));
    let Some(vid) = input.vlan_port.admit(frame_vid) else {
        return drop(DropReason::VlanNotAllowed);
    };
    let learned = table.learn(vid, src, input.port, now);
    if input.checks_source && matches!(learned, Learned::Kept { .. }) {
        return drop(DropReason::SourceCheck);
    }
    if let Some(event) = input.event(vid, src, learned, now) {
        mac_events(event);
    }
    if dst.is_multicast() {
        return Destination::Flood(vid);
    }
    match table.lookup(vid, dst) {
        Some(out) if out == input.port => drop(DropReason::SourcePortFiltered),
        Some(out) => Destination::Port(out, vid),
        None => Destination::Flood(vid),
    }
}

/// The tag control information of a frame of `vid` that leaves tagged and came with `received`.
#[inline]
pub(crate) fn egress_tci(
    snapshot: &Snapshot,
    received: Option<u16>,
    tagged: &Tagged,
    vid: Vid,
) -> u16 {
    let pcp = match received {
        Some(tci) if tagged.dscp.is_none() => ethernet::pcp(tci),
        _ => snapshot.tags.pcp[tagged.tag.index()],
    };
    let drop_eligible = received.map_or(0, |tci| tci & 0x1000);
    ethernet::with_pcp(vid.value() | drop_eligible, pcp)
}

/// Applies rules, marking and VLAN tagging of one egress port to a bridged frame.
#[inline]
pub(crate) fn finish<F: Frame>(
    snapshot: &Snapshot,
    input: Ingress,
    class: Class,
    parsed: &Parsed,
    (out, vid): (PortId, Vid),
    frame: &mut F,
) -> FrameOutcome {
    let rx_bytes = length_bytes(frame);
    let ends = |reason| FrameOutcome::ends(Verdict::Drop(reason), Some(class.priority()), rx_bytes);
    let Some(PortMode::Bridged(form)) = snapshot.ports.get(out.index()).map(|port| &port.mode)
    else {
        // The MAC table still has an entry for a port that has become a routed port.
        return ends(DropReason::VlanNotAllowed);
    };
    let Some(egress) = form.egress(vid) else {
        return ends(DropReason::VlanNotAllowed);
    };
    let tagged = rules::apply(snapshot, class, input, out);
    let is_ip = matches!(parsed.kind, Kind::Ipv4 | Kind::Ipv6);
    if is_ip && tagged.dscp.is_some() {
        rewrite::ip(frame.head_mut(), parsed, tagged.dscp, parsed.ttl);
    }
    let received = parsed.is_tagged().then_some(parsed.tci);
    let tci = (egress == EgressForm::Tagged).then(|| egress_tci(snapshot, received, &tagged, vid));
    let Some(moved) = rewrite::vlan_form(frame, parsed, tci) else {
        return ends(DropReason::TooLong);
    };
    let l3 = if is_ip { parsed.l3.wrapping_add_signed(moved) } else { 0 };
    let bytes = rx_bytes.wrapping_add_signed(i16::from(moved));
    FrameOutcome { outcome: tagged.outcome.with_l3(l3), rx_bytes, bytes }
}

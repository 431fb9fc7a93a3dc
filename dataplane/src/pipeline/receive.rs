//! Receive: takes one burst of one port through the pipeline stages.
//!
//! Reads: the frames. Writes: frame outcomes, outcome groups. Counts: `copied_frames`, and
//! `rx_unclassified_frames` at a port that is down; [`dispatch`](crate::pipeline::dispatch) and the
//! stages that it calls count the rest. PFC frames take effect here, before any data frame of the
//! same burst is forwarded.

use crate::counters::DropReason;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::{Frame, length_bytes};
use crate::handoff::ring::MacEvent;
use crate::ids::PortId;
use crate::l2::{Vid, VlanPort};
use crate::limits::BURST_MAX;
use crate::pipeline::arrival::Arrival;
use crate::pipeline::bridge::{self, Destination};
use crate::pipeline::class::Class;
use crate::pipeline::outcome::{FrameOutcome, OutcomeGroup, Verdict, ends_with};
use crate::pipeline::route;
use crate::port::flow_control::mac_control;
use crate::probe::Probe;
use crate::snapshot::{PortMode, PortTables, Snapshot};
use crate::wire::mac_control::MacControl;
use crate::wire::parse::{Kind, Parsed, parse};
use crate::wire::{be16, ethernet};
use crate::worker::Core;
use arrayvec::ArrayVec;

impl<D: Device, V: Driver> Core<D, V> {
    /// Processes the burst in `self.rx`, which the port at `slot` received.
    #[inline]
    pub(crate) fn receive(&mut self, snapshot: &Snapshot, arrival: Arrival) {
        if arrival.is_new {
            self.accounting.totals.received += self.rx.len() as u64;
            self.accounting.driver.probe().received(self.rx.len());
        }
        if self.rx.len() == 1
            && let Some(frame) = self.rx.pop()
        {
            return self.receive_one(snapshot, frame, arrival);
        }
        self.receive_burst(snapshot, arrival);
    }

    /// [`Self::receive`] for frames whose arrival is already counted, without the fast path for a
    /// single frame.
    #[inline]
    pub(crate) fn receive_burst(&mut self, snapshot: &Snapshot, arrival: Arrival) {
        let input = self.inputs[arrival.slot].port;
        let Some(tables) = snapshot.ports.get(input.index()) else {
            debug_assert!(false, "a snapshot has tables for all ports");
            return self.drop_all(None, arrival);
        };
        if !self.ports[arrival.slot].up {
            return self.drop_all(Some(tables), arrival);
        }
        self.rx.iter().for_each(Frame::prefetch);
        match &*tables.mode {
            PortMode::Routed { vlan } => self.route(snapshot, tables, *vlan, arrival),
            PortMode::Bridged(form) => self.bridge(snapshot, tables, form, arrival),
        }
        self.flush_free_burst();
    }

    /// Drops the burst of a port that is down.
    #[cold]
    fn drop_all(&mut self, tables: Option<&PortTables>, arrival: Arrival) {
        let slot = arrival.slot;
        if arrival.is_new {
            self.ports[slot].counters.rx_unclassified_frames += self.rx.len() as u64;
        }
        for frame in core::mem::take(&mut self.rx) {
            let parsed = parse(frame.head(), frame.len());
            let class = tables.map(|tables| tables.classifier.of(&parsed).priority());
            self.drop(frame, slot, DropReason::PortDown, class);
        }
        self.flush_free_burst();
    }

    /// Applies the PFC frames of the burst before its data frames are forwarded, so that a pause
    /// covers those too. Bit i of `control_bits` is set if frame i of the burst is a MAC control
    /// frame.
    pub(super) fn process_mac_control_burst(&mut self, control_bits: u64, slot: usize) {
        self.accounting.driver.mark_tx(slot);
        let frames = (0..).zip(&self.rx).filter(|(at, _)| control_bits >> at & 1 == 1);
        let parsed = frames.map(|(_, frame)| (parse(frame.head(), frame.len()), frame));
        if self.ports[slot].is_further_queue {
            let controls: ArrayVec<MacControl, BURST_MAX> =
                parsed.map(|(parsed, frame)| mac_control(&parsed, frame)).collect();
            return self.pass_to_owner(slot, controls.into_iter());
        }
        self.ports[slot].process_mac_control(parsed, &mut self.accounting);
    }

    /// Takes MAC control frames, which came in by a further queue of a port, to the port's owner.
    #[cold]
    fn pass_to_owner(&mut self, slot: usize, controls: impl Iterator<Item = MacControl>) {
        let port = self.inputs[slot].port;
        if let Some(own) = self.handoff_tx.slot(port) {
            return self.ports[own].obey(controls, &mut self.accounting);
        }
        controls.for_each(|control| self.handoff_tx.push_control(port, control));
    }

    /// Processes a single frame whose arrival is counted, and that is not a fast-path frame or
    /// whose port is down.
    #[inline(never)]
    pub(crate) fn receive_other(
        &mut self,
        snapshot: &Snapshot,
        mut frame: D::Frame,
        arrival: Arrival,
    ) {
        let slot = arrival.slot;
        let input = self.inputs[slot];
        let port = &mut self.ports[slot];
        let routed = match snapshot.ports.get(input.port.index()) {
            Some(tables) if port.up => match *tables.mode {
                PortMode::Routed { vlan } => Some((tables, vlan)),
                PortMode::Bridged(_) => None,
            },
            _ => None,
        };
        let Some((tables, vlan)) = routed else {
            self.rx.push(frame);
            return self.receive_burst(snapshot, arrival);
        };
        let frame_bytes_max = usize::from(port.frame_bytes_max);
        let parsed = parse(frame.head(), frame.len());
        if parsed.kind == Kind::MacControl {
            self.accounting.driver.mark_tx(slot);
            if port.is_further_queue {
                let control = mac_control(&parsed, &frame);
                self.pass_to_owner(slot, core::iter::once(control));
            } else {
                port.process_mac_control(core::iter::once((parsed, &frame)), &mut self.accounting);
            }
        }
        let frame_outcome =
            route::generic_path(snapshot, tables, vlan, input, frame_bytes_max, &mut frame);
        self.count_outcome(&OutcomeGroup::of_one(&frame_outcome), arrival);
        self.dispatch_frame(frame, &frame_outcome, slot);
        self.flush_free_burst();
    }

    /// The stages of a bridged port. Lookups are frame by frame: the MAC address learned from one
    /// frame may be the destination of the next. Up to a frame that is flooded, the frames are
    /// dispatched together.
    fn bridge(
        &mut self,
        snapshot: &Snapshot,
        tables: &PortTables,
        vlan_port: &VlanPort,
        arrival: Arrival,
    ) {
        let slot = arrival.slot;
        let input = self.inputs[slot];
        let frame_bytes_max = usize::from(self.ports[slot].frame_bytes_max);
        let parse = |frame: &D::Frame| parse(frame.head(), frame.len());
        let parsed: ArrayVec<Parsed, BURST_MAX> = self.rx.iter().map(parse).collect();
        let bits = (0..).zip(&parsed).map(|(at, parsed)| control_bit(parsed, at));
        let control_bits = bits.fold(0, |all, bit| all | bit);
        if control_bits != 0 {
            self.process_mac_control_burst(control_bits, slot);
        }
        self.has_addresses = true;
        let frames = core::mem::take(&mut self.rx);
        let mut frames = frames.into_iter().zip(parsed);
        let mut group_of = [0; BURST_MAX];
        self.outcomes.clear();
        while let Some((mut frame, parsed)) = frames.next() {
            let parsed = as_bridged(parsed, frame.head());
            let class = tables.classifier.of(&parsed);
            let rx_bytes = length_bytes(&frame);
            let is_control = parsed.kind == Kind::MacControl;
            let parsed = if is_control {
                parsed
            } else {
                route::within(parsed, frame.len(), frame_bytes_max)
            };
            let frame_outcome =
                match self.look_up_bridged(vlan_port, input.port, &parsed, frame.head()) {
                    Destination::Port(out, vid) => {
                        bridge::finish(snapshot, input, class, &parsed, (out, vid), &mut frame)
                    }
                    Destination::Flood(vid) => {
                        // What was admitted before decides whether there is room for copies.
                        self.dispatch(group_of, arrival);
                        self.outcomes.clear();
                        let members = snapshot.vlans.members(vid);
                        let copies = members.iter().filter(|&&port| port != input.port).count();
                        if !self.has_room_for_copies(slot, class.priority(), copies, rx_bytes) {
                            let later = frames.map(|(frame, _)| frame);
                            return self.defer(core::iter::once(frame).chain(later), slot);
                        }
                        let frame_outcome =
                            FrameOutcome::ends(Verdict::Flood, Some(class.priority()), rx_bytes);
                        self.count_outcome(&OutcomeGroup::of_one(&frame_outcome), arrival);
                        self.flood(snapshot, frame, &Flooded { vid, class, parsed, slot });
                        continue;
                    }
                    Destination::Ends(Verdict::Consume) => {
                        FrameOutcome::ends(Verdict::Consume, None, rx_bytes)
                    }
                    Destination::Ends(verdict) => ends_with(verdict, class.priority(), rx_bytes),
                };
            if self.is_oversize(&frame_outcome) {
                // It is dropped: it may go ahead of the frames before it.
                self.count_outcome(&OutcomeGroup::of_one(&frame_outcome), arrival);
                self.dispatch_frame(frame, &frame_outcome, slot);
                continue;
            }
            if let Some(group) = group_of.get_mut(self.rx.len()) {
                *group = self.outcomes.add(&frame_outcome);
            }
            self.rx.push(frame);
        }
        self.dispatch(group_of, arrival);
    }

    #[inline]
    fn look_up_bridged(
        &mut self,
        vlan_port: &VlanPort,
        input: PortId,
        parsed: &Parsed,
        head: &[u8],
    ) -> Destination {
        let handoff_tx = &mut self.handoff_tx;
        let learned = |vid, mac| {
            handoff_tx.push_event(MacEvent::Learned(vid, mac, input, self.accounting.now))
        };
        match parsed.kind {
            Kind::MacControl => Destination::Ends(Verdict::Consume),
            Kind::Bad(reason) => Destination::Ends(Verdict::Drop(reason)),
            _ => bridge::look_up(
                &mut self.mac_table,
                vlan_port,
                input,
                parsed,
                head,
                self.accounting.now,
                learned,
            ),
        }
    }

    /// Sends a copy to every other port of the VLAN, and the frame itself to the last of them.
    /// Rules, buffer charge and outcome are determined for each copy separately.
    fn flood(&mut self, snapshot: &Snapshot, mut frame: D::Frame, flooded: &Flooded) {
        let &Flooded { vid, class, ref parsed, slot } = flooded;
        let input = self.inputs[slot];
        let members = snapshot.vlans.members(vid);
        let Some(&last) = members.iter().rfind(|&&port| port != input.port) else {
            return self.drop(frame, slot, DropReason::NoFloodMembers, Some(class.priority()));
        };
        for &out in members.iter().filter(|&&port| port != input.port && port != last) {
            self.accounting.totals.copied += 1;
            self.ports[slot].counters.copied_frames += 1;
            let Some(mut copy) = self.device.copy(&frame) else {
                self.count_drop(slot, DropReason::NoBuffer, Some(class.priority()));
                continue;
            };
            let frame_outcome =
                bridge::finish(snapshot, input, class, parsed, (out, vid), &mut copy);
            self.dispatch_frame(copy, &frame_outcome, slot);
        }
        let frame_outcome = bridge::finish(snapshot, input, class, parsed, (last, vid), &mut frame);
        self.dispatch_frame(frame, &frame_outcome, slot);
    }
}

/// Bit `at` if the frame, which has index `at` in its burst, is a MAC control frame; 0 otherwise.
#[inline(always)]
const fn control_bit(parsed: &Parsed, at: u32) -> u64 {
    match parsed.kind {
        Kind::MacControl => 1 << at,
        _ => 0,
    }
}

/// What [`Core::flood`] needs to know of a frame.
struct Flooded {
    vid: Vid,
    class: Class,
    parsed: Parsed,
    slot: usize,
}

/// Treats a frame with an invalid or truncated IP header as non-IP, since a bridge does not
/// validate IP. A frame without a complete Ethernet header stays [`Kind::Bad`]; [`route::within`]
/// later marks one that is too long.
fn as_bridged(parsed: Parsed, head: &[u8]) -> Parsed {
    match parsed.kind {
        Kind::Bad(DropReason::BadHeader | DropReason::BadChecksum) => {
            Parsed { kind: Kind::Other, ..parsed }
        }
        Kind::Bad(DropReason::Truncated) if has_ethernet_header(&parsed, head) => {
            Parsed { kind: Kind::Other, ..parsed }
        }
        _ => parsed,
    }
}

/// Whether the frame has the fields that a bridge uses: addresses, an ethertype and, if the
/// ethertype indicates one, a VLAN tag. A bridge ignores inner tags.
fn has_ethernet_header(parsed: &Parsed, head: &[u8]) -> bool {
    be16(head, ethernet::HEADER_BYTES - 2).is_some_and(|ethertype| {
        let is_tag = ethertype == ethernet::VLAN || ethertype == ethernet::SERVICE_VLAN;
        !is_tag || parsed.is_tagged()
    })
}

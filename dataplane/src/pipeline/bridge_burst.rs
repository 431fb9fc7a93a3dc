//! The stages of a bridged port for a whole burst, before dispatch.
//!
//! Eight frames at a time take the fast path of [`lanes`](super::lanes), as long as all of them go
//! to one port each. From the first eight that do not, the burst goes on frame by frame.
//!
//! Counts: `copied_frames`.

use crate::capture::record::Ending;
use crate::counters::DropReason;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::{Frame, length_bytes};
use crate::ids::PortId;
use crate::l2::{Vid, VlanPort};
use crate::limits::{BURST_MAX, BurstBits};
use crate::pipeline::arrival::Arrival;
use crate::pipeline::bridge::{self, BridgeInput, Destination};
use crate::pipeline::class::Class;
use crate::pipeline::lanes::eight::Eight;
use crate::pipeline::lanes::pairs::Input;
use crate::pipeline::lanes::stations::{Bridge, Target};
use crate::pipeline::lanes::{ALL, LANES, LaneState, lanes_of};
use crate::pipeline::outcome::{FrameOutcome, OutcomeGroup, Verdict, ends_with};
use crate::pipeline::route;
use crate::snapshot::{PortTables, Snapshot};
use crate::wire::parse::{Kind, Parsed, parse};
use crate::wire::{be16, ethernet};
use crate::worker::Core;
use arrayvec::ArrayVec;

/// Bursts of fewer frames take the fast path one by one no slower.
const FRAMES_MIN: usize = 4;

/// The port where a burst came in, with its tables.
#[derive(Clone, Copy)]
pub(super) struct BridgedFrom<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) tables: &'a PortTables,
    pub(super) vlan_port: &'a VlanPort,
    pub(super) arrival: Arrival,
}

impl<'a> BridgedFrom<'a> {
    const fn input(&self, port: PortId) -> BridgeInput<'a> {
        let Self { tables, vlan_port, .. } = *self;
        BridgeInput { port, vlan_port, checks_source: tables.checks_source }
    }
}

/// How far the fast path took a burst.
#[derive(Default)]
struct Progress {
    /// Frames at the front that have an outcome group.
    frames: usize,
    /// Destinations of the frames behind them that were looked up.
    destinations: ArrayVec<Destination, LANES>,
}

impl<D: Device, V: Driver> Core<D, V> {
    /// Takes the burst of a bridged port through the stages, and dispatches it.
    pub(super) fn bridge(&mut self, from: BridgedFrom<'_>) {
        self.has_addresses = true;
        self.outcomes.clear();
        let mut group_of = [0; BURST_MAX];
        let progress = if self.rx.len() < FRAMES_MIN {
            Progress::default()
        } else {
            let frame_bytes_max = self.ports[from.arrival.slot].frame_bytes_max;
            let (eights, port) = (&mut self.lanes.eights, &from.tables.fast_path);
            let control_bits =
                Eight::classify_burst::<_, true>(eights, port, &self.rx, frame_bytes_max);
            if control_bits != 0 {
                self.process_mac_control_burst(control_bits, from.arrival.slot);
            }
            self.bridge_eights(from, &mut group_of)
        };
        if progress.frames == self.rx.len() {
            return self.dispatch(group_of, from.arrival);
        }
        self.bridge_each(from, progress, group_of);
    }

    /// Takes eight frames after the other through the stages, up to the first eight that have to be
    /// taken one by one.
    #[inline(always)]
    fn bridge_eights(&mut self, from: BridgedFrom<'_>, group_of: &mut [u8; BURST_MAX]) -> Progress {
        let BridgedFrom { snapshot, tables, arrival, .. } = from;
        let ingress = self.inputs[arrival.slot];
        let input = from.input(ingress.port);
        let Self { rx, lanes, outcomes, mac_table, handoff_tx, accounting, .. } = self;
        let LaneState { eights, pairs, .. } = &mut **lanes;
        let mut bridge = Bridge::new(mac_table, input, accounting.now, &self.tx_frame_bytes_max);
        let mut mac_events = |event| handoff_tx.push_event(event);
        let from = Input { snapshot, tables, ingress };
        let mut progress = Progress::default();
        pairs.clear();
        let eights = rx.chunks_mut(LANES).zip(eights.iter_mut()).zip(group_of.chunks_mut(LANES));
        for ((frames, eight), groups) in eights {
            if eight.has_others(frames.len()) {
                break;
            }
            let (known, other) = bridge.look_up(eight, frames, &mut mac_events);
            if known < frames.len() {
                let targets = eight.targets(known);
                let ports = targets.map(|Target { out, vid }| Destination::Port(out, vid));
                progress.destinations.extend(ports.chain(other));
                break;
            }
            let whole = (frames.first_chunk_mut::<LANES>(), groups.first_chunk_mut::<LANES>());
            let taken = if let (Some(frames), Some(groups)) = whole {
                pairs.take::<_, true>(from, eight, frames, outcomes, groups)
            } else {
                pairs.take_rest::<_, true>(from, eight, frames, outcomes, groups)
            };
            for lane in lanes_of(ALL & !taken).take_while(|&lane| lane < known) {
                let Some(Target { out, vid }) = eight.targets(known).nth(lane) else { continue };
                let frame = &mut frames[lane];
                let parsed = parse(frame.head(), frame.len());
                let class = tables.classifier.of(&parsed);
                let frame_outcome =
                    bridge::finish(snapshot, ingress, class, &parsed, (out, vid), frame);
                groups[lane] = outcomes.add(&frame_outcome);
            }
            progress.frames += known;
        }
        pairs.add_to_groups(outcomes);
        progress
    }

    /// Takes the frames without an outcome group through the stages, one by one. Up to a frame that
    /// is flooded, the frames are dispatched together.
    #[inline(never)]
    fn bridge_each(
        &mut self,
        from: BridgedFrom<'_>,
        progress: Progress,
        mut group_of: [u8; BURST_MAX],
    ) {
        let BridgedFrom { snapshot, tables, arrival, .. } = from;
        let slot = arrival.slot;
        let input = self.inputs[slot];
        let frame_bytes_max = usize::from(self.ports[slot].frame_bytes_max);
        let parse = |frame: &D::Frame| parse(frame.head(), frame.len());
        let frames = self.rx.iter().skip(progress.frames);
        let parsed: ArrayVec<Parsed, BURST_MAX> = frames.map(parse).collect();
        if self.rx.len() < FRAMES_MIN {
            let bits = (0..).zip(&parsed).map(|(at, parsed)| control_bit(parsed, at));
            let control_bits = bits.fold(0, |all, bit| all | bit);
            if control_bits != 0 {
                self.process_mac_control_burst(control_bits, slot);
            }
        }
        let frames: ArrayVec<D::Frame, BURST_MAX> = self.rx.drain(progress.frames..).collect();
        let mut frames = frames.into_iter().zip(parsed);
        let mut destinations = progress.destinations.into_iter();
        let from = from.input(input.port);
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
            let known = destinations.next();
            let destination =
                known.unwrap_or_else(|| self.look_up_bridged(from, &parsed, frame.head()));
            let frame_outcome = match destination {
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
            let is_in_hand = self.accounting.has_in_hand();
            if is_in_hand || self.is_oversize(&frame_outcome) {
                // It is dropped, so it may go ahead of the frames before it; or it is alone.
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
        input: BridgeInput<'_>,
        parsed: &Parsed,
        head: &[u8],
    ) -> Destination {
        let (handoff_tx, now) = (&mut self.handoff_tx, self.accounting.now);
        match parsed.kind {
            Kind::MacControl => Destination::Ends(Verdict::Consume),
            Kind::Bad(reason) => Destination::Ends(Verdict::Drop(reason)),
            _ => bridge::look_up(&mut self.mac_table, input, parsed, head, now, |event| {
                handoff_tx.push_event(event);
            }),
        }
    }

    /// Sends a copy to every other port of the VLAN, and the frame itself to the last of them.
    /// Rules, buffer charge and outcome are determined for each copy separately.
    fn flood(&mut self, snapshot: &Snapshot, mut frame: D::Frame, flooded: &Flooded) {
        let &Flooded { vid, class, ref parsed, slot } = flooded;
        let input = self.inputs[slot];
        if self.accounting.is_observed() {
            self.capture_goes_on(Ending::Flooded);
        }
        let members = snapshot.vlans.members(vid);
        let Some(&last) = members.iter().rfind(|&&port| port != input.port) else {
            return self.drop(frame, slot, DropReason::NoFloodMembers, Some(class.priority()));
        };
        for &out in members.iter().filter(|&&port| port != input.port && port != last) {
            self.accounting.totals.copied += 1;
            self.ports[slot].counters.copied_frames += 1;
            let Some(mut copy) = self.device.copy(&frame) else {
                let class = Some(class.priority());
                if self.accounting.is_observed() {
                    self.capture_drop(&frame, slot, DropReason::NoBuffer, class);
                }
                self.count_drop(slot, DropReason::NoBuffer, class);
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
const fn control_bit(parsed: &Parsed, at: u32) -> BurstBits {
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

//! Receive: one burst of one port through the stages, to the queues.
//!
//! Reads: the frames. Writes: lanes, fates. Counts: `copied_frames`; the rest is counted where it
//! is settled ([`settle`](crate::settle)). PFC is obeyed here, before any data of its burst moves.

use crate::bridge::{self, Destination};
use crate::classify::Class;
use crate::counters::DropReason;
use crate::device::Device;
use crate::fates::Tally;
use crate::fib::Leaf;
use crate::frame::{Frame, length_bytes};
use crate::handoff::News;
use crate::ids::PortId;
use crate::l2::{Vid, VlanPort};
use crate::lane::{self, Lane, Verdict};
use crate::limits::BURST_MAX;
use crate::plain;
use crate::probe::Probe;
use crate::route;
use crate::snapshot::{PortMode, PortTables, Snapshot};
use crate::time::Instant;
use crate::wire::parse::{Kind, Parsed, parse};
use crate::wire::{be16, ethernet};
use crate::worker::Core;
use arrayvec::ArrayVec;

impl<D: Device, P: Probe> Core<D, P> {
    /// Takes the burst in `self.rx`, of the port at `slot`, to its end or to the queues.
    #[inline]
    pub(crate) fn receive(&mut self, snapshot: &Snapshot, slot: usize, now: Instant) {
        if !self.is_again {
            self.books.totals.received += self.rx.len() as u64;
            self.books.probe.received(self.rx.len());
        }
        if self.rx.len() == 1
            && let Some(frame) = self.rx.pop()
        {
            return self.receive_one(snapshot, slot, frame, now);
        }
        self.receive_burst(snapshot, slot, now);
    }

    /// [`Self::receive`] for frames whose arrival is counted, and of which one by itself is not
    /// plain.
    #[inline]
    pub(crate) fn receive_burst(&mut self, snapshot: &Snapshot, slot: usize, now: Instant) {
        let input = self.own_ports[slot];
        let Some(tables) = snapshot.ports.get(input.index()) else {
            debug_assert!(false, "a snapshot has tables for all ports");
            return self.drop_all(None, slot);
        };
        if !self.ports[slot].up {
            return self.drop_all(Some(tables), slot);
        }
        self.rx.iter().for_each(Frame::prefetch);
        match &*tables.mode {
            PortMode::Routed { vlan } => self.route(snapshot, tables, *vlan, slot, now),
            PortMode::Bridged(form) => self.bridge(snapshot, tables, form, slot, now),
        }
        self.recycle_trash();
    }

    /// A port that is down receives nothing; what its device brings all the same is dropped.
    #[cold]
    fn drop_all(&mut self, tables: Option<&PortTables>, slot: usize) {
        if !self.is_again {
            self.ports[slot].counters.rx_unclassified_frames += self.rx.len() as u64;
        }
        for frame in core::mem::take(&mut self.rx) {
            let parsed = parse(frame.head(), frame.len());
            let class = tables.map(|tables| tables.classifier.of(&parsed).priority());
            self.drop(frame, slot, DropReason::PortDown, class);
        }
        self.recycle_trash();
    }

    /// [`Self::receive`] for a frame that the control thread gives back. Its arrival was counted
    /// when it came from the device.
    pub(crate) fn receive_again(&mut self, snapshot: &Snapshot, slot: usize, now: Instant) {
        self.is_again = true;
        self.receive(snapshot, slot, now);
        self.is_again = false;
    }

    /// Obeys the PFC frames of the burst, before its data moves: they hold for it too.
    /// `control_bits` has a bit for each MAC control frame, by its place.
    fn obey_mac_control(&mut self, control_bits: u64, slot: usize, now: Instant) {
        self.sending.insert(slot);
        let frames = (0..).zip(&self.rx).filter(|(at, _)| control_bits >> at & 1 == 1);
        let parsed = frames.map(|(_, frame)| (parse(frame.head(), frame.len()), frame));
        self.ports[slot].obey(parsed, &mut self.books, now);
    }

    /// One frame by itself, whose arrival is counted, that is not plain, or at a port that is down.
    #[inline(never)]
    pub(crate) fn receive_other(
        &mut self,
        snapshot: &Snapshot,
        slot: usize,
        mut frame: D::Frame,
        now: Instant,
    ) {
        let input = self.own_ports[slot];
        let port = &mut self.ports[slot];
        let routed = match snapshot.ports.get(input.index()) {
            Some(tables) if port.up => match *tables.mode {
                PortMode::Routed { vlan } => Some((tables, vlan)),
                PortMode::Bridged(_) => None,
            },
            _ => None,
        };
        let Some((tables, vlan)) = routed else {
            self.rx.push(frame);
            return self.receive_burst(snapshot, slot, now);
        };
        let frame_bytes_max = usize::from(port.frame_bytes_max);
        let parsed = parse(frame.head(), frame.len());
        if parsed.kind == Kind::MacControl {
            self.sending.insert(slot);
            port.obey(core::iter::once((parsed, &frame)), &mut self.books, now);
        }
        let lane = route::general(snapshot, tables, vlan, input, frame_bytes_max, &mut frame);
        self.book_received(&Tally::of_one(&lane), slot);
        self.settle_lane(frame, &lane, slot, now);
        self.recycle_trash();
    }

    /// The stages of a routed port, each for the whole burst: what the headers say, where they
    /// lead, what follows for the frame; then each fate to its queue.
    #[inline(always)]
    fn route(
        &mut self,
        snapshot: &Snapshot,
        tables: &PortTables,
        vlan: Option<Vid>,
        slot: usize,
        now: Instant,
    ) {
        let input = self.own_ports[slot];
        let frame_bytes_max = usize::from(self.ports[slot].frame_bytes_max);
        let longest = frame_bytes_max + 2 * ethernet::TAG_BYTES;
        let (mut classes, mut destinations) = ([Class::UNKNOWN; BURST_MAX], [0; BURST_MAX]);
        let mut control_bits = 0;
        let noted = classes.iter_mut().zip(&mut destinations);
        for ((at, frame), (class, destination)) in (0..).zip(&self.rx).zip(noted) {
            let (head, frame_bytes) = (frame.head(), frame.len());
            match plain::examine(&tables.plain, head, frame_bytes, longest) {
                Some(plain) => (*class, *destination) = plain,
                None => control_bits |= control_bit(&parse(head, frame_bytes), at),
            }
        }
        if control_bits != 0 {
            self.obey_mac_control(control_bits, slot, now);
        }
        let mut leaves = [Leaf::NO_ROUTE; BURST_MAX];
        let frames = self.rx.len();
        snapshot.fib.v4_burst(&destinations[..frames], &mut leaves[..frames]);
        self.fates.clear();
        self.recipes.clear();
        let mut tally_of = [0; BURST_MAX];
        let looked_up = classes.iter().zip(&leaves).zip(&mut tally_of);
        for (frame, ((&class, &leaf), tally)) in self.rx.iter_mut().zip(looked_up) {
            let fates = &mut self.fates;
            if class != Class::UNKNOWN
                && let Some(at) = self.recipes.apply(snapshot, input, class, leaf, frame, fates)
            {
                *tally = at;
                continue;
            }
            let lane = route::general(snapshot, tables, vlan, input, frame_bytes_max, frame);
            *tally = fates.add(&lane);
        }
        self.recipes.book(&mut self.fates);
        self.settle(tally_of, slot, now);
    }

    /// The stages of a bridged port, frame by frame: each may teach the table what the next one
    /// needs.
    fn bridge(
        &mut self,
        snapshot: &Snapshot,
        tables: &PortTables,
        vlan_port: &VlanPort,
        slot: usize,
        now: Instant,
    ) {
        let input = self.own_ports[slot];
        let frame_bytes_max = usize::from(self.ports[slot].frame_bytes_max);
        let parse = |frame: &D::Frame| parse(frame.head(), frame.len());
        let parsed: ArrayVec<Parsed, BURST_MAX> = self.rx.iter().map(parse).collect();
        let bits = (0..).zip(&parsed).map(|(at, parsed)| control_bit(parsed, at));
        let control_bits = bits.fold(0, |all, bit| all | bit);
        if control_bits != 0 {
            self.obey_mac_control(control_bits, slot, now);
        }
        self.has_addresses = true;
        let frames = core::mem::take(&mut self.rx);
        let mut frames = frames.into_iter();
        let mut parsed = parsed.into_iter();
        while let (Some(mut frame), Some(parsed)) = (frames.next(), parsed.next()) {
            let parsed = as_bridged(parsed, frame.head());
            let class = tables.classifier.of(&parsed);
            let rx_bytes = length_bytes(&frame);
            let is_control = parsed.kind == Kind::MacControl;
            let parsed = if is_control {
                parsed
            } else {
                route::within(parsed, frame.len(), frame_bytes_max)
            };
            let lane = match self.look_up_bridged(vlan_port, input, &parsed, frame.head(), now) {
                Destination::Port(out, vid) => {
                    bridge::finish(snapshot, input, class, &parsed, (out, vid), &mut frame)
                }
                Destination::Flood(vid) => {
                    let members = snapshot.vlans.members(vid);
                    let copies = members.iter().filter(|&&port| port != input).count();
                    if !self.has_room_for_copies(slot, class.priority(), copies, rx_bytes) {
                        return self.keep(core::iter::once(frame).chain(frames), slot, now);
                    }
                    let lane = Lane::ends(Verdict::Flood, Some(class.priority()), rx_bytes);
                    self.book_received(&Tally::of_one(&lane), slot);
                    self.flood(snapshot, frame, &Flooded { vid, class, parsed, slot, now });
                    continue;
                }
                Destination::Ends(Verdict::Consume) => Lane::ends(Verdict::Consume, None, rx_bytes),
                Destination::Ends(verdict) => lane::ends_with(verdict, class.priority(), rx_bytes),
            };
            self.book_received(&Tally::of_one(&lane), slot);
            self.settle_lane(frame, &lane, slot, now);
        }
    }

    #[inline]
    fn look_up_bridged(
        &mut self,
        vlan_port: &VlanPort,
        input: PortId,
        parsed: &Parsed,
        head: &[u8],
        now: Instant,
    ) -> Destination {
        let exchange = &mut self.exchange;
        let news = |vid, mac| exchange.announce(News::Learnt(vid, mac, input, now));
        match parsed.kind {
            Kind::MacControl => Destination::Ends(Verdict::Consume),
            Kind::Bad(reason) => Destination::Ends(Verdict::Drop(reason)),
            _ => bridge::look_up(&mut self.mac_table, vlan_port, input, parsed, head, now, news),
        }
    }

    /// A copy to every other port of the VLAN, and the frame itself to the last of them. Each copy
    /// has its own rules, its own charge and its own end.
    fn flood(&mut self, snapshot: &Snapshot, mut frame: D::Frame, flooded: &Flooded) {
        let &Flooded { vid, class, ref parsed, slot, now } = flooded;
        let input = self.own_ports[slot];
        let members = snapshot.vlans.members(vid);
        let Some(&last) = members.iter().rfind(|&&port| port != input) else {
            return self.drop(frame, slot, DropReason::NowhereToFlood, Some(class.priority()));
        };
        for &out in members.iter().filter(|&&port| port != input && port != last) {
            self.books.totals.copied += 1;
            self.ports[slot].counters.copied_frames += 1;
            let Some(mut copy) = self.device.copy(&frame) else {
                self.count_drop(slot, DropReason::NoBuffer, Some(class.priority()));
                continue;
            };
            let lane = bridge::finish(snapshot, input, class, parsed, (out, vid), &mut copy);
            self.settle_lane(copy, &lane, slot, now);
        }
        let lane = bridge::finish(snapshot, input, class, parsed, (last, vid), &mut frame);
        self.settle_lane(frame, &lane, slot, now);
    }
}

/// The bit of a MAC control frame at place `at` of its burst; 0 for any other frame.
#[inline(always)]
const fn control_bit(parsed: &Parsed, at: u32) -> u64 {
    match parsed.kind {
        Kind::MacControl => 1 << at,
        _ => 0,
    }
}

/// A frame to be flooded, and what is known of it.
struct Flooded {
    vid: Vid,
    class: Class,
    parsed: Parsed,
    slot: usize,
    now: Instant,
}

/// A bridge does not judge what it carries: a frame whose IP header is broken or cut short is still
/// a frame. Only one without a whole Ethernet header, or too long, cannot be carried.
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

/// Whether the frame has what a bridge goes by: addresses, an ethertype and, if that says so, a
/// VLAN tag. Inner tags are no business of a bridge.
fn has_ethernet_header(parsed: &Parsed, head: &[u8]) -> bool {
    be16(head, ethernet::HEADER_BYTES - 2).is_some_and(|ethertype| {
        let is_tag = ethertype == ethernet::VLAN || ethertype == ethernet::SERVICE_VLAN;
        !is_tag || parsed.is_tagged()
    })
}

//! Receive: one burst of one port through the stages, to the queues.
//!
//! Reads: the frames. Writes: lanes, fates, books. Counts: `rx_*`, `drops`, `punted_frames`,
//! `copied_frames`, `remarked_frames`, `raised_frames`, `demoted_frames`; PFC is obeyed here,
//! before any data of its burst moves.

use crate::agent::PuntReason;
use crate::bridge::{self, Destination};
use crate::buffer::Admission;
use crate::classify::Class;
use crate::counters::DropReason;
use crate::device::Device;
use crate::fates::Tally;
use crate::fib::Leaf;
use crate::frame::{Frame, length_bytes};
use crate::handoff::News;
use crate::ids::{PortId, Priority};
use crate::l2::{Vid, VlanPort};
use crate::lane::{Fate, Lane, TagChange, Verdict};
use crate::limits::BURST_MAX;
use crate::links::Punted;
use crate::plain;
use crate::probe::Probe;
use crate::queue::veq::{Held, Note, low_32_bits};
use crate::route;
use crate::snapshot::{PortMode, PortTables, Snapshot};
use crate::staging::Run;
use crate::time::Instant;
use crate::wire::mac_control::MacControl;
use crate::wire::parse::{Kind, Parsed, parse};
use crate::wire::{be16, ethernet};
use crate::worker::Core;
use arrayvec::ArrayVec;

/// Frames that are worth taking out of a burst one by one.
const FEW_FRAMES: u32 = 4;

/// Where the frames of one fate go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// Through: to what stands ready at this slot, under this number.
    Pass(u16, u8),
    /// To this other worker, under this number of the burst that crosses.
    Cross(u8, u8),
    /// Admitted, to wait in a queue of this slot, which takes all of them; with what is noted of
    /// each but its length.
    Queue(u16, Note),
    /// Admitted, to wait in a queue of this slot or for another worker.
    Wait,
    /// To be admitted one by one, since not all fit without headroom.
    Each,
    /// Not to any queue.
    End,
}

impl<D: Device, P: Probe> Core<D, P> {
    /// Takes the burst in `self.rx`, of the port at `slot`, to its end or to the queues.
    #[inline]
    pub(crate) fn receive(&mut self, snapshot: &Snapshot, slot: usize, now: Instant) {
        let input = self.own_ports[slot];
        let Some(tables) = snapshot.ports.get(input.index()) else { return };
        if !self.is_again {
            self.books.totals.received += self.rx.len() as u64;
            self.books.probe.received(self.rx.len());
        }
        if !self.ports[slot].up {
            return self.drop_all(slot);
        }
        self.rx.iter().for_each(Frame::prefetch);
        match &tables.mode {
            PortMode::Routed { vlan } => self.route(snapshot, tables, *vlan, slot, now),
            PortMode::Bridged(form) => self.bridge(snapshot, tables, form, slot, now),
        }
        self.recycle_trash();
    }

    /// A port that is down receives nothing; what its device brings all the same is dropped.
    #[cold]
    fn drop_all(&mut self, slot: usize) {
        if !self.is_again {
            self.ports[slot].counters.rx_unclassified_frames += self.rx.len() as u64;
        }
        for frame in core::mem::take(&mut self.rx) {
            self.drop(frame, slot, DropReason::PortDown);
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

    /// Obeys the PFC frames of the burst, before its data moves: they hold for it too. `control_bits`
    /// has a bit for each MAC control frame, by its place.
    fn obey_mac_control(&mut self, control_bits: u64, slot: usize, now: Instant) {
        let port = &mut self.ports[slot];
        let before = port.receiver.paused_bits();
        let mut left = control_bits;
        while left != 0 {
            let frame = &self.rx[left.trailing_zeros() as usize];
            left &= left - 1;
            let parsed = parse(frame.head(), frame.len());
            let counters = &mut port.counters.pfc;
            // A MAC control frame carries no VLAN tag; one that does is not ours to obey.
            match MacControl::parse(if parsed.is_tagged() { &[] } else { frame.head() }) {
                MacControl::Pfc(pfc) => port.receiver.receive(&pfc, now, counters),
                MacControl::Pause => counters.rx_link_pause_frames += 1,
                MacControl::Unknown => counters.rx_unknown_frames += 1,
                MacControl::Truncated => counters.rx_truncated_frames += 1,
            }
        }
        let paused_now = port.receiver.paused_bits() & !before;
        if paused_now != 0 {
            port.unstage(paused_now, &mut self.books);
        }
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

    /// Takes the burst in `self.rx`, whose fates are known, to the queues: what is booked, fate by
    /// fate; then the frames, in order. `tally_of` has the place of each one's tally.
    #[inline(always)]
    fn settle(&mut self, mut tally_of: [u8; BURST_MAX], slot: usize, now: Instant) {
        let mut ways: ArrayVec<Way, BURST_MAX> = ArrayVec::new();
        let mut runs = [0; BURST_MAX];
        for (at, number) in (0..self.fates.tallies.len()).zip(&mut runs) {
            let tally = self.fates.tallies[at];
            self.book_received(&tally, slot);
            let way = self.way(&tally, self.rx.len(), slot, now);
            if let Way::Pass(_, run) = way {
                *number = run;
            }
            ways.push(way);
        }
        let all_go_on = self.end_few(&ways, &mut tally_of, slot);
        if let Some(out_slot) = only_way(&ways).filter(|_| all_go_on) {
            let run_of = tally_of.map(|tally| runs[usize::from(tally) % BURST_MAX]);
            let port = &mut self.ports[out_slot];
            port.stage_burst(&mut self.rx, &run_of);
            return port.flush_if_full(&mut self.device, &mut self.books, now);
        }
        let frames = core::mem::take(&mut self.rx);
        if let Some((out_slot, priority)) = only_queue(&ways).filter(|_| all_go_on) {
            let note_of = |way: &Way| match way {
                Way::Queue(_, note) => *note,
                _ => Note::NONE,
            };
            let notes: ArrayVec<Note, BURST_MAX> = ways.iter().map(note_of).collect();
            let held = frames.into_iter().zip(tally_of).map(|(frame, tally)| {
                let noted = notes[usize::from(tally)];
                Held { note: Note { bytes: length_bytes(&frame), ..noted }, frame }
            });
            return self.ports[out_slot].queue_burst(priority, held, &mut self.books);
        }
        for (frame, tally) in frames.into_iter().zip(tally_of) {
            let tally = usize::from(tally);
            match ways[tally] {
                Way::Pass(out_slot, run) => self.ports[usize::from(out_slot)].stage(frame, run),
                Way::Cross(worker, number) => self.exchange.add(worker, frame, number),
                Way::Queue(out_slot, note) => {
                    let held = Held { note: Note { bytes: length_bytes(&frame), ..note }, frame };
                    self.ports[usize::from(out_slot)].queue(held, &mut self.books);
                }
                way => self.settle_one(frame, self.fates.tallies[tally].fate, way, slot, now),
            }
        }
        if ways.iter().any(|way| matches!(way, Way::Cross(..))) {
            self.exchange.send(&mut self.books.totals);
        }
    }

    /// Ends those frames of the burst that go to no queue, if they are few, so that the others may
    /// still have one way together: a PFC frame among data is the common case. Whether none is left.
    #[inline]
    fn end_few(&mut self, ways: &[Way], tally_of: &mut [u8; BURST_MAX], slot: usize) -> bool {
        let tallies = self.fates.tallies.iter().zip(ways);
        let ending = tallies.filter(|(_, way)| matches!(way, Way::End));
        let mut left: u32 = ending.map(|(tally, _)| tally.frames).sum();
        if left > FEW_FRAMES {
            return false;
        }
        let mut at = 0;
        while left > 0 && at < self.rx.len() {
            let tally = usize::from(tally_of[at]);
            if !matches!(ways[tally], Way::End) {
                at += 1;
                continue;
            }
            let frame = self.rx.remove(at);
            tally_of.copy_within(at + 1.., at);
            self.end(frame, self.fates.tallies[tally].fate, slot);
            left -= 1;
        }
        true
    }

    /// Where the frames of `tally` go; charges them if they fit as a whole, which is the same to
    /// the byte as charging one by one.
    #[inline(always)]
    fn way(&mut self, tally: &Tally, burst_frames: usize, slot: usize, now: Instant) -> Way {
        let fate = tally.fate;
        if !fate.is_forward() {
            return Way::End;
        }
        self.book_change(fate.change(), tally.frames, slot);
        let buffer = &mut self.books.buffer;
        if !buffer.admit_run(fate.viq(), tally.cost_bytes) {
            let are_cells = tally.cost_bytes == tally.frames * buffer.cell_bytes();
            if !are_cells || !buffer.admit_cells(fate.viq(), tally.frames) {
                return Way::Each;
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "a burst has 64 at the most")]
        let run = Run {
            viq: fate.viq(),
            priority: fate.priority().value(),
            l3: fate.l3(),
            frames: tally.frames as u8,
            bytes: tally.bytes,
            cost_bytes: tally.cost_bytes,
            arrived_ns: low_32_bits(now),
        };
        if let Some(out_slot) = self.exchange.way_out(fate.out()) {
            let port = &mut self.ports[out_slot];
            #[expect(clippy::cast_possible_truncation, reason = "PORTS_MAX is below")]
            match port.open_run(run, burst_frames, &mut self.device, &mut self.books, now) {
                Some(run) => return Way::Pass(out_slot as u16, run),
                None if self.waits_here(out_slot, fate.priority()) => {
                    let note = note(fate, 0, now);
                    let is_whole = self.ports[out_slot].up && !self.books.is_lossy(&note);
                    return if is_whole { Way::Queue(out_slot as u16, note) } else { Way::Wait };
                }
                None => {}
            }
        }
        let place = self.exchange.open(fate.out(), run);
        place.map_or(Way::Wait, |(worker, number)| Way::Cross(worker, number))
    }

    /// Whether a frame of `priority` that cannot pass waits at `out_slot`, and not at the owner of
    /// that port.
    #[inline]
    fn waits_here(&self, out_slot: usize, priority: Priority) -> bool {
        self.exchange.is_own(out_slot) || self.ports[out_slot].has_waiting(priority)
    }

    /// One frame that does not simply pass.
    #[inline(never)]
    fn settle_one(&mut self, frame: D::Frame, fate: Fate, way: Way, slot: usize, now: Instant) {
        let note = note(fate, length_bytes(&frame), now);
        match way {
            Way::End => self.end(frame, fate, slot),
            Way::Each => self.admit(Held { frame, note }, fate.out(), slot, now),
            Way::Wait | Way::Pass(..) | Way::Cross(..) | Way::Queue(..) => {
                self.enqueue(Held { frame, note }, fate.out(), slot, now);
            }
        }
    }

    /// A frame that goes to no queue.
    fn end(&mut self, frame: D::Frame, fate: Fate, slot: usize) {
        match fate.verdict() {
            Verdict::Drop(reason) => self.drop(frame, slot, reason),
            Verdict::Punt(reason) => self.punt(frame, slot, reason),
            Verdict::Consume => {
                self.books.totals.consumed += 1;
                self.throw_away(frame);
            }
            Verdict::Flood | Verdict::Forward => {
                debug_assert!(false, "flooded and forwarded frames do not end here");
                self.drop(frame, slot, DropReason::NowhereToFlood);
            }
        }
    }

    fn admit(&mut self, held: Held<D::Frame>, out: PortId, slot: usize, now: Instant) {
        let cost_bytes = self.books.buffer.cost_bytes(u32::from(held.note.bytes));
        match self.books.buffer.admit(held.note.viq, cost_bytes) {
            Admission::Admitted => self.enqueue(held, out, slot, now),
            Admission::LossyFull => self.drop(held.frame, slot, DropReason::LossyFull),
            Admission::LosslessOverrun => {
                let priority = held.note.viq.priority().index();
                self.ports[slot].counters.lossless_drops[priority] += 1;
                self.drop(held.frame, slot, DropReason::LosslessOverrun);
            }
        }
    }

    /// Takes an admitted frame to its queue, here or at another worker.
    #[inline]
    fn enqueue(&mut self, held: Held<D::Frame>, out: PortId, slot: usize, now: Instant) {
        let way_out = self.exchange.way_out(out).filter(|&out_slot| {
            let priority = Priority::from_low_bits(held.note.priority);
            self.waits_here(out_slot, priority) || self.ports[out_slot].may_pass(priority.value())
        });
        if let Some(out_slot) = way_out {
            let port = &mut self.ports[out_slot];
            port.enqueue_one(held, &mut self.device, &mut self.books, now);
        } else if let Err(held) = self.exchange.push(held, &mut self.books) {
            self.books.release(&held.note);
            self.drop(held.frame, slot, DropReason::PortDown);
        }
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
        let parse = |frame: &D::Frame| route::parse_within(frame, frame_bytes_max);
        let parsed: ArrayVec<Parsed, BURST_MAX> = self.rx.iter().map(parse).collect();
        let bits = (0..).zip(&parsed).map(|(at, parsed)| control_bit(parsed, at));
        let control_bits = bits.fold(0, |all, bit| all | bit);
        if control_bits != 0 {
            self.obey_mac_control(control_bits, slot, now);
        }
        let frames = core::mem::take(&mut self.rx);
        for (mut frame, parsed) in frames.into_iter().zip(parsed) {
            let parsed = as_bridged(parsed, frame.head());
            let class = tables.classifier.of(&parsed);
            let rx_bytes = length_bytes(&frame);
            let ends = |verdict, class| Lane::ends(verdict, class, rx_bytes);
            let lane = match self.look_up_bridged(vlan_port, input, &parsed, frame.head(), now) {
                Destination::Port(out, vid) => {
                    bridge::finish(snapshot, input, class, &parsed, (out, vid), &mut frame)
                }
                Destination::Flood(vid) => {
                    let lane = ends(Verdict::Flood, Some(class.priority()));
                    self.book_received(&Tally::of_one(&lane), slot);
                    self.flood(snapshot, frame, &Flooded { vid, class, parsed, slot, now });
                    continue;
                }
                Destination::Ends(
                    verdict @ (Verdict::Punt(_) | Verdict::Drop(DropReason::SamePort)),
                ) => ends(verdict, Some(class.priority())),
                Destination::Ends(verdict) => ends(verdict, None),
            };
            self.book_received(&Tally::of_one(&lane), slot);
            self.settle_lane(frame, &lane, slot, now);
        }
    }

    /// Takes one frame, whose arrival is booked, to its queue or its end.
    fn settle_lane(&mut self, frame: D::Frame, lane: &Lane, slot: usize, now: Instant) {
        let fate = lane.fate;
        if !fate.is_forward() {
            return self.end(frame, fate, slot);
        }
        self.book_change(fate.change(), 1, slot);
        let note = note(fate, lane.bytes, now);
        self.admit(Held { frame, note }, fate.out(), slot, now);
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
            return self.drop(frame, slot, DropReason::NowhereToFlood);
        };
        for &out in members.iter().filter(|&&port| port != input && port != last) {
            let Some(mut copy) = self.device.copy(&frame) else {
                // No copy was made, so none is missing from the books; but the port says so.
                self.ports[slot].counters.uncopied_frames += 1;
                continue;
            };
            self.books.totals.copied += 1;
            self.ports[slot].counters.copied_frames += 1;
            let lane = bridge::finish(snapshot, input, class, parsed, (out, vid), &mut copy);
            self.settle_lane(copy, &lane, slot, now);
        }
        let lane = bridge::finish(snapshot, input, class, parsed, (last, vid), &mut frame);
        self.settle_lane(frame, &lane, slot, now);
    }

    #[cold]
    fn drop(&mut self, frame: D::Frame, slot: usize, reason: DropReason) {
        self.ports[slot].counters.count_drop(reason);
        self.books.totals.dropped += 1;
        self.throw_away(frame);
    }

    #[cold]
    fn punt(&mut self, frame: D::Frame, slot: usize, reason: PuntReason) {
        let port = self.own_ports[slot];
        match self.punted.push(Punted { frame, port, reason }) {
            Ok(()) => {
                self.ports[slot].counters.punted_frames += 1;
                self.books.totals.punted += 1;
            }
            Err(rtrb::PushError::Full(punted)) => {
                self.drop(punted.frame, slot, reason_without_punt(reason));
            }
        }
    }

    #[inline(always)]
    fn throw_away(&mut self, frame: D::Frame) {
        if self.trash.is_full() {
            self.recycle_trash();
        }
        self.trash.push(frame);
    }

    #[inline(always)]
    fn recycle_trash(&mut self) {
        if !self.trash.is_empty() {
            self.device.recycle(&mut self.trash);
        }
    }

    /// Counts received frames of one fate.
    #[inline(always)]
    fn book_received(&mut self, tally: &Tally, slot: usize) {
        if self.is_again {
            return;
        }
        let counters = &mut self.ports[slot].counters;
        let frames = u64::from(tally.frames);
        match tally.fate.class() {
            Some(class) => {
                counters.rx_frames[class.index()] += frames;
                counters.rx_bytes[class.index()] += u64::from(tally.rx_bytes);
            }
            None if tally.fate.verdict() == Verdict::Consume => {}
            None => counters.rx_unclassified_frames += frames,
        }
    }

    /// Counts frames whose tag was changed.
    fn book_change(&mut self, change: TagChange, frames: u32, slot: usize) {
        let counters = &mut self.ports[slot].counters;
        let counter = match change {
            TagChange::None => return,
            TagChange::Remarked => &mut counters.remarked_frames,
            TagChange::Raised => &mut counters.raised_frames,
            TagChange::Demoted => &mut counters.demoted_frames,
        };
        *counter += u64::from(frames);
    }
}

/// What a queue needs to know of a frame of `bytes` that is forwarded.
#[inline(always)]
fn note(fate: Fate, bytes: u16, now: Instant) -> Note {
    Note {
        viq: fate.viq(),
        bytes,
        arrived_ns: low_32_bits(now),
        out: fate.out().index_u16(),
        priority: fate.priority().value(),
        l3: fate.l3(),
    }
}

/// The slot that all frames pass to which do not end, if there is one; frames that do must be gone.
#[inline(always)]
pub(crate) fn only_way(ways: &[Way]) -> Option<usize> {
    let mut going = ways.iter().filter(|way| !matches!(way, Way::End));
    let &Way::Pass(first, _) = going.next()? else { return None };
    let all = going.all(|way| matches!(way, &Way::Pass(slot, _) if slot == first));
    all.then_some(usize::from(first))
}

/// The slot and priority whose queue all frames join which do not end, if there is one.
#[inline(always)]
fn only_queue(ways: &[Way]) -> Option<(usize, Priority)> {
    let mut going = ways.iter().filter(|way| !matches!(way, Way::End));
    let &Way::Queue(first, Note { priority, .. }) = going.next()? else { return None };
    let joins = |way: &Way| matches!(way, Way::Queue(slot, note) if (*slot, note.priority) == (first, priority));
    going.all(joins).then_some((usize::from(first), Priority::from_low_bits(priority)))
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

/// What a frame dies of when the control thread cannot take it.
const fn reason_without_punt(reason: PuntReason) -> DropReason {
    match reason {
        PuntReason::TtlExpired => DropReason::TtlExpired,
        PuntReason::Unresolved => DropReason::Unresolved,
        PuntReason::TooBig => DropReason::TooBig,
        PuntReason::NoRoute => DropReason::NoRoute,
        PuntReason::ForUs | PuntReason::Broadcast => DropReason::PuntFull,
    }
}

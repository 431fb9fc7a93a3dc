//! From what becomes of each frame to where it waits, leaves or ends: a burst by its fates, and the
//! frames that come one by one.
//!
//! Reads: fates. Writes: VIQs, what stands ready at ports, queues, books. Counts: `rx_*`, `drops`,
//! `punted_frames`, `remarked_frames`, `raised_frames`, `demoted_frames`.

use crate::agent::PuntReason;
use crate::buffer::{Admission, ViqId};
use crate::counters::DropReason;
use crate::device::Device;
use crate::fates::Tally;
use crate::frame::length_bytes;
use crate::ids::{PortId, Priority};
use crate::lane::{Fate, Lane, TagChange, Verdict};
use crate::limits::BURST_MAX;
use crate::links::Punted;
use crate::probe::Probe;
use crate::queue::veq::{Held, Note, low_32_bits};
use crate::staging::Run;
use crate::time::Instant;
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
    /// Discarded: the port they came by is in a storm.
    Discard,
    /// Not to any queue.
    End,
}

impl<D: Device, P: Probe> Core<D, P> {
    /// Takes the burst in `self.rx`, whose fates are known, to the queues: what is booked, fate by
    /// fate; then the frames, in order. `tally_of` has the place of each one's tally.
    #[inline(always)]
    pub(crate) fn settle(&mut self, mut tally_of: [u8; BURST_MAX], slot: usize, now: Instant) {
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
        let all_go_on = self.end_few(&ways, &mut tally_of, slot, now);
        if self.rx.is_empty() {
            return;
        }
        let going = || ways.iter().filter(|way| !(all_go_on && matches!(way, Way::End)));
        if let Some(out_slot) = only_way(going()) {
            let run_of = tally_of.map(|tally| runs[usize::from(tally) % BURST_MAX]);
            let port = &mut self.ports[out_slot];
            port.stage_burst(&mut self.rx, &run_of);
            return port.flush_if_full(&mut self.device, &mut self.books, now);
        }
        let frames = core::mem::take(&mut self.rx);
        if let Some((out_slot, priority)) = only_queue(going()) {
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

    /// Takes the one frame of a burst to its queue.
    #[inline(always)]
    pub(crate) fn settle_alone(
        &mut self,
        frame: D::Frame,
        tally: &Tally,
        slot: usize,
        now: Instant,
    ) {
        self.book_received(tally, slot);
        match self.way(tally, 1, slot, now) {
            Way::Pass(out_slot, run) => {
                let port = &mut self.ports[usize::from(out_slot)];
                port.stage(frame, run);
                port.flush_if_full(&mut self.device, &mut self.books, now);
            }
            Way::Queue(out_slot, note) => {
                let held = Held { note: Note { bytes: length_bytes(&frame), ..note }, frame };
                let port = &mut self.ports[usize::from(out_slot)];
                port.queue_alone(held, &mut self.device, &mut self.books, now);
            }
            Way::Cross(worker, number) => {
                self.exchange.add(worker, frame, number);
                self.exchange.send(&mut self.books.totals);
            }
            way => {
                self.settle_one(frame, tally.fate, way, slot, now);
                self.recycle_trash();
            }
        }
    }

    /// Ends those frames of the burst that go to no queue, if they are few, so that the others may
    /// still have one way together: a PFC frame among data is the common case. Whether none is
    /// left.
    #[inline]
    fn end_few(&mut self, ways: &[Way], tally_of: &mut [u8], slot: usize, now: Instant) -> bool {
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
            self.end(frame, self.fates.tallies[tally].fate, slot, now);
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
        if self.ports[slot].discards(fate.viq().priority()) {
            return Way::Discard;
        }
        let buffer = &mut self.books.buffer;
        if !buffer.admit_run(fate.viq(), tally.cost_bytes) {
            let are_cells = tally.cost_bytes == tally.frames * buffer.cell_bytes();
            if !are_cells || !buffer.admit_cells(fate.viq(), tally.frames) {
                return Way::Each;
            }
        }
        self.note_headroom(fate.viq(), slot);
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
            self.sending.insert(out_slot);
            let port = &mut self.ports[out_slot];
            #[expect(clippy::cast_possible_truncation, reason = "PORTS_MAX is below")]
            match port.open_run(run, burst_frames, &mut self.device, &mut self.books, now) {
                Some(run) => return Way::Pass(out_slot as u16, run),
                None if self.waits_here(out_slot, fate.priority()) => {
                    let port = &self.ports[out_slot];
                    let is_taken = port.up && !port.discards(fate.priority());
                    // As the books would say, but from the line of the port that it came by.
                    let is_lossless =
                        self.ports[slot].lossless_bits & fate.viq().priority().bit() != 0;
                    let queue = || Way::Queue(out_slot as u16, note(fate, 0, now));
                    return if is_taken && is_lossless { queue() } else { Way::Wait };
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
            Way::End => self.end(frame, fate, slot, now),
            Way::Discard => {
                self.drop(frame, slot, DropReason::Watchdog, Some(fate.viq().priority()));
            }
            Way::Each => self.admit(Held { frame, note }, fate.out(), slot, now),
            Way::Wait | Way::Pass(..) | Way::Cross(..) | Way::Queue(..) => {
                self.enqueue(Held { frame, note }, fate.out(), slot, now);
            }
        }
    }

    /// A frame that goes to no queue.
    fn end(&mut self, frame: D::Frame, fate: Fate, slot: usize, now: Instant) {
        match fate.verdict() {
            Verdict::Drop(reason) => self.drop(frame, slot, reason, fate.marked_class()),
            Verdict::Punt(PuntReason::Unresolved) => match fate.marked_class() {
                Some(class) if self.ports[slot].lossless_bits & class.bit() != 0 => {
                    self.await_next_hop(frame, slot, class, now);
                }
                class => self.punt(frame, slot, PuntReason::Unresolved, class, now),
            },
            Verdict::Punt(reason) => self.punt(frame, slot, reason, fate.marked_class(), now),
            Verdict::Consume => {
                self.books.totals.consumed += 1;
                self.throw_away(frame);
            }
            Verdict::Flood | Verdict::Forward => {
                debug_assert!(false, "flooded and forwarded frames do not end here");
                self.drop(frame, slot, DropReason::NowhereToFlood, fate.marked_class());
            }
        }
    }

    fn admit(&mut self, held: Held<D::Frame>, out: PortId, slot: usize, now: Instant) {
        let cost_bytes = self.books.buffer.cost_bytes(u32::from(held.note.bytes));
        let class = Some(held.note.viq.priority());
        match self.books.buffer.admit(held.note.viq, cost_bytes) {
            Admission::Admitted => {
                self.note_headroom(held.note.viq, slot);
                self.enqueue(held, out, slot, now);
            }
            Admission::LossyFull => self.drop(held.frame, slot, DropReason::LossyFull, class),
            Admission::LosslessOverrun => {
                self.drop(held.frame, slot, DropReason::LosslessOverrun, class);
            }
        }
    }

    /// A frame was admitted to `viq`: if that uses headroom, upstream may have to be told.
    #[inline(always)]
    pub(crate) fn note_headroom(&mut self, viq: ViqId, slot: usize) {
        if self.books.buffer.viq(viq).headroom_used_bytes() != 0 {
            self.over.insert(slot);
        }
    }

    /// Takes an admitted frame to its queue, here or at another worker.
    #[inline]
    fn enqueue(&mut self, held: Held<D::Frame>, out: PortId, slot: usize, now: Instant) {
        let way_out = self.exchange.way_out(out).filter(|&out_slot| {
            let priority = Priority::from_low_bits(held.note.priority);
            self.exchange.is_own(out_slot) || self.ports[out_slot].takes(priority)
        });
        if let Some(out_slot) = way_out {
            self.sending.insert(out_slot);
            let port = &mut self.ports[out_slot];
            port.enqueue_one(held, &mut self.device, &mut self.books, now);
        } else if let Err(held) = self.exchange.push(held, &mut self.books) {
            self.books.release(&held.note);
            let class = Some(held.note.viq.priority());
            self.drop(held.frame, slot, DropReason::PortDown, class);
        }
    }

    /// Takes one frame, whose arrival is booked, to its queue or its end.
    pub(crate) fn settle_lane(&mut self, frame: D::Frame, lane: &Lane, slot: usize, now: Instant) {
        let fate = lane.fate;
        if !fate.is_forward() {
            return self.end(frame, fate, slot, now);
        }
        self.book_change(fate.change(), 1, slot);
        if self.ports[slot].discards(fate.viq().priority()) {
            let class = Some(fate.viq().priority());
            return self.drop(frame, slot, DropReason::Watchdog, class);
        }
        if lane.bytes > self.tx_frame_bytes_max[fate.out().index()] {
            let class = Some(fate.viq().priority());
            return self.drop(frame, slot, DropReason::Oversize, class);
        }
        let note = note(fate, lane.bytes, now);
        self.admit(Held { frame, note }, fate.out(), slot, now);
    }

    /// Drops a frame that came in at the port at `slot`, in `class` if it has one.
    #[cold]
    pub(crate) fn drop(
        &mut self,
        frame: D::Frame,
        slot: usize,
        reason: DropReason,
        class: Option<Priority>,
    ) {
        self.count_drop(slot, reason, class);
        self.throw_away(frame);
    }

    /// Counts a drop; and as a loss, if the class is a lossless one.
    pub(crate) fn count_drop(&mut self, slot: usize, reason: DropReason, class: Option<Priority>) {
        self.ports[slot].counters.count_drop(reason);
        self.books.totals.dropped += 1;
        self.count_loss(slot, reason, class);
    }

    /// A frame that came in at the port at `slot` will not be delivered. If its class is lossless
    /// there, that is a loss.
    fn count_loss(&mut self, slot: usize, reason: DropReason, class: Option<Priority>) {
        let port = &mut self.ports[slot];
        if let Some(class) = class.filter(|class| port.lossless_bits & class.bit() != 0) {
            port.counters.count_lossless_drop(class, reason);
        }
    }

    #[cold]
    pub(crate) fn punt(
        &mut self,
        frame: D::Frame,
        slot: usize,
        reason: PuntReason,
        class: Option<Priority>,
        now: Instant,
    ) {
        // The control thread reads it all: whoever floods must not keep it from others.
        if reason == PuntReason::Lldp && !self.lldp_limits[slot].take(now) {
            return self.drop(frame, slot, DropReason::PuntLimited, class);
        }
        let port = self.own_ports[slot];
        match self.punted.push(Punted { frame, port, reason }) {
            Ok(()) => {
                self.ports[slot].counters.punted_frames += 1;
                self.books.totals.punted += 1;
                if let Some(reason) = loss_in_spite_of_punt(reason) {
                    self.count_loss(slot, reason, class);
                }
            }
            Err(rtrb::PushError::Full(punted)) => {
                self.drop(punted.frame, slot, reason_without_punt(reason), class);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn throw_away(&mut self, frame: D::Frame) {
        if self.trash.is_full() {
            self.recycle_trash();
        }
        self.trash.push(frame);
    }

    #[inline(always)]
    pub(crate) fn recycle_trash(&mut self) {
        if !self.trash.is_empty() {
            self.device.recycle(&mut self.trash);
        }
    }

    /// Counts received frames of one fate.
    #[inline(always)]
    pub(crate) fn book_received(&mut self, tally: &Tally, slot: usize) {
        if self.is_again {
            return;
        }
        let port = &mut self.ports[slot];
        let frames = u64::from(tally.frames);
        match tally.fate.class() {
            Some(class) => port.count_received(class, frames, u64::from(tally.rx_bytes)),
            None if tally.fate.verdict() == Verdict::Consume => {}
            None => port.counters.rx_unclassified_frames += frames,
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

/// The slot that all of `ways` pass to, if there is one.
#[inline(always)]
#[expect(single_use_lifetimes, reason = "an elided one is not stable in `impl Trait`")]
pub(crate) fn only_way<'a>(mut ways: impl Iterator<Item = &'a Way>) -> Option<usize> {
    let &Way::Pass(first, _) = ways.next()? else { return None };
    let all = ways.all(|way| matches!(way, &Way::Pass(slot, _) if slot == first));
    all.then_some(usize::from(first))
}

/// The slot and priority whose queue all of `ways` join, if there is one.
#[inline(always)]
#[expect(single_use_lifetimes, reason = "an elided one is not stable in `impl Trait`")]
fn only_queue<'a>(mut ways: impl Iterator<Item = &'a Way>) -> Option<(usize, Priority)> {
    let &Way::Queue(first, Note { priority, .. }) = ways.next()? else { return None };
    let joins = |way: &Way| {
        let &Way::Queue(slot, note) = way else { return false };
        (slot, note.priority) == (first, priority)
    };
    ways.all(joins).then_some((usize::from(first), Priority::from_low_bits(priority)))
}

/// Why the receiver of a punted frame does not get it: the control thread answers its sender at the
/// most. `None` for what the control thread takes itself or sends on later.
const fn loss_in_spite_of_punt(reason: PuntReason) -> Option<DropReason> {
    match reason {
        PuntReason::TtlExpired
        | PuntReason::TooBig
        | PuntReason::NoRoute
        | PuntReason::Unreachable => Some(reason_without_punt(reason)),
        PuntReason::ForUs | PuntReason::Lldp | PuntReason::Unresolved | PuntReason::Resolve => None,
    }
}

/// What a frame dies of when the control thread cannot take it.
const fn reason_without_punt(reason: PuntReason) -> DropReason {
    match reason {
        PuntReason::TtlExpired => DropReason::TtlExpired,
        PuntReason::Unresolved | PuntReason::Resolve | PuntReason::Unreachable => {
            DropReason::Unresolved
        }
        PuntReason::TooBig => DropReason::TooBig,
        PuntReason::NoRoute => DropReason::NoRoute,
        PuntReason::ForUs | PuntReason::Lldp => DropReason::PuntFull,
    }
}

//! Lossless frames whose next hop's MAC address is not known yet.
//!
//! They wait here, in the order in which they came, charged to their VIQs, so that they pause
//! upstream as any frame does that cannot leave. The control thread gets a copy of the first, to
//! ask for the address. New tables let all of them enter the pipeline again, before any frame that
//! comes later, so that nothing is overtaken. A frame that has waited for [`WAIT_NS_MAX`] is given
//! up, and for a while nothing waits for its destination: a neighbor that is gone would else pause
//! those who send to others.
//!
//! Lossy frames do not wait here; the control thread keeps a few of them.

use crate::agent::PuntReason;
use crate::buffer::{Admission, ViqId};
use crate::counters::DropReason;
use crate::device::Device;
use crate::frame::{Frame, length_bytes};
use crate::ids::{PortId, Priority};
use crate::links::Punted;
use crate::probe::Probe;
use crate::queue::veq::{Arena, Held, Note, Veq, low_32_bits};
use crate::snapshot::Snapshot;
use crate::time::Instant;
use crate::wire::parse::{Kind, parse};
use crate::worker::Core;

/// How long a frame waits: as long as the agent asks (`AgentSettings`: 3 tries, a second apart).
const WAIT_NS_MAX: u32 = 3_000_000_000;
/// For how long nothing waits for a destination that did not answer, as the agent holds down a
/// neighbor.
const GIVEN_UP_NS: u64 = 5_000_000_000;
/// How often the control thread is asked for the same destination.
const ASK_EVERY_NS: u64 = 1_000_000_000;
/// Destinations that are remembered.
const DESTINATIONS: usize = 16;

/// The frames that wait, and what is known of where they are to go.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    frames: Veq,
    destinations: [Destination; DESTINATIONS],
    /// Of a frame that enters the pipeline again: when it came in first.
    arrived_ns: Option<u32>,
}

/// A destination that frames wait for, or that was given up.
#[derive(Clone, Copy, Debug, Default)]
struct Destination {
    /// The address, IPv4 ones in the low bits.
    address: u128,
    /// The entry says nothing any more from then on.
    until: Instant,
    is_given_up: bool,
}

impl Pending {
    /// Frames that wait.
    pub(crate) const fn len(&self) -> u64 {
        self.frames.frames() as u64
    }

    /// What is known of them.
    pub(crate) fn notes<'a, F: Frame>(
        &'a self,
        arena: &'a Arena<F>,
    ) -> impl Iterator<Item = &'a Note> {
        self.frames.notes(arena)
    }

    fn find(&self, address: u128, now: Instant) -> Option<&Destination> {
        self.destinations.iter().find(|known| known.address == address && now < known.until)
    }

    /// Remembers `destination` in the place of what was known of it, or of the entry that ends
    /// first.
    fn remember(&mut self, destination: Destination) {
        let same = self.destinations.iter().position(|it| it.address == destination.address);
        let first = (0..DESTINATIONS).min_by_key(|&at| self.destinations[at].until.ns);
        self.destinations[same.or(first).unwrap_or(0)] = destination;
    }

    /// How long the first frame has waited.
    fn age_ns<F: Frame>(&self, arena: &Arena<F>, now: Instant) -> Option<u32> {
        if self.frames.is_empty() {
            return None;
        }
        Some(low_32_bits(now).wrapping_sub(self.frames.front(arena)?.arrived_ns))
    }
}

impl<D: Device, P: Probe> Core<D, P> {
    /// Keeps a lossless frame of `class`, which came in at the port at `slot`, until its next hop
    /// is known.
    #[cold]
    pub(crate) fn await_next_hop(
        &mut self,
        frame: D::Frame,
        slot: usize,
        class: Priority,
        now: Instant,
    ) {
        let address = destination(&frame);
        let known = self.pending.find(address, now).copied();
        if known.is_some_and(|known| known.is_given_up) {
            return self.punt(frame, slot, PuntReason::Unreachable, Some(class), now);
        }
        let viq = ViqId::new(self.own_ports[slot], class);
        let cost_bytes = self.books.buffer.cost_bytes(u32::from(length_bytes(&frame)));
        if self.books.buffer.admit(viq, cost_bytes) != Admission::Admitted {
            return self.drop(frame, slot, DropReason::LosslessOverrun, Some(class));
        }
        self.note_headroom(viq, slot);
        if known.is_none() && self.ask_for(&frame, slot) {
            let until = now + ASK_EVERY_NS;
            self.pending.remember(Destination { address, until, is_given_up: false });
        }
        let arrived_ns = self.pending.arrived_ns.unwrap_or_else(|| low_32_bits(now));
        let note = Note { viq, bytes: length_bytes(&frame), arrived_ns, ..Note::NONE };
        if let Err(held) =
            self.pending.frames.push_back(&mut self.books.arena, Held { frame, note })
        {
            self.books.release(&held.note);
            self.drop(held.frame, slot, DropReason::Unresolved, Some(class));
        }
        self.set_pending_until(now);
    }

    /// Gives the control thread a copy of `frame`, to ask for its next hop; whether that worked.
    fn ask_for(&mut self, frame: &D::Frame, slot: usize) -> bool {
        let Some(frame) = self.device.copy(frame) else { return false };
        let punted = Punted { frame, port: self.own_ports[slot], reason: PuntReason::Resolve };
        match self.punted.push(punted) {
            Ok(()) => {
                self.books.totals.copied += 1;
                self.books.totals.punted += 1;
                self.ports[slot].counters.copied_frames += 1;
                self.ports[slot].counters.punted_frames += 1;
                true
            }
            Err(rtrb::PushError::Full(punted)) => {
                self.throw_away(punted.frame);
                false
            }
        }
    }

    /// There are new tables: every frame that waits enters the pipeline again, in order.
    pub(crate) fn receive_pending(&mut self, snapshot: &Snapshot, now: Instant) {
        for _ in 0..self.pending.len() {
            let Some((frame, slot, note)) = self.take_pending() else { break };
            self.pending.arrived_ns = Some(note.arrived_ns);
            self.rx.push(frame);
            self.receive_again(snapshot, slot, now);
        }
        self.pending.arrived_ns = None;
        self.set_pending_until(now);
    }

    /// Gives up the frames that have waited too long. Whether there were any.
    #[cold]
    pub(crate) fn give_up_pending(&mut self, now: Instant) -> bool {
        let mut any = false;
        while self.pending.age_ns(&self.books.arena, now).is_some_and(|age| age >= WAIT_NS_MAX) {
            let Some((frame, slot, note)) = self.take_pending() else { break };
            any = true;
            let (address, until) = (destination(&frame), now + GIVEN_UP_NS);
            self.pending.remember(Destination { address, until, is_given_up: true });
            let class = Some(note.viq.priority());
            self.punt(frame, slot, PuntReason::Unreachable, class, now);
        }
        self.recycle_trash();
        self.set_pending_until(now);
        any
    }

    /// Takes the first frame that waits off its VIQ.
    fn take_pending(&mut self) -> Option<(D::Frame, usize, Note)> {
        let Held { frame, note } = self.pending.frames.pop_front(&mut self.books.arena)?;
        self.books.release(&note);
        let slot = self.exchange.slot(PortId::from_index(note.viq.port_index())?);
        debug_assert!(slot.is_some(), "frames wait at the worker that received them");
        Some((frame, slot?, note))
    }

    fn set_pending_until(&mut self, now: Instant) {
        let age_ns = self.pending.age_ns(&self.books.arena, now);
        let left_ns = age_ns.map(|age| u64::from(WAIT_NS_MAX.saturating_sub(age)));
        self.pending_until = left_ns.map_or(Instant::NEVER, |left| now + left);
    }
}

/// The address that an IP frame is for, IPv4 ones in the low bits.
fn destination<F: Frame>(frame: &F) -> u128 {
    let parsed = parse(frame.head(), frame.len());
    let at = |offset: usize| frame.head().get(usize::from(parsed.l3) + offset..);
    let found = match parsed.kind {
        Kind::Ipv4 => {
            at(16).and_then(|rest| rest.first_chunk()).map(|&it| u32::from_be_bytes(it).into())
        }
        Kind::Ipv6 => at(24).and_then(|rest| rest.first_chunk()).map(|&it| u128::from_be_bytes(it)),
        _ => None,
    };
    found.unwrap_or_default()
}

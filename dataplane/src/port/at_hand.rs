//! A port whose device takes frames one at a time: no burst, and no queue where none forms.
//!
//! A frame that comes to an idle port leaves at the end of the turn, unless flow control is ahead
//! of it. It stays *at hand* until then: the first of its VEQ, and counted like it, which the VEQ
//! itself holds only if it has to wait after all.

use super::{Port, Queue, book_run, drop_held, takes_one};
use crate::books::Books;
use crate::counters::{DropReason, PortCounters};
use crate::device::Device;
use crate::frame::Frame;
use crate::ids::Priority;
use crate::limits::PRIORITIES;
use crate::probe::Probe;
use crate::queue::veq::{Arena, Held};
use crate::time::Instant;

impl<F: Frame> Port<F> {
    /// Bytes of the first frame of the lowest priority that waits.
    #[inline(always)]
    pub(crate) fn first_bytes(&self, arena: &Arena<F>) -> u32 {
        let priority = self.occupied_bits.trailing_zeros() as usize % PRIORITIES;
        self.queues[priority].veq.front(arena).map_or(0, |note| u32::from(note.bytes))
    }

    /// Takes an admitted frame that came by itself and cannot pass at once.
    #[inline(always)]
    pub(crate) fn queue_alone<D: Device<Frame = F>, P: Probe>(
        &mut self,
        held: Held<F>,
        device: &mut D,
        books: &mut Books<F, P>,
        now: Instant,
    ) {
        let is_idle = self.occupied_bits == 0 && !self.hears_of_room && !self.is_paced;
        if takes_one(self.id, device)
            && is_idle
            && !self.is_fair
            && device.tx_room_bytes(self.id, now) >= u32::from(held.note.bytes)
        {
            self.occupied_bits = 1 << (held.note.priority & 7);
            self.at_hand = Some(held);
        } else {
            self.queue(held, books);
        }
    }

    /// Puts the frame at hand, if there is one, into its VEQ, before another one comes there.
    #[inline(always)]
    pub(super) fn put_away<P: Probe>(&mut self, books: &mut Books<F, P>) {
        if let Some(held) = self.at_hand.take() {
            self.put_back(held, books);
        }
    }

    /// Puts a frame to the front of its VEQ, where it came from or would have been.
    #[inline(never)]
    fn put_back<P: Probe>(&mut self, held: Held<F>, books: &mut Books<F, P>) {
        let Self { queues, occupied_bits, counters, .. } = self;
        put_front(held, queues, occupied_bits, counters, books);
    }

    /// [`Self::serve`] when all that waits is at hand.
    #[inline(always)]
    pub(super) fn serve_at_hand<D: Device<Frame = F>, P: Probe>(
        &mut self,
        mut held: Held<F>,
        device: &mut D,
        books: &mut Books<F, P>,
        now: Instant,
    ) {
        let priority = Priority::from_low_bits(held.note.priority);
        let bytes = u32::from(held.note.bytes);
        let may_leave = self.up && self.eligible_bits(now) & priority.bit() != 0;
        if !may_leave || device.tx_room_bytes(self.id, now) < bytes {
            return self.put_back(held, books);
        }
        self.queues[priority.index()].veq.passed(bytes);
        self.occupied_bits = 0;
        self.scheduler.emptied(priority.index());
        self.departs(&mut held, bytes, books, now);
        self.send_alone(held, device, books, now);
    }

    /// [`Self::serve`] from the queues.
    #[inline]
    pub(super) fn serve_alone<D: Device<Frame = F>, P: Probe>(
        &mut self,
        device: &mut D,
        books: &mut Books<F, P>,
        now: Instant,
    ) {
        let room_bytes = device.tx_room_bytes(self.id, now);
        if room_bytes == 0 {
            return;
        }
        if let Some(held) = self.next(room_bytes, books, now) {
            self.send_alone(held, device, books, now);
        }
    }

    /// Hands the device a frame, and books it if it takes it.
    #[inline(always)]
    fn send_alone<D: Device<Frame = F>, P: Probe>(
        &mut self,
        held: Held<F>,
        device: &mut D,
        books: &mut Books<F, P>,
        now: Instant,
    ) {
        let Held { frame, note } = held;
        match device.tx_alone(self.id, frame, now) {
            Ok(()) => book_run(&books.run_of_one(&note), &mut self.queues, books, now),
            Err(frame) => self.put_back(Held { frame, note }, books),
        }
    }
}

/// Puts a frame to the front of the VEQ that it came from or would have been in.
#[inline]
pub(super) fn put_front<F: Frame, P: Probe>(
    held: Held<F>,
    queues: &mut [Queue; PRIORITIES],
    occupied_bits: &mut u8,
    counters: &mut PortCounters,
    books: &mut Books<F, P>,
) {
    let priority = usize::from(held.note.priority & 7);
    match queues[priority].veq.push_front(&mut books.arena, held) {
        Ok(()) => *occupied_bits |= 1 << priority,
        Err(held) => drop_held(held, DropReason::LossyTail, counters, books),
    }
}

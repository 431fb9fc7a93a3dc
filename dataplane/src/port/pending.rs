//! A port whose device takes frames one at a time: no transmit batch, and no use of the VEQ for a
//! frame that leaves in the same turn.
//!
//! A frame that arrives at an idle port leaves at the end of the turn, unless flow control prevents
//! that. Until then it is *pending*: it is the head of its VEQ and marks the priority as occupied,
//! but is not stored in the VEQ. It is put there only if it has to wait longer.

use super::Port;
use super::transmit::count_sent_run;
use crate::accounting::Accounting;
use crate::device::Device;
use crate::driver::Driver;
use crate::ids::Priority;
use crate::limits::PRIORITIES;
use crate::queue::veq::{FramePool, QueuedFrame};

impl<D: Device, V: Driver> Port<D, V> {
    /// Length in bytes of the first queued frame of the lowest occupied priority.
    #[inline(always)]
    pub(crate) fn prefetch_head(&self, frame_pool: &FramePool<D::Frame>) -> u32 {
        let priority = self.occupied_bits.trailing_zeros() as usize % PRIORITIES;
        self.queues[priority].veq.front(frame_pool).map_or(0, |meta| u32::from(meta.bytes))
    }

    /// Takes a single admitted frame that cannot be sent at once: makes it pending or queues it.
    #[inline(always)]
    pub(crate) fn queue_one(
        &mut self,
        queued: QueuedFrame<D::Frame>,
        device: &mut D,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        let is_idle = self.occupied_bits == 0 && !self.awaits_tx_ready && !self.is_paced;
        if self.takes_one(device)
            && is_idle
            && device.tx_room_bytes(self.id, accounting.now) >= u32::from(queued.meta.bytes)
        {
            let priority_bit = 1 << (queued.meta.priority & 7);
            debug_assert!(self.pending.is_none(), "one frame is pending at most");
            self.pending = Some(queued);
            self.occupied_bits = priority_bit;
        } else {
            self.queue(queued, accounting);
        }
    }

    /// Takes the pending frame, if there is one. Only an event-driven worker looks.
    #[inline(always)]
    pub(super) fn take_pending(&mut self) -> Option<QueuedFrame<D::Frame>> {
        if V::IS_EVENT_DRIVEN { self.pending.take() } else { None }
    }

    /// Puts the pending frame, if there is one, into its VEQ before another frame is queued there.
    #[inline(always)]
    pub(super) fn spill_pending(&mut self, accounting: &mut Accounting<D::Frame, V>) {
        if let Some(queued) = self.take_pending() {
            self.put_front(queued, accounting);
        }
    }

    /// [`Self::serve`] when the only queued frame is the pending one.
    #[inline(always)]
    pub(super) fn serve_pending(
        &mut self,
        mut queued: QueuedFrame<D::Frame>,
        device: &mut D,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        let priority = Priority::from_low_bits(queued.meta.priority);
        let bytes = u32::from(queued.meta.bytes);
        let may_leave = self.up && self.eligible_bits(accounting.now) & priority.bit() != 0;
        if !may_leave || device.tx_room_bytes(self.id, accounting.now) < bytes {
            return self.put_front(queued, accounting);
        }
        self.queues[priority.index()].veq.passed(bytes);
        self.occupied_bits = 0;
        self.scheduler.emptied(priority.index());
        self.departs(&mut queued, bytes, accounting);
        self.send_one(queued, device, accounting);
    }

    /// [`Self::serve`] from the VEQs, one frame.
    #[inline]
    pub(super) fn serve_one(&mut self, device: &mut D, accounting: &mut Accounting<D::Frame, V>) {
        let room_bytes = device.tx_room_bytes(self.id, accounting.now);
        if room_bytes == 0 {
            return;
        }
        if let Some(queued) = self.next(room_bytes, accounting) {
            self.send_one(queued, device, accounting);
        }
    }

    /// Sends a frame; accounts for it if the device takes it, puts it back otherwise.
    #[inline(always)]
    fn send_one(
        &mut self,
        queued: QueuedFrame<D::Frame>,
        device: &mut D,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        let QueuedFrame { frame, meta } = queued;
        debug_assert!(self.sends(&frame));
        match device.tx_one(self.id, frame, accounting.now) {
            Ok(()) => count_sent_run(&accounting.run_of_one(&meta), &mut self.queues, accounting),
            Err(frame) => {
                let mut queued = QueuedFrame { frame, meta };
                self.undo_departure(&mut queued);
                self.put_front(queued, accounting);
            }
        }
    }
}

//! Transmit: sends the transmit batch, then serves the queues, and accounts for what the device
//! took.

use super::{Port, Queue};
use crate::accounting::Accounting;
use crate::counters::DropReason;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::{Burst, Frame};
use crate::frame_sums::FrameSums;
use crate::ids::Priority;
use crate::limits::{BURST_MAX, FRAME_BYTES_MAX, PRIORITIES};
use crate::port::tx_batch::{Kept, Run};
use crate::probe::Probe;
use crate::queue::ecn;
use crate::queue::veq::{FrameMeta, QueuedFrame, low_32_bits};
use crate::settings::DepthCurve;
use crate::time::Instant;
use rand_xoshiro::SplitMix64;

/// Bursts that a port serves from its queues in one turn: enough to drain what several ports
/// receive in one turn, few enough that the turn stays short and a pause takes effect soon.
const BURSTS_A_TURN: usize = 3;

impl<D: Device, V: Driver> Port<D, V> {
    /// Sends the transmit batch, then serves the queues as far as the device, the pacer and the
    /// peer's pauses allow. Returns whether any frame was sent.
    #[inline(always)]
    pub(crate) fn transmit(
        &mut self,
        device: &mut D,
        accounting: &mut Accounting<D::Frame, V>,
    ) -> bool {
        let before = accounting.totals.sent;
        // The first condition lets some devices skip the read of the batch, which is a cache miss.
        let all_gone = self.takes_one(device)
            || !self.bypasses_queue
            || self.tx_batch.is_empty()
            || self.flush(device, accounting);
        if let Some(queued) = self.take_pending() {
            self.serve_pending(queued, device, accounting);
        } else if all_gone && self.up && self.eligible_bits(accounting.now) != 0 {
            self.serve(device, accounting);
        }
        self.awaits_tx_ready =
            self.is_tx_ready_limited(accounting.now) && device.notify_tx_ready(self.id);
        accounting.totals.sent != before
    }

    /// Whether the device notifies the worker of room for the frames that are queued here.
    #[inline(always)]
    pub(crate) const fn awaits_tx_ready(&self) -> bool {
        self.awaits_tx_ready
    }

    /// Whether frames are queued here that only lack of device room holds back.
    #[inline(always)]
    fn is_tx_ready_limited(&self, now: Instant) -> bool {
        !self.is_paced && self.up && self.eligible_bits(now) != 0
    }

    fn serve(&mut self, device: &mut D, accounting: &mut Accounting<D::Frame, V>) {
        if self.takes_one(device) {
            return self.serve_one(device, accounting);
        }
        let mut room_bytes = device.tx_room_bytes(self.id, accounting.now);
        let has_pace = self.is_paced || self.receiver.rate_limited_bits() != 0;
        let is_free = room_bytes == u32::MAX && !has_pace && !self.writes_telemetry;
        for _ in 0..BURSTS_A_TURN {
            let frames_max = device.tx_free_frames(self.id).min(BURST_MAX);
            if is_free {
                self.batch_only_priority(frames_max, accounting);
            }
            while self.tx_batch.frames.len() < frames_max {
                let Some(queued) = self.next(room_bytes, accounting) else { break };
                room_bytes = room_bytes.saturating_sub(u32::from(queued.meta.bytes));
                let run = accounting.run_of_one(&queued.meta);
                let run = self.tx_batch.open(run);
                self.tx_batch.push(queued.frame, run);
            }
            let is_last = self.tx_batch.frames.len() < BURST_MAX;
            if self.tx_batch.is_empty() {
                return;
            }
            let has_sent_all = self.flush_or(device, accounting, Self::put_back_served);
            if !has_sent_all || is_last {
                return;
            }
        }
    }

    /// If just one priority is eligible, fills the transmit batch from it. The scheduler is not
    /// needed then.
    #[inline]
    fn batch_only_priority(&mut self, frames_max: usize, accounting: &mut Accounting<D::Frame, V>) {
        let eligible = self.occupied_bits & !self.held_bits();
        if !eligible.is_power_of_two() {
            return;
        }
        let priority = eligible.trailing_zeros() as usize % PRIORITIES;
        let cell_bytes = accounting.buffer.cell_bytes();
        let mut room = frames_max.saturating_sub(self.tx_batch.frames.len());
        let (veq, tx_batch) = (&mut self.queues[priority].veq, &mut self.tx_batch);
        // The queue becomes no deeper here.
        let ecn = accounting.ecn[priority].filter(|ecn| veq.bytes() > ecn.kmin_bytes);
        while room > 0
            && let Some(front) = veq.front_frames(&mut accounting.frame_pool, room)
        {
            let took = front.len();
            let bytes = match &ecn {
                None => tx_batch.take_waiting(front, cell_bytes, |_, _| ()),
                Some(settings) => {
                    let (mut depth_bytes, rng) = (veq.bytes(), &mut accounting.rng);
                    tx_batch.take_waiting(front, cell_bytes, |frame, meta| {
                        let marked = mark(settings, depth_bytes, meta.l3, frame, rng);
                        self.counters.ecn_marked_frames[priority] += u64::from(marked);
                        depth_bytes -= u32::from(meta.bytes);
                    })
                }
            };
            veq.took(&mut accounting.frame_pool, took, bytes);
            room -= took;
        }
        self.took_from(priority);
    }

    /// Updates the state of `priority` after frames were taken from its VEQ, perhaps the last ones.
    #[inline]
    fn took_from(&mut self, priority: usize) {
        if self.queues[priority].veq.is_empty() {
            self.occupied_bits &= !(1 << priority);
            self.scheduler.emptied(priority);
        }
    }

    /// Takes the next frame to send from the queues.
    #[inline]
    pub(super) fn next(
        &mut self,
        room_bytes: u32,
        accounting: &mut Accounting<D::Frame, V>,
    ) -> Option<QueuedFrame<D::Frame>> {
        let eligible = self.eligible_bits(accounting.now);
        if eligible == 0 || self.pacer.as_ref().is_some_and(|pacer| !pacer.is_free(accounting.now))
        {
            return None;
        }
        let (queues, frame_pool) = (&self.queues, &accounting.frame_pool);
        let front_bytes =
            |p: usize| queues[p].veq.front(frame_pool).map_or(0, |meta| u32::from(meta.bytes));
        if (room_bytes as usize) < FRAME_BYTES_MAX {
            // A device with a limit takes a frame only if there is room for the longest one.
            let longest = (0..PRIORITIES).filter(|p| eligible >> p & 1 == 1).map(front_bytes).max();
            if longest.unwrap_or(0) > room_bytes {
                return None;
            }
        }
        let priority = self.scheduler.pick(eligible, front_bytes)? % PRIORITIES;
        let veq = &mut self.queues[priority].veq;
        let depth_bytes = veq.bytes();
        let mut queued = veq.pop_front(&mut accounting.frame_pool)?;
        self.took_from(priority);
        self.departs(&mut queued, depth_bytes, accounting);
        Some(queued)
    }

    /// Accounts for a frame that leaves a queue of `depth_bytes`: charges the pacer and the rate
    /// that the peer or the queue's settings give, marks the frame if ECN requires it, and writes
    /// telemetry.
    #[inline(always)]
    pub(super) fn departs(
        &mut self,
        queued: &mut QueuedFrame<D::Frame>,
        depth_bytes: u32,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        let QueuedFrame { frame, meta } = queued;
        let priority = Priority::from_low_bits(meta.priority);
        if self.is_paced
            && let Some(pacer) = &mut self.pacer
        {
            pacer.send(u32::from(meta.bytes), accounting.now);
        }
        self.receiver.sent(priority, u32::from(meta.bytes), accounting.now);
        let p = priority.index();
        if let Some(settings) = &accounting.ecn[p] {
            let marked = mark(settings, depth_bytes, meta.l3, frame, &mut accounting.rng);
            self.counters.ecn_marked_frames[p] += u64::from(marked);
        }
        if self.writes_telemetry {
            self.write_telemetry(queued, accounting.now);
        }
    }

    #[cold]
    fn write_telemetry(&mut self, queued: &mut QueuedFrame<D::Frame>, now: Instant) {
        let Some(telemetry) = &mut self.telemetry else { return };
        let queued_bytes = self.queues.iter().map(|queue| queue.veq.bytes()).sum();
        match telemetry.departs(&mut queued.frame, queued.meta.l3, queued_bytes, now) {
            Some(true) => self.counters.telemetry_frames += 1,
            Some(false) => self.counters.telemetry_full_frames += 1,
            None => {}
        }
    }

    /// Takes back what [`Self::departs`] accounted for, of a frame that has not left.
    #[inline(always)]
    pub(super) fn undo_departure(&mut self, queued: &mut QueuedFrame<D::Frame>) {
        if self.writes_telemetry {
            self.take_telemetry_back(queued);
        }
        let priority = Priority::from_low_bits(queued.meta.priority);
        self.receiver.take_back(priority, u32::from(queued.meta.bytes));
    }

    #[cold]
    fn take_telemetry_back(&mut self, queued: &mut QueuedFrame<D::Frame>) {
        let Some(telemetry) = &mut self.telemetry else { return };
        match telemetry.stays(&mut queued.frame, queued.meta.l3) {
            Some(true) => self.counters.telemetry_frames -= 1,
            Some(false) => self.counters.telemetry_full_frames -= 1,
            None => {}
        }
    }

    /// Sends the transmit batch and accounts for the frames that the device took. Returns whether
    /// it took all.
    #[inline(always)]
    pub(super) fn flush(
        &mut self,
        device: &mut D,
        accounting: &mut Accounting<D::Frame, V>,
    ) -> bool {
        self.flush_or(device, accounting, |port, accounting| port.unbatch(0xFF, accounting))
    }

    /// The same; `put_back` puts the frames back that the device did not take.
    #[inline(always)]
    fn flush_or(
        &mut self,
        device: &mut D,
        accounting: &mut Accounting<D::Frame, V>,
        put_back: impl FnOnce(&mut Self, &mut Accounting<D::Frame, V>),
    ) -> bool {
        if self.holds_whole_batch(accounting) {
            return true;
        }
        let is_captured = accounting.is_capturing() && self.capture_offered(accounting);
        let batched = self.tx_batch.frames.len();
        debug_assert!(self.tx_batch.frames.iter().all(|frame| self.sends(frame)));
        device.tx_burst(self.id, &mut self.tx_batch.frames, accounting.now);
        if is_captured && let Some(capture) = accounting.capturing() {
            capture.has_sent(batched - self.tx_batch.frames.len());
        }
        self.account_sent(batched, accounting, put_back)
    }

    /// Sends a burst that is not in the transmit batch, but whose runs are the batch's only ones.
    /// Frames that the device does not take are put back as those of the batch are.
    #[inline(always)]
    pub(super) fn send_alone(
        &mut self,
        frames: &mut Burst<D::Frame>,
        run_of: &[u8; BURST_MAX],
        device: &mut D,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        let batched = frames.len();
        debug_assert!(frames.iter().all(|frame| self.sends(frame)));
        device.tx_burst(self.id, frames, accounting.now);
        if !frames.is_empty() {
            self.tx_batch.take_left(frames, run_of);
        }
        self.account_sent(batched, accounting, |port, accounting| port.unbatch(0xFF, accounting));
    }

    /// Accounts for the frames that the device took of `batched`, the rest of which is in the
    /// transmit batch. Returns whether it took all.
    #[inline(always)]
    fn account_sent(
        &mut self,
        batched: usize,
        accounting: &mut Accounting<D::Frame, V>,
        put_back: impl FnOnce(&mut Self, &mut Accounting<D::Frame, V>),
    ) -> bool {
        let cell_bytes = accounting.buffer.cell_bytes();
        let queues = &mut self.queues;
        self.tx_batch
            .account_sent(batched, cell_bytes, |run| count_sent_run(run, queues, accounting));
        let all = self.tx_batch.is_empty();
        if !all {
            self.bypasses_queue = false;
            put_back(self, accounting);
        }
        all
    }

    /// Whether `frame` is no longer than what the port sends. Longer ones were dropped before they
    /// were charged.
    pub(super) fn sends(&self, frame: &D::Frame) -> bool {
        frame.len() <= self.longest_bytes as usize
    }

    /// Puts batched frames back to the front of the VEQs that they were taken from. A full device
    /// may refuse a frame many times. So that ECN decides once about each, it does not look at
    /// these again: they no longer tell where their IP header is. Telemetry needs that, so there
    /// ECN may look again.
    #[cold]
    fn put_back_served(&mut self, accounting: &mut Accounting<D::Frame, V>) {
        let change = |port: &Self, meta: &mut FrameMeta| {
            if !port.writes_telemetry {
                meta.l3 = 0;
            }
        };
        // They have had room in their VEQs.
        self.take_back(0xFF, accounting, change, |_, _, _| false);
    }

    /// Puts batched frames whose priority is in `bits`, which were in no VEQ, to the front of their
    /// VEQs. Drops lossy ones, the last ones first, for which the VEQ has no room: they would have
    /// been dropped if they had not found the port free.
    pub(crate) fn unbatch(&mut self, bits: u8, accounting: &mut Accounting<D::Frame, V>) {
        self.take_back(
            bits,
            accounting,
            |_, _| (),
            |meta, total_bytes, accounting| {
                accounting.is_lossy(meta.viq)
                    && total_bytes > accounting.lossy_queue_limit_bytes(meta)
            },
        );
    }

    /// The transmit batch, if all of it is one run of a priority in `bits` whose queue has no
    /// frames. Taken back, it is like a burst that arrives there, unless the frames count for a
    /// rate or have telemetry.
    #[inline(always)]
    fn run_to_take_back(&self, bits: u8) -> Option<Run> {
        let run = self.tx_batch.only_run()?;
        let other_bits = self.occupied_bits | self.receiver.rate_limited_bits();
        let is_plain = bits & !other_bits & run.meta.priority_bit() != 0 && !self.writes_telemetry;
        is_plain.then_some(*run)
    }

    /// [`Self::unbatch`] that calls `change` for the metadata of each frame first, and drops those
    /// that are `over` with all bytes that the VEQ would have.
    #[inline(always)]
    fn take_back(
        &mut self,
        bits: u8,
        accounting: &mut Accounting<D::Frame, V>,
        change: impl Fn(&Self, &mut FrameMeta),
        over: impl Fn(&FrameMeta, u32, &Accounting<D::Frame, V>) -> bool,
    ) {
        self.spill_pending(accounting);
        if let Some(Run { mut meta, sums }) = self.run_to_take_back(bits)
            && !over(&meta, sums.bytes, accounting)
        {
            change(self, &mut meta);
            let mut frames = self.tx_batch.take_all();
            return self.enqueue_run(&meta, frames.drain(..), accounting);
        }
        let mut kept = Kept::new();
        let mut batch_bytes = self.tx_batch.bytes_of_priorities();
        while let Some(mut queued) = self.tx_batch.take_last(bits, &mut kept) {
            change(self, &mut queued.meta);
            let priority = usize::from(queued.meta.priority) % PRIORITIES;
            let total_bytes = self.queues[priority].veq.bytes() + batch_bytes[priority];
            batch_bytes[priority] -= u32::from(queued.meta.bytes);
            self.undo_departure(&mut queued);
            if over(&queued.meta, total_bytes, accounting) {
                self.drop_queued(queued, DropReason::TailDrop, accounting);
            } else {
                self.put_front(queued, accounting);
            }
        }
        self.tx_batch.keep(bits, &mut kept);
    }
}

/// Marks a frame that leaves a queue of `depth_bytes`, if it is due. Returns whether it was marked.
#[inline]
fn mark<F: Frame>(
    settings: &DepthCurve,
    depth_bytes: u32,
    l3: u8,
    frame: &mut F,
    rng: &mut SplitMix64,
) -> bool {
    l3 != 0 && settings.is_due(depth_bytes, rng) && ecn::mark(frame, l3)
}

/// Counts and releases the frames of a run that was sent.
#[inline(always)]
pub(super) fn count_sent_run<F: Frame, V: Driver>(
    run: &Run,
    queues: &mut [Queue; PRIORITIES],
    accounting: &mut Accounting<F, V>,
) {
    let FrameSums { frames, bytes, cost_bytes } = run.sums;
    let queue = &mut queues[usize::from(run.meta.priority & 7)];
    queue.tx_frames += u64::from(frames);
    queue.tx_bytes += u64::from(bytes);
    accounting.totals.sent += u64::from(frames);
    accounting.release_bytes(run.meta.viq, cost_bytes);
    match low_32_bits(accounting.now).wrapping_sub(run.meta.arrived_ns) {
        0 => accounting.driver.probe().passed(frames as usize),
        ns => accounting.driver.probe().waited(ns, frames as usize),
    }
}

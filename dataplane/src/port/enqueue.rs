//! Ways into a port: to the transmit batch where the port is free, else into a VEQ.

use super::Port;
use crate::accounting::Accounting;
use crate::counters::DropReason;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::Burst;
use crate::limits::BURST_MAX;
use crate::port::tx_batch::Run;
use crate::queue::veq::{FrameMeta, QueuedFrame};

/// From this number of frames on, a transmit batch is sent before the end of the turn: frames that
/// are sent free buffers, which the next port's frames use while they are in the cache.
const LONG_BATCH_FRAMES: usize = 64;

impl<D: Device, V: Driver> Port<D, V> {
    /// Reserves room for `run`, admitted frames of one priority that leave here. Returns the run
    /// index with which each frame is then [added](Port::batch), or `None` if the frames must be
    /// queued. `burst_frames` is the length of the current burst, all outcomes together.
    #[inline(always)]
    pub(crate) fn open_run(
        &mut self,
        run: Run,
        burst_frames: usize,
        device: &mut D,
        accounting: &mut Accounting<D::Frame, V>,
    ) -> Option<u8> {
        if self.passing_bits() & run.meta.priority_bit() == 0 {
            return None;
        }
        // The first run of a burst reserves room for the whole burst: the batch must not be flushed
        // between the opening of a run and its last frame.
        if self.reserved_frames == 0 && self.tx_batch.room() < burst_frames {
            self.flush(device, accounting);
            if self.passing_bits() & run.meta.priority_bit() == 0 {
                return None;
            }
        }
        self.reserved_frames += run.sums.frames as usize;
        Some(self.tx_batch.open(run))
    }

    /// Adds a frame of an open run to the transmit batch.
    #[inline(always)]
    pub(crate) fn batch(&mut self, frame: D::Frame, run: u8) {
        self.reserved_frames -= 1;
        self.tx_batch.push(frame, run);
    }

    /// Adds a whole burst of frames of open runs; `run_of` has their run indexes.
    #[inline(always)]
    pub(crate) fn batch_burst(&mut self, frames: &mut Burst<D::Frame>, run_of: &[u8]) {
        self.reserved_frames -= frames.len();
        self.tx_batch.push_burst(frames, run_of);
    }

    /// [`Self::batch_burst`] that sends the batch at once if it is long. A long burst that finds it
    /// empty is sent from where it is: the batch's places need not be in the caches.
    #[inline(always)]
    pub(crate) fn batch_or_send_burst(
        &mut self,
        frames: &mut Burst<D::Frame>,
        run_of: &[u8; BURST_MAX],
        device: &mut D,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        let is_alone = frames.len() >= LONG_BATCH_FRAMES && self.tx_batch.is_empty();
        if is_alone && !accounting.is_capturing() && self.newly_paused_elsewhere_bits() == 0 {
            self.reserved_frames -= frames.len();
            return self.send_alone(frames, run_of, device, accounting);
        }
        self.batch_burst(frames, run_of);
        self.flush_if_long(device, accounting);
    }

    /// Sends the transmit batch at once if it is long, while its frames are still in the caches.
    #[inline(always)]
    pub(crate) fn flush_if_long(
        &mut self,
        device: &mut D,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        if self.tx_batch.frames.len() >= LONG_BATCH_FRAMES {
            self.flush(device, accounting);
        }
    }

    /// Takes one admitted frame that leaves here.
    pub(crate) fn enqueue(
        &mut self,
        queued: QueuedFrame<D::Frame>,
        device: &mut D,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        match self.open_run(accounting.run_of_one(&queued.meta), 1, device, accounting) {
            Some(run) => self.batch(queued.frame, run),
            None => self.enqueue_waiting(queued, accounting),
        }
    }

    /// Queues a frame in its VEQ, or drops it if the port or the queue does not accept it.
    pub(crate) fn enqueue_waiting(
        &mut self,
        queued: QueuedFrame<D::Frame>,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        let priority = usize::from(queued.meta.priority & 7);
        if !self.up {
            return self.drop_queued(queued, DropReason::PortDown, accounting);
        }
        if self.discarded_bits >> priority & 1 == 1 {
            return self.drop_queued(queued, DropReason::Watchdog, accounting);
        }
        self.spill_pending(accounting);
        if accounting.is_lossy(queued.meta.viq) {
            let depth_bytes = self.queues[priority].veq.bytes();
            let limit_bytes = accounting.lossy_queue_limit_bytes(&queued.meta);
            if depth_bytes + u32::from(queued.meta.bytes) > limit_bytes {
                return self.drop_queued(queued, DropReason::TailDrop, accounting);
            }
            if accounting.drops_early(&queued, depth_bytes) {
                return self.drop_queued(queued, DropReason::WredDrop, accounting);
            }
        }
        self.queue(queued, accounting);
    }

    /// Puts admitted frames with the same metadata, but for their lengths, at the end of their VEQ.
    /// A function of its own: the burst that need not wait keeps its registers.
    #[inline(never)]
    pub(crate) fn enqueue_run(
        &mut self,
        meta: &FrameMeta,
        frames: impl ExactSizeIterator<Item = D::Frame>,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        self.spill_pending(accounting);
        let mut refused: Burst<D::Frame> = Burst::new();
        let veq = &mut self.queues[usize::from(meta.priority & 7)].veq;
        veq.extend_run(&mut accounting.frame_pool, meta, frames, |frame| refused.push(frame));
        self.occupied_bits |= meta.priority_bit();
        // Not by value: it would be copied, empty or not.
        for frame in refused.drain(..) {
            self.drop_queued(meta.queued(frame), DropReason::TailDrop, accounting);
        }
    }

    /// Puts an admitted frame at the end of its VEQ.
    #[inline(always)]
    pub(crate) fn queue(
        &mut self,
        queued: QueuedFrame<D::Frame>,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        self.spill_pending(accounting);
        let priority = usize::from(queued.meta.priority & 7);
        match self.queues[priority].veq.push_back(&mut accounting.frame_pool, queued) {
            Ok(()) => self.occupied_bits |= 1 << priority,
            Err(queued) => self.drop_queued(queued, DropReason::TailDrop, accounting),
        }
    }
}

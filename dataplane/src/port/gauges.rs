//! Counters and gauges of a port, for reports.

use super::Port;
use crate::accounting::Accounting;
use crate::buffer::ViqId;
use crate::counters::PortCounters;
use crate::device::Device;
use crate::driver::Driver;
use crate::host_class::HostCounters;
use crate::ids::Priority;
use crate::limits::PRIORITIES;
use crate::queue::veq::{FrameMeta, FramePool};
use crate::report::{MacPortCounts, Origins, PortReport, QueueGauges};
use crate::time::Instant;

impl<D: Device, V: Driver> Port<D, V> {
    /// The number of frames in the queues and the transmit batch.
    pub(crate) fn queued_frames(&self) -> u64 {
        let queued: u64 = self.queues.iter().map(|queue| u64::from(queue.veq.frames())).sum();
        queued + self.tx_batch.frames.len() as u64
    }

    /// The metadata of the frames that are queued here, by priority.
    pub(crate) fn metas<'a>(
        &'a self,
        frame_pool: &'a FramePool<D::Frame>,
    ) -> impl Iterator<Item = FrameMeta> {
        debug_assert!(self.tx_batch.is_empty(), "between turns nothing stands ready");
        debug_assert!(
            !V::IS_EVENT_DRIVEN || self.pending.is_none(),
            "a pending frame leaves in its turn"
        );
        self.queues.iter().flat_map(|queue| queue.veq.metas(frame_pool))
    }

    /// Queues with frames that wait for their own peak rate at `now`.
    fn peak_limited_bits(&self, now: Instant) -> u8 {
        self.receiver.peak_limited_bits(now) & self.occupied_bits
    }

    /// The origins of the queued frames of `priority`, if it is in `waiting_bits`. Not computed
    /// otherwise, because it reads the metadata of each frame.
    fn origins(
        &self,
        priority: Priority,
        waiting_bits: u8,
        accounting: &Accounting<D::Frame, V>,
    ) -> Origins {
        if waiting_bits & priority.bit() == 0 {
            return Origins::default();
        }
        let metas = self.queues[priority.index()].veq.metas(&accounting.frame_pool);
        Origins::of(metas, |viq| accounting.port_of(viq))
    }

    /// Begins new peaks of the queues at what they hold now.
    pub(crate) fn reset_peaks(&mut self) {
        self.queues.iter_mut().for_each(|queue| queue.veq.reset_peak());
    }

    /// Counters and gauges at `now`.
    pub(crate) fn report(&self, accounting: &Accounting<D::Frame, V>, now: Instant) -> PortReport {
        let mut counters = PortCounters::clone(&self.counters);
        for (p, queue) in self.queues.iter().enumerate() {
            counters.rx_frames[p] = queue.rx_frames;
            counters.rx_bytes[p] = queue.rx_bytes;
            counters.tx_frames[p] = queue.tx_frames;
            counters.tx_bytes[p] = queue.tx_bytes;
            counters.peak_rate_used_up[p] = self.receiver.peak_rate_used_up(Priority::EACH[p]);
        }
        self.receiver.count_into(&mut counters.pfc);
        self.generator.count_into(&mut counters.pfc);
        let mut queues = [QueueGauges::default(); PRIORITIES];
        let peak_limited_bits = self.peak_limited_bits(now);
        for priority in Priority::all() {
            let p = priority.index();
            let rx_paused_for_ns = self.receiver.running_ns(priority, now);
            let upstream = self.upstream[p];
            let tx_paused_for_ns = self.generator.running_ns(upstream, now);
            counters.pfc.rx_paused_ns[p] += rx_paused_for_ns;
            counters.pfc.tx_paused_ns[p] += self.generator.running_ns(priority, now);
            let viq_id = ViqId::new(self.id, priority);
            let viq = accounting.buffer.viq(viq_id);
            queues[p] = QueueGauges {
                viq_bytes: viq.bytes(),
                viq_peak_bytes: accounting.buffer.peak_bytes(viq_id),
                shared_peak_bytes: viq.shared_peak_bytes(),
                headroom_bytes: viq.headroom_used_bytes(),
                headroom_peak_bytes: viq.headroom_peak_bytes(),
                headroom_size_bytes: viq.headroom_size_bytes(),
                veq_bytes: self.queues[p].veq.bytes(),
                veq_peak_bytes: self.queues[p].veq.peak_bytes(),
                veq_frames: self.queues[p].veq.frames(),
                lossless: viq.is_lossless(),
                rx_paused: self.receiver.paused_bits() & priority.bit() != 0,
                tx_paused: self.generator.xoff_sent_bits() & upstream.bit() != 0,
                rx_paused_for_ns,
                rx_recent_pause_ns: self.receiver.recent_ns(priority, now),
                rx_slowed: self.receiver.slowed_bits() & priority.bit() != 0,
                peak_limited: peak_limited_bits & priority.bit() != 0,
                stormed: self.is_stormed(priority),
                tx_paused_for_ns,
                origins: self.origins(priority, self.held_bits() | peak_limited_bits, accounting),
            };
        }
        PortReport {
            port: self.id,
            is_owner: true,
            is_rx_queue: false,
            up: self.up,
            counters,
            queues,
            // The MAC table and the policers are the worker's.
            mac: MacPortCounts::default(),
            host: HostCounters::default(),
        }
    }
}

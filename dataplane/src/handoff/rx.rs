//! Handoff, receive: takes a burst from another worker's ring, run by run, to the ports.
//!
//! Reads: runs. Writes: the port's transmit batch and queues, accounting. Counts:
//! `handoff_rx`. The worker that sent the frames has admitted them, matched them with the rules and
//! rewritten them.

use crate::counters::DropReason;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::{Burst, Frame};
use crate::handoff::ring::Runs;
use crate::ids::PortId;
use crate::limits::BURST_MAX;
use crate::pipeline::admit::Disposition;
use crate::pipeline::dispatch::only_batch;
use crate::port::tx_batch::Run;
use crate::queue::veq::QueuedFrame;
use crate::worker::Core;
use arrayvec::ArrayVec;

impl<D: Device, V: Driver> Core<D, V> {
    /// Takes `frames`, of the runs `handed`; `index_of` has the index of each frame's run.
    pub(crate) fn handoff_rx(
        &mut self,
        frames: &mut Burst<D::Frame>,
        handed: &Runs,
        index_of: &[u8; BURST_MAX],
    ) {
        frames.iter().for_each(Frame::prefetch_bookkeeping);
        self.accounting.totals.handoff_rx += frames.len() as u64;
        let mut dispositions: ArrayVec<Disposition, BURST_MAX> = ArrayVec::new();
        let mut runs = [0; BURST_MAX];
        for (run, number) in handed.iter().zip(&mut runs) {
            let disposition = self.disposition_of(run, frames.len());
            if let Disposition::Batch(_, run) = disposition {
                *number = run;
            }
            dispositions.push(disposition);
        }
        if let Some(out_slot) = only_batch(dispositions.iter()) {
            let run_of = index_of.map(|number| runs[usize::from(number) % BURST_MAX]);
            // Not flushed at once: the prefetched lines have not arrived yet.
            return self.ports[out_slot].batch_burst(frames, &run_of);
        }
        for (frame, &number) in frames.drain(..).zip(index_of) {
            let number = usize::from(number);
            match dispositions[number] {
                Disposition::Batch(out_slot, run) => {
                    self.ports[usize::from(out_slot)].batch(frame, run)
                }
                _ => self.handoff_rx_waiting(handed[number].meta.queued(frame)),
            }
        }
    }

    fn disposition_of(&mut self, run: &Run, burst_frames: usize) -> Disposition {
        let Some(out_slot) = self.slot_of(run.meta.out) else { return Disposition::End };
        let (device, accounting) = (&mut self.device, &mut self.accounting);
        match self.ports[out_slot].open_run(*run, burst_frames, device, accounting) {
            #[expect(clippy::cast_possible_truncation, reason = "PORTS_MAX is below")]
            Some(run) => Disposition::Batch(out_slot as u16, run),
            None => Disposition::Enqueue,
        }
    }

    fn slot_of(&self, out: u16) -> Option<usize> {
        self.handoff_tx.slot(PortId::from_index(usize::from(out))?)
    }

    /// Queues a frame of a run that could not be opened.
    fn handoff_rx_waiting(&mut self, queued: QueuedFrame<D::Frame>) {
        let out = queued.meta.out;
        if let Some(slot) = self.slot_of(out) {
            return self.ports[slot].enqueue_waiting(queued, &mut self.accounting);
        }
        debug_assert!(false, "a frame for port {out} was handed to the wrong worker");
        if let Some(port) = self.ports.first_mut() {
            port.drop_queued(queued, DropReason::PortDown, &mut self.accounting);
        }
    }
}

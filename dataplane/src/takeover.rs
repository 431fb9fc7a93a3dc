//! Receive from other workers: a burst that crossed, run by run to its queues.
//!
//! Reads: its runs. Writes: what stands ready at a port, its queues, books. Counts: `taken_over`.
//! Admission, rules and rewrite are behind these frames; only their way out is left.

use crate::counters::DropReason;
use crate::device::Device;
use crate::frame::{Burst, Frame};
use crate::handoff::{Crossing, Crossings};
use crate::ids::PortId;
use crate::limits::BURST_MAX;
use crate::port::drop_held;
use crate::probe::Probe;
use crate::queue::veq::Held;
use crate::settle::{Way, only_way};
use crate::time::Instant;
use crate::worker::Core;
use arrayvec::ArrayVec;

impl<D: Device, P: Probe> Core<D, P> {
    /// Takes over `frames`, of the runs `crossings`; `number_of` has the number of each one's.
    pub(crate) fn take_over(
        &mut self,
        frames: &mut Burst<D::Frame>,
        crossings: &Crossings,
        number_of: &[u8; BURST_MAX],
        now: Instant,
    ) {
        frames.iter().for_each(Frame::prefetch_bookkeeping);
        self.books.totals.taken_over += frames.len() as u64;
        let mut ways: ArrayVec<Way, BURST_MAX> = ArrayVec::new();
        let mut runs = [0; BURST_MAX];
        for (crossing, number) in crossings.iter().zip(&mut runs) {
            let way = self.way_out(crossing, frames.len(), now);
            if let Way::Pass(_, run) = way {
                *number = run;
            }
            ways.push(way);
        }
        if let Some(out_slot) = only_way(ways.iter()) {
            let run_of = number_of.map(|number| runs[usize::from(number) % BURST_MAX]);
            // Not flushed at once: what was prefetched is still on its way.
            return self.ports[out_slot].stage_burst(frames, &run_of);
        }
        for (frame, &number) in frames.drain(..).zip(number_of) {
            let number = usize::from(number);
            match ways[number] {
                Way::Pass(out_slot, run) => self.ports[usize::from(out_slot)].stage(frame, run),
                _ => self.take_over_waiting(frame, &crossings[number]),
            }
        }
    }

    fn way_out(&mut self, crossing: &Crossing, burst_frames: usize, now: Instant) -> Way {
        let Some(out_slot) = self.slot_of(crossing.out) else { return Way::End };
        let (device, books) = (&mut self.device, &mut self.books);
        match self.ports[out_slot].open_run(crossing.run, burst_frames, device, books, now) {
            #[expect(clippy::cast_possible_truncation, reason = "PORTS_MAX is below")]
            Some(run) => Way::Pass(out_slot as u16, run),
            None => Way::Wait,
        }
    }

    fn slot_of(&self, out: u16) -> Option<usize> {
        self.exchange.slot(PortId::from_index(usize::from(out))?)
    }

    /// A frame that cannot pass straight through.
    fn take_over_waiting(&mut self, frame: D::Frame, crossing: &Crossing) {
        let note = crossing.run.note_of(&frame, crossing.out);
        let held = Held { frame, note };
        if let Some(slot) = self.slot_of(crossing.out) {
            return self.ports[slot].enqueue_waiting(held, &mut self.books);
        }
        debug_assert!(false, "a frame for port {} came to the wrong worker", note.out);
        if let Some(port) = self.ports.first_mut() {
            drop_held(held, DropReason::PortDown, &mut port.counters, &mut self.books);
        }
    }
}

//! Admit: charges the frames of one outcome group to their VIQ (virtual ingress queue) and decides
//! where they go.
//!
//! Reads: an outcome group. Writes: the VIQ, a run of the egress port's transmit batch. Counts:
//! `remarked_frames`, `raised_frames`, `demoted_frames`.

use super::outcome::{Outcome, OutcomeGroup};
use crate::buffer::ViqId;
use crate::device::Device;
use crate::driver::Driver;
use crate::ids::Priority;
use crate::port::tx_batch::Run;
use crate::queue::veq::{FrameMeta, low_32_bits};
use crate::time::Instant;
use crate::worker::Core;

/// Where the frames of one outcome group go. The numbers in front have one size, so that it is
/// copied as it was written: a copy in other pieces has to wait for the writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Disposition {
    /// To the transmit batch of the port at this slot, as the run with this index.
    Batch(u16, u8),
    /// To this other worker, as the run with this index of the burst that is handed off.
    Handoff(u16, u8),
    /// To a queue of the port at this slot, which takes all of them; with the metadata of each
    /// frame but its length.
    Queue(u16, FrameMeta),
    /// Admitted; each frame to a queue of this worker or of another.
    Enqueue,
    /// Not admitted yet: the VIQ has no room for all of them without headroom, so each frame is
    /// admitted by itself.
    AdmitEach,
    /// Dropped: the watchdog found a pause storm at the ingress port.
    Discard,
    /// Not forwarded.
    End,
}

impl<D: Device, V: Driver> Core<D, V> {
    /// Where the frames of `group` go. Charges all of them if the VIQ has room for all; the result
    /// is the same to the byte as charging them one by one.
    #[inline(always)]
    pub(super) fn disposition(
        &mut self,
        group: &OutcomeGroup,
        burst_frames: usize,
        slot: usize,
    ) -> Disposition {
        let outcome = group.outcome;
        if !outcome.is_forward() {
            return Disposition::End;
        }
        self.count_tag_change(outcome, group.sums.frames, slot);
        if self.ports[slot].discards(outcome.viq().priority()) {
            return Disposition::Discard;
        }
        let buffer = &mut self.accounting.buffer;
        if !buffer.admit_run(outcome.viq(), group.sums.cost_bytes) {
            let are_cells = group.sums.cost_bytes == group.sums.frames * buffer.cell_bytes();
            if !are_cells || !buffer.admit_cells(outcome.viq(), group.sums.frames) {
                return Disposition::AdmitEach;
            }
        }
        self.mark_headroom(outcome.viq(), slot);
        let mut meta = meta_of(outcome, 0, self.accounting.now);
        if outcome.is_followed() {
            meta.set_mark(self.capture_mark());
        }
        let run = Run { meta, sums: group.sums };
        if let Some(out_slot) = self.handoff_tx.egress_slot(outcome.out()) {
            self.accounting.driver.mark_tx(out_slot);
            let port = &mut self.ports[out_slot];
            #[expect(clippy::cast_possible_truncation, reason = "PORTS_MAX is below")]
            match port.open_run(run, burst_frames, &mut self.device, &mut self.accounting) {
                Some(run) => return Disposition::Batch(out_slot as u16, run),
                None if self.waits_here(out_slot, outcome.priority()) => {
                    let port = &self.ports[out_slot];
                    let is_taken = port.up && !port.discards(outcome.priority());
                    // The accounting has the same bits, in a cache line that is not loaded yet.
                    let is_lossless = self.ports[slot].is_lossless(outcome.viq().priority());
                    if is_taken && is_lossless {
                        return Disposition::Queue(out_slot as u16, meta);
                    }
                    return Disposition::Enqueue;
                }
                None => {}
            }
        }
        let opened = self.handoff_tx.open(run);
        opened.map_or(Disposition::Enqueue, |(worker, run)| Disposition::Handoff(worker, run))
    }

    /// Whether a frame of `priority` that cannot be sent at once is queued by this worker at
    /// `out_slot`, and not by the owner of that port.
    #[inline]
    fn waits_here(&self, out_slot: usize, priority: Priority) -> bool {
        self.handoff_tx.is_own(out_slot) || self.ports[out_slot].has_waiting(priority)
    }

    /// A frame was admitted to `viq`. If the VIQ uses headroom, a pause may have to be sent.
    #[inline(always)]
    pub(crate) fn mark_headroom(&mut self, viq: ViqId, slot: usize) {
        if self.accounting.buffer.viq(viq).headroom_used_bytes() != 0 {
            self.accounting.buffer.note_headroom(viq);
            self.accounting.driver.mark_headroom(slot);
        }
    }
}

/// The metadata of a forwarded frame of `bytes`.
#[inline(always)]
pub(super) fn meta_of(outcome: Outcome, bytes: u16, now: Instant) -> FrameMeta {
    FrameMeta {
        viq: outcome.viq(),
        bytes,
        arrived_ns: low_32_bits(now),
        out: outcome.out().index_u16(),
        priority: outcome.priority().value(),
        l3: outcome.l3(),
    }
}

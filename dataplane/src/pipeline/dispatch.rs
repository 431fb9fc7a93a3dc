//! Dispatch: takes each frame to the transmit batch or a queue of its egress port, to another
//! worker, or to its end.
//!
//! Reads: outcomes. Writes: VIQs, transmit batches, queues, handoff rings. Counts: `rx_*`,
//! `oversize`, `ingress_limit`, `headroom_overrun`, `watchdog`.

use super::admit::{Disposition, meta_of};
use crate::buffer::ViqId;
use crate::counters::DropReason;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::length_bytes;
use crate::ids::{PortId, Priority};
use crate::limits::BURST_MAX;
use crate::pipeline::arrival::Arrival;
use crate::pipeline::outcome::{FrameOutcome, Outcome, OutcomeGroup, TagChange, Verdict};
use crate::punt::PuntReason;
use crate::queue::veq::{FrameMeta, QueuedFrame};
use crate::worker::Core;
use arrayvec::ArrayVec;

/// Up to this number, frames are removed from a burst one by one.
const FEW_FRAMES: u32 = 4;

impl<D: Device, V: Driver> Core<D, V> {
    /// Dispatches the burst in `self.rx`: first the outcome groups are counted and admitted, then
    /// the frames are moved, in order. `group_of` has the index of each frame's group.
    #[inline(always)]
    pub(crate) fn dispatch(&mut self, mut group_of: [u8; BURST_MAX], arrival: Arrival) {
        let slot = arrival.slot;
        if self.outcomes.groups.len() > 1 && !self.fits_in_any_order(slot)
            || self.accounting.has_moving_lossy_limit() && self.would_wait_lossy()
        {
            return self.dispatch_each(group_of, arrival);
        }
        let mut dispositions: ArrayVec<Disposition, BURST_MAX> = ArrayVec::new();
        let mut runs = [0; BURST_MAX];
        for (at, run_index) in (0..self.outcomes.groups.len()).zip(&mut runs) {
            let group = self.outcomes.groups[at];
            self.count_outcome(&group, arrival);
            let disposition = self.disposition(&group, self.rx.len(), slot);
            if let Disposition::Batch(_, run) = disposition {
                *run_index = run;
            }
            dispositions.push(disposition);
        }
        let all_go_on = self.end_few(&dispositions, &mut group_of, slot);
        if self.rx.is_empty() {
            return;
        }
        let going = || {
            dispositions
                .iter()
                .filter(|disposition| !(all_go_on && matches!(disposition, Disposition::End)))
        };
        if let Some(out_slot) = only_batch(going()) {
            // Mostly the batch was empty, and so the runs have the numbers of their groups.
            let are_groups =
                (0_u8..).zip(&runs).take(self.outcomes.groups.len()).all(|(at, &run)| at == run);
            if !are_groups {
                group_of = group_of.map(|group| runs[usize::from(group) % BURST_MAX]);
            }
            let port = &mut self.ports[out_slot];
            let (device, accounting) = (&mut self.device, &mut self.accounting);
            return port.batch_or_send_burst(&mut self.rx, &group_of, device, accounting);
        }
        if let Some((out_slot, meta)) = only_queue(going()) {
            let frames = self.rx.drain(..);
            return self.ports[out_slot].enqueue_run(&meta, frames, &mut self.accounting);
        }
        let frames = core::mem::take(&mut self.rx);
        for (frame, group) in frames.into_iter().zip(group_of) {
            let group = usize::from(group);
            match dispositions[group] {
                Disposition::Batch(out_slot, run) => {
                    self.ports[usize::from(out_slot)].batch(frame, run)
                }
                Disposition::Handoff(worker, run) => self.handoff_tx.add(worker, frame, run),
                Disposition::Queue(out_slot, meta) => {
                    let port = &mut self.ports[usize::from(out_slot)];
                    port.queue(meta.queued(frame), &mut self.accounting);
                }
                disposition => self.dispatch_rest(
                    frame,
                    self.outcomes.groups[group].outcome,
                    disposition,
                    slot,
                ),
            }
        }
        if dispositions.iter().any(|disposition| matches!(disposition, Disposition::Handoff(..))) {
            self.handoff_tx.send(&mut self.accounting.totals);
        }
    }

    /// Whether all frames of the burst that are charged to a VIQ are admitted, whichever comes
    /// first.
    #[inline]
    fn fits_in_any_order(&self, slot: usize) -> bool {
        let charged = || {
            let viq = |group: &OutcomeGroup| self.charged_viq(group.outcome, slot);
            let groups = self.outcomes.groups.iter();
            groups.filter_map(move |group| Some((viq(group)?, group.sums.cost_bytes)))
        };
        let (groups, cost_bytes) =
            charged().fold((0, 0), |(groups, sum), (_, cost_bytes)| (groups + 1, sum + cost_bytes));
        // One group has only one order: that of arrival.
        groups < 2 || charged().all(|(viq, _)| self.accounting.buffer.fits(viq, cost_bytes))
    }

    /// Whether lossy frames of the burst would wait at a port of this worker. What they may hold
    /// there depends on those before them.
    #[inline(never)]
    fn would_wait_lossy(&self) -> bool {
        let forwarded = self.outcomes.groups.iter().map(|group| group.outcome);
        let mut lossy = forwarded
            .filter(|outcome| outcome.is_forward() && self.accounting.is_lossy(outcome.viq()));
        lossy.any(|outcome| {
            let slot = self.handoff_tx.egress_slot(outcome.out());
            slot.is_some_and(|slot| !self.ports[slot].passes(outcome.priority()))
        })
    }

    /// The VIQ to which frames with this outcome are charged: those that are forwarded, and the
    /// lossless ones that wait for their next hop.
    #[inline]
    fn charged_viq(&self, outcome: Outcome, slot: usize) -> Option<ViqId> {
        match outcome.verdict() {
            Verdict::Forward => Some(outcome.viq()),
            Verdict::Punt(PuntReason::Unresolved) => {
                let port = &self.ports[slot];
                let class = outcome.marked_class().filter(|&class| port.is_lossless(class))?;
                Some(ViqId::new(port.id, class))
            }
            _ => None,
        }
    }

    /// Dispatches the burst in `self.rx` frame by frame. Near a limit the order of admission
    /// decides which frame is still admitted.
    #[inline(never)]
    fn dispatch_each(&mut self, group_of: [u8; BURST_MAX], arrival: Arrival) {
        let slot = arrival.slot;
        for at in 0..self.outcomes.groups.len() {
            let group = self.outcomes.groups[at];
            self.count_outcome(&group, arrival);
        }
        let frames = core::mem::take(&mut self.rx);
        for (frame, group) in frames.into_iter().zip(group_of) {
            let outcome = self.outcomes.groups[usize::from(group)].outcome;
            let bytes = length_bytes(&frame);
            let routed = FrameOutcome { outcome, bytes, rx_bytes: 0 };
            self.take_along(outcome, |core| core.dispatch_frame(frame, &routed, slot));
        }
    }

    /// Dispatches a burst of one frame.
    #[inline(always)]
    pub(crate) fn dispatch_one(&mut self, frame: D::Frame, group: &OutcomeGroup, arrival: Arrival) {
        let slot = arrival.slot;
        self.count_outcome(group, arrival);
        match self.disposition(group, 1, slot) {
            Disposition::Batch(out_slot, run) => {
                let port = &mut self.ports[usize::from(out_slot)];
                port.batch(frame, run);
                port.flush_if_long(&mut self.device, &mut self.accounting);
            }
            Disposition::Queue(out_slot, meta) => {
                let port = &mut self.ports[usize::from(out_slot)];
                port.queue_one(meta.queued(frame), &mut self.device, &mut self.accounting);
            }
            Disposition::Handoff(worker, run) => {
                self.handoff_tx.add(worker, frame, run);
                self.handoff_tx.send(&mut self.accounting.totals);
            }
            disposition => {
                self.dispatch_rest(frame, group.outcome, disposition, slot);
                self.flush_free_burst();
            }
        }
    }

    /// Ends the frames of the burst that are not forwarded, if they are few, so that the others may
    /// share one disposition: the common case is a PFC frame among data. Whether none is left.
    #[inline]
    fn end_few(&mut self, dispositions: &[Disposition], group_of: &mut [u8], slot: usize) -> bool {
        let groups = self.outcomes.groups.iter().zip(dispositions);
        let ending = groups.filter(|(_, disposition)| matches!(disposition, Disposition::End));
        let mut left: u32 = ending.map(|(group, _)| group.sums.frames).sum();
        if left > FEW_FRAMES {
            return false;
        }
        let mut at = 0;
        while left > 0 && at < self.rx.len() {
            let group = usize::from(group_of[at]);
            if !matches!(dispositions[group], Disposition::End) {
                at += 1;
                continue;
            }
            let frame = self.rx.remove(at);
            group_of.copy_within(at + 1.., at);
            let outcome = self.outcomes.groups[group].outcome;
            self.take_along(outcome, |core| core.end(frame, outcome, slot));
            left -= 1;
        }
        true
    }

    /// A frame that goes neither to a transmit batch nor to a queue as part of its group.
    #[inline(never)]
    fn dispatch_rest(
        &mut self,
        frame: D::Frame,
        outcome: Outcome,
        disposition: Disposition,
        slot: usize,
    ) {
        self.take_along(outcome, |core| core.end_or_queue(frame, outcome, disposition, slot));
    }

    /// The same of a frame that is in hand if it is followed.
    #[inline]
    fn end_or_queue(
        &mut self,
        frame: D::Frame,
        outcome: Outcome,
        disposition: Disposition,
        slot: usize,
    ) {
        let mut meta = meta_of(outcome, length_bytes(&frame), self.accounting.now);
        if outcome.is_followed() && outcome.is_forward() {
            self.capture_forward(outcome, &mut meta);
        }
        match disposition {
            Disposition::End => self.end(frame, outcome, slot),
            Disposition::Discard => {
                let queued = QueuedFrame { frame, meta };
                self.drop_bound(queued, outcome.out(), slot, DropReason::Watchdog);
            }
            Disposition::AdmitEach => self.admit(QueuedFrame { frame, meta }, outcome.out(), slot),
            Disposition::Enqueue
            | Disposition::Batch(..)
            | Disposition::Handoff(..)
            | Disposition::Queue(..) => {
                self.enqueue(QueuedFrame { frame, meta }, outcome.out(), slot);
            }
        }
    }

    /// Charges one frame to its VIQ and takes it to its queue, or drops it.
    fn admit(&mut self, queued: QueuedFrame<D::Frame>, out: PortId, slot: usize) {
        let cost_bytes = self.accounting.buffer.cost_bytes(u32::from(queued.meta.bytes));
        match self.accounting.buffer.admit(queued.meta.viq, cost_bytes) {
            Ok(()) => {
                self.mark_headroom(queued.meta.viq, slot);
                self.enqueue(queued, out, slot);
            }
            Err(reason) => self.drop_bound(queued, out, slot, reason),
        }
    }

    /// Drops a frame that was to leave by `out`, in the class of its VIQ.
    #[cold]
    fn drop_bound(
        &mut self,
        queued: QueuedFrame<D::Frame>,
        out: PortId,
        slot: usize,
        reason: DropReason,
    ) {
        if self.accounting.is_observed() {
            self.capture_bound(out, Priority::from_low_bits(queued.meta.priority));
        }
        self.drop(queued.frame, slot, reason, Some(queued.meta.viq.priority()));
    }

    /// Takes an admitted frame to its queue, at this worker or at another.
    #[inline]
    fn enqueue(&mut self, queued: QueuedFrame<D::Frame>, out: PortId, slot: usize) {
        let out_slot = self.handoff_tx.egress_slot(out).filter(|&out_slot| {
            let priority = Priority::from_low_bits(queued.meta.priority);
            self.handoff_tx.is_own(out_slot) || self.ports[out_slot].takes(priority)
        });
        if let Some(out_slot) = out_slot {
            self.accounting.driver.mark_tx(out_slot);
            let port = &mut self.ports[out_slot];
            port.enqueue(queued, &mut self.device, &mut self.accounting);
        } else if let Err(queued) = self.handoff_tx.push(queued, &mut self.accounting) {
            self.accounting.release(&queued.meta);
            self.drop_bound(queued, out, slot, DropReason::PortDown);
        }
    }

    /// Dispatches one frame whose arrival is counted.
    pub(crate) fn dispatch_frame(
        &mut self,
        frame: D::Frame,
        frame_outcome: &FrameOutcome,
        slot: usize,
    ) {
        let outcome = frame_outcome.outcome;
        if !outcome.is_forward() {
            return self.end(frame, outcome, slot);
        }
        self.count_tag_change(outcome, 1, slot);
        let mut meta = meta_of(outcome, frame_outcome.bytes, self.accounting.now);
        if self.accounting.is_observed() {
            self.capture_forward(outcome, &mut meta);
        }
        let (queued, out) = (QueuedFrame { frame, meta }, outcome.out());
        if self.ports[slot].discards(outcome.viq().priority()) {
            return self.drop_bound(queued, out, slot, DropReason::Watchdog);
        }
        if self.is_oversize(frame_outcome) {
            return self.drop_bound(queued, out, slot, DropReason::Oversize);
        }
        self.admit(queued, out, slot);
    }

    /// Whether the frame is forwarded and too long for its egress port.
    #[inline(always)]
    pub(crate) fn is_oversize(&self, frame_outcome: &FrameOutcome) -> bool {
        let outcome = frame_outcome.outcome;
        outcome.is_forward() && frame_outcome.bytes > self.tx_frame_bytes_max[outcome.out().index()]
    }

    /// Counts the received frames of an outcome group.
    #[inline(always)]
    pub(crate) fn count_outcome(&mut self, group: &OutcomeGroup, arrival: Arrival) {
        if !arrival.is_new {
            return;
        }
        let port = &mut self.ports[arrival.slot];
        let frames = u64::from(group.sums.frames);
        match group.outcome.class() {
            Some(class) => port.count_received(class, frames, u64::from(group.rx_bytes)),
            None if group.outcome.verdict() == Verdict::Consume => {}
            None => port.counters.rx_unclassified_frames += frames,
        }
    }

    /// Counts frames that were re-marked or whose tag the rules changed.
    pub(super) fn count_tag_change(&mut self, outcome: Outcome, frames: u32, slot: usize) {
        let counters = &mut self.ports[slot].counters;
        let counter = match outcome.change() {
            TagChange::None => return,
            TagChange::Remarked => &mut counters.remarked_frames,
            TagChange::Raised => &mut counters.raised_frames,
            TagChange::Demoted => &mut counters.demoted_frames,
        };
        *counter += u64::from(frames);
        if outcome.change() != TagChange::Remarked {
            let (tag, new_tag) = outcome.tags();
            self.tag_changes.add(tag, new_tag, frames);
        }
    }
}

/// The slot to whose transmit batch all of `dispositions` lead, if there is one.
#[inline(always)]
#[expect(single_use_lifetimes, reason = "an elided one is not stable in `impl Trait`")]
pub(crate) fn only_batch<'a>(
    mut dispositions: impl Iterator<Item = &'a Disposition>,
) -> Option<usize> {
    let &Disposition::Batch(first, _) = dispositions.next()? else { return None };
    let all = dispositions
        .all(|disposition| matches!(disposition, &Disposition::Batch(slot, _) if slot == first));
    all.then_some(usize::from(first))
}

/// The slot to whose queue all of `dispositions` lead, if there is one, and their metadata are the
/// same but for the length.
#[inline(always)]
#[expect(single_use_lifetimes, reason = "an elided one is not stable in `impl Trait`")]
fn only_queue<'a>(
    mut dispositions: impl Iterator<Item = &'a Disposition>,
) -> Option<(usize, FrameMeta)> {
    let &Disposition::Queue(first, meta) = dispositions.next()? else { return None };
    let joins = |disposition: &Disposition| match disposition {
        Disposition::Queue(slot, its) => *slot == first && its.is_of_run(&meta),
        _ => false,
    };
    dispositions.all(joins).then_some((usize::from(first), meta))
}

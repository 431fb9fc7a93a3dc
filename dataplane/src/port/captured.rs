//! Capture at a port: frames that leave, and frames that are dropped in a queue.

use super::Port;
use crate::accounting::Accounting;
use crate::buffer::ViqId;
use crate::capture::Capture;
use crate::capture::record::{Depths, Ending, Kind, Record};
use crate::counters::DropReason;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::Frame;
use crate::ids::{PortId, Priority};
use crate::queue::veq::{FrameMeta, QueuedFrame, low_32_bits};

impl<D: Device, V: Driver> Port<D, V> {
    /// Adds to `depths` those of the queue of `priority`, and the pauses of the peer.
    pub(crate) fn add_egress_depths(&self, priority: Priority, depths: &mut Depths) {
        let veq = &self.queues[priority.index()].veq;
        (depths.veq_bytes, depths.veq_frames) = (veq.bytes(), veq.frames());
        depths.rx_paused_bits = self.receiver.paused_bits();
    }

    /// An event of a frame that was admitted with `meta`, as of now.
    fn event(
        &self,
        kind: Kind,
        ending: Ending,
        meta: &FrameMeta,
        accounting: &Accounting<D::Frame, V>,
    ) -> Record {
        let priority = Priority::from_low_bits(meta.priority);
        let mut depths = Depths::default();
        self.add_egress_depths(priority, &mut depths);
        let is_of_port = meta.viq != ViqId::NONE;
        if is_of_port {
            let viq = accounting.buffer.viq(meta.viq);
            (depths.viq_bytes, depths.headroom_bytes) = (viq.bytes(), viq.headroom_used_bytes());
        }
        Record {
            is_outbound: true,
            at_ns: accounting.now.ns,
            in_port: is_of_port.then(|| accounting.port_of(meta.viq)),
            out_port: PortId::from_index(usize::from(meta.out)),
            in_class: is_of_port.then(|| meta.viq.priority()),
            out_class: Some(priority),
            waited_ns: low_32_bits(accounting.now).wrapping_sub(meta.arrived_ns),
            depths,
            ..Record::new(kind, ending, self.id)
        }
    }

    /// A frame that was admitted is dropped here.
    #[cold]
    pub(super) fn capture_drop_queued(
        &self,
        queued: &QueuedFrame<D::Frame>,
        reason: DropReason,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        let QueuedFrame { frame, meta } = queued;
        let cause = Some(reason as u8);
        let record = |accounting: &Accounting<D::Frame, V>| {
            let event = self.event(Kind::Drop, Ending::Dropped, meta, accounting);
            Record { cause, ..event }
        };
        if accounting.has_in_hand() && is_in_hand(meta, accounting) {
            accounting.in_hand.goes_on(Ending::Dropped, cause);
        }
        if let Some(mut capture) = accounting.capture.take() {
            if capture.captures_queued(Kind::Drop, meta) {
                capture.record(record(accounting), frame);
            }
            accounting.capture = Some(capture);
        }
        if let Some(mut sampling) = accounting.sampling.take() {
            if sampling.reports(accounting.now) {
                sampling.report(record(accounting), frame);
            }
            accounting.sampling = Some(sampling);
        }
    }

    /// Keeps the starts of the captured frames of the transmit batch, which is offered to the
    /// device. Returns whether there are any.
    #[inline(never)]
    pub(super) fn capture_offered(&self, accounting: &mut Accounting<D::Frame, V>) -> bool {
        let takes_all = accounting.capture.as_deref().is_some_and(Capture::takes_all);
        (takes_all || self.tx_batch.has_marks()) && self.keep_offered(accounting)
    }

    #[cold]
    fn keep_offered(&self, accounting: &mut Accounting<D::Frame, V>) -> bool {
        let runs = accounting.capture.as_deref().map_or(0, |capture| {
            self.tx_batch.runs_of(|meta| capture.captures_queued(Kind::Out, meta))
        });
        if runs == 0 {
            return false;
        }
        let Some(mut capture) = accounting.capture.take() else { return false };
        for (at, frame, meta) in self.tx_batch.frames_of(runs) {
            let event = self.event(Kind::Out, Ending::Sent, meta, accounting);
            capture.offer(at, event, frame);
        }
        accounting.capture = Some(capture);
        true
    }
}

/// Whether the frame with `meta` is the one in hand: not so if it was queued before, and its place
/// was needed.
fn is_in_hand<F: Frame, V: Driver>(meta: &FrameMeta, accounting: &Accounting<F, V>) -> bool {
    let followers = accounting.in_hand.followers;
    if followers.capture {
        return accounting.capture.as_ref().is_some_and(|capture| capture.is_marked(meta));
    }
    let out = accounting.in_hand.out.map(|out| out.0.index());
    out == Some(usize::from(meta.out)) && meta.arrived_ns == low_32_bits(accounting.now)
}

//! Frames that go back into a queue, and those that are dropped after admission.

use super::Queue;
use crate::accounting::Accounting;
use crate::counters::{DropReason, PortCounters};
use crate::driver::Driver;
use crate::frame::Frame;
use crate::limits::PRIORITIES;
use crate::queue::veq::QueuedFrame;

/// Drops a frame at this port after admission: releases it and counts the drop.
#[cold]
pub(crate) fn drop_queued<F: Frame, V: Driver>(
    queued: QueuedFrame<F>,
    reason: DropReason,
    counters: &mut PortCounters,
    accounting: &mut Accounting<F, V>,
) {
    accounting.release(&queued.meta);
    accounting.totals.dropped += 1;
    counters.count_drop(reason);
    if accounting.is_lossless(&queued.meta) {
        counters.count_lossless_drop(queued.meta.viq.priority(), reason);
    }
}

/// Puts a frame to the front of its VEQ, whether it came from there or bypassed it.
#[inline]
pub(super) fn put_front<F: Frame, V: Driver>(
    queued: QueuedFrame<F>,
    queues: &mut [Queue; PRIORITIES],
    occupied_bits: &mut u8,
    counters: &mut PortCounters,
    accounting: &mut Accounting<F, V>,
) {
    let priority = usize::from(queued.meta.priority & 7);
    match queues[priority].veq.push_front(&mut accounting.frame_pool, queued) {
        Ok(()) => *occupied_bits |= 1 << priority,
        Err(queued) => drop_queued(queued, DropReason::TailDrop, counters, accounting),
    }
}

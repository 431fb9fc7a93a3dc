//! Link up and link down of a port, and the drop of a whole queue.
//!
//! Drop reasons: `port_down`, `watchdog`.

use super::{Port, drop_queued};
use crate::accounting::Accounting;
use crate::counters::DropReason;
use crate::driver::Driver;
use crate::frame::Frame;
use crate::ids::Priority;
use crate::time::Instant;

impl<F: Frame, V: Driver> Port<F, V> {
    /// Sets the link up or down. At link down, the queued frames are dropped: they cannot leave,
    /// and they would occupy their VIQs' buffers forever. In both cases the pauses of both
    /// directions are reset: the peer resets them too, and pauses that are still needed are sent
    /// again after link up.
    pub(crate) fn set_link(&mut self, up: bool, accounting: &mut Accounting<F, V>, now: Instant) {
        if self.up == up {
            return;
        }
        self.up = up;
        self.receiver.reset(now);
        self.generator.reset(now);
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.reset();
        }
        (self.ignored_bits, self.discarded_bits) = (0, 0);
        if up {
            return;
        }
        self.bypasses_queue = false;
        self.unbatch(0xFF, accounting);
        Priority::all().for_each(|p| self.drop_queue(p, DropReason::PortDown, accounting));
    }

    /// Drops all queued frames of `priority`.
    pub(super) fn drop_queue(
        &mut self,
        priority: Priority,
        reason: DropReason,
        accounting: &mut Accounting<F, V>,
    ) {
        self.spill_pending(accounting);
        while let Some(queued) =
            self.queues[priority.index()].veq.pop_front(&mut accounting.frame_pool)
        {
            drop_queued(queued, reason, &mut self.counters, accounting);
        }
        self.scheduler.emptied(priority.index());
        self.occupied_bits &= !priority.bit();
    }
}

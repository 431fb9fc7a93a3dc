//! A port whose link goes up or down, and a queue that is given up.
//!
//! Ends: `port_down`, `watchdog`.

use super::{Port, drop_held};
use crate::books::Books;
use crate::counters::DropReason;
use crate::frame::Frame;
use crate::ids::Priority;
use crate::probe::Probe;
use crate::time::Instant;

impl<F: Frame> Port<F> {
    /// The link went up or down. Down: what waits is dropped, since it has nowhere to go and would
    /// hold its VIQs' buffers for ever. Either way the pauses of both sides are forgotten: the peer
    /// forgets them too, and what must still be silent is told again once the link is up.
    pub(crate) fn set_link<P: Probe>(&mut self, up: bool, books: &mut Books<F, P>, now: Instant) {
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
        self.direct = false;
        self.unstage(0xFF, books);
        Priority::all().for_each(|p| self.drop_queue(p, DropReason::PortDown, books));
    }

    /// Drops all that waits in `priority`.
    pub(super) fn drop_queue<P: Probe>(
        &mut self,
        priority: Priority,
        reason: DropReason,
        books: &mut Books<F, P>,
    ) {
        self.put_away(books);
        while let Some(held) = self.queues[priority.index()].veq.pop_front(&mut books.arena) {
            drop_held(held, reason, &mut self.counters, books);
        }
        self.scheduler.emptied(priority.index());
        self.occupied_bits &= !priority.bit();
    }
}

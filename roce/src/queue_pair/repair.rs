//! What a requester of selective repeat sends again.

use super::bitmap::Bitmap;
use crate::psn::Psn;
use crate::wire::Selective;

/// Which packets in flight have arrived, and which of the others are to be sent again.
#[derive(Clone, Debug)]
pub(super) struct Repair {
    arrived: Bitmap,
    /// The next packet to send again, unless it is `end`.
    next: Psn,
    end: Psn,
    /// Repairing goes on until everything before this is acknowledged; each packet is sent again
    /// once in that time.
    until: Option<Psn>,
}

impl Repair {
    pub(super) fn new(psn: Psn, window_packets: u32) -> Self {
        Self { arrived: Bitmap::new(window_packets), next: psn, end: psn, until: None }
    }

    /// The packet to send again now.
    pub(super) fn due(&self) -> Option<Psn> {
        (self.next != self.end).then_some(self.next)
    }

    /// Everything before `to` was sent again, or need not be.
    pub(super) fn pass(&mut self, to: Psn) {
        self.next = if to.is_before(self.end) { to } else { self.end };
        while self.next != self.end && self.arrived.has(self.next) {
            self.next = self.next.plus(1);
        }
    }

    /// Sends again from `from` until before `end`, all but what has arrived; `from` in any case.
    pub(super) fn restart(&mut self, from: Psn, end: Psn) {
        self.arrived.clear(from);
        (self.next, self.end) = (from, end);
    }

    /// Learns which packets have arrived; whether this is the first word of a loss.
    pub(super) fn learn(&mut self, unacknowledged: Psn, sent: Psn, selective: Selective) -> bool {
        let mut end = unacknowledged;
        for bit in 0..u64::BITS {
            let psn = selective.first.plus(bit);
            // The first that is not acknowledged may have come when there was no buffer for it.
            let after = psn.since(unacknowledged);
            let is_in_flight = after > 0 && after < sent.since(unacknowledged);
            if selective.arrived >> bit & 1 == 1 && is_in_flight && after < self.arrived.packets() {
                self.arrived.set(psn);
                end = psn;
            }
        }
        let is_first = self.until.is_none();
        if is_first {
            self.until = Some(sent);
            self.arrived.clear(unacknowledged);
            (self.next, self.end) = (unacknowledged, unacknowledged);
        }
        if self.end.is_before(end) {
            self.end = end;
        }
        self.pass(self.next);
        is_first
    }

    /// The first number that is not acknowledged moved.
    pub(super) fn acknowledged(&mut self, before: Psn, unacknowledged: Psn) {
        self.arrived.clear_until(before, unacknowledged);
        if self.end.is_before(unacknowledged) {
            self.end = unacknowledged;
        }
        if self.next.is_before(unacknowledged) {
            self.pass(unacknowledged);
        }
        if self.until.is_some_and(|until| !unacknowledged.is_before(until)) {
            self.until = None;
        }
    }
}

//! The shaper of a port's queues: a queue with a peak rate sends no faster (SONiC: `pir` and `pbs`;
//! IEEE 802.1Q: a transmission selection shaper).
//!
//! A token bucket for each shaped queue. What counts is the octets of a frame, from its destination
//! address to its FCS, as the octet counters of a switch chip do: preamble and gap belong to the
//! wire, of which the port's [`Pacer`](super::pacer::Pacer) takes care. A frame begins only while
//! the bucket has room for the longest frame of the port. So over any interval a queue sends at
//! most what its rate allows, plus its burst; a burst below the longest frame counts as one frame.
//!
//! A shaped queue that waits is like one that is paused: it is not eligible, keeps its deficit, and
//! the other queues of the port go on.

use crate::ids::Priority;
use crate::limits::PRIORITIES;
use crate::time::{Instant, Speed};

/// Octets of a frame that its length here does not count: the FCS.
pub const FCS_BYTES: u32 = 4;
/// An octet, in 10^-9 bits: what a rate of 1 bit/s pays for in a nanosecond.
const NANOBITS_PER_BYTE: u128 = 8 * 1_000_000_000;

/// The most that a queue may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeakRate {
    /// The rate, in bits of frames per second.
    pub rate: Speed,
    /// Octets of frames that an idle queue may send at once.
    pub burst_bytes: u32,
}

/// The shaped queues of one port.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    shaped_bits: u8,
    /// The port's longest frame.
    longest_bytes: u32,
    buckets: [Bucket; PRIORITIES],
}

/// One queue's bucket. Amounts are in 10^-9 bits.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// What was sent and not paid for at `since`.
    debt: u128,
    since: Instant,
    bps: u64,
    /// The debt up to which the next frame may begin.
    allowance: u128,
    /// How often the debt went above that.
    used_up: u64,
}

impl Shaper {
    /// Shapes no queue yet. The port's frames have at most `longest_bytes`, without FCS.
    pub(crate) fn new(longest_bytes: u32) -> Self {
        Self { shaped_bits: 0, longest_bytes, buckets: [Bucket::default(); PRIORITIES] }
    }

    /// Shapes the queue of `priority` so from `now` on, or not at all. What it has sent before
    /// counts as far as the new burst does.
    pub(crate) fn set(&mut self, priority: Priority, peak: Option<PeakRate>, now: Instant) {
        let longest = cost(self.longest_bytes);
        let bucket = &mut self.buckets[priority.index()];
        bucket.settle(now);
        let Some(peak) = peak else {
            self.shaped_bits &= !priority.bit();
            bucket.debt = 0;
            return;
        };
        self.shaped_bits |= priority.bit();
        bucket.bps = peak.rate.bps();
        bucket.allowance =
            (u128::from(peak.burst_bytes) * NANOBITS_PER_BYTE).saturating_sub(longest);
        bucket.debt = bucket.debt.min(bucket.allowance + longest);
    }

    /// Queues with a peak rate.
    #[inline(always)]
    pub(crate) const fn shaped_bits(&self) -> u8 {
        self.shaped_bits
    }

    /// Those of them that may not send at `now`.
    #[inline]
    pub(crate) fn limited_bits(&self, now: Instant) -> u8 {
        let shaped = Priority::in_bits(self.shaped_bits);
        let limited = shaped.filter(|p| !self.buckets[p.index()].is_free(now));
        limited.fold(0, |bits, p| bits | p.bit())
    }

    /// When the queue of `priority` may send; it may already if it is not shaped.
    pub(crate) fn free_at(&self, priority: Priority) -> Instant {
        if self.shaped_bits & priority.bit() == 0 {
            return Instant::ZERO;
        }
        self.buckets[priority.index()].free_at()
    }

    /// A frame of `bytes` of `priority` is sent at `now`.
    #[inline]
    pub(crate) fn sent(&mut self, priority: Priority, bytes: u32, now: Instant) {
        if self.shaped_bits & priority.bit() != 0 {
            self.buckets[priority.index()].send(cost(bytes), now);
        }
    }

    /// A frame of `bytes` of `priority` that counts as sent was not: the device refused it.
    pub(crate) fn take_back(&mut self, priority: Priority, bytes: u32) {
        if self.shaped_bits & priority.bit() != 0 {
            self.buckets[priority.index()].take_back(cost(bytes));
        }
    }

    /// How often the queue of `priority` has used up its rate and its burst.
    pub(crate) const fn used_up(&self, priority: Priority) -> u64 {
        self.buckets[priority.index()].used_up
    }
}

/// What a frame of `bytes` costs.
fn cost(bytes: u32) -> u128 {
    u128::from(bytes + FCS_BYTES) * NANOBITS_PER_BYTE
}

impl Bucket {
    fn paid(&self, now: Instant) -> u128 {
        u128::from(now.ns_since(self.since)) * u128::from(self.bps)
    }

    fn is_free(&self, now: Instant) -> bool {
        self.debt <= self.allowance + self.paid(now)
    }

    fn free_at(&self) -> Instant {
        let over = self.debt.saturating_sub(self.allowance);
        let ns = over.div_ceil(u128::from(self.bps.max(1)));
        self.since + u64::try_from(ns).unwrap_or(u64::MAX)
    }

    fn settle(&mut self, now: Instant) {
        self.debt = self.debt.saturating_sub(self.paid(now));
        self.since = self.since.max(now);
    }

    fn send(&mut self, cost: u128, now: Instant) {
        self.settle(now);
        let was_free = self.debt <= self.allowance;
        self.debt += cost;
        self.used_up += u64::from(was_free && self.debt > self.allowance);
    }

    fn take_back(&mut self, cost: u128) {
        let was_used_up = self.debt > self.allowance;
        self.debt = self.debt.saturating_sub(cost);
        self.used_up -= u64::from(was_used_up && self.debt <= self.allowance);
    }
}

#[cfg(test)]
#[path = "shaper_tests.rs"]
mod tests;

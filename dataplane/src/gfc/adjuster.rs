//! The rate adjuster: at the sender of a link, the rate of each class that its receiver last sent.
//!
//! A rate is valid as long as the longest pause. So neither a lost message nor a failed receiver
//! limits the sender forever. The generator repeats its rates well before they expire.

use super::limiter::{RateLimiter, Share};
use super::{Form, share};
use crate::ids::Priority;
use crate::limits::PRIORITIES;
use crate::pfc::generator::QUANTA_MAX;
use crate::time::{Instant, Speed};

/// The rates of one port's classes.
#[derive(Clone, Debug)]
pub struct RateAdjuster {
    form: Form,
    holds_ns: u64,
    rate_limited_bits: u8,
    limiters: [RateLimiter; PRIORITIES],
    until: [Instant; PRIORITIES],
    /// The earliest of `until` among rate-limited classes.
    expires_at: Instant,
}

impl RateAdjuster {
    /// A port of `speed` whose receiver sends codes in `form`. After a late poll, a class may catch
    /// up on `catch_up_ns` of its rate.
    pub fn new(form: Form, speed: Speed, catch_up_ns: u64) -> Self {
        Self {
            form,
            holds_ns: speed.quanta_ns(QUANTA_MAX),
            rate_limited_bits: 0,
            limiters: core::array::from_fn(|_| RateLimiter::new(speed, catch_up_ns)),
            until: [Instant::ZERO; PRIORITIES],
            expires_at: Instant::NEVER,
        }
    }

    /// The receiver sent `code` for `priority`. Returns whether that is a rate, not a pause or the
    /// end of one.
    pub fn hear(&mut self, priority: Priority, code: u16, now: Instant) -> bool {
        let share = share(self.form, code);
        self.limiters[priority.index()].set_share(share.unwrap_or(Share::ALL), now);
        if share.is_some() {
            self.rate_limited_bits |= priority.bit();
            self.until[priority.index()] = now + self.holds_ns;
        } else {
            self.rate_limited_bits &= !priority.bit();
        }
        self.find_next_expiry();
        share.is_some()
    }

    /// Ends the rates that were not repeated in time.
    #[inline]
    pub fn expire(&mut self, now: Instant) {
        if now < self.expires_at {
            return;
        }
        for priority in Priority::all() {
            if self.rate_limited_bits & priority.bit() != 0 && self.until[priority.index()] <= now {
                self.hear(priority, 0, now);
            }
        }
    }

    /// Ends every rate: the link went down.
    pub fn reset(&mut self, now: Instant) {
        Priority::all().for_each(|priority| _ = self.hear(priority, 0, now));
    }

    /// The earliest expiry of a rate, [`Instant::NEVER`] if there is none.
    #[inline(always)]
    pub const fn expires_at(&self) -> Instant {
        self.expires_at
    }

    /// Classes limited to less than the port's speed.
    #[inline(always)]
    pub const fn rate_limited_bits(&self) -> u8 {
        self.rate_limited_bits
    }

    /// Rate-limited classes that may not send at `now`.
    #[inline]
    pub fn limited_bits(&self, now: Instant) -> u8 {
        let slowed = Priority::in_bits(self.rate_limited_bits);
        let limited = slowed.filter(|p| !self.limiters[p.index()].is_free(now));
        limited.fold(0, |bits, p| bits | p.bit())
    }

    /// When the first of the rate-limited classes in `bits` may send.
    pub fn free_at(&self, bits: u8) -> Instant {
        let slowed = Priority::in_bits(self.rate_limited_bits & bits);
        slowed.map(|p| self.limiters[p.index()].free_at()).min().unwrap_or(Instant::NEVER)
    }

    /// A frame of `bytes` of `priority` is sent at `now`. Frames of classes that are not limited
    /// count too: one may still be on the wire when the first rate comes.
    #[inline]
    pub fn sent(&mut self, priority: Priority, bytes: u32, now: Instant) {
        self.limiters[priority.index()].send(bytes, now);
    }

    fn find_next_expiry(&mut self) {
        let slowed = Priority::in_bits(self.rate_limited_bits);
        self.expires_at = slowed.map(|p| self.until[p.index()]).min().unwrap_or(Instant::NEVER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P3: Priority = Priority::from_low_bits(3);
    const P5: Priority = Priority::from_low_bits(5);

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    /// Sends frames of 1,226 bytes, 1,250 on the wire, for 1 ms, polled every 10 ns. Returns how
    /// many were sent.
    fn sent_in_a_millisecond(adjuster: &mut RateAdjuster) -> usize {
        let polls = (0..1_000_000).step_by(10).map(at);
        let goes = |now: &Instant| {
            let goes = adjuster.limited_bits(*now) & P3.bit() == 0;
            if goes {
                adjuster.sent(P3, 1_226, *now);
            }
            goes
        };
        polls.filter(goes).count()
    }

    #[test]
    fn each_stage_halves_the_rate() {
        for (stage, frames) in [(1, 500), (2, 250), (3, 125), (6, 16)] {
            let mut adjuster = RateAdjuster::new(Form::Staged, Speed::from_gbps(10), 0);
            assert!(adjuster.hear(P3, stage, at(0)));
            let sent = sent_in_a_millisecond(&mut adjuster);
            assert!(sent.abs_diff(frames) <= 1, "stage {stage}: {sent} of {frames}");
        }
    }

    #[test]
    fn a_pause_or_its_end_is_no_rate_and_ends_one() {
        let mut adjuster = RateAdjuster::new(Form::Staged, Speed::from_gbps(10), 0);
        for code in [0, 100, 0xFFFF] {
            assert!(adjuster.hear(P3, 2, at(0)) && adjuster.hear(P5, 1, at(0)));
            assert!(!adjuster.hear(P3, code, at(5)));
            assert_eq!(adjuster.rate_limited_bits(), P5.bit());
        }
    }

    #[test]
    fn what_waits_for_a_slow_rate_need_not_when_the_rate_rises() {
        let mut adjuster = RateAdjuster::new(Form::Staged, Speed::from_gbps(10), 0);
        adjuster.hear(P3, 6, at(0));
        adjuster.sent(P3, 1_226, at(0));
        assert_eq!(adjuster.free_at(0xFF), at(64_000));
        adjuster.hear(P3, 1, at(32_000));
        assert_eq!(adjuster.free_at(0xFF), at(33_000), "half of the frame is paid for");
        adjuster.hear(P3, 6, at(33_000));
        assert_eq!(adjuster.free_at(P5.bit()), Instant::NEVER);
    }

    #[test]
    fn a_rate_that_is_not_repeated_ends() {
        let mut adjuster = RateAdjuster::new(Form::Staged, Speed::from_gbps(10), 0);
        adjuster.hear(P3, 2, at(0));
        adjuster.expire(at(3_355_391));
        assert_eq!(adjuster.rate_limited_bits(), P3.bit());
        adjuster.expire(at(3_355_392));
        assert_eq!(adjuster.rate_limited_bits(), 0);
        adjuster.hear(P3, 2, at(4_000_000));
        adjuster.reset(at(4_000_001));
        assert_eq!((adjuster.rate_limited_bits(), adjuster.limited_bits(at(4_000_001))), (0, 0));
    }
}

//! The rate limiter of one class: what it has sent beyond its rate, to the picosecond of wire time.
//!
//! A frame is charged as a whole when it begins, and the next one may begin when the rate has paid
//! for it. So a class is ahead of its rate by one frame at most, at every moment and whatever the
//! rates were: the bound on a queue relies on that (decision 065). A change of the rate settles
//! first what the old rate has paid of a frame that is still in debt. At the 16th stage of a 10G
//! port a frame takes 78 ms; its rate is kept as exactly as any other.

use crate::limits::WIRE_OVERHEAD_BYTES;
use crate::time::{Instant, Speed};

/// Binary digits of a share, and of the wire time of a byte, after the point.
const FRACTION: u32 = 32;
const PS_PER_NS: i128 = 1_000;

/// A part of a port's speed, in units of 2^-32, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share(u64);

impl Share {
    /// The whole speed.
    pub(super) const ALL: Self = Self(1 << FRACTION);

    /// `part / whole`, rounded down.
    pub(super) fn of(part: u16, whole: u16) -> Self {
        Self(((u64::from(part) << FRACTION) / u64::from(whole.max(1))).max(1))
    }

    /// `1 / 2^stage`.
    pub(super) const fn halved(stage: u16) -> Self {
        Self(if stage < 32 { 1 << (FRACTION - stage as u32) } else { 1 })
    }
}

/// See the module's head.
#[derive(Clone, Debug)]
pub(super) struct RateLimiter {
    /// Wire time at full speed that was sent and not paid for at `since`, in picoseconds with 32
    /// binary digits after the point; negative if the class may catch up.
    debt: i128,
    since: Instant,
    share: Share,
    /// Wire time of a byte, in the same unit.
    byte: u64,
    catch_up_ns: u64,
}

impl RateLimiter {
    /// A class of a port of `speed` that is not limited yet. Once limited, it may make up for
    /// `catch_up_ns` of a late poll.
    pub(super) fn new(speed: Speed, catch_up_ns: u64) -> Self {
        const PS_PER_BYTE_AT_1_BPS: u128 = 8_000_000_000_000;
        let byte = (PS_PER_BYTE_AT_1_BPS << FRACTION).div_ceil(u128::from(speed.bps()));
        Self {
            debt: 0,
            since: Instant::ZERO,
            share: Share::ALL,
            byte: u64::try_from(byte).unwrap_or(u64::MAX),
            catch_up_ns,
        }
    }

    /// Whether the next frame may begin at `now`.
    #[inline]
    pub(super) fn is_free(&self, now: Instant) -> bool {
        self.debt <= self.paid(now)
    }

    /// When the next frame may begin.
    pub(super) fn free_at(&self) -> Instant {
        if self.debt <= 0 {
            return self.since;
        }
        let ns = self.debt.unsigned_abs().div_ceil(u128::from(self.share.0) * 1_000);
        self.since + u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// Charges a frame of `bytes` that begins at `now`.
    #[inline]
    pub(super) fn send(&mut self, bytes: u32, now: Instant) {
        self.settle(now);
        let on_wire = u64::from(bytes) + WIRE_OVERHEAD_BYTES as u64;
        self.debt += i128::from(on_wire) * i128::from(self.byte);
    }

    /// Limits the class to `share` from `now` on.
    pub(super) fn set_share(&mut self, share: Share, now: Instant) {
        self.settle(now);
        self.share = share;
        self.debt = self.debt.max(-self.credit_max());
    }

    /// What the rate pays from `since` to `now`.
    #[inline]
    fn paid(&self, now: Instant) -> i128 {
        i128::from(now.ns_since(self.since)) * (PS_PER_NS * i128::from(self.share.0))
    }

    #[inline]
    fn settle(&mut self, now: Instant) {
        self.debt = (self.debt - self.paid(now)).max(-self.credit_max());
        self.since = self.since.max(now);
    }

    /// The most that a class may catch up on; nothing at full speed, where the wire is the limit.
    #[inline]
    fn credit_max(&self) -> i128 {
        if self.share == Share::ALL {
            return 0;
        }
        i128::from(self.catch_up_ns) * (PS_PER_NS * i128::from(self.share.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    /// 1,226 bytes are 1,250 on the wire: 1 us at 10G.
    const FRAME: u32 = 1_226;

    fn limiter(stage: u16) -> RateLimiter {
        let mut limiter = RateLimiter::new(Speed::from_gbps(10), 0);
        limiter.set_share(Share::halved(stage), at(0));
        limiter
    }

    #[test]
    fn a_frame_takes_as_long_as_its_stage_says_down_to_the_last() {
        for stage in 0..=32 {
            let mut limiter = limiter(stage);
            limiter.send(FRAME, at(5));
            assert_eq!(limiter.free_at(), at(5 + (1_000_u64 << stage)), "stage {stage}");
            assert!(limiter.is_free(limiter.free_at()));
            assert!(!limiter.is_free(at(limiter.free_at().ns - 1)));
        }
    }

    /// What a rate has paid stays paid when the rate changes in the middle of a frame.
    #[test]
    fn a_change_of_the_rate_keeps_what_was_paid() {
        let mut limiter = limiter(4);
        limiter.send(FRAME, at(0));
        assert_eq!(limiter.free_at(), at(16_000));
        limiter.set_share(Share::halved(1), at(8_000));
        assert_eq!(limiter.free_at(), at(9_000), "half of it at a sixteenth, half of it at a half");
        limiter.set_share(Share::halved(6), at(8_500));
        assert_eq!(limiter.free_at(), at(8_500 + 16_000), "a quarter is left");
    }

    #[test]
    fn what_begins_at_full_speed_counts_when_a_rate_comes() {
        let mut limiter = limiter(0);
        limiter.send(FRAME, at(0));
        limiter.set_share(Share::halved(3), at(400));
        assert_eq!(limiter.free_at(), at(400 + 8 * 600));
    }

    #[test]
    fn a_late_poll_is_made_up_for_and_an_idle_class_is_not_ahead() {
        let mut limiter = RateLimiter::new(Speed::from_gbps(10), 3_000);
        limiter.set_share(Share::halved(1), at(0));
        let burst = |limiter: &mut RateLimiter, now: u64| {
            let sends = || limiter.is_free(at(now)).then(|| limiter.send(FRAME, at(now))).is_some();
            core::iter::repeat_with(sends).take_while(|sent| *sent).count()
        };
        assert_eq!(burst(&mut limiter, 1_000_000), 2, "1.5 us, and the one that starts then");
        limiter.set_share(Share::ALL, at(2_000_000));
        limiter.set_share(Share::halved(1), at(3_000_000));
        assert_eq!(burst(&mut limiter, 3_000_000), 1, "full speed earns nothing");
    }

    proptest! {
        /// The bound that queues rely on: over any interval, a frame and what the rates of the
        /// interval allow, whatever the frames and the rates were.
        #[test]
        fn over_any_interval_a_class_is_a_frame_ahead_at_most(
            changes in proptest::collection::vec((0_u16..=12, 1_u64..40_000, 60_u32..9_000), 1..60),
        ) {
            let mut limiter = RateLimiter::new(Speed::from_gbps(10), 0);
            // In picoseconds of wire time, times 2^12, so that every sum is exact.
            let (mut now, mut allowed, mut sent) = (0_u64, 0_u64, 0_u64);
            let mut least_ahead = 0_i128;
            for (stage, ns, bytes) in changes {
                limiter.set_share(Share::halved(stage), at(now));
                let until = now + ns;
                while now < until {
                    if limiter.is_free(at(now)) {
                        limiter.send(bytes, at(now));
                        sent += (u64::from(bytes + 24) * 800) << 12;
                        let ahead = i128::from(sent) - i128::from(allowed);
                        let frame = i128::from((9_024_u64 * 800) << 12);
                        prop_assert!(ahead - least_ahead <= frame);
                    }
                    let next = limiter.free_at().max(at(now + 1)).ns.min(until);
                    allowed += ((next - now) * 1_000) << (12 - stage);
                    now = next;
                    least_ahead = least_ahead.min(i128::from(sent) - i128::from(allowed));
                }
            }
        }
    }
}

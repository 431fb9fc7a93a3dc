//! A token bucket, kept as one instant (the generic cell rate algorithm).

use crate::time::Instant;

const SECOND_NS: u64 = 1_000_000_000;

/// How many events a policer lets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoliceRate {
    /// Events per second on average; 0 is none at all.
    pub per_second: u32,
    /// Events at once; at least one passes, if any does.
    pub burst: u32,
}

/// Allows a number of events per second on average, and a number at once.
#[derive(Clone, Debug)]
pub struct RateLimiter {
    /// The time that one event costs; `None` if no event is allowed.
    interval_ns: Option<u64>,
    /// The time that it takes to fill the empty bucket.
    depth_ns: u64,
    /// When the bucket is full again. If this is `depth_ns` away, it is empty.
    full_at: Instant,
}

impl RateLimiter {
    /// A full bucket that allows `per_second` events, and one second's worth in a burst.
    pub fn new(per_second: u32) -> Self {
        let interval_ns = SECOND_NS.checked_div(per_second.into());
        Self { interval_ns, depth_ns: SECOND_NS, full_at: Instant::ZERO }
    }

    /// A full bucket of `rate`.
    pub(crate) fn of(rate: PoliceRate) -> Self {
        let interval_ns = SECOND_NS.checked_div(rate.per_second.into());
        let depth_ns = interval_ns.unwrap_or(0).saturating_mul(rate.burst.max(1).into());
        Self { interval_ns, depth_ns, full_at: Instant::ZERO }
    }

    /// Takes one token. Returns whether there was one.
    pub fn take(&mut self, now: Instant) -> bool {
        let Some(interval_ns) = self.interval_ns else { return false };
        let full_at = self.full_at.max(now) + interval_ns;
        let allowed = full_at.ns_since(now) <= self.depth_ns;
        if allowed {
            self.full_at = full_at;
        }
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn one_instant_does_what_a_bucket_of_tokens_does(
            per_second in 1..2_000_u32,
            gaps_us in prop::collection::vec(0..20_000_u64, 0..400),
        ) {
            let interval_ns = SECOND_NS / u64::from(per_second);
            let (mut now, mut bucket_ns) = (Instant::from_ns(SECOND_NS), SECOND_NS);
            let mut limiter = RateLimiter::new(per_second);
            for gap_us in gaps_us {
                now = now + gap_us * 1_000;
                bucket_ns = SECOND_NS.min(bucket_ns + gap_us * 1_000);
                let expected = bucket_ns >= interval_ns;
                bucket_ns -= if expected { interval_ns } else { 0 };
                prop_assert_eq!(limiter.take(now), expected);
            }
        }
    }

    #[test]
    fn a_second_of_tokens_goes_at_once_and_comes_back_evenly() {
        let mut limiter = RateLimiter::new(100);
        let burst = |limiter: &mut RateLimiter, ms: u64| {
            (0..1_000).filter(|_| limiter.take(Instant::from_ns(ms * 1_000_000))).count()
        };
        assert_eq!(burst(&mut limiter, 5_000), 100);
        assert_eq!(burst(&mut limiter, 5_009), 0, "one costs 10 ms");
        assert_eq!(burst(&mut limiter, 5_010), 1);
        assert_eq!(burst(&mut limiter, 5_110), 10);
        assert_eq!(burst(&mut limiter, 60_000), 100, "the bucket holds no more than a second");
    }

    #[test]
    fn a_burst_is_as_long_as_it_is_set() {
        let now = Instant::from_ns(7);
        for burst in [1, 3, 1_000, 100_000] {
            let mut limiter = RateLimiter::of(PoliceRate { per_second: 2_000, burst });
            let passed = (0..200_000).filter(|_| limiter.take(now)).count();
            assert_eq!(passed, burst as usize);
            assert!(limiter.take(now + 500_000), "one costs half a millisecond");
            assert!(!limiter.take(now + 500_000));
        }
        let mut one = RateLimiter::of(PoliceRate { per_second: 1, burst: 0 });
        assert!(one.take(now) && !one.take(now));
        let mut none = RateLimiter::of(PoliceRate { per_second: 0, burst: 9 });
        assert!(!none.take(now));
    }

    #[test]
    fn extreme_rates_are_obeyed() {
        assert!(!RateLimiter::new(0).take(Instant::from_ns(7)));
        let mut fastest = RateLimiter::new(u32::MAX);
        assert!((0..1_000).all(|_| fastest.take(Instant::ZERO)));
        let mut late = RateLimiter::new(1);
        assert!(late.take(Instant::NEVER), "the end of time does not overflow");
    }
}

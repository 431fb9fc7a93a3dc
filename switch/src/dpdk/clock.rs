//! The TSC in nanoseconds: a read, a multiplication and a shift.

use super::eal::Eal;
use super::tsc::ticks;
use dataplane::time::Instant;

/// Turns TSC ticks into nanoseconds since the clock was made. Copies of it agree with each other on
/// all cores, as the TSC does on every CPU that DPDK supports (constant and synchronized).
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin_ticks: u64,
    rate: Rate,
}

/// Nanoseconds a tick, as a fraction of 2^32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rate {
    ns_times_2_32: u64,
}

impl Rate {
    #[expect(clippy::cast_possible_truncation, reason = "at most 10^9 x 2^32, below 2^62")]
    const fn from_hz(hz: u64) -> Self {
        let hz = if hz == 0 { 1 } else { hz };
        let ns_times_2_32 = (1_000_000_000_u128 << 32) / hz as u128;
        Self { ns_times_2_32: ns_times_2_32 as u64 }
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "64 bits of nanoseconds last 584 years")]
    const fn ns(self, ticks: u64) -> u64 {
        ((ticks as u128 * self.ns_times_2_32 as u128) >> 32) as u64
    }
}

impl Clock {
    /// A clock that starts at 0 now, at the rate that was found when the EAL started.
    pub fn new(eal: &Eal) -> Self {
        Self { origin_ticks: ticks(), rate: Rate::from_hz(eal.tsc_hz()) }
    }

    /// Nanoseconds since the clock was made. Never goes back on one core.
    #[inline(always)]
    pub fn now(&self) -> Instant {
        // A core whose TSC is a tick behind the one that made the clock must not see the far
        // future.
        Instant::from_ns(self.rate.ns(ticks().saturating_sub(self.origin_ticks)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_the_nanoseconds_that_long_division_gives() {
        for hz in [1, 1_000_000_000, 1_996_800_000, 2_400_000_000, 5_000_000_001] {
            let rate = Rate::from_hz(hz);
            for ticks in [0, 1, hz - 1, hz, 3 * hz, 1_000_000_007, 86_400 * hz] {
                let exact = u128::from(ticks) * 1_000_000_000 / u128::from(hz);
                let error = exact.abs_diff(u128::from(rate.ns(ticks)));
                // Less than a nanosecond a second: the rate is cut off after 32 bits.
                assert!(error <= 1 + exact / 1_000_000_000, "{ticks} ticks at {hz} Hz: {error}");
            }
        }
    }
}

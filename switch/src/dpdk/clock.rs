//! The TSC as nanoseconds: a read, a multiplication and a shift.

use super::eal::Eal;
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

/// The TSC and the system's clock at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    ticks: u64,
    wall: std::time::Instant,
}

impl Mark {
    /// Now, to a few tens of nanoseconds: of several readings the one that took the TSC the least.
    pub(super) fn now() -> Self {
        let read = || {
            let (before, wall, after) = (ticks(), std::time::Instant::now(), ticks());
            let took = after.saturating_sub(before);
            (took, Self { ticks: before + took / 2, wall })
        };
        let first = read();
        (0..16).map(|_| read()).fold(first, |best, one| if one.0 < best.0 { one } else { best }).1
    }
}

/// The TSC's rate, once the EAL has started. `before` was taken before that.
///
/// DPDK asks the CPU, which is exact, or else measures and rounds to 10 MHz, which can be 0.2 %
/// off: ten times what [`Pacer`](super::pacer::Pacer) allows for. So what it says is held against
/// the system's clock over the time that the start took.
pub(super) fn tsc_hz(before: Mark) -> u64 {
    // SAFETY: reads a number that rte_eal_init set.
    let said_hz = unsafe { dpdk_sys::rte_get_tsc_hz() };
    let now = Mark::now();
    let ticks = now.ticks.saturating_sub(before.ticks);
    choose_hz(said_hz, ticks, now.wall.duration_since(before.wall).as_nanos())
}

/// Two readings of two clocks are a microsecond apart at worst, so this long they tell 50 ppm.
const MEASURED_NS_MIN: u128 = 20_000_000;

/// `said_hz`, unless the ticks in `wall_ns` contradict it by more than 100 ppm.
fn choose_hz(said_hz: u64, ticks: u64, wall_ns: u128) -> u64 {
    if wall_ns < MEASURED_NS_MIN {
        return said_hz;
    }
    let measured = u128::from(ticks) * 1_000_000_000 / wall_ns;
    let measured_hz = u64::try_from(measured).unwrap_or(said_hz);
    if measured_hz.abs_diff(said_hz) > said_hz / 10_000 { measured_hz } else { said_hz }
}

#[inline(always)]
fn ticks() -> u64 {
    // SAFETY: every x86-64 CPU has rdtsc, and Linux lets user space use it.
    unsafe { core::arch::x86_64::_rdtsc() }
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

    #[test]
    fn a_rounded_rate_is_corrected_and_an_exact_one_kept() {
        let second_ns = 1_000_000_000;
        assert_eq!(choose_hz(2_590_000_000, 2_594_000_000, second_ns), 2_594_000_000, "1544 ppm");
        assert_eq!(choose_hz(2_594_000_000, 2_594_100_000, second_ns), 2_594_000_000, "39 ppm");
        assert_eq!(choose_hz(2_590_000_000, 2_594_000, 1_000_000), 2_590_000_000, "too short");
    }

    #[test]
    fn a_mark_is_between_its_neighbours() {
        let (before, mark, after) = (ticks(), Mark::now(), ticks());
        assert!(before <= mark.ticks && mark.ticks <= after);
    }
}

//! The rate of the TSC, checked against the system's clock.

/// Simultaneous readings of the TSC and the system's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct TscReading {
    ticks: u64,
    wall: std::time::Instant,
}

impl TscReading {
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
/// DPDK reads the rate from the CPU, which is exact, or else measures it and rounds it to 10 MHz,
/// which can be 0.2 % off: ten times what [`Pacer`](super::pacer::Pacer) allows for. So DPDK's rate
/// is compared with the system's clock over the time that the start took.
pub(super) fn measure_hz(before: TscReading) -> u64 {
    // SAFETY: reads a number that rte_eal_init set.
    let dpdk_hz = unsafe { dpdk_sys::rte_get_tsc_hz() };
    let now = TscReading::now();
    let ticks = now.ticks.saturating_sub(before.ticks);
    choose_hz(dpdk_hz, ticks, now.wall.duration_since(before.wall).as_nanos())
}

/// The shortest comparison: two readings are at most a microsecond apart, which is 50 ppm of this.
const MEASURED_NS_MIN: u128 = 20_000_000;

/// `dpdk_hz`, unless the ticks in `wall_ns` contradict it by more than 100 ppm.
fn choose_hz(dpdk_hz: u64, ticks: u64, wall_ns: u128) -> u64 {
    if wall_ns < MEASURED_NS_MIN {
        return dpdk_hz;
    }
    let measured = u128::from(ticks) * 1_000_000_000 / wall_ns;
    let measured_hz = u64::try_from(measured).unwrap_or(dpdk_hz);
    if measured_hz.abs_diff(dpdk_hz) > dpdk_hz / 10_000 { measured_hz } else { dpdk_hz }
}

#[inline(always)]
pub(super) fn ticks() -> u64 {
    // SAFETY: every x86-64 CPU has rdtsc, and Linux lets user space use it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rounded_rate_is_corrected_and_an_exact_one_kept() {
        let second_ns = 1_000_000_000;
        assert_eq!(choose_hz(2_590_000_000, 2_594_000_000, second_ns), 2_594_000_000, "1544 ppm");
        assert_eq!(choose_hz(2_594_000_000, 2_594_100_000, second_ns), 2_594_000_000, "39 ppm");
        assert_eq!(choose_hz(2_590_000_000, 2_594_000, 1_000_000), 2_590_000_000, "too short");
    }

    #[test]
    fn a_reading_is_between_the_ticks_before_and_after() {
        let (before, reading, after) = (ticks(), TscReading::now(), ticks());
        assert!(before <= reading.ticks && reading.ticks <= after);
    }
}

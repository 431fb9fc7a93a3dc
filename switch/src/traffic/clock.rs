//! CLOCK_MONOTONIC, which all processes of a machine share, and the kernel's receive timestamps
//! converted to it.

use dataplane::time::Instant;
use nix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC, relative to the creation of this value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock that starts at [`Instant::ZERO`] now.
    pub(crate) fn start() -> Self {
        Self { origin_ns: monotonic_ns() }
    }

    /// Now.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_ns(monotonic_ns().saturating_sub(self.origin_ns))
    }

    /// `instant` as CLOCK_MONOTONIC time, in nanoseconds.
    pub(crate) const fn monotonic_ns(&self, instant: Instant) -> u64 {
        self.origin_ns + instant.ns
    }

    /// The instant of the CLOCK_MONOTONIC time `monotonic_ns`.
    pub(crate) const fn instant(&self, monotonic_ns: u64) -> Instant {
        Instant::from_ns(monotonic_ns.saturating_sub(self.origin_ns))
    }
}

/// CLOCK_MONOTONIC in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    clock_ns(ClockId::CLOCK_MONOTONIC)
}

/// Turns CLOCK_REALTIME, which the kernel stamps received frames with, into CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StampConverter {
    /// Realtime less monotonic, modulo 2^64.
    offset_ns: u64,
    measured_ns: u64,
}

/// How long an offset is used: realtime is slewed by at most 500 ppm, 25 ns in this time.
const OFFSET_AGE_NS_MAX: u64 = 50_000_000;
/// Readings, of which the shortest is used, so that an interruption between the two clocks does not
/// count.
const OFFSET_READINGS: usize = 5;

impl StampConverter {
    /// Measures the offset between the clocks.
    pub(crate) fn measure() -> Self {
        let reading = |_| {
            let before = monotonic_ns();
            let real = clock_ns(ClockId::CLOCK_REALTIME);
            let after = monotonic_ns();
            (after - before, real.wrapping_sub(before + (after - before) / 2), after)
        };
        let (_, offset_ns, measured_ns) =
            (0..OFFSET_READINGS).map(reading).min().unwrap_or_default();
        Self { offset_ns, measured_ns }
    }

    /// Measures again if the last time was too long before `now_ns` (CLOCK_MONOTONIC).
    pub(crate) fn refresh(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.measured_ns) > OFFSET_AGE_NS_MAX {
            *self = Self::measure();
        }
    }

    /// `realtime_ns` converted to CLOCK_MONOTONIC.
    pub(crate) const fn monotonic_ns(&self, realtime_ns: u64) -> u64 {
        realtime_ns.wrapping_sub(self.offset_ns)
    }
}

fn clock_ns(clock: ClockId) -> u64 {
    let Ok(time) = clock_gettime(clock) else {
        unreachable!("Linux has always had both clocks");
    };
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn realtime_converts_to_about_now() {
        let mut converter = StampConverter::measure();
        let before = monotonic_ns();
        let converted = converter.monotonic_ns(clock_ns(ClockId::CLOCK_REALTIME));
        let after = monotonic_ns();
        assert!(converted + 100_000 >= before && converted <= after + 100_000);
        let measured_ns = converter.measured_ns;
        converter.refresh(measured_ns + OFFSET_AGE_NS_MAX);
        assert_eq!(converter.measured_ns, measured_ns, "young enough");
    }

    #[test]
    fn a_clock_starts_at_zero_and_goes_there_and_back() {
        let clock = Clock::start();
        let now = clock.now();
        assert!(now.ns < 1_000_000_000);
        assert_eq!(clock.instant(clock.monotonic_ns(now)), now);
    }
}

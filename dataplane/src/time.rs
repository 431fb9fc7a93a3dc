//! Time in the core: nanoseconds that the caller passes in, and PFC quanta.
//!
//! The core never reads a clock. A CPU core passes the TSC converted to nanoseconds, `netsim` its
//! virtual time. One value is used for a whole turn.

use core::ops::Add;

/// A point in time: nanoseconds since an origin that the caller chose. Never goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant {
    /// Nanoseconds since the caller's origin; 64 bits last 584 years.
    pub ns: u64,
}

impl Instant {
    /// The caller's origin.
    pub const ZERO: Self = Self { ns: 0 };
    /// Later than any instant that a caller passes.
    pub const NEVER: Self = Self { ns: u64::MAX };

    /// The instant `ns` nanoseconds after the origin.
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// Nanoseconds from `earlier` to `self`; 0 if `earlier` is later.
    pub const fn ns_since(self, earlier: Self) -> u64 {
        self.ns.saturating_sub(earlier.ns)
    }
}

/// `instant + nanoseconds`, saturating at [`Instant::NEVER`].
impl Add<u64> for Instant {
    type Output = Self;
    fn add(self, ns: u64) -> Self {
        Self { ns: self.ns.saturating_add(ns) }
    }
}

/// Bits per second of a port. Determines the length of a pause quantum and the rate of a paced
/// port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Speed {
    bits_per_second: u64,
}

/// A pause quantum is 512 bit times (IEEE 802.3 clause 31B.2).
pub const QUANTUM_BITS: u64 = 512;

impl Speed {
    /// `bits_per_second`, at least 1.
    pub const fn from_bps(bits_per_second: u64) -> Self {
        Self { bits_per_second: if bits_per_second == 0 { 1 } else { bits_per_second } }
    }

    /// `gigabits` gigabits per second.
    pub const fn from_gbps(gigabits: u64) -> Self {
        Self::from_bps(gigabits * 1_000_000_000)
    }

    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.bits_per_second
    }

    /// How long `quanta` last, in nanoseconds, rounded up so that rounding never ends a pause
    /// early.
    ///
    /// ```
    /// use dataplane::time::Speed;
    /// assert_eq!(Speed::from_gbps(10).quanta_ns(65_535), 3_355_392);
    /// ```
    pub const fn quanta_ns(self, quanta: u16) -> u64 {
        self.bits_ns(quanta as u64 * QUANTUM_BITS)
    }

    /// How long `bytes` occupy the wire, in picoseconds, rounded down. Pacing adds these up, so the
    /// rounding of one frame causes no rate error.
    pub const fn bytes_ps(self, bytes: u64) -> u64 {
        let ps = bytes as u128 * 8 * 1_000_000_000_000 / self.bits_per_second as u128;
        saturate(ps)
    }

    const fn bits_ns(self, bits: u64) -> u64 {
        let ns = (bits as u128 * 1_000_000_000).div_ceil(self.bits_per_second as u128);
        saturate(ns)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "what does not fit is the largest that does")]
const fn saturate(value: u128) -> u64 {
    if value > u64::MAX as u128 { u64::MAX } else { value as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quanta_match_the_standard_at_each_speed() {
        for (gbps, longest_us) in [(10, 3_355), (40, 838), (100, 335)] {
            assert_eq!(Speed::from_gbps(gbps).quanta_ns(0xFFFF) / 1_000, longest_us, "{gbps}G");
        }
        assert_eq!(Speed::from_gbps(400).quanta_ns(1), 2, "1.28 ns rounds up");
        assert_eq!(Speed::from_gbps(10).quanta_ns(0), 0);
    }

    #[test]
    fn wire_time_of_a_minimum_frame_at_10g_is_the_known_67_2_ns() {
        assert_eq!(Speed::from_gbps(10).bytes_ps(84), 67_200);
    }

    #[test]
    fn time_saturates_instead_of_wrapping() {
        assert_eq!(Instant::NEVER + 1, Instant::NEVER);
        assert_eq!(Instant::from_ns(1).ns_since(Instant::from_ns(2)), 0);
    }
}

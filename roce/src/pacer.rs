//! Pacing: a rate turned into departure times, with nothing lost to rounding.

use crate::time::Picoseconds;

/// Picoseconds that a second has.
const PS_PER_S: u64 = 1_000_000_000_000;
/// FCS, preamble and gap, which a frame costs on the wire besides its bytes.
const FRAME_OVERHEAD_BYTES: u64 = 4 + 8 + 12;
/// The shortest frame without FCS.
const FRAME_BYTES_MIN: u64 = 60;

/// When the next packet of a queue pair may depart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    next_ps: Picoseconds,
    /// What is left of the division, in bits times picoseconds a second.
    remainder: u64,
}

impl Pacer {
    pub(crate) const fn next_ps(&self) -> Picoseconds {
        self.next_ps
    }

    /// A frame of `frame_bytes`, without FCS, departs at `now_ps`, at most `slack_ps` too late to
    /// be caught up with.
    #[inline]
    pub(crate) fn depart(
        &mut self,
        now_ps: Picoseconds,
        frame_bytes: usize,
        rate_bps: u64,
        slack_ps: Picoseconds,
    ) {
        let bytes = u64::try_from(frame_bytes).unwrap_or(u64::MAX).max(FRAME_BYTES_MIN);
        let bits = (bytes + FRAME_OVERHEAD_BYTES) * 8;
        let earliest = now_ps.saturating_sub(slack_ps);
        if self.next_ps < earliest {
            (self.next_ps, self.remainder) = (earliest, 0);
        }
        let rate_bps = rate_bps.max(1);
        // Some 10^16 at the most: frames are shorter than 10,000 bytes.
        let duration = bits * PS_PER_S + self.remainder.min(rate_bps - 1);
        self.next_ps = self.next_ps.saturating_add(duration / rate_bps);
        self.remainder = duration % rate_bps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_frames_take_what_they_should_to_the_picosecond() {
        let mut pacer = Pacer::default();
        let (frame_bytes, rate_bps) = (1_082, 7_777_777_777);
        for _ in 0..1_000_000 {
            pacer.depart(pacer.next_ps(), frame_bytes, rate_bps, 0);
        }
        let bits = u128::from((1_082_u64 + 24) * 8) * 1_000_000;
        let wanted = bits * 1_000_000_000_000 / u128::from(rate_bps);
        assert_eq!(u128::from(pacer.next_ps()), wanted);
    }

    #[test]
    fn a_late_driver_catches_up_within_the_slack_only() {
        let mut pacer = Pacer::default();
        // 1,000 bytes on the wire at 8 Gb/s: one microsecond.
        pacer.depart(0, 976, 8_000_000_000, 0);
        assert_eq!(pacer.next_ps(), 1_000_000);
        pacer.depart(5_000_000, 976, 8_000_000_000, 10_000_000);
        assert_eq!(pacer.next_ps(), 2_000_000, "4 us late, and may catch up");
        pacer.depart(5_000_000, 976, 8_000_000_000, 1_000_000);
        assert_eq!(pacer.next_ps(), 5_000_000, "as if it had departed 1 us ago");
        pacer.depart(9_000_000, 976, 8_000_000_000, 0);
        assert_eq!(pacer.next_ps(), 10_000_000);
    }
}

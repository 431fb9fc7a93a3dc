//! Holds a port to its speed where the device has no wire of its own to do so.
//!
//! A leaky bucket kept in picoseconds of wire time: each frame takes as long as it would on a wire,
//! preamble, FCS and gap included. A poll that comes late may catch up on as much as
//! [`CATCH_UP_NS`], so that the rate holds although turns are not evenly spaced.

use crate::limits::WIRE_OVERHEAD_BYTES;
use crate::time::{Instant, Speed};

/// How much wire time a late poll may make up for.
pub const CATCH_UP_NS: u64 = 200_000;

/// The pace of one port.
#[derive(Clone, Debug)]
pub struct Pacer {
    speed: Speed,
    /// When the wire is free again: whole nanoseconds, and the picoseconds beyond.
    free_at: Instant,
    free_at_ps: u64,
}

impl Pacer {
    /// A port that is free at once.
    pub const fn new(speed: Speed) -> Self {
        Self { speed, free_at: Instant::ZERO, free_at_ps: 0 }
    }

    /// Whether the next frame may go at `now`.
    #[inline(always)]
    pub fn is_free(&self, now: Instant) -> bool {
        self.free_at <= now
    }

    /// When the next frame may go.
    pub const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// A frame of `bytes` goes at `now`.
    #[inline]
    pub fn send(&mut self, bytes: u32, now: Instant) {
        let earliest = now.ns.saturating_sub(CATCH_UP_NS);
        if self.free_at.ns < earliest {
            self.free_at = Instant::from_ns(earliest);
            self.free_at_ps = 0;
        }
        let ps =
            self.free_at_ps + self.speed.bytes_ps(u64::from(bytes) + WIRE_OVERHEAD_BYTES as u64);
        self.free_at = self.free_at + ps / 1_000;
        self.free_at_ps = ps % 1_000;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends 60-byte frames for `ns`, polling every `poll_ns`; how many went.
    fn sent(speed: Speed, ns: u64, poll_ns: u64) -> u64 {
        let mut pacer = Pacer::new(speed);
        let mut frames = 0;
        for now in (0..ns).step_by(usize::try_from(poll_ns).unwrap()).map(Instant::from_ns) {
            while pacer.is_free(now) {
                pacer.send(60, now);
                frames += 1;
            }
        }
        frames
    }

    #[test]
    fn ten_gigabits_of_minimum_frames_are_14_88_million_a_second_however_often_it_is_polled() {
        for poll_ns in [10, 1_000, 100_000] {
            // The last poll comes `poll_ns` before the end; what is due up to then has gone.
            let until_ns = 100_000_000;
            let frames = sent(Speed::from_gbps(10), until_ns, poll_ns);
            let due = (until_ns - poll_ns) * 1_000 / 67_200;
            assert!(frames.abs_diff(due) <= 1, "{frames} of {due}, polled every {poll_ns} ns");
        }
    }

    #[test]
    fn a_port_long_idle_does_not_burst_beyond_its_catch_up() {
        let mut pacer = Pacer::new(Speed::from_gbps(1));
        let now = Instant::from_ns(1_000_000_000);
        let burst =
            (0..10_000).take_while(|_| pacer.is_free(now).then(|| pacer.send(60, now)).is_some());
        assert_eq!(burst.count(), 298, "200 us of 672 ns, and the one that starts at the end");
    }
}

//! Limits a port to its speed where the device has no wire that does so.
//!
//! A leaky bucket in picoseconds of wire time: each frame takes as long as on a wire, with
//! preamble, FCS and gap. A late poll may send a little more ([`CATCH_UP_NS`] for a port), so that
//! the rate is kept although turns are not evenly spaced.

use crate::limits::WIRE_OVERHEAD_BYTES;
use crate::time::{Instant, Speed};

/// How much wire time a late poll may make up for.
pub const CATCH_UP_NS: u64 = 200_000;

/// The pacer of one port.
#[derive(Clone, Debug)]
pub struct Pacer {
    speed: Speed,
    catch_up_ns: u64,
    /// When the wire is free again.
    free: Moment,
}

/// Whole nanoseconds, and the remaining picoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    at: Instant,
    ps: u64,
}

impl Pacer {
    /// A pacer that is free at once, and may make up for `catch_up_ns` of a late poll.
    pub const fn new(speed: Speed, catch_up_ns: u64) -> Self {
        Self { speed, catch_up_ns, free: Moment { at: Instant::ZERO, ps: 0 } }
    }

    /// Whether the next frame may be sent at `now`.
    #[inline(always)]
    pub fn is_free(&self, now: Instant) -> bool {
        self.free.at <= now
    }

    /// When the next frame may be sent.
    pub const fn free_at(&self) -> Instant {
        self.free.at
    }

    /// Accounts for a frame of `bytes` that is sent at `now`.
    #[inline]
    pub fn send(&mut self, bytes: u32, now: Instant) {
        let earliest = now.ns.saturating_sub(self.catch_up_ns);
        if self.free.at.ns < earliest {
            self.free = Moment { at: Instant::from_ns(earliest), ps: 0 };
        }
        let ps = self.speed.bytes_ps(u64::from(bytes) + WIRE_OVERHEAD_BYTES as u64);
        let ps = self.free.ps + ps;
        self.free = Moment { at: self.free.at + ps / 1_000, ps: ps % 1_000 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends 60-byte frames for `ns`, polling every `poll_ns`. Returns the number of frames sent.
    fn sent(speed: Speed, ns: u64, poll_ns: u64) -> u64 {
        let mut pacer = Pacer::new(speed, CATCH_UP_NS);
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
            // The last poll is `poll_ns` before the end; frames due up to then have been sent.
            let until_ns = 100_000_000;
            let frames = sent(Speed::from_gbps(10), until_ns, poll_ns);
            let due = (until_ns - poll_ns) * 1_000 / 67_200;
            assert!(frames.abs_diff(due) <= 1, "{frames} of {due}, polled every {poll_ns} ns");
        }
    }

    #[test]
    fn a_port_long_idle_does_not_burst_beyond_its_catch_up() {
        let mut pacer = Pacer::new(Speed::from_gbps(1), CATCH_UP_NS);
        let now = Instant::from_ns(1_000_000_000);
        let burst =
            (0..10_000).take_while(|_| pacer.is_free(now).then(|| pacer.send(60, now)).is_some());
        assert_eq!(burst.count(), 298, "200 us of 672 ns, and the one that starts at the end");
    }
}

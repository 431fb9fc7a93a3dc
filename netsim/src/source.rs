//! Where a flow's frames come from: when the next one is due, and what it looks like.

use crate::event::Picoseconds;
use crate::flow::{FlowId, HEAD_BYTES, Pace, set_number};
use crate::frame::{Pool, SimFrame};
use crate::link::Transmitter;
use crate::prng::Prng;
use dataplane::ids::Priority;
use dataplane::limits::WIRE_OVERHEAD_BYTES;

/// One flow, at its sender.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) flow: FlowId,
    /// The class whose pauses it obeys.
    pub(crate) priority: Priority,
    head: [u8; HEAD_BYTES],
    frame_bytes: u16,
    clock: Clock,
    due_ps: Picoseconds,
    sent_frames: u64,
}

/// What makes the intervals.
#[derive(Debug)]
enum Clock {
    Always,
    /// A wire of the flow's own rate, on which its frames follow each other without a gap.
    Steady(Transmitter),
    /// Twice the mean interval, and the dice.
    Random(u64, Prng),
}

impl Source {
    /// A source whose first frame is due at `start_ps`. `prng` is its own.
    pub(crate) fn new(
        flow: FlowId,
        priority: Priority,
        head: [u8; HEAD_BYTES],
        frame_bytes: u16,
        (pace, start_ps): (Pace, Picoseconds),
        prng: Prng,
    ) -> Self {
        let wire_bytes = u64::from(frame_bytes) + WIRE_OVERHEAD_BYTES as u64;
        let clock = match pace {
            Pace::BackToBack => Clock::Always,
            Pace::Steady(speed) => Clock::Steady(Transmitter::new(speed)),
            Pace::Random(speed) => Clock::Random(2 * speed.bytes_ps(wire_bytes), prng),
        };
        Self { flow, priority, head, frame_bytes, clock, due_ps: start_ps, sent_frames: 0 }
    }

    /// When the next frame is, or was, due.
    #[inline(always)]
    pub(crate) const fn due_ps(&self) -> Picoseconds {
        self.due_ps
    }

    /// Takes the next frame, which is due.
    pub(crate) fn next(&mut self, pool: &Pool) -> SimFrame {
        set_number(&mut self.head, self.sent_frames);
        self.sent_frames += 1;
        match &mut self.clock {
            Clock::Always => {}
            Clock::Steady(wire) => {
                wire.start(usize::from(self.frame_bytes), self.due_ps);
                self.due_ps = wire.free_at_ps();
            }
            Clock::Random(longest_ps, prng) => self.due_ps += prng.below(*longest_ps + 1),
        }
        pool.take(&self.head, self.frame_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::mark;
    use dataplane::time::Speed;

    fn dues(pace: Pace, count: usize) -> Vec<Picoseconds> {
        let priority = Priority::default();
        let head = [0; HEAD_BYTES];
        let mut source = Source::new(FlowId(0), priority, head, 1_000, (pace, 500), Prng::new(4));
        let pool = Pool::default();
        (0..count)
            .map(|_| {
                let due_ps = source.due_ps();
                drop(source.next(&pool));
                due_ps
            })
            .collect()
    }

    #[test]
    fn steady_frames_are_due_to_the_picosecond() {
        // 1,024 bytes on the wire at 3 Gb/s: 2,730.666.. ns.
        let dues = dues(Pace::Steady(Speed::from_gbps(3)), 4);
        assert_eq!(dues, [500, 500 + 2_730_666, 500 + 5_461_333, 500 + 8_192_000]);
    }

    #[test]
    fn random_frames_are_due_at_the_rate_on_average_and_never_evenly() {
        let dues = dues(Pace::Random(Speed::from_gbps(1)), 10_001);
        let mean_ps = (dues[10_000] - dues[0]) / 10_000;
        assert!(mean_ps.abs_diff(8_192_000) < 150_000, "{mean_ps}");
        let gaps: Vec<u64> = dues.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|&gap| gap <= 2 * 8_192_000));
        assert!(gaps.iter().any(|&gap| gap < 800_000) && gaps.iter().any(|&gap| gap > 15_000_000));
    }

    #[test]
    fn back_to_back_frames_are_always_due_and_numbered() {
        assert_eq!(dues(Pace::BackToBack, 3), [500; 3]);
        let mut head = [0; HEAD_BYTES];
        head[12..14].copy_from_slice(&[8, 0]);
        let pace = (Pace::BackToBack, 0);
        let mut source = Source::new(FlowId(0), Priority::default(), head, 60, pace, Prng::new(4));
        let pool = Pool::default();
        let numbers: Vec<u64> =
            (0..3).filter_map(|_| Some(mark(&source.next(&pool))?.number)).collect();
        assert_eq!(numbers, [0, 1, 2]);
    }
}

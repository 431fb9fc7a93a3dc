//! A slow receiver: frames wait to be taken, and above a mark it sends XOFF.

use crate::event::{NEVER, Picoseconds};
use dataplane::ids::Priority;
use dataplane::limits::PRIORITIES;
use dataplane::time::Speed;
use std::collections::VecDeque;

/// How a slow receiver takes frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// Its rate; `None` if it takes none.
    pub speed: Option<Speed>,
    /// Bytes of one priority above which it sends XOFF, if the priority is lossless.
    pub xoff_bytes: u32,
    /// Bytes at or below which it sends XON.
    pub xon_bytes: u32,
    /// Bytes of one priority that it can hold; frames beyond are lost and counted.
    pub capacity_bytes: u32,
}

/// The queue of a slow receiver.
#[derive(Debug)]
pub(crate) struct Sink {
    drain: Drain,
    lossless_bits: u8,
    queue: VecDeque<(u32, Priority)>,
    bytes: [u32; PRIORITIES],
    xoff_bits: u8,
    /// When the first frame of the queue has been taken.
    taken_at_ps: Picoseconds,
}

impl Sink {
    /// An empty queue. The priorities of `lossless_bits` send XOFF.
    pub(crate) const fn new(drain: Drain, lossless_bits: u8) -> Self {
        Self {
            drain,
            lossless_bits,
            queue: VecDeque::new(),
            bytes: [0; PRIORITIES],
            xoff_bits: 0,
            taken_at_ps: NEVER,
        }
    }

    /// A frame arrives at `now_ps`; returns whether there was room.
    pub(crate) fn arrive(&mut self, frame_bytes: u32, priority: Priority, now_ps: u64) -> bool {
        let held = &mut self.bytes[priority.index()];
        if *held + frame_bytes > self.drain.capacity_bytes {
            return false;
        }
        *held += frame_bytes;
        if *held > self.drain.xoff_bytes {
            self.xoff_bits |= priority.bit() & self.lossless_bits;
        }
        if self.queue.is_empty() {
            self.taken_at_ps = self.after(now_ps, frame_bytes);
        }
        self.queue.push_back((frame_bytes, priority));
        true
    }

    /// Takes all frames that are due by `now_ps`.
    pub(crate) fn take_due(&mut self, now_ps: Picoseconds) {
        while self.taken_at_ps <= now_ps {
            let Some((frame_bytes, priority)) = self.queue.pop_front() else { break };
            let held = &mut self.bytes[priority.index()];
            *held -= frame_bytes;
            if *held <= self.drain.xon_bytes {
                self.xoff_bits &= !priority.bit();
            }
            let next = self.queue.front();
            self.taken_at_ps =
                next.map_or(NEVER, |&(bytes, _)| self.after(self.taken_at_ps, bytes));
        }
    }

    /// When a frame has been taken that the receiver begins with at `start_ps`.
    fn after(&self, start_ps: Picoseconds, frame_bytes: u32) -> Picoseconds {
        let takes_ps = |speed: Speed| speed.bytes_ps(u64::from(frame_bytes));
        self.drain.speed.map_or(NEVER, |speed| start_ps.saturating_add(takes_ps(speed)))
    }

    /// When the next frame has been taken; [`NEVER`] if none waits.
    pub(crate) const fn taken_at_ps(&self) -> Picoseconds {
        self.taken_at_ps
    }

    /// Priorities that are in XOFF.
    pub(crate) const fn xoff_bits(&self) -> u8 {
        self.xoff_bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoff_above_the_one_mark_until_at_or_below_the_other_and_nothing_beyond_capacity() {
        let speed = Some(Speed::from_gbps(8));
        let drain = Drain { speed, xoff_bytes: 2_000, xon_bytes: 1_000, capacity_bytes: 4_000 };
        let mut sink = Sink::new(drain, 1 << 3);
        let (lossless, lossy) = (Priority::new(3).unwrap(), Priority::new(0).unwrap());
        let mut bits = Vec::new();
        for now_ps in 0..4 {
            assert!(sink.arrive(1_000, lossless, now_ps));
            bits.push(sink.xoff_bits());
        }
        assert_eq!(bits, [0, 0, 8, 8]);
        assert!(!sink.arrive(1, lossless, 4));
        assert!(sink.arrive(4_000, lossy, 5), "a priority of its own");
        assert_eq!(sink.xoff_bits(), 8, "a lossy priority sends no XOFF");
        // A nanosecond a byte, from the first arrival on.
        for (now_ps, bits) in [(999_999, 8), (1_000_000, 8), (2_000_000, 8), (3_000_000, 0)] {
            sink.take_due(now_ps);
            assert_eq!(sink.xoff_bits(), bits, "at {now_ps} ps");
        }
        assert_eq!(sink.taken_at_ps(), 4_000_000);
        sink.take_due(9_000_000);
        assert_eq!(sink.taken_at_ps(), NEVER);
        assert!(sink.arrive(500, lossy, 20_000_000));
        assert_eq!(sink.taken_at_ps(), 20_500_000, "an idle receiver starts at the arrival");
    }
}

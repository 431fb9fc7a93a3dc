//! Which queue pair is next: rings of those that may send, and heaps of those that wait. Each
//! operation takes a time that does not, or only by its logarithm, depend on how many there are.

use crate::time::{NEVER, Picoseconds};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// PFC priorities.
const PRIORITIES: usize = 8;

/// Queue pairs that may send, by PFC priority: in turn within each, and the priorities in turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rings {
    rings: [VecDeque<u32>; PRIORITIES],
    /// Priorities with somebody in their ring.
    bits: u8,
    /// The priority that is asked first.
    turn: u32,
}

impl Rings {
    pub(crate) fn push(&mut self, priority: u8, index: u32) {
        let priority = priority & 7;
        self.rings[usize::from(priority)].push_back(index);
        self.bits |= 1 << priority;
    }

    /// Whether anybody may send while the priorities of `paused_bits` are paused.
    pub(crate) const fn is_ready(&self, paused_bits: u8) -> bool {
        self.bits & !paused_bits != 0
    }

    /// The next one, which leaves its ring, and its priority.
    pub(crate) fn pop(&mut self, paused_bits: u8) -> Option<u32> {
        let ready = self.bits & !paused_bits;
        if ready == 0 {
            return None;
        }
        let priority = (ready.rotate_right(self.turn).trailing_zeros() + self.turn) % 8;
        self.turn = (priority + 1) % 8;
        let ring = &mut self.rings[usize::try_from(priority).unwrap_or(0)];
        let index = ring.pop_front();
        if ring.is_empty() {
            self.bits &= !(1 << priority);
        }
        index
    }
}

/// Queue pairs that wait for a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    heap: BinaryHeap<Reverse<(Picoseconds, u32)>>,
}

impl Waiting {
    pub(crate) fn push(&mut self, at_ps: Picoseconds, index: u32) {
        self.heap.push(Reverse((at_ps, index)));
    }

    /// The earliest time that anybody waits for.
    pub(crate) fn next_ps(&self) -> Picoseconds {
        self.heap.peek().map_or(NEVER, |Reverse((at_ps, _))| *at_ps)
    }

    /// One whose time has come by `now_ps`, with that time.
    pub(crate) fn pop(&mut self, now_ps: Picoseconds) -> Option<(Picoseconds, u32)> {
        if self.next_ps() > now_ps {
            return None;
        }
        self.heap.pop().map(|Reverse(waiting)| waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_and_those_within_take_turns_and_paused_ones_wait() {
        let mut rings = Rings::default();
        for (priority, index) in [(3, 30), (3, 31), (5, 50), (0, 1), (3, 32)] {
            rings.push(priority, index);
        }
        let mut take = |paused| rings.pop(paused);
        assert_eq!([take(0), take(0), take(0), take(0)], [Some(1), Some(30), Some(50), Some(31)]);
        assert_eq!(take(1 << 3), None);
        assert_eq!((take(1 << 5), take(0)), (Some(32), None));
    }

    #[test]
    fn the_earliest_comes_first_and_nobody_too_early() {
        let mut waiting = Waiting::default();
        assert_eq!(waiting.next_ps(), NEVER);
        for (at_ps, index) in [(30, 0), (10, 2), (10, 1)] {
            waiting.push(at_ps, index);
        }
        assert_eq!(waiting.pop(9), None);
        assert_eq!([waiting.pop(20), waiting.pop(20)], [Some((10, 1)), Some((10, 2))]);
        assert_eq!((waiting.pop(20), waiting.next_ps()), (None, 30));
    }
}

//! A node's timer: one time, which every turn of the node may change.
//!
//! A planned event cannot be canceled, so a timer that was set to a later time leaves its old event
//! in the queue. The timer records which of its events are in the queue and plans only one that is
//! earlier than all of them. When an old event is due, it plans the next one if needed. So few
//! events of a node are in the queue, however often its timer is set.

use crate::event::{EventKind, NEVER, Picoseconds};
use crate::event_queue::EventQueue;

/// One node's timer.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Timer {
    wanted_ps: Picoseconds,
    /// The earliest of this timer's events in the queue, and the others, the latest first. No two
    /// are at the same time.
    first_ps: Picoseconds,
    later_ps: Vec<Picoseconds>,
}

impl Timer {
    /// A timer that is not set.
    pub(crate) const fn new() -> Self {
        Self { wanted_ps: NEVER, first_ps: NEVER, later_ps: Vec::new() }
    }

    /// Sets the timer of `node` to `at_ps`, whatever it was set to before; [`NEVER`] stops it.
    #[inline]
    pub(crate) fn set(&mut self, at_ps: Picoseconds, node: u32, queue: &mut EventQueue) {
        // Most turns leave the timer of a node as it is.
        if at_ps != self.wanted_ps {
            self.wanted_ps = at_ps;
            self.plan(node, queue);
        }
    }

    fn plan(&mut self, node: u32, queue: &mut EventQueue) {
        let wanted_ps = self.wanted_ps;
        if wanted_ps < self.first_ps {
            let before_ps = std::mem::replace(&mut self.first_ps, wanted_ps);
            if before_ps != NEVER {
                self.later_ps.push(before_ps);
            }
            queue.plan(wanted_ps, node, EventKind::Wake);
        }
    }

    /// One of the timer's events is due at `now_ps`; returns whether the timer fires.
    pub(crate) fn fires(&mut self, now_ps: Picoseconds, node: u32, queue: &mut EventQueue) -> bool {
        debug_assert_eq!(self.first_ps, now_ps, "events come in order");
        self.first_ps = self.later_ps.pop().unwrap_or(NEVER);
        if self.wanted_ps <= now_ps {
            self.wanted_ps = NEVER;
            return true;
        }
        self.plan(node, queue);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The oracle: a single time, compared with every picosecond.
        #[test]
        fn it_fires_exactly_when_it_was_last_set_to(
            moves in proptest::collection::vec((0_u64..30, proptest::option::of(0_u64..60)), 1..40),
        ) {
            let mut queue = EventQueue::new(1, &[false; 8], false);
            let mut timer = Timer::new();
            let (mut now_ps, mut wanted) = (0, None);
            let horizon = (1_000, None);
            for (gap, ahead) in moves.into_iter().chain([horizon]) {
                for at_ps in now_ps + 1..=now_ps + gap {
                    let mut fired = false;
                    queue.take_lookahead(at_ps);
                    while let Some(popped) = queue.pop() {
                        prop_assert_eq!((popped.node, popped.kind), (7, EventKind::Wake));
                        prop_assert_eq!(popped.at_ps, at_ps);
                        fired |= timer.fires(at_ps, 7, &mut queue);
                    }
                    prop_assert_eq!(fired, wanted == Some(at_ps), "at {}", at_ps);
                    wanted = wanted.filter(|_| !fired);
                }
                now_ps += gap;
                wanted = ahead.map(|ahead| now_ps + 1 + ahead);
                timer.set(wanted.unwrap_or(NEVER), 7, &mut queue);
                let planned_ps: Vec<_> = timer.later_ps.iter().chain([&timer.first_ps]).collect();
                prop_assert!(planned_ps.is_sorted_by(|a, b| a > b));
            }
        }
    }

    #[test]
    fn a_far_timer_and_many_near_ones_leave_one_event_each_at_a_time() {
        let mut queue = EventQueue::new(1, &[false; 8], false);
        let mut timer = Timer::new();
        for at_ps in 1..1_000 {
            timer.set(1_000_000, 0, &mut queue);
            timer.set(at_ps, 0, &mut queue);
            assert_eq!((timer.first_ps, &*timer.later_ps), (at_ps, &[1_000_000][..]));
            assert!(queue.take_lookahead(at_ps) && queue.pop().is_some());
            assert!(timer.fires(at_ps, 0, &mut queue));
        }
    }
}

//! What happens when: discrete events in the order of their time, and at one time in the order in
//! which they were planned. Nothing else decides the order, so a run repeats.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Picoseconds in a nanosecond, the unit the dataplane counts in.
pub(crate) const PS_PER_NS: u64 = 1_000;

/// Picoseconds since the start of the run; 64 bits last 213 days.
pub type Picoseconds = u64;

/// Later than anything that happens.
pub(crate) const NEVER: Picoseconds = u64::MAX;

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// The oldest frame in flight on this wire has arrived whole.
    Arrival(u32),
    /// This node wanted to be woken.
    Wake(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at_ps: Picoseconds,
    sequence: u64,
    event: Event,
}

/// Events yet to come.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<Entry>>,
    planned: u64,
}

impl EventQueue {
    /// Plans `event` for `at_ps`.
    pub(crate) fn plan(&mut self, at_ps: Picoseconds, event: Event) {
        self.planned += 1;
        self.heap.push(Reverse(Entry { at_ps, sequence: self.planned, event }));
    }

    /// When the next event is; `None` if there is none.
    pub(crate) fn next_at_ps(&self) -> Option<Picoseconds> {
        self.heap.peek().map(|Reverse(entry)| entry.at_ps)
    }

    /// Takes the next event if it happens at `now_ps`.
    pub(crate) fn pop_at(&mut self, now_ps: Picoseconds) -> Option<Event> {
        let next = self.heap.peek_mut().filter(|next| next.0.at_ps == now_ps)?;
        Some(std::collections::binary_heap::PeekMut::pop(next).0.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_the_order_of_time_and_then_of_planning(
            times in proptest::collection::vec(0_u64..20, 0..200),
        ) {
            let mut queue = EventQueue::default();
            for (number, &at_ps) in (0..).zip(&times) {
                queue.plan(at_ps, Event::Wake(number));
            }
            let mut oracle: Vec<(u64, Event)> = times.iter().copied().zip((0..).map(Event::Wake)).collect();
            oracle.sort_by_key(|&(at_ps, _)| at_ps);
            let mut order = Vec::new();
            while let Some(at_ps) = queue.next_at_ps() {
                prop_assert_eq!(queue.pop_at(at_ps + 1), None, "not yet");
                order.push((at_ps, queue.pop_at(at_ps).unwrap()));
            }
            prop_assert_eq!(order, oracle);
        }
    }
}

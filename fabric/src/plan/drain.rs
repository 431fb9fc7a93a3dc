//! Whether the frames that were queued at a port when a route was removed have left.
//!
//! Once a switch no longer has the route, no frame joins its queues because of it. A queue sends in
//! the order in which frames came, so those that were there have left when it has sent as many as
//! it held. Where ingress ports are served in turn, frames that came later can be sent before, and
//! only an empty queue shows it.

/// Priorities of a port.
const PRIORITIES: usize = 8;

/// What a port says of its egress queues, by priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueReading {
    /// Frames sent so far.
    pub sent_frames: [u64; PRIORITIES],
    /// Frames that are queued.
    pub queued_frames: [u64; PRIORITIES],
}

/// The wait for the frames of a removed route at one egress port.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// By priority: how many frames are sent when those have left. `None`: only an empty queue
    /// shows it.
    until: Option<[u64; PRIORITIES]>,
}

impl Drain {
    /// Begins with a reading that was taken when the route was gone. `in_turn`: whether the port
    /// serves ingress ports in turn.
    pub fn begin(reading: &QueueReading, in_turn: bool) -> Self {
        let until = |p: usize| reading.sent_frames[p].saturating_add(reading.queued_frames[p]);
        Self { until: (!in_turn).then(|| std::array::from_fn(until)) }
    }

    /// Whether all of them have left, by a reading of that moment or later.
    pub fn is_over(&self, reading: &QueueReading) -> bool {
        (0..PRIORITIES).all(|p| {
            let has_sent = self.until.is_some_and(|until| reading.sent_frames[p] >= until[p]);
            has_sent || reading.queued_frames[p] == 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn reading(sent: u64, queued: u64) -> QueueReading {
        let mut reading = QueueReading::default();
        (reading.sent_frames[3], reading.queued_frames[3]) = (sent, queued);
        reading
    }

    #[test]
    fn what_came_later_does_not_count() {
        let drain = Drain::begin(&reading(100, 5), false);
        assert!(!drain.is_over(&reading(104, 9)));
        assert!(drain.is_over(&reading(105, 9)) && drain.is_over(&reading(101, 0)));
        let in_turn = Drain::begin(&reading(100, 5), true);
        assert!(!in_turn.is_over(&reading(1_000, 1)) && in_turn.is_over(&reading(101, 0)));
    }

    proptest! {
        /// Against a queue whose frames are marked: it is over exactly when no marked one is left.
        #[test]
        fn it_is_over_when_the_last_frame_of_the_route_has_left(
            marked in 0_usize..9, steps in proptest::collection::vec((0_usize..4, 0_usize..4), 0..30),
        ) {
            let mut queue: VecDeque<bool> = std::iter::repeat_n(true, marked).collect();
            let mut sent = 7;
            let drain = Drain::begin(&reading(sent, marked as u64), false);
            for (arrive, leave) in steps {
                queue.extend(std::iter::repeat_n(false, arrive));
                sent += queue.drain(..leave.min(queue.len())).count() as u64;
                let is_over = drain.is_over(&reading(sent, queue.len() as u64));
                prop_assert_eq!(is_over, !queue.contains(&true));
            }
        }
    }
}

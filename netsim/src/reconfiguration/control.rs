//! The control channel: messages between a controller and switches, on virtual time.

use crate::event::Picoseconds;
use random::{Draw, SplitMix64};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// How messages travel and how fast switches are. All times in picoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// A message takes this long at the least.
    pub delay_min_ps: Picoseconds,
    /// And this long at the most; times in between are equally likely.
    pub delay_max_ps: Picoseconds,
    /// So many messages of a million are lost.
    pub loss_millionths: u64,
    /// After how long a message that was not answered is sent again.
    pub resend_ps: Picoseconds,
    /// What a switch takes for a route.
    pub rule_ps: Picoseconds,
    /// Whether a switch changes one route at a time.
    pub is_sequential: bool,
    /// One switch of so many is a straggler; 0 for none.
    pub straggler_one_in: u64,
    /// A straggler takes so many times as long.
    pub straggler_factor: u64,
    /// How often the controller reads the counters of a port that drains.
    pub poll_ps: Picoseconds,
    /// How long it waits for a port at the most.
    pub drain_max_ps: Picoseconds,
    /// How often the network is searched for a deadlock.
    pub look_ps: Picoseconds,
}

/// What happens next at the controller or at a switch. Hops are counted in the order in which an
/// operation asks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Message {
    /// A switch has worked off a request: its route changes, if it has not.
    Change { operation: u32, hop: usize },
    /// Its answer has come.
    Answer { operation: u32, hop: usize },
    /// The answer to try number `tries` should have come.
    Resend { operation: u32, hop: usize, tries: u32 },
    /// The counters of a port are to be read again.
    Poll { operation: u32 },
}

/// Messages under way.
#[derive(Debug)]
pub(super) struct Mailbox {
    control: Control,
    rng: SplitMix64,
    /// Those to come, each with a number of its own so that those of one moment keep their order.
    coming: BinaryHeap<Reverse<(Picoseconds, u64, Message)>>,
    numbers: u64,
    is_straggler: Vec<bool>,
    /// By switch: until when it works on requests.
    busy_until_ps: Vec<Picoseconds>,
    /// Requests that a switch has worked off, or works on.
    received: BTreeSet<(u32, usize)>,
    sent: u64,
    lost: u64,
}

impl Mailbox {
    /// Nothing is under way.
    pub(super) fn new(control: &Control, switches: usize, seed: u64) -> Self {
        let mut rng = random::substream(seed, 1 << 42);
        let one_in = control.straggler_one_in;
        let is_straggler = (0..switches).map(|_| one_in > 0 && rng.below(one_in) == 0).collect();
        Self {
            control: control.clone(),
            rng,
            coming: BinaryHeap::new(),
            numbers: 0,
            is_straggler,
            busy_until_ps: vec![0; switches],
            received: BTreeSet::new(),
            sent: 0,
            lost: 0,
        }
    }

    /// Messages sent and lost.
    pub(super) const fn counts(&self) -> (u64, u64) {
        (self.sent, self.lost)
    }

    /// The next message, and when.
    pub(super) fn next(&mut self) -> Option<(Picoseconds, Message)> {
        self.coming.pop().map(|Reverse((at_ps, _, message))| (at_ps, message))
    }

    fn put(&mut self, at_ps: Picoseconds, message: Message) {
        self.numbers += 1;
        self.coming.push(Reverse((at_ps, self.numbers, message)));
    }

    /// When a message that is sent now arrives; `None` if it is lost.
    fn arrival_ps(&mut self, now_ps: Picoseconds) -> Option<Picoseconds> {
        self.sent += 1;
        let span_ps = self.control.delay_max_ps - self.control.delay_min_ps;
        let delay_ps = self.control.delay_min_ps + self.rng.below(span_ps + 1);
        if self.rng.below(1_000_000) < self.control.loss_millionths {
            self.lost += 1;
            return None;
        }
        Some(now_ps + delay_ps)
    }

    /// Asks `switch` for a hop of an operation.
    pub(super) fn ask(&mut self, switch: usize, operation: u32, hop: usize, now_ps: Picoseconds) {
        let Some(arrival_ps) = self.arrival_ps(now_ps) else { return };
        if !self.received.insert((operation, hop)) {
            // Done, or being done: it is answered again, after what the switch has to do.
            let at_ps = self.busy_until_ps[switch].max(arrival_ps);
            return self.put(at_ps, Message::Change { operation, hop });
        }
        let factor = if self.is_straggler[switch] { self.control.straggler_factor } else { 1 };
        let begin_ps = match self.control.is_sequential {
            true => self.busy_until_ps[switch].max(arrival_ps),
            false => arrival_ps,
        };
        let end_ps = begin_ps + self.control.rule_ps * factor;
        self.busy_until_ps[switch] = self.busy_until_ps[switch].max(end_ps);
        self.put(end_ps, Message::Change { operation, hop });
    }

    /// A switch answers.
    pub(super) fn answer(&mut self, operation: u32, hop: usize, now_ps: Picoseconds) {
        if let Some(at_ps) = self.arrival_ps(now_ps) {
            self.put(at_ps, Message::Answer { operation, hop });
        }
    }

    /// Has the controller look after an answer.
    pub(super) fn resend_at(&mut self, now_ps: Picoseconds, message: Message) {
        self.put(now_ps + self.control.resend_ps, message);
    }

    /// Has the controller read the counters again.
    pub(super) fn poll_later(&mut self, operation: u32, now_ps: Picoseconds) {
        self.put(now_ps + self.control.poll_ps, Message::Poll { operation });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control() -> Control {
        Control {
            delay_min_ps: 10,
            delay_max_ps: 20,
            loss_millionths: 0,
            resend_ps: 1_000,
            rule_ps: 100,
            is_sequential: false,
            straggler_one_in: 0,
            straggler_factor: 10,
            poll_ps: 5,
            drain_max_ps: 1_000,
            look_ps: 1_000,
        }
    }

    /// When the requests of three operations are worked off by one switch.
    fn worked_off(control: &Control) -> Vec<Picoseconds> {
        let mut mailbox = Mailbox::new(control, 1, 7);
        (0..3).for_each(|operation| mailbox.ask(0, operation, 0, 0));
        std::iter::from_fn(|| mailbox.next()).map(|(at_ps, _)| at_ps).collect()
    }

    #[test]
    fn a_switch_takes_rules_at_once_or_one_at_a_time_and_a_straggler_takes_longer() {
        let at_once = worked_off(&control());
        assert!(at_once.iter().all(|at_ps| (110..=120).contains(at_ps)), "{at_once:?}");
        let in_turn = worked_off(&Control { is_sequential: true, ..control() });
        let gaps: Vec<u64> = in_turn.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, [100, 100]);
        let slow = worked_off(&Control { straggler_one_in: 1, ..control() });
        assert!(slow.iter().all(|at_ps| (1_010..=1_020).contains(at_ps)), "{slow:?}");
    }

    #[test]
    fn messages_are_lost_at_the_rate_and_counted() {
        let mut mailbox = Mailbox::new(&Control { loss_millionths: 100_000, ..control() }, 1, 7);
        (0..10_000).for_each(|operation| mailbox.answer(operation, 0, 0));
        let (sent, lost) = mailbox.counts();
        assert!(sent == 10_000 && (850..1_150).contains(&lost), "{lost}");
        assert_eq!(std::iter::from_fn(|| mailbox.next()).count() as u64, sent - lost);
    }
}

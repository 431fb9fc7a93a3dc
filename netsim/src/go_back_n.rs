//! A flow's window: which frames are in flight, and where to resend from after a loss.
//!
//! Go-back-N, as RoCE NICs do: the receiver takes frames in order only and acknowledges each. It
//! reports a gap once, and the sender resends from there. Without an acknowledgment for a timeout
//! the sender resends by itself.

use crate::event::{NEVER, Picoseconds};

/// How long a sender waits for an acknowledgment: far longer than any queue of these networks holds
/// a frame that is not paused.
const RETRANSMIT_TIMEOUT_PS: Picoseconds = 1_000_000_000;

/// The sender's side.
#[derive(Debug)]
pub(crate) struct SendWindow {
    frames_max: u64,
    /// The receiver has all frames below this.
    acknowledged: u64,
    /// How often the sender went back.
    round: u32,
    /// When an acknowledgment last advanced, or a frame was sent with none in flight.
    heard_ps: Picoseconds,
}

impl SendWindow {
    /// A window of at most `frames_max` frames in flight.
    pub(crate) const fn new(frames_max: u64) -> Self {
        Self { frames_max, acknowledged: 0, round: 0, heard_ps: 0 }
    }

    /// Whether frame `next` must wait for an acknowledgment.
    pub(crate) const fn is_full(&self, next: u64) -> bool {
        next - self.acknowledged >= self.frames_max
    }

    /// Whether the receiver has all frames below `next`.
    pub(crate) const fn is_done(&self, next: u64) -> bool {
        self.acknowledged == next
    }

    /// How often the sender went back, which distinguishes a resent frame.
    pub(crate) const fn round(&self) -> u32 {
        self.round
    }

    /// A frame was sent at `now_ps`; `next` comes after it.
    pub(crate) const fn sent(&mut self, next: u64, now_ps: Picoseconds) {
        if next - self.acknowledged == 1 {
            self.heard_ps = now_ps;
        }
    }

    /// The receiver has all frames below `number` and, with `is_gap`, misses that one; returns the
    /// number of the next frame.
    pub(crate) fn acknowledge(
        &mut self,
        number: u64,
        is_gap: bool,
        next: u64,
        now_ps: Picoseconds,
    ) -> u64 {
        // An acknowledgment may be older than a later one, and than the last resend.
        let is_news = number > self.acknowledged;
        self.acknowledged = self.acknowledged.max(number);
        let next = next.max(self.acknowledged);
        if is_news {
            self.heard_ps = now_ps;
        }
        if is_gap && number == self.acknowledged && number < next {
            return self.go_back(now_ps);
        }
        next
    }

    /// When the retransmission timeout ends.
    pub(crate) const fn resend_at_ps(&self, next: u64) -> Picoseconds {
        if self.is_done(next) { NEVER } else { self.heard_ps + RETRANSMIT_TIMEOUT_PS }
    }

    /// Goes back to the first frame that is not acknowledged; returns its number.
    pub(crate) const fn go_back(&mut self, now_ps: Picoseconds) -> u64 {
        self.round += 1;
        self.heard_ps = now_ps;
        self.acknowledged
    }
}

/// The receiver's side.
#[derive(Debug, Default)]
pub(crate) struct ReceiveWindow {
    /// All frames below this have come.
    expected: u64,
    /// The last gap that was reported: the sender's round and the missing number.
    reported_gap: Option<(u32, u64)>,
}

/// The answer to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    /// All frames below this have come.
    pub(crate) number: u64,
    /// Frame `number` is missing.
    pub(crate) is_gap: bool,
    /// The frame was next in order and was taken.
    pub(crate) is_taken: bool,
}

impl ReceiveWindow {
    /// Frame `number` of `round` has arrived; returns the acknowledgment to send, if any.
    pub(crate) fn receive(&mut self, round: u32, number: u64) -> Option<Ack> {
        if number > self.expected {
            let gap = Some((round, self.expected));
            let is_new = std::mem::replace(&mut self.reported_gap, gap) != gap;
            return is_new.then_some(Ack { number: self.expected, is_gap: true, is_taken: false });
        }
        let is_taken = number == self.expected;
        self.expected += u64::from(is_taken);
        Some(Ack { number: self.expected, is_gap: false, is_taken })
    }

    /// How many frames have arrived in order.
    pub(crate) const fn taken_frames(&self) -> u64 {
        self.expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Over a wire that loses any frames and acknowledgments, all frames arrive once and in
        /// order, with no more in flight than the window allows.
        #[test]
        fn all_frames_come_in_order_whatever_is_lost(
            frames_max in 1_u64..9,
            losses in proptest::collection::vec((any::<u8>(), any::<u8>()), 0..400),
        ) {
            const FRAMES: u64 = 40;
            let (mut window, mut receiver) = (SendWindow::new(frames_max), ReceiveWindow::default());
            let mut acks: VecDeque<Ack> = VecDeque::new();
            let (mut next, mut now_ps, mut taken) = (0, 0, Vec::new());
            let mut chance = losses.into_iter().chain(std::iter::repeat((255, 255)));
            while !(next == FRAMES && window.is_done(next)) {
                now_ps += 1_000;
                prop_assert!(now_ps < 1_000_000 * RETRANSMIT_TIMEOUT_PS, "never ends");
                if next < FRAMES && !window.is_full(next) {
                    let (round, number) = (window.round(), next);
                    next += 1;
                    window.sent(next, now_ps);
                    let (frame, ack) = chance.next().unwrap();
                    if frame >= 80 && let Some(reported_gap) = receiver.receive(round, number) {
                        taken.extend(reported_gap.is_taken.then_some(number));
                        acks.extend((ack >= 80).then_some(reported_gap));
                    }
                } else if let Some(ack) = acks.pop_front() {
                    next = window.acknowledge(ack.number, ack.is_gap, next, now_ps);
                } else {
                    now_ps = window.resend_at_ps(next);
                    prop_assert!(now_ps != NEVER);
                    next = window.go_back(now_ps);
                }
            }
            prop_assert_eq!(taken, (0..FRAMES).collect::<Vec<_>>());
            prop_assert_eq!(receiver.taken_frames(), FRAMES);
        }
    }

    #[test]
    fn a_gap_is_reported_once_in_each_round() {
        let mut receiver = ReceiveWindow::default();
        let gap = Some(Ack { number: 0, is_gap: true, is_taken: false });
        assert_eq!([1, 2].map(|number| receiver.receive(0, number)), [gap, None]);
        assert_eq!(receiver.receive(1, 3), gap);
        let taken = Some(Ack { number: 1, is_gap: false, is_taken: true });
        assert_eq!(receiver.receive(2, 0), taken);
    }
}

//! Frames of a routed port that a capture follows through their burst.
//!
//! They take the path that they take otherwise. Then their outcomes are
//! [followed](Outcome::followed): they are in outcome groups of their own, whose metadata has the
//! capture's mark, and keep their place in the burst. One that a stage drops or hands to the
//! control thread is in hand meanwhile.

use crate::capture::in_hand::{Followers, InHand};
use crate::capture::record::Kind;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::{Frame, length_bytes};
use crate::ids::PortId;
use crate::limits::{BURST_MAX, BurstBits, frames_of};
use crate::pipeline::arrival::Arrival;
use crate::pipeline::captured::is_forwarded;
use crate::pipeline::lanes::LANES;
use crate::pipeline::outcome::Outcome;
use crate::snapshot::Snapshot;
use crate::worker::Core;

impl<D: Device, V: Driver> Core<D, V> {
    /// Bit i is set if frame i of the burst in `self.rx`, whose headers the fast path has read, is
    /// followed. With most filters the headers tell most frames that do not match.
    #[inline(never)]
    pub(super) fn followed_of_burst(&mut self, port: PortId) -> BurstBits {
        let Some(capture) = self.accounting.capture.as_deref_mut() else { return 0 };
        let Some(compares) = capture.header_compares(port) else {
            return capture.choose(port, &self.rx);
        };
        let may_match = self.lanes.frames_with(self.rx.len(), compares);
        if may_match == 0 { 0 } else { self.matching(may_match) }
    }

    /// The bits of the frames that match and have their turn, among those whose bits are set.
    #[inline(never)]
    fn matching(&mut self, mut bits: BurstBits) -> BurstBits {
        let Some(capture) = self.accounting.capture.as_deref_mut() else { return 0 };
        for at in frames_of(bits) {
            let frame = &self.rx[at];
            if !capture.matches(frame.head(), frame.len()) {
                bits &= !(1 << at);
            }
        }
        capture.take_turns(bits)
    }

    /// Keeps the starts of the frames whose bits are set in `followed`, as they were received.
    #[inline(never)]
    pub(super) fn keep_arrivals(
        &mut self,
        snapshot: &Snapshot,
        arrival: Arrival,
        followed: BurstBits,
    ) {
        self.with_capture(|core, capture| {
            if !capture.wants(Kind::In) {
                return;
            }
            for at in frames_of(followed) {
                let frame = &core.rx[at];
                if let Some(record) = core.arrival_of(snapshot, frame, arrival) {
                    capture.arrives(at, record, frame);
                }
            }
        });
    }

    /// Takes the frames whose bits are set in `followed`, and which are rewritten, to outcome
    /// groups of their own, and notes these.
    #[inline(never)]
    pub(super) fn follow(&mut self, followed: BurstBits, group_of: &mut [u8; BURST_MAX]) {
        let Self { rx, lanes, accounting, outcomes, .. } = self;
        for at in frames_of(followed) {
            let rx_bytes = lanes.eights[at / LANES].frame_bytes_of(at % LANES);
            group_of[at] = outcomes.follow(group_of[at], rx_bytes, length_bytes(&rx[at]));
        }
        let Some(capture) = accounting.capturing() else { return };
        capture.go(|at| {
            let outcome = outcomes.groups[usize::from(group_of[at])].outcome;
            let mut in_hand = InHand::default();
            if outcome.is_forward() {
                is_forwarded(&mut in_hand, outcome);
            }
            (outcome.key(), in_hand)
        });
    }

    /// The mark of frames that the capture follows; 0 without a capture.
    #[inline(never)]
    pub(super) fn capture_mark(&mut self) -> u8 {
        self.accounting.capturing().map_or(0, |capture| capture.own_mark())
    }

    /// Calls `go` for a frame with this outcome, which is in hand meanwhile if it is followed.
    #[inline(always)]
    pub(super) fn take_along(&mut self, outcome: Outcome, go: impl FnOnce(&mut Self)) {
        let is_followed = outcome.is_followed();
        if is_followed {
            let followers = Followers { capture: true, sampling: false };
            self.accounting.in_hand = InHand::new(followers);
        }
        go(self);
        if is_followed {
            self.put_back(outcome);
        }
    }

    /// The frame in hand, which has this outcome, has ended or is in a queue.
    #[cold]
    fn put_back(&mut self, outcome: Outcome) {
        let in_hand = core::mem::take(&mut self.accounting.in_hand);
        if let Some(capture) = self.accounting.capturing() {
            capture.has_ended(outcome.key(), in_hand);
        }
    }
}

//! What one worker does between its turns: it pauses and resumes a port again and again.

use crate::station::{Bed, NEVER};
use random::{Draw, SplitMix64};
use std::sync::atomic::Ordering;

/// Turns of each worker after which it has obeyed, and after which it sends at full rate again.
const PAUSED_TURNS: u64 = 8;
const RUNNING_TURNS: u64 = 12;
/// An XOFF frame comes within this time after both workers send at full rate.
const SPREAD_NS: u64 = 20_000;

/// One pause: when the XOFF frame was there, when it was in hand, and when the last frame left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) due_ns: u64,
    pub(crate) in_hand_ns: u64,
    pub(crate) last_ns: u64,
}

impl Sample {
    pub(crate) const fn reaction_ns(self) -> u64 {
        self.last_ns.saturating_sub(self.due_ns)
    }

    pub(crate) const fn after_receipt_ns(self) -> u64 {
        self.last_ns.saturating_sub(self.in_hand_ns)
    }
}

/// What the first worker does between its turns: pauses and resumes the port again and again.
pub(crate) struct Pauses {
    pub(crate) step: Step,
    pub(crate) rng: SplitMix64,
    pub(crate) samples: Vec<Sample>,
}

pub(crate) enum Step {
    /// Until both workers send at full rate, counted from these turns on.
    Run { since_ns: u64, turns: Option<Vec<u64>> },
    /// Until the XOFF frame has been received, and every worker has taken some turns since.
    Pause { due_ns: u64, turns: Option<Vec<u64>> },
    /// Until the XON frame has been received.
    Resume { since_ns: u64 },
}

impl Pauses {
    pub(crate) fn send(bed: &Bed, quanta: u16, due_ns: u64) {
        bed.quanta.store(u64::from(quanta), Ordering::Relaxed);
        bed.due_ns.store(due_ns, Ordering::Release);
    }

    pub(crate) fn is_received(bed: &Bed) -> bool {
        bed.due_ns.load(Ordering::Acquire) == NEVER
    }

    /// One step, if it is due.
    pub(crate) fn poll(&mut self, bed: &Bed) {
        match &mut self.step {
            Step::Run { since_ns, turns: None } => {
                if bed.sent_ns().all(|sent_ns| sent_ns > *since_ns) {
                    self.step = Step::Run { since_ns: *since_ns, turns: Some(bed.turns()) };
                }
            }
            Step::Run { turns: Some(turns), .. } => {
                if bed.has_turned(turns, RUNNING_TURNS) {
                    let due_ns = bed.now_ns() + 1_000 + self.rng.below(SPREAD_NS);
                    Self::send(bed, 0xFFFF, due_ns);
                    self.step = Step::Pause { due_ns, turns: None };
                }
            }
            Step::Pause { due_ns, turns: None } => {
                if Self::is_received(bed) {
                    self.step = Step::Pause { due_ns: *due_ns, turns: Some(bed.turns()) };
                }
            }
            Step::Pause { due_ns, turns: Some(turns) } => {
                if bed.has_turned(turns, PAUSED_TURNS) {
                    let last_ns = bed.sent_ns().max().expect("workers");
                    let seen_ns = bed.now_ns();
                    let in_hand_ns = bed.in_hand_ns.load(Ordering::Relaxed);
                    self.samples.push(Sample { due_ns: *due_ns, in_hand_ns, last_ns });
                    Self::send(bed, 0, seen_ns);
                    self.step = Step::Resume { since_ns: seen_ns };
                }
            }
            Step::Resume { since_ns } => {
                if Self::is_received(bed) {
                    self.step = Step::Run { since_ns: *since_ns, turns: None };
                }
            }
        }
    }
}

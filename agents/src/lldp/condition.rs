//! What is worth telling an operator about a port: told once it has lasted, so that a network that
//! is still settling tells nothing.

use super::SECOND_NS;
use dataplane::time::Instant;

/// Something that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Condition {
    /// The neighbor is at our level.
    Crosslink,
    /// The neighbor's level is two or more from ours: no tree has such a link.
    LevelGap,
    /// The neighbor takes the link for something else than we do.
    Disagreement,
    /// The neighbor claims to be what this port does not allow, and is not believed.
    Refused,
    /// Several neighbors say different things, and none is believed.
    Torn,
    /// More neighbors than are kept.
    Crowded,
    /// The neighbor changes its mind too often, and is not believed until it is calm.
    Damped,
    /// The neighbor is a switch that says nothing of levels.
    Silent,
    /// The neighbor is this switch.
    Loop,
    /// The neighbor's PFC protects other priorities than ours.
    PfcMismatch,
    /// The neighbor takes shorter frames than we send.
    FrameSize,
}

impl Condition {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Crosslink,
        Self::LevelGap,
        Self::Disagreement,
        Self::Refused,
        Self::Torn,
        Self::Crowded,
        Self::Damped,
        Self::Silent,
        Self::Loop,
        Self::PfcMismatch,
        Self::FrameSize,
    ];

    /// The name in tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crosslink => "crosslink",
            Self::LevelGap => "level_gap",
            Self::Disagreement => "disagreement",
            Self::Refused => "refused",
            Self::Torn => "torn",
            Self::Crowded => "crowded",
            Self::Damped => "damped",
            Self::Silent => "silent",
            Self::Loop => "loop",
            Self::PfcMismatch => "pfc_mismatch",
            Self::FrameSize => "frame_size",
        }
    }

    /// What it means, in words that follow the port's name.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Crosslink => {
                "the neighbour is at our own level; frames that turn there are raised"
            }
            Self::LevelGap => "the neighbour's level is two or more from ours; look at the cabling",
            Self::Disagreement => "the neighbour takes the link for something else than we do",
            Self::Refused => {
                "the neighbour claims to be what this port does not allow; not believed"
            }
            Self::Torn => "several neighbours say different things; none is believed",
            Self::Crowded => "more neighbours than are kept",
            Self::Damped => {
                "the neighbour changes its mind too often; not believed until it is calm"
            }
            Self::Silent => "the neighbour is a switch that says nothing of levels",
            Self::Loop => "the neighbour is this very switch; look at the cabling",
            Self::PfcMismatch => "the neighbour's PFC protects other priorities than ours",
            Self::FrameSize => "the neighbour takes shorter frames than we send",
        }
    }
}

const _: () = assert!(Condition::FrameSize as usize + 1 == Condition::ALL.len());

/// A set of conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions(u16);

impl Conditions {
    /// Whether `condition` is among them.
    pub const fn has(self, condition: Condition) -> bool {
        self.0 >> condition as u8 & 1 == 1
    }

    /// Puts `condition` in, or takes it out.
    pub(super) const fn set(&mut self, condition: Condition, holds: bool) {
        let bit = 1 << condition as u8;
        self.0 = if holds { self.0 | bit } else { self.0 & !bit };
    }

    /// Those that hold.
    pub fn iter(self) -> impl Iterator<Item = Condition> {
        Condition::ALL.into_iter().filter(move |&condition| self.has(condition))
    }
}

/// How long a condition must hold, or not hold any more, before it is told.
pub(super) const HOLD_NS: u64 = 3 * SECOND_NS;

/// One port's conditions, and what was told of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    now: Conditions,
    told: Conditions,
    /// By condition: since when it is other than was told.
    since: [Instant; Condition::ALL.len()],
}

impl Watch {
    /// These hold from `now` on.
    pub(super) fn set(&mut self, now: Instant, conditions: Conditions) {
        for condition in Condition::ALL {
            if conditions.has(condition) != self.now.has(condition) {
                self.since[condition as usize] = now;
            }
        }
        self.now = conditions;
    }

    /// The next condition that has begun, or ended, and has not been told.
    pub(super) fn tell(&mut self, now: Instant) -> Option<(Condition, bool)> {
        let is_due = |condition: &Condition| {
            self.now.has(*condition) != self.told.has(*condition)
                && self.since[*condition as usize] + HOLD_NS <= now
        };
        let condition = Condition::ALL.into_iter().find(is_due)?;
        let begins = self.now.has(condition);
        self.told.set(condition, begins);
        Some((condition, begins))
    }

    /// When something is next to be told.
    pub(super) fn next_at(&self) -> Option<Instant> {
        if self.now == self.told {
            return None;
        }
        let untold = Condition::ALL.into_iter().filter(|&c| self.now.has(c) != self.told.has(c));
        untold.map(|condition| self.since[condition as usize] + HOLD_NS).min()
    }

    /// Those that have lasted.
    pub(super) const fn told(&self) -> Conditions {
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    #[test]
    fn what_lasts_is_told_once_and_again_when_it_is_over() {
        let mut watch = Watch::default();
        let mut crosslink = Conditions::default();
        crosslink.set(Condition::Crosslink, true);
        watch.set(at(0), crosslink);
        assert_eq!((watch.tell(at(2_999)), watch.next_at()), (None, Some(at(3_000))));
        assert_eq!(watch.tell(at(3_000)), Some((Condition::Crosslink, true)));
        assert_eq!((watch.tell(at(9_000)), watch.next_at()), (None, None));
        watch.set(at(10_000), Conditions::default());
        watch.set(at(11_000), crosslink);
        assert_eq!(watch.next_at(), None, "a moment is not told");
        watch.set(at(12_000), Conditions::default());
        assert_eq!(watch.tell(at(15_000)), Some((Condition::Crosslink, false)));
    }

    #[test]
    fn every_condition_has_a_bit_of_its_own() {
        let mut all = Conditions::default();
        for (number, condition) in Condition::ALL.into_iter().enumerate() {
            assert_eq!(condition as usize, number);
            all.set(condition, true);
            assert_eq!(all.iter().count(), number + 1);
        }
    }
}

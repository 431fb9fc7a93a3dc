//! Conditions of a port that an operator should know. A condition is reported once it has lasted 3
//! s, so a network that is still converging reports none.

use super::settings::SECOND_NS;
use dataplane::time::Instant;
use strum::{IntoStaticStr, VariantArray};

/// Something about a port that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[repr(u8)]
pub enum Condition {
    /// The neighbor is at our level.
    Crosslink,
    /// The neighbor's level differs from ours by two or more. A tree has no such link.
    LevelGap,
    /// The neighbor advertises an orientation of the link that does not match ours.
    Disagreement,
    /// The neighbor claims to be what this port does not allow. The claim is ignored.
    Refused,
    /// Several neighbors make different claims. All are ignored.
    MultipleNeighbors,
    /// There are more neighbors than the table of the port holds.
    NeighborTableFull,
    /// The claims of the neighbor change too often. They are ignored until they are stable.
    Damped,
    /// The neighbor is a switch that advertises no level.
    Silent,
    /// The neighbor is this switch.
    Loop,
    /// The neighbor protects other priorities with PFC than we do.
    PfcMismatch,
    /// The neighbor accepts only shorter frames than we send.
    FrameSize,
}

impl Condition {
    /// All of them, in the order of their numbers.
    const ALL: &[Self] = Self::VARIANTS;

    /// The name in tables and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// A description for operators, to follow the name of the port.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Crosslink => {
                "the neighbor is at our own level; the tags of frames that turn there are raised"
            }
            Self::LevelGap => {
                "the neighbor's level differs from ours by two or more; check the cabling"
            }
            Self::Disagreement => {
                "the neighbor advertises an orientation of the link that does not match ours"
            }
            Self::Refused => {
                "the neighbor claims to be what this port does not allow; the claim is ignored"
            }
            Self::MultipleNeighbors => "several neighbors make different claims; all are ignored",
            Self::NeighborTableFull => "more neighbors than the table of the port holds",
            Self::Damped => {
                "the claims of the neighbor change too often; they are ignored until they are stable"
            }
            Self::Silent => "the neighbor is a switch that advertises no level",
            Self::Loop => "the neighbor is this switch; check the cabling",
            Self::PfcMismatch => "the neighbor protects other priorities with PFC than we do",
            Self::FrameSize => "the neighbor accepts only shorter frames than we send",
        }
    }
}

/// A set of conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions(u16);

impl Conditions {
    /// Whether the set has `condition`.
    pub(super) const fn has(self, condition: Condition) -> bool {
        self.0 >> condition as u8 & 1 == 1
    }

    /// Adds or removes `condition`.
    pub(super) const fn set(&mut self, condition: Condition, holds: bool) {
        let bit = 1 << condition as u8;
        self.0 = if holds { self.0 | bit } else { self.0 & !bit };
    }

    /// The conditions of the set.
    pub fn iter(self) -> impl Iterator<Item = Condition> {
        Condition::ALL.iter().copied().filter(move |&condition| self.has(condition))
    }
}

/// How long a condition must have begun or ended before that is reported.
const HOLD_NS: u64 = 3 * SECOND_NS;

/// The conditions of one port, and which of them are reported.
#[derive(Clone, Debug, Default)]
pub(super) struct ConditionMonitor {
    now: Conditions,
    reported: Conditions,
    /// Of each condition: when it last began or ended.
    since: [Instant; Condition::ALL.len()],
}

impl ConditionMonitor {
    /// Sets the conditions that hold from `now` on.
    pub(super) fn set(&mut self, now: Instant, conditions: Conditions) {
        for &condition in Condition::ALL {
            if conditions.has(condition) != self.now.has(condition) {
                self.since[condition as usize] = now;
            }
        }
        self.now = conditions;
    }

    /// The next condition to report, and whether it began.
    pub(super) fn poll(&mut self, now: Instant) -> Option<(Condition, bool)> {
        let is_due = |condition: &Condition| {
            self.now.has(*condition) != self.reported.has(*condition)
                && self.since[*condition as usize] + HOLD_NS <= now
        };
        let condition = Condition::ALL.iter().copied().find(is_due)?;
        let begins = self.now.has(condition);
        self.reported.set(condition, begins);
        Some((condition, begins))
    }

    /// When a condition is next to be reported.
    pub(super) fn next_at(&self) -> Option<Instant> {
        if self.now == self.reported {
            return None;
        }
        let unreported =
            Condition::ALL.iter().copied().filter(|&c| self.now.has(c) != self.reported.has(c));
        unreported.map(|condition| self.since[condition as usize] + HOLD_NS).min()
    }

    /// The conditions that are reported.
    pub(super) const fn reported(&self) -> Conditions {
        self.reported
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_condition_is_reported_when_it_has_begun_and_when_it_has_ended() {
        let mut monitor = ConditionMonitor::default();
        let mut crosslink = Conditions::default();
        crosslink.set(Condition::Crosslink, true);
        monitor.set(at(0), crosslink);
        assert_eq!((monitor.poll(at(2_999)), monitor.next_at()), (None, Some(at(3_000))));
        assert_eq!(monitor.poll(at(3_000)), Some((Condition::Crosslink, true)));
        assert_eq!((monitor.poll(at(9_000)), monitor.next_at()), (None, None));
        monitor.set(at(10_000), Conditions::default());
        monitor.set(at(11_000), crosslink);
        assert_eq!(monitor.next_at(), None, "a short condition is not reported");
        monitor.set(at(12_000), Conditions::default());
        assert_eq!(monitor.poll(at(15_000)), Some((Condition::Crosslink, false)));
    }

    #[test]
    fn every_condition_has_a_bit_of_its_own() {
        let mut all = Conditions::default();
        for (number, &condition) in Condition::ALL.iter().enumerate() {
            assert_eq!(condition as usize, number);
            all.set(condition, true);
            assert_eq!(all.iter().count(), number + 1);
        }
    }
}

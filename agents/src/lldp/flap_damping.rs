//! A neighbor that changes its mind too often is not believed until it has been calm for a while.
//!
//! Each change costs, and time pays it back: a bucket, kept as the instant when all is paid. A
//! network that settles makes a handful of changes; the bucket holds several times as many.

use super::SECOND_NS;
use dataplane::time::Instant;

/// Changes at once that are believed.
pub(super) const CHANGES_MAX: u64 = 24;
/// How long it takes to forget one.
const FORGET_NS: u64 = 5 * SECOND_NS;
/// With so much forgotten, the neighbor is believed again.
const CALM_NS: u64 = CHANGES_MAX * FORGET_NS / 2;

/// One port's.
#[derive(Clone, Debug, Default)]
pub(super) struct FlapDamping {
    /// When all changes are forgotten.
    clear_at: Instant,
    is_damped: bool,
}

impl FlapDamping {
    /// The neighbor has changed its mind.
    pub(super) fn change(&mut self, now: Instant) {
        let most = now + CHANGES_MAX * FORGET_NS;
        let clear_at = self.clear_at.max(now) + FORGET_NS;
        self.is_damped |= clear_at > most;
        // No more than one beyond the most, so that calm is rewarded after the same time always.
        self.clear_at = clear_at.min(most + FORGET_NS);
    }

    /// When it will be believed again; `None` if it is.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        self.is_damped.then(|| Instant::from_ns(self.clear_at.ns.saturating_sub(CALM_NS)))
    }

    /// Whether it is believed at `now`; once it is, the damping has ended.
    pub(super) fn is_damped(&mut self, now: Instant) -> bool {
        if self.ends_at().is_some_and(|end| end <= now) {
            self.is_damped = false;
        }
        self.is_damped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_ns(seconds * SECOND_NS)
    }

    #[test]
    fn a_handful_of_changes_is_fine_and_many_are_not_until_it_is_calm() {
        let mut damping = FlapDamping::default();
        for _ in 0..CHANGES_MAX {
            damping.change(at(100));
        }
        assert!(!damping.is_damped(at(100)));
        damping.change(at(100));
        assert!(damping.is_damped(at(100)));
        assert_eq!(damping.ends_at(), Some(at(165)));
        (0..1_000).for_each(|_| damping.change(at(150)));
        assert_eq!(damping.ends_at(), Some(at(215)), "however many there were");
        assert!(damping.is_damped(at(214)) && !damping.is_damped(at(215)));
        assert_eq!(damping.ends_at(), None);
    }

    #[test]
    fn a_change_now_and_then_is_forgotten() {
        let mut damping = FlapDamping::default();
        for change in 0..1_000 {
            damping.change(at(5 * change));
            assert!(!damping.is_damped(at(5 * change)));
        }
    }
}

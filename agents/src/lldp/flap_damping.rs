//! Flap damping: claims that change too often are ignored until they have been stable for a while.
//!
//! A leaky bucket counts the changes. It is kept as the instant when it is empty. A network that
//! converges makes a handful of changes; the bucket holds several times as many.

use super::settings::SECOND_NS;
use dataplane::time::Instant;

/// Changes that the bucket holds.
const CHANGES_MAX: u64 = 24;
/// The time in which one change leaves the bucket.
const LEAK_NS: u64 = 5 * SECOND_NS;
/// Damping ends when this much time is left until the bucket is empty (the reuse limit of RFC
/// 2439).
const REUSE_NS: u64 = CHANGES_MAX * LEAK_NS / 2;

/// The flap damping of one port.
#[derive(Clone, Debug, Default)]
pub(super) struct FlapDamping {
    /// When the bucket is empty.
    empty_at: Instant,
    is_damped: bool,
}

impl FlapDamping {
    /// Counts a change.
    pub(super) fn change(&mut self, now: Instant) {
        let most = now + CHANGES_MAX * LEAK_NS;
        let empty_at = self.empty_at.max(now) + LEAK_NS;
        self.is_damped |= empty_at > most;
        // The limit is one change above the maximum, so damping ends after the same stable time
        // however many changes there were.
        self.empty_at = empty_at.min(most + LEAK_NS);
    }

    /// When damping ends; `None` if there is none.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        self.is_damped.then(|| Instant::from_ns(self.empty_at.ns.saturating_sub(REUSE_NS)))
    }

    /// Whether changes are damped at `now`. Damping that is over is ended.
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
    fn many_changes_are_damped_until_claims_are_stable() {
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
    fn rare_changes_are_not_damped() {
        let mut damping = FlapDamping::default();
        for change in 0..1_000 {
            damping.change(at(5 * change));
            assert!(!damping.is_damped(at(5 * change)));
        }
    }
}

//! The set of a worker's ports that a turn has to process.
//!
//! A polling worker processes all of its ports. In an event-driven turn
//! ([`event_driven`](crate::event_driven)) it processes those with events, and those that its own
//! state requires.

/// A set of slots of a worker's ports in one word. It may contain slots that were not added, since
/// processing a port too many does no harm: the first 63 slots have a bit each, all others share
/// one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortMask(u64);

/// The first of the slots that share a bit.
const TOGETHER: usize = 63;

impl PortMask {
    /// The first `count` slots.
    #[inline(always)]
    pub(crate) const fn first(count: usize) -> Self {
        Self(if count <= TOGETHER { (1 << count) - 1 } else { u64::MAX })
    }

    #[inline(always)]
    const fn bit(slot: usize) -> u64 {
        1 << if slot < TOGETHER { slot } else { TOGETHER }
    }

    /// Adds a slot.
    #[inline(always)]
    pub(crate) const fn insert(&mut self, slot: usize) {
        self.0 |= Self::bit(slot);
    }

    /// Adds or removes a slot. A slot that shares its bit is not removed.
    #[inline(always)]
    pub(crate) const fn set(&mut self, slot: usize, is_in: bool) {
        if is_in {
            self.insert(slot);
        } else if slot < TOGETHER {
            self.0 &= !Self::bit(slot);
        }
    }

    /// Whether a slot may be in the set.
    #[inline(always)]
    pub(crate) const fn contains(self, slot: usize) -> bool {
        self.0 & Self::bit(slot) != 0
    }

    /// Whether no slot is in the set.
    #[inline(always)]
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The union of two sets.
    #[inline(always)]
    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The intersection of two sets.
    #[inline(always)]
    pub(crate) const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Each slot in the set, lowest first, for a worker with `count` ports.
    #[inline(always)]
    pub(crate) fn iter(self, count: usize) -> impl Iterator<Item = usize> {
        let Self(mut bits) = self;
        let mut together = TOGETHER;
        core::iter::from_fn(
            #[inline(always)]
            move || {
                if bits == 0 {
                    return None;
                }
                let slot = bits.trailing_zeros() as usize;
                if slot < TOGETHER {
                    bits &= bits - 1;
                    return Some(slot);
                }
                let slot = together;
                together += 1;
                if together >= count {
                    bits = 0;
                }
                Some(slot)
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::PORTS_MAX;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    fn slots_of(slots: PortMask) -> Vec<usize> {
        let mut slots_of = Vec::new();
        slots_of.extend(slots.iter(PORTS_MAX));
        slots_of
    }

    proptest! {
        /// All slots that were added are found, in order; of the first 63, no others.
        #[test]
        fn a_set_of_slots_is_a_set(
            steps in proptest::collection::vec((0_usize..PORTS_MAX, any::<bool>()), 0..100),
            more in 0_usize..PORTS_MAX,
        ) {
            let (mut slots, mut oracle) = (PortMask::default(), BTreeSet::new());
            let check = |slots: PortMask, oracle: &BTreeSet<usize>| {
                let found = slots_of(slots);
                prop_assert!(found.is_sorted_by(|a, b| a < b));
                prop_assert!(oracle.iter().all(|slot| found.contains(slot)));
                let apart = found.into_iter().filter(|&slot| slot < TOGETHER);
                prop_assert!(apart.eq(oracle.iter().copied().filter(|&slot| slot < TOGETHER)));
                Ok(())
            };
            for (slot, is_in) in steps {
                slots.set(slot, is_in);
                if is_in { oracle.insert(slot) } else { oracle.remove(&slot) };
                check(slots, &oracle)?;
            }
            let mut other = PortMask::default();
            other.insert(more);
            oracle.insert(more);
            check(slots.union(other), &oracle)?;
        }
    }

    #[test]
    fn all_slots_of_are_as_many_as_there_are() {
        for count in [0, 1, 62, 63, 64, 65, 200, 256] {
            assert!(PortMask::first(count).iter(count).eq(0..count), "{count}");
        }
    }
}

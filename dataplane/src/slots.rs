//! Which of a worker's ports a turn has to look at.
//!
//! A worker that polls looks at all of them. One that is told where something happened
//! ([`by_parts`](crate::by_parts)) looks at those, and at what its own state makes it look at.

/// A set of places among a worker's ports, which may have grown by some more: looking at a port too
/// many does no harm. The first 64 are told apart; beyond them it is all up to the highest.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slots {
    bits: u64,
    /// Places from 64 to below this are in the set.
    end: usize,
}

const APART: usize = 64;

impl Slots {
    /// The first `count` places.
    #[inline(always)]
    pub(crate) const fn first(count: usize) -> Self {
        let bits = if count < APART { (1 << count) - 1 } else { u64::MAX };
        Self { bits, end: count }
    }

    /// Adds a place.
    #[inline(always)]
    pub(crate) const fn insert(&mut self, slot: usize) {
        if slot < APART {
            self.bits |= 1 << slot;
        } else if self.end <= slot {
            self.end = slot + 1;
        }
    }

    /// Adds a place, or takes it out.
    #[inline(always)]
    pub(crate) const fn set(&mut self, slot: usize, is_in: bool) {
        if is_in {
            self.insert(slot);
        } else if slot < APART {
            self.bits &= !(1 << slot);
        }
    }

    /// Whether a place may be in the set.
    #[inline(always)]
    pub(crate) const fn contains(self, slot: usize) -> bool {
        if slot < APART { self.bits >> slot & 1 == 1 } else { slot < self.end }
    }

    /// Whether no place is in the set.
    #[inline(always)]
    pub(crate) const fn is_empty(self) -> bool {
        self.bits == 0 && self.end <= APART
    }

    /// The places in either set.
    #[inline(always)]
    pub(crate) const fn and(self, other: Self) -> Self {
        let end = if self.end < other.end { other.end } else { self.end };
        Self { bits: self.bits | other.bits, end }
    }

    /// Has something done for each place, lowest first.
    #[inline(always)]
    pub(crate) fn each(self, mut act: impl FnMut(usize)) {
        let mut bits = self.bits;
        while bits != 0 {
            act(bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
        if self.end > APART {
            (APART..self.end).for_each(act);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::PORTS_MAX;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    fn places(slots: Slots) -> Vec<usize> {
        let mut places = Vec::new();
        slots.each(|slot| places.push(slot));
        places
    }

    proptest! {
        /// All that were put in are found, in order; of the first 64 no others.
        #[test]
        fn a_set_of_slots_is_a_set(
            steps in proptest::collection::vec((0_usize..PORTS_MAX, any::<bool>()), 0..100),
            more in 0_usize..PORTS_MAX,
        ) {
            let (mut slots, mut oracle) = (Slots::default(), BTreeSet::new());
            let check = |slots: Slots, oracle: &BTreeSet<usize>| {
                let found = places(slots);
                prop_assert!(found.is_sorted_by(|a, b| a < b));
                prop_assert!(oracle.iter().all(|slot| found.contains(slot)));
                let apart = found.into_iter().filter(|&slot| slot < APART);
                prop_assert!(apart.eq(oracle.iter().copied().filter(|&slot| slot < APART)));
                Ok(())
            };
            for (slot, is_in) in steps {
                slots.set(slot, is_in);
                if is_in { oracle.insert(slot) } else { oracle.remove(&slot) };
                check(slots, &oracle)?;
            }
            let mut other = Slots::default();
            other.insert(more);
            oracle.insert(more);
            check(slots.and(other), &oracle)?;
        }
    }

    #[test]
    fn the_first_places_are_as_many_as_there_are() {
        for count in [0, 1, 63, 64, 65, 200, 256] {
            assert!(places(Slots::first(count)).into_iter().eq(0..count), "{count}");
        }
    }
}

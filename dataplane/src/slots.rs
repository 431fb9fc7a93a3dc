//! Which of a worker's ports a turn has to look at.
//!
//! A worker that polls looks at all of them. One that is told where something happened
//! ([`by_parts`](crate::by_parts)) looks at those, and at what its own state makes it look at.

/// A set of places among a worker's ports, which may have grown by some more: looking at a port too
/// many does no harm. It is one word: the first places are told apart, the others are in it or out
/// of it together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slots(u64);

/// The first of the places that are in a set together.
const TOGETHER: usize = 63;

impl Slots {
    /// The first `count` places.
    #[inline(always)]
    pub(crate) const fn first(count: usize) -> Self {
        Self(if count <= TOGETHER { (1 << count) - 1 } else { u64::MAX })
    }

    #[inline(always)]
    const fn bit(slot: usize) -> u64 {
        1 << if slot < TOGETHER { slot } else { TOGETHER }
    }

    /// Adds a place.
    #[inline(always)]
    pub(crate) const fn insert(&mut self, slot: usize) {
        self.0 |= Self::bit(slot);
    }

    /// Adds a place, or takes it out.
    #[inline(always)]
    pub(crate) const fn set(&mut self, slot: usize, is_in: bool) {
        if is_in {
            self.insert(slot);
        } else if slot < TOGETHER {
            self.0 &= !Self::bit(slot);
        }
    }

    /// Whether a place may be in the set.
    #[inline(always)]
    pub(crate) const fn contains(self, slot: usize) -> bool {
        self.0 & Self::bit(slot) != 0
    }

    /// Whether no place is in the set.
    #[inline(always)]
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The places in either set.
    #[inline(always)]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The places in both sets.
    #[inline(always)]
    pub(crate) const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Each place, lowest first, of a worker with `count` ports.
    #[inline(always)]
    pub(crate) fn each(self, count: usize) -> impl Iterator<Item = usize> {
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

    fn places(slots: Slots) -> Vec<usize> {
        let mut places = Vec::new();
        places.extend(slots.each(PORTS_MAX));
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
                let apart = found.into_iter().filter(|&slot| slot < TOGETHER);
                prop_assert!(apart.eq(oracle.iter().copied().filter(|&slot| slot < TOGETHER)));
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
    fn all_places_are_as_many_as_there_are() {
        for count in [0, 1, 62, 63, 64, 65, 200, 256] {
            assert!(Slots::first(count).each(count).eq(0..count), "{count}");
        }
    }
}

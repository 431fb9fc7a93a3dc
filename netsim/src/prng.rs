//! Chance that repeats: one seed, one sequence, in whole numbers only, on every machine.

/// A generator (Steele, Lea, Flood: SplitMix64), seeded.
#[derive(Clone, Debug)]
pub struct Prng(u64);

/// So many out of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// So many.
    pub numerator: u32,
    /// Out of so many; 0 is never.
    pub denominator: u32,
}

impl Prng {
    /// The sequence of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A sequence of its own for part number `part` of whatever `seed` is for: adding a part leaves
    /// the others as they were.
    pub const fn for_part(seed: u64, part: u64) -> Self {
        Self(mix(seed ^ mix(part.wrapping_add(1))))
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// 0 to `bound` - 1; 0 if `bound` is 0. Off from even by less than one in 2^64 / `bound`.
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.bits() as u128 * bound as u128) >> 64) as u64
    }

    /// True so often.
    pub const fn chance(&mut self, ratio: Ratio) -> bool {
        self.below(ratio.denominator as u64) < ratio.numerator as u64 && ratio.denominator != 0
    }

    /// One of `items`, each as likely; `None` if there is none.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        #[expect(clippy::cast_possible_truncation, reason = "below a length")]
        let chosen = self.below(items.len() as u64) as usize;
        items.get(chosen)
    }

    /// Puts `items` into any order, each as likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for unsettled in (2..=items.len()).rev() {
            #[expect(clippy::cast_possible_truncation, reason = "below a length")]
            let chosen = self.below(unsettled as u64) as usize;
            items.swap(unsettled - 1, chosen);
        }
    }
}

const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_splitmix64s() {
        // The first outputs for seed 1234567, as published with the algorithm.
        let mut prng = Prng::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| prng.bits()).collect();
        let known =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(first, known);
    }

    #[test]
    fn draws_are_even_and_chances_as_large_as_they_say() {
        let mut prng = Prng::new(1);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[usize::try_from(prng.below(10)).unwrap()] += 1;
        }
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 400), "{counts:?}");
        let third = Ratio { numerator: 1, denominator: 3 };
        let hits = (0..90_000).filter(|_| prng.chance(third)).count();
        assert!(hits.abs_diff(30_000) < 600, "{hits}");
        assert!(!prng.chance(Ratio { numerator: 1, denominator: 0 }));
        assert_eq!((prng.below(0), prng.below(1)), (0, 0));
    }

    #[test]
    fn parts_have_sequences_of_their_own() {
        let first = |part| Prng::for_part(9, part).bits();
        assert_ne!(first(0), first(1));
        assert_ne!(first(0), Prng::for_part(8, 0).bits());
        assert_eq!(first(5), first(5));
    }

    #[test]
    fn a_shuffle_reaches_every_order_about_as_often() {
        let mut prng = Prng::new(3);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [0, 1, 2];
            prng.shuffle(&mut items);
            *counts.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| count.abs_diff(1_000) < 150), "{counts:?}");
    }
}

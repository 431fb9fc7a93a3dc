//! Random numbers that a seed repeats to the bit, on every machine and in every version.
//!
//! The generator is [`SplitMix64`] of `rand_xoshiro`, behind `rand_core`'s traits. The draws from
//! it are the methods of [`Draw`]. Those of crate `rand` are not used: `rand` may change the value
//! that a seed gives with any minor version, and a seed in a file must mean the same network, the
//! same paths and the same simulation for good. Draws use integers only.
#![no_std]
#![forbid(unsafe_code)]

pub use rand_core::{Rng, SeedableRng};
pub use rand_xoshiro::SplitMix64;

use core::array;

/// The increment of SplitMix64's state.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The generator of `seed`.
pub fn seeded(seed: u64) -> SplitMix64 {
    SplitMix64::seed_from_u64(seed)
}

/// A generator of its own for part number `part` of what `seed` is for. A new part leaves the
/// streams of the others as they were.
pub fn substream(seed: u64, part: u64) -> SplitMix64 {
    seeded(mix(seed ^ mix(part.wrapping_add(1))))
}

/// SplitMix64's output function: what a generator gives whose state becomes `state`.
fn mix(state: u64) -> u64 {
    seeded(state.wrapping_sub(GAMMA)).next_u64()
}

/// Draws of numbers, items and orders.
pub trait Draw: Rng {
    /// A number from 0 to `bound` - 1; 0 if `bound` is 0. The bias is less than `bound` / 2^64.
    #[inline]
    fn below(&mut self, bound: u64) -> u64 {
        high_half(self.next_u64(), bound.into())
    }

    /// An index of a list of `length` items; 0 if it is empty.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "less than a length")]
    fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number from 0 to `bound` - 1; 0 if `bound` is 0.
    fn byte_below(&mut self, bound: u8) -> u8 {
        let [low, ..] = self.below(bound.into()).to_le_bytes();
        low
    }

    /// A number from `least` to `most`, which is at least `least`.
    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + high_half(self.next_u64(), u128::from(most - least) + 1)
    }

    /// True with a probability of 1 in `count`; always if `count` is 0.
    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// One of `items`, each as likely; `None` if there is none.
    fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.index(items.len()))
    }

    /// One of `items`, each as likely.
    ///
    /// # Panics
    /// `items` is empty.
    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.index(items.len())]
    }

    /// Brings `items` into a random order, each as likely (Fisher-Yates).
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }

    /// A random octet.
    fn octet(&mut self) -> u8 {
        let [low, ..] = self.next_u64().to_le_bytes();
        low
    }

    /// `N` random octets.
    fn octets<const N: usize>(&mut self) -> [u8; N] {
        array::from_fn(|_| self.octet())
    }

    /// 16 random bits.
    fn u16(&mut self) -> u16 {
        let [low, high, ..] = self.next_u64().to_le_bytes();
        u16::from_le_bytes([low, high])
    }

    /// An exponentially distributed number with this mean: `mean` times -ln(u), for an even u.
    fn exponential(&mut self, mean: u64) -> u64 {
        // -log2(u) in 32.32 fixed point: whole bits, then one binary digit for each squaring.
        let u = self.next_u64() | 1;
        let whole = u64::from(u.leading_zeros());
        let mut mantissa = u << whole;
        let mut log2 = 0_u64;
        for _ in 0..32 {
            let square = u128::from(mantissa) * u128::from(mantissa);
            let carries = square >> 127 == 1;
            log2 = log2 << 1 | u64::from(carries);
            let shift = if carries { 64 } else { 63 };
            mantissa = u64::try_from(square >> shift).unwrap_or(u64::MAX);
        }
        // The mantissa is in [1/2, 1): its log2 is log2 / 2^32 - 1.
        let minus_log2 = ((whole + 1) << 32) - log2;
        // ln 2 in 0.32 fixed point.
        const LN_2: u128 = 2_977_044_472;
        let product = (u128::from(mean) * u128::from(minus_log2) * LN_2) >> 64;
        u64::try_from(product).unwrap_or(u64::MAX)
    }
}

impl<R: Rng + ?Sized> Draw for R {}

/// `bits` as a fraction of 2^64, times `count`, which is at most 2^64: less than `count`.
#[inline]
const fn high_half(bits: u64, count: u128) -> u64 {
    ((bits as u128 * count) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    extern crate std;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    /// The generator that simulations were recorded with, written down apart from the crate's.
    fn reference(state: &mut u64) -> u64 {
        *state = state.wrapping_add(GAMMA);
        let mixed = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    #[test]
    fn the_stream_is_splitmix64s() {
        // The first outputs for seed 1234567, as published with the algorithm.
        let mut rng = seeded(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| rng.next_u64()).collect();
        let known = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(first, known);
        for seed in [0, 1, 7, u64::MAX, GAMMA] {
            let (mut rng, mut state) = (seeded(seed), seed);
            assert!((0..1_000).all(|_| rng.next_u64() == reference(&mut state)), "{seed}");
        }
    }

    /// Recorded with the generators that this crate replaced.
    #[test]
    fn draws_of_a_seed_stay_as_they_were_recorded() {
        let mut rng = seeded(42);
        assert_eq!(
            [10, 1_000, u64::MAX, 0].map(|bound| rng.below(bound)),
            [7, 159, 5_139_283_748_462_763_857, 0]
        );
        assert_eq!([3, 8, 64].map(|length| rng.index(length)), [0, 6, 13]);
        assert_eq!((rng.between(5, 9), rng.between(0, u64::MAX)), (9, 6_270_620_877_612_482_005));
        let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
        rng.shuffle(&mut order);
        assert_eq!(order, [3, 0, 6, 7, 5, 2, 1, 4]);
        assert_eq!(rng.octets(), [117, 29, 7, 96]);
        assert_eq!(rng.exponential(1_000_000), 43_612);
        let parts =
            [8_201_072_143_575_036_664, 5_307_770_518_352_170_039, 16_820_554_527_355_454_065];
        assert_eq!([0, 1, 9].map(|part| substream(9, part).next_u64()), parts);
    }

    #[test]
    fn numbers_are_even_and_chances_as_large_as_they_say() {
        let mut rng = seeded(1);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[rng.index(10)] += 1;
        }
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 400), "{counts:?}");
        let hits = (0..90_000).filter(|_| rng.one_in(3)).count();
        assert!(hits.abs_diff(30_000) < 600, "{hits}");
        assert_eq!((rng.below(0), rng.below(1)), (0, 0));
        assert_eq!(rng.choose::<u8>(&[]), None);
        assert_eq!((rng.between(4, 4), rng.byte_below(1)), (4, 0));
    }

    #[test]
    fn parts_have_streams_of_their_own() {
        let first = |part| substream(9, part).next_u64();
        assert_ne!(first(0), first(1));
        assert_ne!(first(0), substream(8, 0).next_u64());
        assert_eq!(first(5), first(5));
    }

    #[test]
    fn a_shuffle_reaches_every_order_about_as_often() {
        let mut rng = seeded(3);
        let mut counts = BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [0, 1, 2];
            rng.shuffle(&mut items);
            *counts.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| count.abs_diff(1_000) < 150), "{counts:?}");
    }

    #[test]
    fn exponential_numbers_have_the_mean_and_the_tail() {
        let mut rng = seeded(5);
        let numbers: Vec<u64> = (0..200_000).map(|_| rng.exponential(1_000_000)).collect();
        let mean = numbers.iter().sum::<u64>() / 200_000;
        assert!(mean.abs_diff(1_000_000) < 10_000, "{mean}");
        // A share of e^-k is longer than k means.
        for (means, millionths) in [(1, 367_879), (2, 135_335), (4, 18_316)] {
            let longer = numbers.iter().filter(|&&n| n > means * 1_000_000).count() as u64 * 5;
            assert!(longer.abs_diff(millionths) < 4_000, "{means}: {longer}");
        }
    }
}

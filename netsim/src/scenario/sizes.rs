//! How long flows are, and when they come: in whole numbers only, so that a seed is one run on
//! every machine.

use crate::prng::Prng;
use config::scenario::SizeDistribution;

/// A distribution: bytes, and how many of a million flows are no longer; straight lines between.
pub type Points = [(u64, u64)];

/// A web search cluster (Alizadeh et al., Data Center TCP, SIGCOMM 2010), as flow-level studies
/// since have tabled it.
pub const WEB_SEARCH: &Points = &[
    (1, 0),
    (10_000, 150_000),
    (20_000, 200_000),
    (30_000, 300_000),
    (50_000, 400_000),
    (80_000, 530_000),
    (200_000, 600_000),
    (1_000_000, 700_000),
    (2_000_000, 800_000),
    (5_000_000, 900_000),
    (10_000_000, 970_000),
    (30_000_000, 1_000_000),
];

/// A data mining cluster (Greenberg et al., VL2, SIGCOMM 2009), as tabled in packets of 1,460
/// bytes.
pub const DATA_MINING: &Points = &[
    (100, 0),
    (1_460, 500_000),
    (2 * 1_460, 600_000),
    (3 * 1_460, 700_000),
    (7 * 1_460, 800_000),
    (267 * 1_460, 900_000),
    (2_107 * 1_460, 950_000),
    (66_667 * 1_460, 990_000),
    (666_667 * 1_460, 1_000_000),
];

const ALL: u64 = 1_000_000;

pub(super) const fn points_of(distribution: SizeDistribution) -> &'static Points {
    match distribution {
        SizeDistribution::WebSearch => WEB_SEARCH,
        SizeDistribution::DataMining => DATA_MINING,
    }
}

/// The mean length.
pub(super) fn mean_bytes(points: &Points) -> u64 {
    let part =
        |pair: &[(u64, u64)]| u128::from(pair[0].0 + pair[1].0) * u128::from(pair[1].1 - pair[0].1);
    let twice: u128 = points.windows(2).map(part).sum();
    u64::try_from(twice / (2 * u128::from(ALL))).unwrap_or(u64::MAX).max(1)
}

/// A random length.
pub fn sample_bytes(points: &Points, prng: &mut Prng) -> u64 {
    let drawn = prng.below(ALL);
    let at = points.windows(2).find(|pair| drawn < pair[1].1);
    let Some(&[(low, from), (high, to)]) = at.and_then(|pair| pair.first_chunk()) else {
        return 1;
    };
    let along = u128::from(high - low) * u128::from(drawn - from) / u128::from((to - from).max(1));
    low + u64::try_from(along).unwrap_or_default()
}

/// A random gap between events that come at random, `mean` on average: -ln(u) means, for an even u.
pub(super) fn exponential(mean: u64, prng: &mut Prng) -> u64 {
    // -log2(u) in 32.32 fixed point: whole bits, then one binary digit for each squaring.
    let u = prng.bits() | 1;
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
    let gap = (u128::from(mean) * u128::from(minus_log2) * LN_2) >> 64;
    u64::try_from(gap).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_distributed_as_the_table_says() {
        for points in [WEB_SEARCH, DATA_MINING] {
            let mut prng = Prng::new(3);
            let drawn: Vec<u64> = (0..200_000).map(|_| sample_bytes(points, &mut prng)).collect();
            for &(bytes, millionths) in points {
                let below = drawn.iter().filter(|&&drawn| drawn <= bytes).count() as u64;
                assert!((below * 5).abs_diff(millionths) < 6_000, "{bytes}: {below}");
            }
            let mean = drawn.iter().sum::<u64>() / 200_000;
            let expected = mean_bytes(points);
            assert!(mean.abs_diff(expected) < expected / 20, "{mean} {expected}");
        }
    }

    #[test]
    fn the_tables_have_the_means_that_they_are_known_for() {
        assert_eq!(mean_bytes(WEB_SEARCH) / 10_000, 171, "1.71 MB");
        assert_eq!(mean_bytes(DATA_MINING) / 100_000, 74, "7.4 MB");
    }

    #[test]
    fn gaps_are_exponential() {
        let mut prng = Prng::new(5);
        let gaps: Vec<u64> = (0..200_000).map(|_| exponential(1_000_000, &mut prng)).collect();
        let mean = gaps.iter().sum::<u64>() / 200_000;
        assert!(mean.abs_diff(1_000_000) < 10_000, "{mean}");
        // A share of e^-k is longer than k means.
        for (means, millionths) in [(1, 367_879), (2, 135_335), (4, 18_316)] {
            let longer = gaps.iter().filter(|&&gap| gap > means * 1_000_000).count() as u64 * 5;
            assert!(longer.abs_diff(millionths) < 4_000, "{means}: {longer}");
        }
    }
}

//! Flow sizes, computed in integers, so that a seed is one run on every machine.

use config::scenario::SizeDistribution;
use random::{Draw, SplitMix64};

/// A distribution: bytes, and how many of a million flows are no longer; straight lines between.
pub(super) type Points = [(u64, u64)];

/// A web search cluster (Alizadeh et al., Data Center TCP, SIGCOMM 2010), as flow-level studies
/// since have tabled it.
pub(super) const WEB_SEARCH: &Points = &[
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
pub(super) const DATA_MINING: &Points = &[
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
pub(super) fn sample_bytes(points: &Points, rng: &mut SplitMix64) -> u64 {
    let drawn = rng.below(ALL);
    let at = points.windows(2).find(|pair| drawn < pair[1].1);
    let Some(&[(low, from), (high, to)]) = at.and_then(|pair| pair.first_chunk()) else {
        return 1;
    };
    let along = u128::from(high - low) * u128::from(drawn - from) / u128::from((to - from).max(1));
    low + u64::try_from(along).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_distributed_as_the_table_says() {
        for points in [WEB_SEARCH, DATA_MINING] {
            let mut rng = random::seeded(3);
            let drawn: Vec<u64> = (0..200_000).map(|_| sample_bytes(points, &mut rng)).collect();
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
}

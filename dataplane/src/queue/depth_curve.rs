//! A probability that rises with the depth of a queue: that of ECN (the curve is DCQCN's) and of
//! WRED.
//!
//! The depth is the present one, without RED's average over time: in a data center a queue lasts as
//! long as several round trips, so senders hear of it in time.

use crate::settings::DepthCurve;
use rand_core::Rng;
use rand_xoshiro::SplitMix64;

impl DepthCurve {
    /// Whether it happens to a frame at a queue of `depth_bytes`.
    #[inline]
    pub(crate) fn is_due(&self, depth_bytes: u32, rng: &mut SplitMix64) -> bool {
        if depth_bytes <= self.kmin_bytes {
            return false;
        }
        if depth_bytes > self.kmax_bytes {
            return true;
        }
        let span = u64::from(self.kmax_bytes - self.kmin_bytes).max(1);
        let above = u64::from(depth_bytes - self.kmin_bytes);
        // A random number from 0 to 65,535.
        rng.next_u64() >> 48 < u64::from(self.pmax_q16) * above / span
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    #[test]
    fn never_below_kmin_always_above_kmax_and_linear_between() {
        let settings = DepthCurve { kmin_bytes: 100_000, kmax_bytes: 400_000, pmax_q16: 13_107 };
        let mut rng = SplitMix64::seed_from_u64(7);
        let mut share = |depth| {
            (0..100_000).filter(|_| settings.is_due(depth, &mut rng)).count() as f64 / 100_000.0
        };
        assert_eq!(share(100_000), 0.0);
        assert_eq!(share(400_001), 1.0);
        for (depth, due) in [(175_000, 0.05), (250_000, 0.10), (400_000, 0.20)] {
            assert!((share(depth) - due).abs() < 0.005, "{depth} bytes");
        }
    }

    #[test]
    fn kmin_equal_to_kmax_is_a_step() {
        let settings = DepthCurve { kmin_bytes: 5_000, kmax_bytes: 5_000, pmax_q16: 65_536 };
        let mut rng = SplitMix64::seed_from_u64(1);
        assert!(!settings.is_due(5_000, &mut rng));
        assert!(settings.is_due(5_001, &mut rng));
    }
}

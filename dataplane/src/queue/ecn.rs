//! ECN marking by the depth of the queue that a frame leaves (RFC 3168; the curve is DCQCN's).
//!
//! Marks at dequeue, so that the mark reflects the present queue. A frame that is not ECN-capable
//! is never dropped instead: a lossless frame dropped by ECN would defeat PFC.

use crate::frame::Frame;
use crate::settings::EcnSettings;
use crate::wire::{ipv4, ipv6};
use rand_core::Rng;
use rand_xoshiro::SplitMix64;

/// Whether ECN marks a frame that leaves a queue of `depth_bytes`.
#[inline]
pub fn is_due(settings: &EcnSettings, depth_bytes: u32, rng: &mut SplitMix64) -> bool {
    if depth_bytes <= settings.kmin_bytes {
        return false;
    }
    if depth_bytes > settings.kmax_bytes {
        return true;
    }
    let span = u64::from(settings.kmax_bytes - settings.kmin_bytes).max(1);
    let above = u64::from(depth_bytes - settings.kmin_bytes);
    // A random number from 0 to 65,535.
    rng.next_u64() >> 48 < u64::from(settings.pmax_q16) * above / span
}

/// Marks the IP header at `l3`. Returns whether the frame now has the CE codepoint.
pub fn mark<F: Frame>(frame: &mut F, l3: u8) -> bool {
    let Some(ip) = frame.head_mut().get_mut(usize::from(l3)..) else { return false };
    match ip.first().map(|first| first >> 4) {
        Some(4) => ip.first_chunk_mut().is_some_and(ipv4::mark_congestion),
        Some(6) => ip.first_chunk_mut().is_some_and(ipv6::mark_congestion),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    #[test]
    fn never_below_kmin_always_above_kmax_and_linear_between() {
        let settings = EcnSettings { kmin_bytes: 100_000, kmax_bytes: 400_000, pmax_q16: 13_107 };
        let mut rng = SplitMix64::seed_from_u64(7);
        let mut share = |depth| {
            (0..100_000).filter(|_| is_due(&settings, depth, &mut rng)).count() as f64 / 100_000.0
        };
        assert_eq!(share(100_000), 0.0);
        assert_eq!(share(400_001), 1.0);
        for (depth, due) in [(175_000, 0.05), (250_000, 0.10), (400_000, 0.20)] {
            assert!((share(depth) - due).abs() < 0.005, "{depth} bytes");
        }
    }

    #[test]
    fn kmin_equal_to_kmax_is_a_step() {
        let settings = EcnSettings { kmin_bytes: 5_000, kmax_bytes: 5_000, pmax_q16: 65_536 };
        let mut rng = SplitMix64::seed_from_u64(1);
        assert!(!is_due(&settings, 5_000, &mut rng));
        assert!(is_due(&settings, 5_001, &mut rng));
    }
}

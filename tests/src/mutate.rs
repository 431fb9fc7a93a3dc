//! Inputs that are almost valid, the same ones in every run.

use random::{Draw, SplitMix64};

/// One of `seeds`, of which there is at least one, with up to five changes.
///
/// # Panics
/// There is no seed.
pub fn mutated(rng: &mut SplitMix64, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[rng.index(seeds.len())].clone();
    for _ in 0..rng.index(6) {
        let at = rng.index(bytes.len());
        match rng.index(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, rng.octet()),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => {
                // A piece of another seed in the place of what is there.
                let other = &seeds[rng.index(seeds.len())];
                let from = rng.index(other.len());
                let to = from + rng.index(other.len() - from);
                bytes.truncate(at);
                bytes.extend(&other[from..to]);
            }
            _ if at < bytes.len() => bytes[at] ^= 1 << rng.index(8),
            _ => {}
        }
    }
    bytes
}

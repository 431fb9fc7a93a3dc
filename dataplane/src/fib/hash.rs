//! The flow hash: which member of an ECMP group a flow takes.
//!
//! All frames of a flow must take one way, and flows must spread evenly, also where they differ in
//! a single field (RoCEv2 has one destination port; its flows differ in the UDP source port alone).
//! Consecutive switches must choose independently, or the second one gets only flows that made the
//! same choice at the first and uses one member (polarisation): so every switch has a seed.
//!
//! The mix is a 64 x 64 to 128 bit multiplication with its two halves folded together, as in
//! wyhash. It stands here, in a few lines, and not in a library because its values are part of what
//! a switch does: a simulation must repeat to the bit after an upgrade.

/// Odd, random-looking and without structure in common: digits of pi.
const DIGITS: [u64; 4] =
    [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344, 0xA409_3822_299F_31D0, 0x082E_FA98_EC4E_6C89];

/// The flow hash of one switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHash {
    keys: [u64; 3],
}

impl FlowHash {
    /// The hash of the switch with this seed. Near seeds, such as 1 and 2, are as unrelated as any.
    pub const fn from_seed(seed: u64) -> Self {
        let first = fold(seed ^ DIGITS[0], DIGITS[1]);
        let second = fold(first ^ DIGITS[2], seed ^ DIGITS[3]);
        let third = fold(second ^ DIGITS[0], first ^ DIGITS[3]);
        Self { keys: [first, second, third] }
    }

    /// The hash of an IPv4 flow. `ports` are source and destination port of TCP or UDP, 0 for other
    /// protocols and for fragments.
    #[inline(always)]
    pub const fn v4(&self, src: [u8; 4], dst: [u8; 4], protocol: u8, ports: (u16, u16)) -> u32 {
        let addresses = (u32::from_be_bytes(src) as u64) << 32 | u32::from_be_bytes(dst) as u64;
        self.finish(fold(addresses ^ self.keys[0], transport(protocol, ports) ^ self.keys[1]))
    }

    /// The hash of an IPv6 flow; `protocol` is the next header behind the extension headers.
    #[inline(always)]
    pub const fn v6(&self, src: [u8; 16], dst: [u8; 16], protocol: u8, ports: (u16, u16)) -> u32 {
        let (src, dst) = (u128::from_be_bytes(src), u128::from_be_bytes(dst));
        let src = fold(high(src) ^ self.keys[0], low(src) ^ self.keys[1]);
        let dst = fold(high(dst) ^ self.keys[1], low(dst) ^ self.keys[2]);
        let transport = transport(protocol, ports);
        self.finish(fold(src ^ transport ^ self.keys[2], dst ^ self.keys[0]))
    }

    /// A second fold: after one, a bit of the key has not yet reached every bit of the hash.
    #[inline(always)]
    const fn finish(&self, mixed: u64) -> u32 {
        high32(fold(mixed ^ DIGITS[0], self.keys[2]))
    }
}

#[inline(always)]
const fn transport(protocol: u8, (source, destination): (u16, u16)) -> u64 {
    (protocol as u64) << 32 | (source as u64) << 16 | destination as u64
}

/// The 128-bit product of two numbers, its halves folded together.
#[inline(always)]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    high(product) ^ low(product)
}

#[inline(always)]
const fn high(value: u128) -> u64 {
    low(value >> 64)
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
const fn low(value: u128) -> u64 {
    value as u64
}

#[inline(always)]
const fn high32(value: u64) -> u32 {
    (value >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fib::Leaf;
    use alloc::vec;
    use alloc::vec::Vec;

    const UDP: u8 = 17;
    const ROCE_V2: u16 = 4791;
    /// Hosts 10.0.0.1 and 10.0.1.1, as in a small test network.
    const PAIR: ([u8; 4], [u8; 4]) = ([10, 0, 0, 1], [10, 0, 1, 1]);

    fn member(hash: u32, members: usize) -> usize {
        Leaf::new(0, members).unwrap().member(hash)
    }

    /// Pearson's chi-square of counts that should all be equal, less its expectation and divided by
    /// its standard deviation: within a few of 0 if the counts are as even as random ones.
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    fn unevenness(counts: &[u32]) -> f64 {
        let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        let square = |count: &u32| (f64::from(*count) - mean).powi(2) / mean;
        let freedom = (counts.len() - 1) as f64;
        (counts.iter().map(square).sum::<f64>() - freedom) / (2.0 * freedom).sqrt()
    }

    fn counts(hashes: impl Iterator<Item = u32>, members: usize) -> Vec<u32> {
        let mut counts = vec![0; members];
        hashes.for_each(|hash| counts[member(hash, members)] += 1);
        counts
    }

    /// Sets of flows that differ in one field only, each field in turn.
    fn one_field_at_a_time(hash: &FlowHash) -> Vec<(&'static str, Vec<u32>)> {
        let numbers = 0..=u16::MAX;
        let (src, dst) = PAIR;
        let v4_in = |n: u16| [10, 0, n.to_be_bytes()[0], n.to_be_bytes()[1]];
        let v6 = |n: u16| (0xFD00_u128 << 112 | u128::from(n)).to_be_bytes();
        let v6_net = |n: u16| (0xFD00_u128 << 112 | u128::from(n) << 64 | 1).to_be_bytes();
        vec![
            ("v4 source", numbers.clone().map(|n| hash.v4(v4_in(n), dst, UDP, (7, 7))).collect()),
            (
                "v4 destination",
                numbers.clone().map(|n| hash.v4(src, v4_in(n), UDP, (7, 7))).collect(),
            ),
            ("RoCEv2", numbers.clone().map(|n| hash.v4(src, dst, UDP, (n, ROCE_V2))).collect()),
            ("v4 server port", numbers.clone().map(|n| hash.v4(src, dst, 6, (80, n))).collect()),
            ("v6 source", numbers.clone().map(|n| hash.v6(v6(n), v6(1), UDP, (7, 7))).collect()),
            (
                "v6 network",
                numbers.clone().map(|n| hash.v6(v6(1), v6_net(n), UDP, (7, 7))).collect(),
            ),
            ("v6 port", numbers.map(|n| hash.v6(v6(1), v6(2), UDP, (n, ROCE_V2))).collect()),
        ]
    }

    #[test]
    fn flows_that_differ_in_one_field_spread_evenly_over_any_group() {
        for seed in [0, 1, 2, 0xDEAD_BEEF, u64::MAX] {
            for (field, hashes) in one_field_at_a_time(&FlowHash::from_seed(seed)) {
                for members in 2..=64 {
                    let spread = unevenness(&counts(hashes.iter().copied(), members));
                    assert!(spread.abs() < 6.0, "{field}, seed {seed}, {members}: {spread}");
                }
            }
        }
    }

    #[test]
    fn sixteen_thousand_roce_flows_are_within_a_few_percent() {
        let hash = FlowHash::from_seed(7);
        let (src, dst) = PAIR;
        let hashes = (0xC000..=u16::MAX).map(|port| hash.v4(src, dst, UDP, (port, ROCE_V2)));
        for (members, percent_max) in [(2, 2), (4, 4), (8, 6)] {
            let counts = counts(hashes.clone(), members);
            let share = 16_384 / u32::try_from(members).unwrap();
            for count in &counts {
                let off = count.abs_diff(share) * 100;
                assert!(off <= percent_max * share, "{count} of {share}, {members} members");
            }
        }
    }

    #[test]
    fn two_switches_choose_independently() {
        let (src, dst) = PAIR;
        for (near, far) in [(0, 1), (1, 2), (1, 1 << 63), (5, !5)] {
            let (near, far) = (FlowHash::from_seed(near), FlowHash::from_seed(far));
            for members in [2, 3, 4, 8, 16] {
                let pairs = (0..=u16::MAX).map(|port| {
                    let ports = (port, ROCE_V2);
                    let first = member(near.v4(src, dst, UDP, ports), members);
                    first * members + member(far.v4(src, dst, UDP, ports), members)
                });
                let mut joint = vec![0; members * members];
                pairs.for_each(|pair| joint[pair] += 1);
                let spread = unevenness(&joint);
                assert!(spread.abs() < 6.0, "{near:?}, {far:?}, {members}: {spread}");
            }
        }
    }

    #[test]
    fn two_switches_with_one_seed_do_polarise() {
        // What the seed is for; without this the test above would pass for a constant as well.
        let (src, dst) = PAIR;
        let hash = FlowHash::from_seed(1);
        let second_choices: Vec<usize> = (0..=u16::MAX)
            .map(|port| hash.v4(src, dst, UDP, (port, ROCE_V2)))
            .filter(|&first_hop| member(first_hop, 4) == 0)
            .map(|second_hop| member(second_hop, 4))
            .collect();
        assert!(second_choices.iter().all(|&choice| choice == 0));
    }

    /// Flips each bit of `key` in turn; every bit of the hash must flip half of the time.
    fn check_avalanche<const N: usize>(hash_of: impl Fn([u8; N]) -> u32) {
        let mut flips = vec![0_u32; N * 8 * 32];
        let rounds = 2_000_u32;
        let mut seed = FlowHash::from_seed(99);
        for _ in 0..rounds {
            let key = core::array::from_fn(|_| {
                seed = FlowHash::from_seed(seed.keys[2]);
                seed.keys[0].to_be_bytes()[0]
            });
            let before = hash_of(key);
            for bit in 0..N * 8 {
                let mut key = key;
                key[bit / 8] ^= 1 << (bit % 8);
                let changed = before ^ hash_of(key);
                (0..32).for_each(|out| flips[bit * 32 + out] += changed >> out & 1);
            }
        }
        // The standard deviation of 2,000 fair coins is 22; there are 12,800 of these counts.
        for (pair, &count) in flips.iter().enumerate() {
            let (bit, out) = (pair / 32, pair % 32);
            assert!(count.abs_diff(rounds / 2) < 125, "{bit} flips {out} {count} times");
        }
    }

    #[test]
    fn every_bit_of_the_key_reaches_every_bit_of_the_hash() {
        let hash = FlowHash::from_seed(3);
        check_avalanche(|[a, b, c, d, e, f, g, h, i, j, k, l, m]: [u8; 13]| {
            let ports = (u16::from_be_bytes([j, k]), u16::from_be_bytes([l, m]));
            hash.v4([a, b, c, d], [e, f, g, h], i, ports)
        });
        check_avalanche(|key: [u8; 37]| {
            let word = |at: usize| key[at..at + 16].try_into().unwrap();
            let ports = [33, 35].map(|at| u16::from_be_bytes([key[at], key[at + 1]]));
            hash.v6(word(0), word(16), key[32], (ports[0], ports[1]))
        });
    }

    #[test]
    fn the_values_stay_what_they_are() {
        // A change here changes every simulation's trace and moves every flow at an upgrade. The
        // numbers were computed outside, with unbounded integers.
        let hash = FlowHash::from_seed(1);
        let (src, dst) = PAIR;
        let (src_v6, dst_v6) = (1_u128.to_be_bytes(), 2_u128.to_be_bytes());
        assert_eq!(hash.v4(src, dst, UDP, (49_152, ROCE_V2)), 3_427_246_065);
        assert_eq!(hash.v6(src_v6, dst_v6, UDP, (49_152, ROCE_V2)), 162_503_394);
    }
}

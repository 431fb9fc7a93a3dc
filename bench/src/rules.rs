//! Rules to measure with.

use dataplane::ids::{PortId, Tag};
use dataplane::rules::{PortSet, TagMatch, TcamEntry};
use random::{Draw, SplitMix64};

/// The tag of the lossy class.
pub const LOSSY: Tag = Tag::from_low_bits(0);

fn random_ports(rng: &mut SplitMix64, ports: usize) -> PortSet {
    // A few single ports, or every port of a random half, as compressed and plain rules have them.
    let singles = rng.index(2) == 0;
    (0..ports)
        .filter_map(PortId::from_index)
        .filter(|_| rng.index(if singles { ports / 2 } else { 2 }) == 0)
        .collect()
}

/// `count` entries for a switch of `ports` ports, over tags 1 to 8, some with masked tag bits, that
/// overlap as they like.
pub fn random_entries(rng: &mut SplitMix64, ports: usize, count: usize) -> Vec<TcamEntry> {
    (0..count)
        .map(|_| {
            let value = Tag::from_low_bits(1 + rng.byte_below(8));
            let mask = if rng.index(8) == 0 { 0b11_1100 } else { 0b11_1111 };
            TcamEntry {
                tag: TagMatch { value: value.value(), mask },
                in_ports: random_ports(rng, ports),
                out_ports: random_ports(rng, ports),
                new_tag: Tag::from_low_bits(rng.byte_below(16)),
            }
        })
        .collect()
}

/// `count` questions about tags 0 to 8.
pub fn random_queries(
    rng: &mut SplitMix64,
    ports: usize,
    count: usize,
) -> Vec<(Tag, PortId, PortId)> {
    let port = |rng: &mut SplitMix64| PortId::from_index(rng.index(ports)).unwrap_or_default();
    (0..count).map(|_| (Tag::from_low_bits(rng.byte_below(9)), port(rng), port(rng))).collect()
}

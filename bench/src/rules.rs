//! Rules to measure with.

use crate::Dice;
use dataplane::ids::{PortId, Tag};
use dataplane::rules::{PortSet, TagMatch, TcamEntry};

/// The tag of the lossy class.
pub const LOSSY: Tag = Tag::from_low_bits(0);

fn random_ports(dice: &mut Dice, ports: usize) -> PortSet {
    // A few single ports, or every port of a random half, as compressed and plain rules have them.
    let singles = dice.below(2) == 0;
    (0..ports)
        .filter_map(PortId::from_index)
        .filter(|_| dice.below(if singles { ports / 2 } else { 2 }) == 0)
        .collect()
}

/// `count` entries for a switch of `ports` ports, over tags 1 to 8, some with masked tag bits, that
/// overlap as they like.
pub fn random_entries(dice: &mut Dice, ports: usize, count: usize) -> Vec<TcamEntry> {
    (0..count)
        .map(|_| {
            let value = Tag::from_low_bits(1 + dice.byte_below(8));
            let mask = if dice.below(8) == 0 { 0b11_1100 } else { 0b11_1111 };
            TcamEntry {
                tag: TagMatch { value: value.value(), mask },
                in_ports: random_ports(dice, ports),
                out_ports: random_ports(dice, ports),
                new_tag: Tag::from_low_bits(dice.byte_below(16)),
            }
        })
        .collect()
}

/// `count` questions about tags 0 to 8.
pub fn random_queries(dice: &mut Dice, ports: usize, count: usize) -> Vec<(Tag, PortId, PortId)> {
    let port = |dice: &mut Dice| PortId::from_index(dice.below(ports)).unwrap_or_default();
    (0..count).map(|_| (Tag::from_low_bits(dice.byte_below(9)), port(dice), port(dice))).collect()
}

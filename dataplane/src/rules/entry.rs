//! One TCAM entry: the software form of a value, a mask and two port bitmaps.

use crate::ids::{PortId, Tag};
use crate::limits::PORTS_MAX;

/// A set of ports, as a TCAM holds it: one bit a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PortSet {
    words: [u64; PORTS_MAX / 64],
}

impl PortSet {
    /// No port.
    pub const EMPTY: Self = Self { words: [0; PORTS_MAX / 64] };

    /// Adds `port`.
    pub fn insert(&mut self, port: PortId) {
        self.words[port.index() / 64] |= 1 << (port.index() % 64);
    }

    /// Whether `port` is in the set.
    pub fn contains(&self, port: PortId) -> bool {
        self.words[port.index() / 64] >> (port.index() % 64) & 1 == 1
    }

    /// The ports in the set, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = PortId> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let without_lowest = |&rest: &u64| Some(rest & rest.wrapping_sub(1));
            core::iter::successors(Some(word), without_lowest)
                .take_while(|&rest| rest != 0)
                .filter_map(move |rest| {
                    PortId::from_index(at * 64 + rest.trailing_zeros() as usize)
                })
        })
    }

    /// The ports in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        Self { words: core::array::from_fn(|at| self.words[at] & other.words[at]) }
    }

    /// The ports in this set and not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        Self { words: core::array::from_fn(|at| self.words[at] & !other.words[at]) }
    }

    /// How many ports are in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no port is in the set.
    pub fn is_empty(&self) -> bool {
        self.words == Self::EMPTY.words
    }
}

impl FromIterator<PortId> for PortSet {
    fn from_iter<I: IntoIterator<Item = PortId>>(ports: I) -> Self {
        let mut set = Self::EMPTY;
        ports.into_iter().for_each(|port| set.insert(port));
        set
    }
}

/// Which tags an entry matches: those with `tag & mask == value & mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TagMatch {
    /// The bits to find.
    pub value: u8,
    /// The bits to look at, of six.
    pub mask: u8,
}

impl TagMatch {
    /// Matches `tag` and no other.
    pub const fn exactly(tag: Tag) -> Self {
        Self { value: tag.value(), mask: 63 }
    }

    /// Whether `tag` matches.
    pub const fn matches(self, tag: Tag) -> bool {
        tag.value() & self.mask == self.value & self.mask
    }
}

/// One rule. A frame with a matching tag, from a port of `in_ports` to a port of `out_ports`, goes
/// on with `new_tag`; if that is the lossy tag, in the lossy class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TcamEntry {
    /// Tags matched.
    pub tag: TagMatch,
    /// Ingress ports matched.
    pub in_ports: PortSet,
    /// Egress ports matched.
    pub out_ports: PortSet,
    /// The tag the frame goes on with.
    pub new_tag: Tag,
}

impl TcamEntry {
    /// Whether a frame with `tag` from `input` to `output` matches.
    pub fn matches(&self, tag: Tag, input: PortId, output: PortId) -> bool {
        self.tag.matches(tag) && self.in_ports.contains(input) && self.out_ports.contains(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    fn numbers() -> impl Strategy<Value = BTreeSet<usize>> {
        proptest::collection::btree_set(1..=PORTS_MAX, 0..40)
    }

    fn set(numbers: &BTreeSet<usize>) -> PortSet {
        numbers.iter().filter_map(|&number| PortId::from_number(number)).collect()
    }

    proptest! {
        #[test]
        fn a_port_set_is_a_set(a in numbers(), b in numbers()) {
            let listed = |set: PortSet| set.iter().map(PortId::number).collect::<BTreeSet<_>>();
            let (first, second) = (set(&a), set(&b));
            prop_assert_eq!(first.len(), a.len());
            prop_assert_eq!(first.is_empty(), a.is_empty());
            prop_assert!(first.iter().map(PortId::number).eq(a.iter().copied()), "lowest first");
            prop_assert_eq!(listed(first.intersection(&second)), &a & &b);
            prop_assert_eq!(listed(first.difference(&second)), &a - &b);
            for number in 1..=PORTS_MAX {
                let port = PortId::from_number(number).unwrap();
                prop_assert_eq!(first.contains(port), a.contains(&number));
            }
        }
    }
}

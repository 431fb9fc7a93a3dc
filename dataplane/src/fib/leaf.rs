//! What a trie stores: where in the table of hops an ECMP group starts, and its size, in 31 bits.

use crate::limits::ECMP_MAX;

/// Members of a group minus one: bits 25 to 30. Bit 31 is 0, which a trie uses to tell a leaf from
/// the rest of its entries.
const MEMBERS_SHIFT: u32 = 25;

/// Hops that a leaf can name: 33 million.
pub(super) const HOPS_MAX: usize = 1 << MEMBERS_SHIFT;

/// The end of a lookup: a hop, or a group of them among which the flow's hash chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Leaf(u32);

impl Leaf {
    /// The hop at index 0, which is [`Hop::NoRoute`](super::Hop::NoRoute) in every table.
    pub const NO_ROUTE: Self = Self(0);

    /// The group of `members` hops that starts at index `first`; `None` if it is empty, larger than
    /// [`ECMP_MAX`], or starts too far back.
    pub const fn new(first: usize, members: usize) -> Option<Self> {
        if first >= HOPS_MAX || members == 0 || members > ECMP_MAX {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, reason = "6 bits and 25 bits, just checked")]
        Some(Self(((members - 1) as u32) << MEMBERS_SHIFT | first as u32))
    }

    /// The bits of the first leaf of which [`Self::is_group`] is true, in order of their bits.
    pub(crate) const FIRST_GROUP_BITS: u32 = 1 << MEMBERS_SHIFT;

    /// Whether the flow's hash matters.
    #[inline(always)]
    pub const fn is_group(self) -> bool {
        self.0 >= Self::FIRST_GROUP_BITS
    }

    /// Index of the first hop.
    #[inline(always)]
    pub const fn first(self) -> usize {
        self.0 as usize & (HOPS_MAX - 1)
    }

    /// Number of hops: 1 to [`ECMP_MAX`].
    #[inline(always)]
    pub(crate) const fn members(self) -> usize {
        (self.0 >> MEMBERS_SHIFT) as usize + 1
    }

    /// Index of the hop that a flow with `hash` takes: the hash, read as a fraction, times the
    /// number of members.
    #[inline(always)]
    pub const fn member(self, hash: u32) -> usize {
        let scaled = hash as u64 * self.members() as u64;
        self.first() + (scaled >> 32) as usize
    }

    #[inline(always)]
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// The leaf with these bits; `None` if bit 31 is set.
    #[inline(always)]
    pub(crate) const fn from_bits(bits: u32) -> Option<Self> {
        if bits >> 31 == 0 { Some(Self(bits)) } else { None }
    }
}

const _: () = assert!(ECMP_MAX == 64, "the size of a group is kept in 6 bits");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_reaches_every_member_and_no_hop_beyond() {
        for members in 1..=ECMP_MAX {
            let leaf = Leaf::new(HOPS_MAX - 1, members).unwrap();
            assert_eq!((leaf.first(), leaf.members()), (HOPS_MAX - 1, members));
            assert_eq!(leaf.is_group(), members > 1);
            assert_eq!(leaf.member(0), leaf.first());
            assert_eq!(leaf.member(u32::MAX), leaf.first() + members - 1);
            assert_eq!(Leaf::from_bits(leaf.bits()), Some(leaf));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(Leaf::new(0, 0), None);
        assert_eq!(Leaf::new(0, ECMP_MAX + 1), None);
        assert_eq!(Leaf::new(HOPS_MAX, 1), None);
        assert_eq!(Leaf::new(0, 1), Some(Leaf::NO_ROUTE));
    }
}

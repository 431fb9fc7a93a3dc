//! Longest-prefix match for the packet path: an immutable multibit trie.
//!
//! A key walks from entry to entry until one is a [`Leaf`]. Three kinds of step:
//!
//! - The **root** resolves the first 16 bits with one load. A table with few routes does without it
//!   (256 KB matter where one process emulates hundreds of switches) and starts at a single entry.
//! - A **node** resolves the next 8 bits with one load. Its 256 entries hold the answer of the
//!   longest prefix so far ("leaf-pushed"), so a lookup never has to go back.
//! - A **guard** compares the key with a whole prefix: one step through any number of bits. It
//!   replaces the nodes of a path that does not fork, which for IPv6 are most of them (a lone host
//!   would cost up to 15 nodes of 1 KB), and the node of a place where only two prefixes are.
//!
//! `compile.rs` builds it, `update.rs` changes it in place; `benches/fib.rs` measures it.

use super::Leaf;
use alloc::boxed::Box;
use alloc::vec;
use core::fmt::Debug;

/// An address as an integer, most significant bit first on the wire: `u32` or `u128`.
pub trait Key: Copy + Ord + Debug {
    /// Bits of the address.
    const BITS: u32;
    /// The first 16 bits.
    fn top16(self) -> usize;
    /// The 8 bits above the lowest `shift`.
    fn byte_above(self, shift: u8) -> usize;
    /// Whether the two differ above the lowest `shift` bits.
    fn differs_above(self, other: Self, shift: u8) -> bool;
    /// All bits set above the lowest `shift`.
    fn above(shift: u8) -> Self;
    /// Bits that the two have in common, from the first on.
    fn bits_shared(self, other: Self) -> u32;
    /// `self` with all bits cleared from bit `len` on, counted from the first.
    fn truncated(self, len: u8) -> Self;
    /// `self` with all bits set from bit `len` on.
    fn last_of(self, len: u8) -> Self;
}

macro_rules! impl_key {
    ($integer:ty, $byte_above:expr, $any_above:expr) => {
        impl Key for $integer {
            const BITS: u32 = Self::BITS;
            #[inline(always)]
            fn top16(self) -> usize {
                (self >> (Self::BITS - 16)) as usize
            }
            #[inline(always)]
            fn byte_above(self, shift: u8) -> usize {
                $byte_above(self, shift)
            }
            #[inline(always)]
            fn differs_above(self, other: Self, shift: u8) -> bool {
                $any_above(self ^ other, shift)
            }
            #[inline(always)]
            fn above(shift: u8) -> Self {
                Self::MAX.checked_shl(u32::from(shift)).unwrap_or(0)
            }
            fn bits_shared(self, other: Self) -> u32 {
                (self ^ other).leading_zeros()
            }
            fn truncated(self, len: u8) -> Self {
                let below = Self::MAX.checked_shr(u32::from(len)).unwrap_or(0);
                self & !below
            }
            fn last_of(self, len: u8) -> Self {
                self | Self::MAX.checked_shr(u32::from(len)).unwrap_or(0)
            }
        }
    };
}
impl_key!(
    u32,
    // The mask is what a shift needs to be known not to overflow.
    |key: u32, shift: u8| (key >> (shift & 31)) as usize & 0xFF,
    |bits: u32, shift: u8| bits >> (shift & 31) != 0
);
// A shift of 128 bits is a dozen instructions; of the half that matters it is one.
impl_key!(
    u128,
    |key: u128, shift: u8| {
        let (high, low) = halves(key);
        let half = if shift & 64 == 0 { low } else { high };
        usize::from((half >> (shift & 63)).to_le_bytes()[0])
    },
    |bits: u128, shift: u8| {
        let (high, low) = halves(bits);
        let (half, whole) = if shift & 64 == 0 { (low, high) } else { (high, 0) };
        half >> (shift & 63) | whole != 0
    }
);

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a half")]
const fn halves(value: u128) -> (u64, u64) {
    ((value >> 64) as u64, value as u64)
}

/// Where a walk stands: at a leaf (highest bit 0), a node (10) or a guard (11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry(u32);

pub(crate) const NODE: u32 = 0b10 << 30;
pub(crate) const GUARD: u32 = 0b11 << 30;
const INDEX: u32 = !(0b11 << 30);

impl Entry {
    pub(super) const fn leaf(leaf: Leaf) -> Self {
        Self(leaf.bits())
    }

    /// The node whose 256 entries start at `nodes[index * 256]`.
    pub(super) fn node(index: usize) -> Self {
        assert!(index < 1 << 24, "the index of a node's entry has 32 bits");
        Self(NODE | Self::index_bits(index))
    }

    pub(super) fn guard(index: usize) -> Self {
        Self(GUARD | Self::index_bits(index))
    }

    fn index_bits(index: usize) -> u32 {
        let bits = u32::try_from(index).unwrap_or(u32::MAX);
        assert!(bits <= INDEX, "a billion nodes are more than any address space of routes needs");
        bits
    }

    #[inline(always)]
    pub(super) const fn index(self) -> usize {
        (self.0 & INDEX) as usize
    }

    #[inline(always)]
    pub(super) const fn as_leaf(self) -> Option<Leaf> {
        Leaf::from_bits(self.0)
    }

    #[inline(always)]
    pub(super) const fn is_node(self) -> bool {
        self.0 & GUARD == NODE
    }
}

/// A step through any number of bits: does the key start with this prefix?
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard<K> {
    /// The prefix, zeros behind it.
    pub(crate) prefix: K,
    /// Where a key goes on that starts with it.
    pub(super) inside: Entry,
    /// Where every other key goes on: a leaf, or another guard.
    pub(super) outside: Entry,
    /// Bits that are not compared.
    pub(super) shift: u8,
    /// If `inside` leads to a node: the bits below the byte that indexes it.
    pub(crate) inside_shift: u8,
}

impl<K: Key> Guard<K> {
    /// The bits of [`Self::prefix`] that are compared.
    #[inline(always)]
    pub(crate) fn mask(&self) -> K {
        K::above(self.shift)
    }

    /// The bits of [`Self::inside`] and [`Self::outside`].
    #[inline(always)]
    pub(crate) const fn next_bits(&self) -> [u32; 2] {
        [self.inside.0, self.outside.0]
    }
}

/// Slots of a root for the first 16 bits.
const ROOT_SLOTS: usize = 1 << 16;

/// Where walks begin: for all keys at the same entry, or by their first 16 bits, in a large table.
#[derive(Clone, Debug)]
pub(super) enum Root {
    One([Entry; 1]),
    Each(Box<[Entry; ROOT_SLOTS]>),
}

impl Root {
    /// By the first 16 bits, all with this entry.
    pub(super) fn each(entry: Entry) -> Self {
        let slots = vec![entry; ROOT_SLOTS].into_boxed_slice();
        Self::Each(slots.try_into().expect("as many"))
    }

    /// Bytes of a key that it resolves.
    pub(super) const fn bytes(&self) -> u8 {
        match self {
            Self::One(_) => 0,
            Self::Each(_) => 2,
        }
    }

    #[inline(always)]
    fn of<K: Key>(&self, key: K) -> Entry {
        match self {
            Self::One([entry]) => *entry,
            Self::Each(slots) => slots[key.top16() % ROOT_SLOTS],
        }
    }

    pub(super) const fn entries(&self) -> &[Entry] {
        match self {
            Self::One(entry) => entry,
            Self::Each(slots) => &**slots,
        }
    }

    pub(super) const fn entries_mut(&mut self) -> &mut [Entry] {
        match self {
            Self::One(entry) => entry,
            Self::Each(slots) => &mut **slots,
        }
    }
}

/// An immutable table of prefixes.
#[derive(Clone, Debug)]
pub struct Trie<K> {
    pub(super) root: Root,
    /// Bits below the byte that indexes a node right under the root.
    pub(crate) first_shift: u8,
    pub(super) nodes: Box<[Entry]>,
    pub(super) guards: Box<[Guard<K>]>,
}

impl<K: Key> Trie<K> {
    /// The leaf of the longest prefix that `key` starts with.
    #[inline]
    pub fn lookup(&self, key: K) -> Leaf {
        // Every index below is in range by construction; `get` keeps even a slip in that from
        // ending the switch, at the price of a compare that is never taken.
        let nowhere = Entry::leaf(Leaf::NO_ROUTE);
        let mut entry = self.root.of(key);
        let mut shift = self.first_shift;
        loop {
            if let Some(leaf) = entry.as_leaf() {
                return leaf;
            }
            if entry.is_node() {
                let at = entry.index() << 8 | key.byte_above(shift);
                entry = *self.nodes.get(at).unwrap_or(&nowhere);
                shift = shift.wrapping_sub(8);
                continue;
            }
            let Some(guard) = self.guards.get(entry.index()) else { return Leaf::NO_ROUTE };
            if key.differs_above(guard.prefix, guard.shift) {
                entry = guard.outside;
            } else {
                entry = guard.inside;
                shift = guard.inside_shift;
            }
        }
    }

    /// The bits of the root's entries for keys whose first words are these.
    #[inline(always)]
    pub(crate) fn root_bits(&self, words: [u32; 8]) -> [u32; 8] {
        match &self.root {
            Root::One([entry]) => [entry.0; 8],
            Root::Each(slots) => words.map(|word| slots[(word >> 16) as usize].0),
        }
    }

    /// The bits of the entry at this index of all nodes' entries.
    #[inline(always)]
    pub(crate) fn node_bits(&self, at: u32) -> Option<u32> {
        self.nodes.get(at as usize).map(|entry| entry.0)
    }

    /// The guard that an entry with these bits leads to.
    #[inline(always)]
    pub(crate) fn guard(&self, bits: u32) -> Option<&Guard<K>> {
        self.guards.get(Entry(bits).index())
    }

    /// Bytes of memory behind the table.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self.root.entries()) + size_of_val(&*self.nodes) + size_of_val(&*self.guards)
    }
}

impl<K: Key> Default for Trie<K> {
    /// The table without a route.
    fn default() -> Self {
        Self::compile(&mut [])
    }
}

const _: () = assert!(size_of::<Guard<u32>>() == 16, "four guards fit a cache line");
const _: () = assert!(size_of::<Guard<u128>>() == 32, "two guards fit a cache line");

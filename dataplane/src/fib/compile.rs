//! From a list of prefixes to a [`Trie`]: sort, then cut the list up by the bits of the key.
//!
//! In order of (address, length) a prefix comes right before everything that lies inside it. So the
//! prefixes below one slot of a node are a slice of the list, and painting the slots in list order
//! leaves in each slot the longest prefix that covers it.

use super::Leaf;
use super::storage::Storage;
use super::trie::{Entry, Guard, Key, Root, Trie};
use alloc::vec::Vec;

/// What the builder weighs memory and time by; every shape gives the same answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Up to this many prefixes in one place are a run of guards instead of a node.
    pub(super) guards_max: usize,
    /// From this number of prefixes on, the trie has a root for the first 16 bits: 256 KB.
    pub(super) root_prefixes_min: usize,
}

/// Measured with 100,000 routes: runs of four take half the memory of runs of two and twice the
/// time, because which guard of a run matches is what a CPU cannot predict; single ones take more
/// of both.
pub(super) const SHAPE: Shape = Shape { guards_max: 2, root_prefixes_min: 512 };

/// A prefix and what it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix<K> {
    /// The address; bits from `len` on do not matter.
    pub address: K,
    /// Bits of the address that count: 0 to 32 or 128.
    pub len: u8,
    /// The answer.
    pub leaf: Leaf,
}

impl<K: Key> Trie<K> {
    /// Compiles `prefixes`, in any order. Of equal ones the last wins; a length above the key's is
    /// taken as the key's. Sorts `prefixes` on the way.
    pub fn compile(prefixes: &mut [Prefix<K>]) -> Self {
        Self::compile_in_shape(prefixes, SHAPE)
    }

    fn compile_in_shape(prefixes: &mut [Prefix<K>], shape: Shape) -> Self {
        let bits = u8::try_from(K::BITS).expect("128 at most");
        for prefix in prefixes.iter_mut() {
            prefix.len = prefix.len.min(bits);
            prefix.address = prefix.address.truncated(prefix.len);
        }
        // Stable, so that of equal prefixes the last given is the last here.
        prefixes.sort_by_key(|prefix| (prefix.address, prefix.len));
        let mut list: Vec<Prefix<K>> = Vec::with_capacity(prefixes.len());
        for prefix in prefixes.iter() {
            match list.last_mut() {
                Some(last) if (last.address, last.len) == (prefix.address, prefix.len) => {
                    *last = *prefix;
                }
                _ => list.push(*prefix),
            }
        }
        Self::of_sorted(&list, shape)
    }

    /// Compiles a list that is sorted and without duplicates.
    pub(super) fn of_sorted(list: &[Prefix<K>], shape: Shape) -> Self {
        let mut storage = Storage::default();
        let builder = Builder { shape, storage: &mut storage };
        let root = builder.root(list);
        let (nodes, guards) = storage.into_boxes();
        Self { first_shift: byte_shift::<K>(root.bytes()), root, nodes, guards }
    }
}

/// Builds a trie, or a part of one.
pub(super) struct Builder<'a, K> {
    pub(super) shape: Shape,
    pub(super) storage: &'a mut Storage<K>,
}

impl<K: Key> Builder<'_, K> {
    fn root(mut self, list: &[Prefix<K>]) -> Root {
        let (default, list) = match list.split_first() {
            Some((first, rest)) if first.len == 0 => (first.leaf, rest),
            _ => (Leaf::NO_ROUTE, list),
        };
        if list.len() < self.shape.root_prefixes_min {
            return Root::One([self.entry(list, 0, default)]);
        }
        let mut root = Root::each(Entry::leaf(default));
        let depth = root.bytes();
        self.fill(root.entries_mut(), depth, list, K::top16);
        root
    }

    /// The entry for keys whose first `depth` bytes are resolved: `list` holds the prefixes that
    /// are longer than that and start with these bytes, `pushed` answers for keys in none of them.
    pub(super) fn entry(&mut self, list: &[Prefix<K>], depth: u8, pushed: Leaf) -> Entry {
        if list.len() <= self.shape.guards_max {
            return self.guard_run(list, pushed);
        }
        let outside = Entry::leaf(pushed);
        let shared = bytes_shared(list);
        if shared > depth {
            let inside = self.node(list, shared, pushed);
            return self.guard(list[0].address, shared * 8, shared, inside, outside);
        }
        let (first, rest) = (&list[0], &list[1..]);
        let last = list[list.len() - 1];
        if u32::from(first.len) <= first.address.bits_shared(last.address)
            && bytes_shared(rest) > depth
        {
            let inside = self.entry(rest, first.len / 8, first.leaf);
            return self.guard(first.address, first.len, first.len / 8, inside, outside);
        }
        self.node(list, depth, pushed)
    }

    /// A few prefixes, the last in the list asked first: whatever lies inside another comes after
    /// it.
    fn guard_run(&mut self, list: &[Prefix<K>], pushed: Leaf) -> Entry {
        list.iter().fold(Entry::leaf(pushed), |outside, prefix| {
            self.guard(prefix.address, prefix.len, 0, Entry::leaf(prefix.leaf), outside)
        })
    }

    /// A guard for the first `len` bits of `address`; if `inside` leads to a node, that node is
    /// indexed by byte `depth`.
    fn guard(&mut self, address: K, len: u8, depth: u8, inside: Entry, outside: Entry) -> Entry {
        self.storage.add_guard(Guard {
            prefix: address.truncated(len),
            inside,
            outside,
            shift: u8::try_from(K::BITS - u32::from(len)).expect("a guard compares a bit or more"),
            inside_shift: byte_shift::<K>(depth),
        })
    }

    /// The node that is indexed by byte `depth`.
    fn node(&mut self, list: &[Prefix<K>], depth: u8, pushed: Leaf) -> Entry {
        let mut slots = [Entry::leaf(pushed); 256];
        let shift = byte_shift::<K>(depth);
        self.fill(&mut slots, depth + 1, list, |key| key.byte_above(shift));
        self.storage.add_node(&slots)
    }

    /// Fills the slots of a node or of the root, which resolve a key up to byte `depth`.
    pub(super) fn fill(
        &mut self,
        slots: &mut [Entry],
        depth: u8,
        mut list: &[Prefix<K>],
        slot_of: impl Fn(K) -> usize,
    ) {
        while let [first, rest @ ..] = list {
            let slot = slot_of(first.address);
            if let Some(free_bits) = (depth * 8).checked_sub(first.len) {
                slots[slot..slot + (1 << free_bits)].fill(Entry::leaf(first.leaf));
                list = rest;
            } else {
                // What is painted here by now is the longest prefix that covers the whole slot.
                let pushed = slots[slot].as_leaf().unwrap_or(Leaf::NO_ROUTE);
                let (below, rest) =
                    list.split_at(list.partition_point(|p| slot_of(p.address) == slot));
                slots[slot] = self.entry(below, depth, pushed);
                list = rest;
            }
        }
    }
}

/// Bits below byte `depth` of a key.
pub(super) fn byte_shift<K: Key>(depth: u8) -> u8 {
    // Wraps behind the last byte, where no node is.
    u8::try_from(K::BITS).expect("128 at most").wrapping_sub(8).wrapping_sub(depth * 8)
}

/// How many first bytes all prefixes of `list` have in common, none of them ending there or before.
fn bytes_shared<K: Key>(list: &[Prefix<K>]) -> u8 {
    let (Some(first), Some(last)) = (list.first(), list.last()) else { return 0 };
    let bits_shared = u8::try_from(first.address.bits_shared(last.address)).expect("128 at most");
    let shortest = list.iter().map(|prefix| prefix.len).min().unwrap_or(0);
    (bits_shared / 8).min(shortest.saturating_sub(1) / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::lanes::LANES;
    use crate::pipeline::lanes::routes::{Keys, look_up, look_up_two};
    use proptest::prelude::*;
    use wide::u32x8;

    /// The slow, obvious way: of the prefixes that the key starts with, the longest; of equal ones
    /// the last.
    fn linear<K: Key>(prefixes: &[Prefix<K>], key: K) -> Leaf {
        prefixes
            .iter()
            .filter(|prefix| prefix.address.truncated(prefix.len) == key.truncated(prefix.len))
            .max_by_key(|prefix| prefix.len)
            .map_or(Leaf::NO_ROUTE, |prefix| prefix.leaf)
    }

    /// Every branch of the builder and of the lookup is in one of these.
    const SHAPES: [Shape; 4] = [
        SHAPE,
        Shape { guards_max: 0, root_prefixes_min: 0 },
        Shape { guards_max: 0, root_prefixes_min: usize::MAX },
        Shape { guards_max: 3, root_prefixes_min: 3 },
    ];

    /// The given keys, and those at and beside both ends of every prefix.
    fn check<K: Key>(
        prefixes: &[Prefix<K>],
        keys: impl IntoIterator<Item = K>,
        ends: impl Fn(&Prefix<K>) -> [K; 4],
        also: impl Fn(&Trie<K>, &[K]) -> Result<(), TestCaseError>,
    ) -> Result<(), TestCaseError> {
        let keys: Vec<K> = keys.into_iter().chain(prefixes.iter().flat_map(ends)).collect();
        for shape in SHAPES {
            let trie = Trie::compile_in_shape(&mut prefixes.to_vec(), shape);
            for &key in &keys {
                let (found, truth) = (trie.lookup(key), linear(prefixes, key));
                prop_assert_eq!(found, truth, "{:x?} in {:?} with {:x?}", key, shape, prefixes);
            }
            also(&trie, &keys)?;
        }
        Ok(())
    }

    /// The packet path looks up eight keys at a time.
    fn lanes_find_the_same<K: Key, L: Keys<Key = K>>(
        trie: &Trie<K>,
        keys: &[K],
        lanes: fn([K; LANES]) -> L,
    ) -> Result<(), TestCaseError> {
        for eight in keys.windows(LANES) {
            let eight: [K; LANES] = eight.try_into().expect("eight keys");
            let found = look_up(trie, lanes(eight), u32x8::MAX).to_array();
            let one_by_one = eight.map(|key| trie.lookup(key).bits());
            prop_assert_eq!(found, one_by_one, "eight keys: {:x?}", eight);
        }
        for sixteen in keys.windows(2 * LANES) {
            let (eights, _) = sixteen.as_chunks::<LANES>();
            let found = look_up_two(trie, [lanes(eights[0]), lanes(eights[1])]);
            let one_by_one = sixteen.iter().map(|&key| trie.lookup(key).bits());
            let found = found.iter().flat_map(|found| found.to_array());
            prop_assert!(found.eq(one_by_one), "sixteen keys: {:x?}", sixteen);
        }
        Ok(())
    }

    fn v6_lanes(keys: [u128; LANES]) -> [u32x8; 4] {
        [96, 64, 32, 0].map(|shift| {
            u32x8::new(keys.map(|key| u32::try_from(key >> shift & 0xFFFF_FFFF).expect("a word")))
        })
    }

    fn ends_v4(prefix: &Prefix<u32>) -> [u32; 4] {
        let first = prefix.address.truncated(prefix.len);
        let last = first | u32::MAX.checked_shr(prefix.len.into()).unwrap_or(0);
        [first, last, first.wrapping_sub(1), last.wrapping_add(1)]
    }

    fn ends_v6(prefix: &Prefix<u128>) -> [u128; 4] {
        let first = prefix.address.truncated(prefix.len);
        let last = first | u128::MAX.checked_shr(prefix.len.into()).unwrap_or(0);
        [first, last, first.wrapping_sub(1), last.wrapping_add(1)]
    }

    /// Addresses of few different bytes, so that prefixes lie inside each other and fork late.
    fn address<const N: usize>() -> impl Strategy<Value = [u8; N]> {
        let byte = prop_oneof![4 => Just(0), 2 => Just(1), 2 => Just(0x80), 1 => any::<u8>()];
        proptest::collection::vec(byte, N).prop_map(|bytes| bytes.try_into().expect("N bytes"))
    }

    /// Lengths on both sides of every byte's end, the default route and single hosts among them.
    fn length(bits: u8) -> impl Strategy<Value = u8> {
        let near_a_byte = (0..=bits / 8, 0..3_u8)
            .prop_map(move |(byte, side)| (byte * 8 + side).saturating_sub(1).min(bits));
        prop_oneof![0..=bits, near_a_byte, Just(0), Just(bits - 1), Just(bits)]
    }

    fn leaf() -> impl Strategy<Value = Leaf> {
        (0..1000_usize, 1..=64_usize)
            .prop_map(|(first, members)| Leaf::new(first, members).expect("both are in range"))
    }

    fn prefixes<K: Key, const N: usize>(
        from_bytes: fn([u8; N]) -> K,
    ) -> impl Strategy<Value = Vec<Prefix<K>>> {
        let bits = u8::try_from(K::BITS).expect("128 at most");
        let prefix = (address().prop_map(from_bytes), length(bits), leaf())
            .prop_map(|(address, len, leaf)| Prefix { address, len, leaf });
        proptest::collection::vec(prefix, 0..60)
    }

    proptest! {
        #[test]
        fn v4_answers_as_the_linear_search(
            list in prefixes(u32::from_be_bytes),
            keys in proptest::collection::vec(address().prop_map(u32::from_be_bytes), 50),
        ) {
            check(&list, keys, ends_v4, |trie, keys| {
                lanes_find_the_same(trie, keys, |keys| [u32x8::new(keys)])
            })?;
        }

        #[test]
        fn v6_answers_as_the_linear_search(
            list in prefixes(u128::from_be_bytes),
            keys in proptest::collection::vec(address().prop_map(u128::from_be_bytes), 50),
        ) {
            check(&list, keys, ends_v6, |trie, keys| lanes_find_the_same(trie, keys, v6_lanes))?;
        }
    }

    fn leaf_number(number: usize) -> Leaf {
        Leaf::new(number, 1).unwrap()
    }

    #[test]
    fn a_table_large_enough_for_a_root_answers_as_the_linear_search() {
        // A multiplicative sequence visits all parts of the address space, the same every time.
        let scattered = |n: usize| u32::try_from(n).unwrap().wrapping_mul(0x9E37_79B1);
        let list: Vec<Prefix<u32>> = (1..=2 * SHAPE.root_prefixes_min)
            .map(|n| Prefix {
                address: scattered(n),
                len: u8::try_from(10 + n % 23).unwrap(),
                leaf: leaf_number(n),
            })
            .collect();
        let trie = Trie::compile(&mut list.clone());
        assert_eq!(trie.root.entries().len(), 1 << 16);
        for prefix in list.iter().step_by(7) {
            for key in ends_v4(prefix) {
                assert_eq!(trie.lookup(key), linear(&list, key), "{key:x}");
            }
        }
    }

    #[test]
    fn an_empty_table_has_no_route_and_a_default_route_is_for_all() {
        let empty = Trie::<u128>::default();
        assert_eq!(empty.lookup(0), Leaf::NO_ROUTE);
        assert_eq!(empty.memory_bytes(), 4);
        let mut default = [Prefix { address: u128::MAX, len: 0, leaf: leaf_number(7) }];
        let trie = Trie::compile(&mut default);
        assert_eq!((trie.lookup(0), trie.lookup(u128::MAX)), (leaf_number(7), leaf_number(7)));
    }

    #[test]
    fn a_length_beyond_the_key_is_a_host() {
        let list = [Prefix { address: 5_u32, len: 255, leaf: leaf_number(7) }];
        let trie = Trie::compile(&mut list.clone());
        assert_eq!((trie.lookup(5), trie.lookup(4)), (leaf_number(7), Leaf::NO_ROUTE));
    }

    #[test]
    fn a_switch_of_a_small_network_stays_small() {
        // 320 networks of other switches, one of its own with 32 hosts.
        let networks = (0..320).map(|n| (0x0A00_0000 | n << 8, 24));
        let hosts = (1..33).map(|n| (0x0A00_0000 | n, 32));
        let mut list: Vec<Prefix<u32>> = networks
            .chain(hosts)
            .map(|(address, len)| Prefix { address, len, leaf: leaf_number(1) })
            .collect();
        let bytes = Trie::compile(&mut list).memory_bytes();
        assert!(bytes < 8 * 1024, "{bytes} bytes");
    }
}

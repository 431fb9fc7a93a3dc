//! Changes a trie in place: of the smallest node's slot, or slots, that a prefix lies in, what is
//! below is built again. That is a few prefixes for a long one, and for a short one as many as lie
//! inside it.

use super::Leaf;
use super::compile::{Builder, Prefix, SHAPE, Shape, byte_shift};
use super::prefixes::Prefixes;
use super::storage::{Free, Storage};
use super::trie::{Entry, Key, Trie};
use alloc::vec::Vec;
use core::mem::take;

/// An entry of the trie that is the only way to what is below.
#[derive(Clone, Copy)]
enum Place {
    /// At this index of the root.
    Root(usize),
    /// In this node, at this index.
    Node(usize, usize),
}

/// What a prefix changes.
enum Target {
    /// What is below this slot, which resolves this number of bytes.
    Slot(Place, u8),
    /// These slots of this node, which resolves its keys up to this byte.
    Node(usize, u8),
    /// Slots of the root.
    Root,
}

impl<K: Key> Trie<K> {
    /// Makes the trie answer for the keys in a prefix as `prefixes` says now. `free` is the trie's
    /// own.
    pub(super) fn update(
        &mut self,
        free: &mut Free,
        prefixes: &Prefixes<K>,
        (address, len): (K, u8),
    ) {
        self.update_in_shape(free, prefixes, (address, len), SHAPE);
    }

    fn update_in_shape(
        &mut self,
        free: &mut Free,
        prefixes: &Prefixes<K>,
        (address, len): (K, u8),
        shape: Shape,
    ) {
        let root_bytes = self.root.bytes();
        let has_root = root_bytes > 0;
        // A table at the limit does not change its shape with every route.
        let is_small = prefixes.len() < shape.root_prefixes_min / 2;
        let is_large = prefixes.len() > shape.root_prefixes_min;
        if (has_root && is_small) || (!has_root && is_large) {
            return self.replace(free, prefixes, shape);
        }
        let boxes = (take(&mut self.nodes), take(&mut self.guards));
        let mut storage = Storage::of_boxes(boxes, take(free));
        let root = self.root.entries_mut();
        let target = find(root, root_bytes, &storage, prefixes, (address, len), shape);
        match target {
            Target::Root => {
                let first = address.top16();
                let slots = first..first + (1 << (root_bytes * 8 - len));
                root[slots.clone()].iter().for_each(|entry| storage.free(*entry));
                root[slots].fill(Entry::leaf(prefixes.covering(address, len)));
                let list: Vec<_> = prefixes.inside(address, len).collect();
                let mut builder = Builder { shape, storage: &mut storage };
                builder.fill(root, root_bytes, &list, K::top16);
            }
            Target::Node(node, depth) => {
                let shift = byte_shift::<K>(depth);
                let mut slots = [Entry::leaf(Leaf::NO_ROUTE); 256];
                slots.copy_from_slice(storage.node(node));
                let first = address.byte_above(shift);
                let changed = first..first + (1 << ((depth + 1) * 8 - len));
                slots[changed.clone()].iter().for_each(|entry| storage.free(*entry));
                slots[changed].fill(Entry::leaf(prefixes.covering(address, len)));
                let list: Vec<_> = prefixes.inside(address, len).collect();
                let mut builder = Builder { shape, storage: &mut storage };
                builder.fill(&mut slots, depth + 1, &list, |key| key.byte_above(shift));
                storage.node_mut(node).copy_from_slice(&slots);
            }
            Target::Slot(place, depth) => {
                let (base, base_len) = (address.truncated(depth * 8), depth * 8);
                let old = match place {
                    Place::Root(at) => root[at],
                    Place::Node(node, at) => storage.node(node)[at],
                };
                storage.free(old);
                let list: Vec<_> = prefixes.inside(base, base_len).collect();
                let pushed = prefixes.covering(base, base_len);
                let mut builder = Builder { shape, storage: &mut storage };
                let new = builder.entry(&list, depth, pushed);
                match place {
                    Place::Root(at) => root[at] = new,
                    Place::Node(node, at) => storage.node_mut(node)[at] = new,
                }
            }
        }
        ((self.nodes, self.guards), *free) = storage.into_parts();
    }

    /// Builds the whole trie again.
    pub(super) fn replace(&mut self, free: &mut Free, prefixes: &Prefixes<K>, shape: Shape) {
        let list: Vec<Prefix<K>> = prefixes.to_list();
        *free = Free::default();
        *self = Self::of_sorted(&list, shape);
    }
}

/// Walks down to what a prefix changes.
fn find<K: Key>(
    root: &[Entry],
    root_bytes: u8,
    storage: &Storage<K>,
    prefixes: &Prefixes<K>,
    (address, len): (K, u8),
    shape: Shape,
) -> Target {
    if root_bytes > 0 && len <= root_bytes * 8 {
        return Target::Root;
    }
    let at = if root_bytes > 0 { address.top16() } else { 0 };
    let (mut place, mut depth, mut entry) = (Place::Root(at), root_bytes, root[at]);
    loop {
        let slot = Target::Slot(place, depth);
        // A place with so few prefixes is to be no node any more.
        let mut here = prefixes.inside(address.truncated(depth * 8), depth * 8);
        if here.nth(shape.guards_max).is_none() {
            return slot;
        }
        let mut byte = depth;
        while entry.as_leaf().is_none() && !entry.is_node() {
            let guard = storage.guard(entry.index());
            let guard_len = K::BITS - u32::from(guard.shift);
            if u32::from(len) <= guard_len || address.differs_above(guard.prefix, guard.shift) {
                return slot;
            }
            entry = guard.inside;
            byte = depth_of::<K>(guard.inside_shift);
        }
        if entry.as_leaf().is_some() || len <= byte * 8 {
            return slot;
        }
        let node = entry.index();
        if len <= (byte + 1) * 8 {
            return Target::Node(node, byte);
        }
        let at = address.byte_above(byte_shift::<K>(byte));
        (place, depth, entry) = (Place::Node(node, at), byte + 1, storage.node(node)[at]);
    }
}

/// The inverse of [`byte_shift`].
fn depth_of<K: Key>(shift: u8) -> u8 {
    u8::try_from(K::BITS / 8).unwrap_or(u8::MAX).wrapping_sub(1).wrapping_sub(shift / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPES: [Shape; 3] = [
        SHAPE,
        Shape { guards_max: 1, root_prefixes_min: 8 },
        Shape { guards_max: 2, root_prefixes_min: usize::MAX },
    ];

    fn address<const N: usize>() -> impl Strategy<Value = [u8; N]> {
        let byte = prop_oneof![4 => Just(0), 2 => Just(1), 2 => Just(0x80), 1 => any::<u8>()];
        proptest::collection::vec(byte, N).prop_map(|bytes| bytes.try_into().expect("N bytes"))
    }

    /// Prefixes added, replaced and removed one by one.
    fn changes<K: Key, const N: usize>(
        from_bytes: fn([u8; N]) -> K,
    ) -> impl Strategy<Value = Vec<(K, u8, Option<Leaf>)>> {
        let bits = u8::try_from(K::BITS).expect("128 at most");
        let len = prop_oneof![0..=bits, (0..=bits / 8).prop_map(|byte| byte * 8)];
        let leaf =
            prop_oneof![3 => (1..900_usize).prop_map(|at| Leaf::new(at, 1)), 1 => Just(None)];
        let change = (address().prop_map(from_bytes), len, leaf)
            .prop_map(|(address, len, leaf)| (address.truncated(len), len, leaf));
        proptest::collection::vec(change, 1..60)
    }

    fn check<K: Key>(changes: &[(K, u8, Option<Leaf>)], shape: Shape) -> Result<(), TestCaseError> {
        let mut prefixes = Prefixes::of(&[]);
        let (mut trie, mut free) = (Trie::of_sorted(&[], shape), Free::default());
        // Twice over, so that what was added is removed and added again.
        let again = changes.iter().map(|&(address, len, _)| (address, len, None));
        let all: Vec<_> = changes.iter().copied().chain(again).chain(changes.to_vec()).collect();
        for &(address, len, leaf) in &all {
            prefixes.set(address, len, leaf);
            trie.update_in_shape(&mut free, &prefixes, (address, len), shape);
            let truth = Trie::of_sorted(&prefixes.to_list(), shape);
            for &(address, len, _) in changes {
                for key in [address, address.last_of(len)] {
                    prop_assert_eq!(trie.lookup(key), truth.lookup(key), "{:x?}", key);
                    let covering = prefixes.covering(key, u8::try_from(K::BITS).expect("128"));
                    prop_assert_eq!(truth.lookup(key), covering, "{:x?}", key);
                }
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn v4_changed_is_as_built_from_scratch(list in changes(u32::from_be_bytes)) {
            for shape in SHAPES {
                check(&list, shape)?;
            }
        }

        #[test]
        fn v6_changed_is_as_built_from_scratch(list in changes(u128::from_be_bytes)) {
            for shape in SHAPES {
                check(&list, shape)?;
            }
        }
    }

    #[test]
    fn what_is_removed_makes_room_for_what_is_added() {
        let mut prefixes = Prefixes::of(&[]);
        let (mut trie, mut free) = (Trie::<u32>::of_sorted(&[], SHAPE), Free::default());
        let mut set = |prefixes: &mut Prefixes<u32>, n: u32, leaf| {
            let address = n.wrapping_mul(0x9E37_79B1).truncated(24);
            prefixes.set(address, 24, leaf);
            trie.update(&mut free, prefixes, (address, 24));
            trie.memory_bytes()
        };
        let mut sizes = Vec::new();
        for _ in 0..4 {
            let leaf = Leaf::new(7, 1);
            sizes.push((0..20_000).map(|n| set(&mut prefixes, n, leaf)).max());
            (0..19_000).for_each(|n| {
                set(&mut prefixes, n, None);
            });
        }
        assert_eq!(sizes[1..], [sizes[1]; 3], "the second round needs no more than the third");
        assert!(sizes[3] <= sizes[0], "{sizes:?}");
    }
}

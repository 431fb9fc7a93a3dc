//! Prefixes of one address family with their leaves: what a [`Trie`](super::Trie) is built and
//! updated from.

use super::Leaf;
use super::compile::Prefix;
use super::trie::Key;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Prefixes in order of (address, length): whatever lies inside a prefix comes right behind it.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefixes<K>(BTreeMap<(K, u8), Leaf>);

impl<K: Key> Prefixes<K> {
    /// The prefixes of a list; of equal ones the last.
    pub(super) fn of(list: &[Prefix<K>]) -> Self {
        let pair = |it: &Prefix<K>| ((it.address.truncated(it.len), it.len), it.leaf);
        Self(list.iter().map(pair).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, address: K, len: u8) -> Option<Leaf> {
        self.0.get(&(address, len)).copied()
    }

    /// Adds, replaces or removes a prefix; returns whether that is a change.
    pub(super) fn set(&mut self, address: K, len: u8, leaf: Option<Leaf>) -> bool {
        let old = match leaf {
            Some(leaf) => self.0.insert((address, len), leaf),
            None => self.0.remove(&(address, len)),
        };
        old != leaf
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = Prefix<K>> {
        self.0.iter().map(|(&(address, len), &leaf)| Prefix { address, len, leaf })
    }

    /// The prefixes inside this one that are longer.
    pub(super) fn inside(&self, address: K, len: u8) -> impl Iterator<Item = Prefix<K>> {
        let last = (address.last_of(len), u8::MAX);
        let range = self.0.range((address, len + 1)..=last);
        range.map(|(&(address, len), &leaf)| Prefix { address, len, leaf })
    }

    /// The leaf of the longest prefix that covers all of this one, which may be itself.
    pub(super) fn covering(&self, address: K, len: u8) -> Leaf {
        let mut probe = (address, len);
        while let Some((&(found, found_len), &leaf)) = self.0.range(..=probe).next_back() {
            if probe.0.truncated(found_len) == found {
                return leaf;
            }
            // What comes before `found` and covers `probe` covers `found` as well.
            let shared = u8::try_from(found.bits_shared(probe.0)).unwrap_or(u8::MAX);
            probe = (probe.0.truncated(shared), shared);
        }
        Leaf::NO_ROUTE
    }

    /// All of them in a list.
    pub(super) fn to_list(&self) -> Vec<Prefix<K>> {
        self.iter().collect()
    }
}

//! The nodes and guards of a trie under construction or change, with those that are free.

use super::trie::{Entry, Guard, Key};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Entries of a node.
pub(super) const NODE_ENTRIES: usize = 256;

/// Places that are free.
#[derive(Clone, Debug, Default)]
pub(super) struct Free {
    nodes: Vec<u32>,
    guards: Vec<u32>,
}

impl Free {
    /// Bytes of memory behind it.
    pub(super) fn memory_bytes(&self) -> usize {
        (self.nodes.capacity() + self.guards.capacity()) * size_of::<u32>()
    }
}

/// The nodes and guards of a trie.
pub(super) type Boxes<K> = (Box<[Entry]>, Box<[Guard<K>]>);

/// Nodes and guards, by index.
#[derive(Debug)]
pub(super) struct Storage<K> {
    nodes: Vec<Entry>,
    guards: Vec<Guard<K>>,
    free: Free,
    /// Grows by more than what is needed at once: a table that changes goes on to grow.
    has_room: bool,
}

impl<K> Default for Storage<K> {
    fn default() -> Self {
        let free = Free::default();
        Self { nodes: Vec::new(), guards: Vec::new(), free, has_room: false }
    }
}

impl<K: Key> Storage<K> {
    /// That of a trie to be changed.
    pub(super) fn of_boxes((nodes, guards): Boxes<K>, free: Free) -> Self {
        Self { nodes: nodes.into_vec(), guards: guards.into_vec(), free, has_room: true }
    }

    /// The nodes and guards of a trie that was built.
    pub(super) fn into_boxes(self) -> Boxes<K> {
        (self.nodes.into_boxed_slice(), self.guards.into_boxed_slice())
    }

    /// The nodes and guards of a trie that was changed, and which of them are free. The boxes are
    /// as large as their memory, so nothing is copied.
    pub(super) fn into_parts(self) -> (Boxes<K>, Free) {
        ((self.nodes.into_boxed_slice(), self.guards.into_boxed_slice()), self.free)
    }

    pub(super) fn add_node(&mut self, slots: &[Entry; NODE_ENTRIES]) -> Entry {
        if self.has_room && self.free.nodes.is_empty() {
            let (from, more) = (self.nodes.len(), (self.nodes.len() / 4).max(16 * NODE_ENTRIES));
            let more = more.next_multiple_of(NODE_ENTRIES);
            self.nodes.reserve_exact(more);
            self.nodes.resize(from + more, Entry::leaf(super::Leaf::NO_ROUTE));
            let places = from / NODE_ENTRIES..(from + more) / NODE_ENTRIES;
            self.free.nodes.extend(places.rev().filter_map(|place| u32::try_from(place).ok()));
        }
        if let Some(place) = self.free.nodes.pop() {
            let at = place as usize * NODE_ENTRIES;
            self.nodes[at..at + NODE_ENTRIES].copy_from_slice(slots);
            return Entry::node(place as usize);
        }
        self.nodes.extend_from_slice(slots);
        Entry::node(self.nodes.len() / NODE_ENTRIES - 1)
    }

    pub(super) fn add_guard(&mut self, guard: Guard<K>) -> Entry {
        if self.has_room && self.free.guards.is_empty() {
            let (from, more) = (self.guards.len(), (self.guards.len() / 4).max(64));
            self.guards.reserve_exact(more);
            self.guards.resize(from + more, guard);
            let places = (from..from + more).rev();
            self.free.guards.extend(places.filter_map(|place| u32::try_from(place).ok()));
        }
        if let Some(place) = self.free.guards.pop() {
            self.guards[place as usize] = guard;
            return Entry::guard(place as usize);
        }
        self.guards.push(guard);
        Entry::guard(self.guards.len() - 1)
    }

    /// Frees an entry and whatever it leads to.
    pub(super) fn free(&mut self, entry: Entry) {
        let mut entries = Vec::from([entry]);
        while let Some(entry) = entries.pop() {
            if entry.as_leaf().is_some() {
                continue;
            }
            let place = entry.index();
            let Ok(number) = u32::try_from(place) else { continue };
            if entry.is_node() {
                let below = self.node(place).iter().filter(|entry| entry.as_leaf().is_none());
                entries.extend(below.copied());
                self.free.nodes.push(number);
            } else {
                let Guard { inside, outside, .. } = self.guards[place];
                entries.extend([inside, outside]);
                self.free.guards.push(number);
            }
        }
    }

    pub(super) fn node(&self, place: usize) -> &[Entry] {
        &self.nodes[place * NODE_ENTRIES..(place + 1) * NODE_ENTRIES]
    }

    pub(super) fn node_mut(&mut self, place: usize) -> &mut [Entry] {
        &mut self.nodes[place * NODE_ENTRIES..(place + 1) * NODE_ENTRIES]
    }

    pub(super) fn guard(&self, place: usize) -> &Guard<K> {
        &self.guards[place]
    }
}

//! Routing: destination address -> [`Hop`], IPv4 and IPv6, with equal-cost paths.
//!
//! [`Routes`] is what the control thread edits: interfaces, routes, neighbors. From it comes a
//! [`Fib`], the table of the packet path, either from scratch or, by a [`Compiler`], change by
//! change. A lookup is in two parts, because
//! only some answers need a [`FlowHash`]: the address gives a [`Leaf`], and the leaf with the hash
//! of the flow gives the hop.
//!
//! ```
//! use dataplane::fib::{Fib, Hop};
//!
//! let fib = Fib::default();
//! let leaf = fib.v4([10, 0, 0, 1]);
//! let hash = if leaf.is_group() { 0xABCD_1234 } else { 0 };
//! assert_eq!(fib.hop(leaf, hash), &Hop::NoRoute);
//! ```

mod buckets;
mod capacity;
mod changes;
mod compile;
mod compiler;
#[cfg(test)]
mod compiler_tests;
mod groups;
mod hash;
mod hop;
mod leaf;
mod learned;
mod precedence;
mod prefix_map;
mod prefixes;
mod route;
mod routes;
mod runs;
mod spreads;
mod storage;
#[cfg(test)]
mod tests;
pub(crate) mod trie;
mod update;

pub use capacity::{NEIGHBORS_MAX, ROUTES_MAX, RoutesError};
pub use compile::Prefix;
pub use compiler::Compiler;
pub use groups::{GroupId, Path};
pub use hash::FlowHash;
pub use hop::{Adjacency, Hop};
pub use leaf::Leaf;
pub use route::{Learned, Route, RoutedBy, Target};
pub use routes::{Interface, NextHop, Routes};
pub use trie::{Key, Trie};

use crate::ids::PortId;
#[cfg(doc)]
use crate::limits::BURST_MAX;
use alloc::boxed::Box;
use storage::Free;

/// A routing table for the packet path. What comes first in it a fast-path frame needs.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Fib {
    v4: Trie<u32>,
    hops: Box<[Hop]>,
    v6: Trie<u128>,
    /// Places of the tries that a change may use.
    free_v4: Free,
    free_v6: Free,
    /// How far a [`Compiler`] has brought it.
    position: u64,
}

impl Fib {
    /// The leaf of an IPv4 destination.
    #[inline]
    pub fn v4(&self, destination: [u8; 4]) -> Leaf {
        self.v4.lookup(u32::from_be_bytes(destination))
    }

    /// The table of IPv4 prefixes.
    #[inline(always)]
    pub(crate) const fn v4_trie(&self) -> &Trie<u32> {
        &self.v4
    }

    /// The table of IPv6 prefixes.
    #[inline(always)]
    pub(crate) const fn v6_trie(&self) -> &Trie<u128> {
        &self.v6
    }

    /// The leaf of an IPv6 destination.
    #[inline]
    pub fn v6(&self, destination: [u8; 16]) -> Leaf {
        self.v6.lookup(u128::from_be_bytes(destination))
    }

    /// The hop of a leaf of this table for a flow with this hash. Without a group
    /// ([`Leaf::is_group`]) the hash does not matter.
    #[inline]
    pub fn hop(&self, leaf: Leaf, hash: u32) -> &Hop {
        self.hop_at(leaf.member(hash))
    }

    /// The hop with this index: [`Leaf::member`] of a leaf of this table.
    #[inline]
    pub fn hop_at(&self, index: usize) -> &Hop {
        self.hops.get(index).unwrap_or(&Hop::NoRoute)
    }

    /// Whether one of the hops of a leaf of this table is on `port`: whether a router would send to
    /// the leaf's addresses there (RFC 3704, 2.2 and 2.3: strict, and feasible among equal paths).
    pub(crate) fn has_hop_on(&self, leaf: Leaf, port: PortId) -> bool {
        let hops = leaf.first()..leaf.first() + leaf.members();
        self.hops.get(hops).unwrap_or_default().iter().any(|hop| match hop {
            Hop::Forward(adjacency) => adjacency.out == port,
            Hop::Resolve { port: on } => *on == port,
            Hop::Local | Hop::Discard | Hop::NoRoute | Hop::Tunnel(_) => false,
        })
    }

    /// Bytes of memory behind the table.
    pub fn memory_bytes(&self) -> usize {
        let free = self.free_v4.memory_bytes() + self.free_v6.memory_bytes();
        self.v4.memory_bytes() + self.v6.memory_bytes() + size_of_val(&*self.hops) + free
    }

    /// Makes room for this number of hops and some more.
    fn grow_hops(&mut self, count: usize) {
        if self.hops.len() < count {
            let mut hops = core::mem::take(&mut self.hops).into_vec();
            let room = count + count / 4;
            hops.reserve_exact(room - hops.len());
            hops.resize(room, Hop::NoRoute);
            self.hops = hops.into_boxed_slice();
        }
    }
}

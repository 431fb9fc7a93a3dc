//! Routing: destination address -> [`Hop`], IPv4 and IPv6, with equal-cost paths.
//!
//! [`Routes`] is what the control thread edits: interfaces, static routes, neighbors. It compiles
//! them to a [`Fib`], the immutable table of the packet path. A lookup is in two parts, because
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
mod compile;
mod groups;
mod hash;
mod hop;
mod leaf;
mod learned;
mod prefix_map;
mod routes;
mod snapshot;
#[cfg(test)]
mod tests;
pub(crate) mod trie;

pub use compile::Prefix;
pub use groups::{GROUPS_MAX, GroupId, Path};
pub use hash::FlowHash;
pub use hop::{Adjacency, Hop};
pub use leaf::Leaf;
pub use learned::{LEARNED_MAX, Learned, Target};
pub use routes::{Interface, NEIGHBORS_MAX, NextHop, ROUTES_MAX, Route, Routes, RoutesError};
pub use trie::{Key, Trie};

use crate::ids::PortId;
#[cfg(doc)]
use crate::limits::BURST_MAX;
use alloc::boxed::Box;

/// An immutable routing table for the packet path.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Fib {
    v4: Trie<u32>,
    hops: Box<[Hop]>,
    v6: Trie<u128>,
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
            Hop::Local | Hop::Discard | Hop::NoRoute => false,
        })
    }

    /// Bytes of memory behind the table.
    pub fn memory_bytes(&self) -> usize {
        self.v4.memory_bytes() + self.v6.memory_bytes() + size_of_val(&*self.hops)
    }
}

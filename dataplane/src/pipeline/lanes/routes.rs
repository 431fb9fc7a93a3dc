//! Looks up the routes of eight frames.

use super::eight::Eight;
use super::{ALL, lanes_of, octet, of_lanes};
use crate::fib::trie::{self, Trie};
use crate::fib::{Fib, Leaf};
use crate::frame::Frame;
use crate::pipeline::routed;
use crate::snapshot::Snapshot;
use crate::wire::ethernet;
use crate::wire::parse::Kind;
use wide::u32x8;

impl Eight {
    /// Looks up the destination of each frame.
    #[inline(always)]
    pub(crate) fn look_up<F: Frame>(&mut self, fib: &Fib, frames: &[F]) {
        if self.v6 != ALL {
            self.leaves = look_up(fib.v4_trie(), from_be(self.destination()));
        }
        if self.v6 != 0 {
            self.look_up_v6(fib, frames);
        }
    }

    #[inline(never)]
    fn look_up_v6<F: Frame>(&mut self, fib: &Fib, frames: &[F]) {
        let mut leaves = self.leaves.to_array();
        for lane in lanes_of(self.v6 & !self.others()) {
            let destination = frames.get(lane).and_then(|frame| self.v6_destination(frame));
            leaves[lane] = destination.map_or(Leaf::NO_ROUTE, |address| fib.v6(address)).bits();
        }
        self.leaves = u32x8::new(leaves);
    }

    /// By lane: the index of each frame's next hop.
    #[inline(always)]
    pub(super) fn hops<F: Frame>(&self, snapshot: &Snapshot, frames: &[F]) -> u32x8 {
        if self.leaves.simd_ge(u32x8::splat(Leaf::FIRST_GROUP_BITS)).any() {
            self.members(snapshot, frames)
        } else {
            self.leaves
        }
    }

    /// [`Self::hops`] where some leaves are groups.
    #[inline(never)]
    fn members<F: Frame>(&self, snapshot: &Snapshot, frames: &[F]) -> u32x8 {
        let l3 = ethernet::HEADER_BYTES + if self.is_tagged { ethernet::TAG_BYTES } else { 0 };
        let mut hops = self.leaves.to_array();
        for (lane, (hop, frame)) in hops.iter_mut().zip(frames).enumerate() {
            let leaf = Leaf::from_bits(*hop).unwrap_or(Leaf::NO_ROUTE);
            let kind = if self.v6 >> lane & 1 == 1 { Kind::Ipv6 } else { Kind::Ipv4 };
            let hash = || routed::flow_hash_at(snapshot, frame.head(), kind, l3);
            #[expect(clippy::cast_possible_truncation, reason = "the index of a hop has 25 bits")]
            let member = leaf.member(if leaf.is_group() { hash() } else { 0 }) as u32;
            *hop = member;
        }
        u32x8::new(hops)
    }
}

/// By lane: the number whose octets are in network byte order.
#[inline(always)]
fn from_be(words: u32x8) -> u32x8 {
    let middle = u32x8::splat(0xFF00);
    words << 24 | (words & middle) << 8 | (words >> 8 & middle) | words >> 24
}

/// By lane: the bits of the leaf of each of `keys`, as [`Trie::lookup`] finds it.
#[inline(always)]
pub(crate) fn look_up(trie: &Trie<u32>, keys: u32x8) -> u32x8 {
    let root: u32x8 = keys >> 16 >> trie.root_shift;
    let mut entries = u32x8::new(root.to_array().map(|at| trie.root_bits(at)));
    let mut shift = u32::from(trie.first_shift);
    // The highest bit is set in every entry but a leaf.
    while entries.to_bitmask() != 0 {
        let is_node = (entries & u32x8::splat(trie::GUARD)).simd_eq(u32x8::splat(trie::NODE));
        if !is_node.any() {
            // Behind a guard keys are at different depths: each goes by itself.
            let (known, keys) = (entries.to_array(), keys.to_array());
            return of_lanes(|lane| match known[lane] {
                trie::NODE.. => trie.lookup(keys[lane]).bits(),
                leaf => leaf,
            });
        }
        let inside: u32x8 = entries << 8 | octet(keys >> shift);
        let next = (is_node & inside).to_array().map(|at| trie.node_bits(at));
        entries = is_node.select(u32x8::new(next), entries);
        shift = shift.wrapping_sub(8);
    }
    entries
}

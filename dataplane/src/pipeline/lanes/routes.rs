//! Looks up the routes of eight frames.

use super::eight::Eight;
use super::{ALL, EIGHTS, LANES, lanes_of, octet, of_lanes, words_from};
use crate::fib::trie::{self, Key, Trie};
use crate::fib::{Fib, Leaf};
use crate::frame::Frame;
use crate::pipeline::routed;
use crate::snapshot::Snapshot;
use crate::wire::ipv6;
use crate::wire::parse::Kind;
use wide::u32x8;

/// From this number of frames with IPv6 on, all lanes are looked up at once.
const V6_LANES_MIN: u32 = 3;
const ADDRESS_BYTES: usize = 16;

impl Eight {
    /// Looks up the destinations of the burst `rx`, whose headers are in `eights`. A function of
    /// its own, so that the loop has all registers.
    #[inline(never)]
    pub(crate) fn look_up_burst<F: Frame>(eights: &mut [Self; EIGHTS], fib: &Fib, rx: &[F]) {
        let count = rx.len().div_ceil(LANES).min(EIGHTS);
        for eight in &mut eights[..count] {
            eight.look_up_v4(fib);
        }
        if eights[..count].iter().any(|eight| eight.v6 != 0) {
            Self::look_up_v6_burst(eights, fib, rx);
        }
    }

    /// The same of the frames with IPv6. Sixteen at a time if all have it: each step to the next
    /// node waits for the one before, so two walks take hardly longer than one.
    #[inline(never)]
    fn look_up_v6_burst<F: Frame>(eights: &mut [Self; EIGHTS], fib: &Fib, rx: &[F]) {
        for (frames, pair) in rx.chunks(2 * LANES).zip(eights.chunks_mut(2)) {
            if let [a, b] = pair
                && let ([first, second], []) = frames.as_chunks::<LANES>()
                && a.v6 & b.v6 == ALL
            {
                let keys = [a.v6_destinations(first), b.v6_destinations(second)];
                [a.leaves, b.leaves] = look_up_two(fib.v6_trie(), keys);
                continue;
            }
            for (frames, eight) in frames.chunks(LANES).zip(pair) {
                eight.look_up_v6(fib, frames);
            }
        }
    }

    #[inline(always)]
    fn look_up_v4(&mut self, fib: &Fib) {
        if self.v6 != ALL {
            self.leaves = look_up(fib.v4_trie(), [from_be(self.destination())], u32x8::MAX);
        }
    }

    #[inline(never)]
    fn look_up_v6<F: Frame>(&mut self, fib: &Fib, frames: &[F]) {
        if self.v6.count_ones() >= V6_LANES_MIN {
            let is_v6 = self.is_v6();
            let found = look_up(fib.v6_trie(), self.v6_destinations(frames), is_v6);
            self.leaves = is_v6.select(found, self.leaves);
            return;
        }
        let mut leaves = self.leaves.to_array();
        for lane in lanes_of(self.v6 & !self.others()) {
            let destination = frames.get(lane).and_then(|frame| self.v6_destination(frame));
            leaves[lane] = destination.map_or(Leaf::NO_ROUTE, |address| fib.v6(address)).bits();
        }
        self.leaves = u32x8::new(leaves);
    }

    /// The destination addresses, as if all frames had IPv6; 0 of one that is too short for it.
    #[inline(always)]
    fn v6_destinations<F: Frame>(&self, frames: &[F]) -> [u32x8; 4] {
        // Source and destination.
        let from = self.l3() + ipv6::DESTINATION_OFFSET - ADDRESS_BYTES;
        let [_, _, _, _, destination @ ..] = words_from(frames, from);
        destination.map(from_be)
    }

    /// By lane: the index of each frame's next hop, or the bits of
    /// [`Through`](super::tunnels::Through).
    #[inline(always)]
    pub(super) fn hops<F: Frame>(&self, snapshot: &Snapshot, frames: &[F]) -> u32x8 {
        if self.leaves.simd_ge(u32x8::splat(Leaf::FIRST_GROUP_BITS)).any() {
            // An array: what such a function returns is in memory, and so the leaves would be.
            u32x8::new(self.members(snapshot, frames))
        } else {
            self.leaves
        }
    }

    /// [`Self::hops`] where some leaves are groups.
    #[inline(never)]
    fn members<F: Frame>(&self, snapshot: &Snapshot, frames: &[F]) -> [u32; LANES] {
        let mut hops = self.leaves.to_array();
        for (lane, (hop, frame)) in hops.iter_mut().zip(frames).enumerate() {
            // A way through a tunnel is no leaf, and has its hop.
            let Some(leaf) = Leaf::from_bits(*hop) else { continue };
            *hop = self.member(snapshot, frame, lane, leaf);
        }
        hops
    }

    /// The index of the hop of `leaf` that the frame in `lane` takes.
    #[inline(always)]
    pub(super) fn member<F: Frame>(
        &self,
        snapshot: &Snapshot,
        frame: &F,
        lane: usize,
        leaf: Leaf,
    ) -> u32 {
        let kind = if self.v6 >> lane & 1 == 1 { Kind::Ipv6 } else { Kind::Ipv4 };
        let hash = || routed::flow_hash_at(snapshot, frame.head(), kind, self.l3_of(lane));
        #[expect(clippy::cast_possible_truncation, reason = "the index of a hop has 25 bits")]
        let member = leaf.member(if leaf.is_group() { hash() } else { 0 }) as u32;
        member
    }
}

/// By lane: the number whose octets are in network byte order.
#[inline(always)]
pub(super) fn from_be(words: u32x8) -> u32x8 {
    let middle = u32x8::splat(0xFF00);
    words << 24 | (words & middle) << 8 | (words >> 8 & middle) | words >> 24
}

/// Addresses in the lanes of vectors: words of 32 bits, the first of the address first.
pub(crate) trait Keys: Copy + AsRef<[u32x8]> {
    /// The address in one lane.
    type Key: Key;
    /// The same address in all lanes.
    fn splat(key: Self::Key) -> Self;
    /// The address in this lane.
    fn lane(&self, lane: usize) -> Self::Key;

    /// By lane: the 8 bits above the lowest `shift`, a multiple of 8.
    #[inline(always)]
    fn byte_above(&self, shift: u32) -> u32x8 {
        let words = self.as_ref();
        let at = words.len() - 1 - (shift as usize / 32).min(words.len() - 1);
        octet(words[at] >> (shift % 32))
    }

    /// By lane: all ones if the address differs from `prefix` in a bit that is set in `mask`.
    #[inline(always)]
    fn differs(&self, prefix: &Self, mask: &Self) -> u32x8 {
        let words = self.as_ref().iter().zip(prefix.as_ref()).zip(mask.as_ref());
        let other = words
            .fold(u32x8::ZERO, |other, ((word, prefix), mask)| other | (*word ^ *prefix) & *mask);
        other.simd_ne(u32x8::ZERO)
    }
}

impl Keys for [u32x8; 1] {
    type Key = u32;
    #[inline(always)]
    fn splat(key: u32) -> Self {
        [u32x8::splat(key)]
    }
    #[inline(always)]
    fn lane(&self, lane: usize) -> u32 {
        self[0].to_array()[lane % LANES]
    }
}

impl Keys for [u32x8; 4] {
    type Key = u128;
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a word")]
    fn splat(key: u128) -> Self {
        [96, 64, 32, 0].map(|shift| u32x8::splat((key >> shift) as u32))
    }
    #[inline(always)]
    fn lane(&self, lane: usize) -> u128 {
        let words = self.iter().map(|word| word.to_array()[lane % LANES]);
        words.fold(0, |key, word| key << 32 | u128::from(word))
    }
}

/// By lane that is all ones in `wanted`: the bits of the leaf of the key, as [`Trie::lookup`] finds
/// it.
#[inline(always)]
pub(crate) fn look_up<K: Keys>(trie: &Trie<K::Key>, keys: K, wanted: u32x8) -> u32x8 {
    finish(trie, &keys, begin(trie, &keys, wanted))
}

/// The same for twice as many keys, step by step in turn.
#[inline(always)]
pub(crate) fn look_up_two<K: Keys>(trie: &Trie<K::Key>, [a, b]: [K; 2]) -> [u32x8; 2] {
    let [mut of_a, mut of_b] = [&a, &b].map(|keys| begin(trie, keys, u32x8::MAX));
    while !is_over(of_a) && !is_over(of_b) {
        let (Some(next_a), Some(next_b)) = (step(trie, &a, of_a), step(trie, &b, of_b)) else {
            break;
        };
        (of_a, of_b) = (next_a, next_b);
    }
    [finish(trie, &a, of_a), finish(trie, &b, of_b)]
}

/// Where eight walks from the root of a trie are: by lane the bits of the entry, 0 of one that is
/// not wanted; and the number of bits of a key below the octet that indexes the next node. A value,
/// which steps return anew: lent to rare branches, it would be in memory.
type Reached = (u32x8, u32);

#[inline(always)]
fn begin<K: Keys>(trie: &Trie<K::Key>, keys: &K, wanted: u32x8) -> Reached {
    let entries = u32x8::new(trie.root_bits(keys.as_ref()[0].to_array())) & wanted;
    (entries, u32::from(trie.first_shift))
}

/// Whether all entries are leaves: the highest bit is set in every other entry.
#[inline(always)]
fn is_over((entries, _): Reached) -> bool {
    entries.to_bitmask() == 0
}

/// The leaves, from there on.
#[inline(always)]
fn finish<K: Keys>(trie: &Trie<K::Key>, keys: &K, mut reached: Reached) -> u32x8 {
    while !is_over(reached) {
        let Some(next) = step(trie, keys, reached) else {
            return each(trie, keys, reached.0.to_array());
        };
        reached = next;
    }
    reached.0
}

/// One step on: into the next nodes, or beyond a guard. `None` if each lane has to go by itself.
#[inline(always)]
fn step<K: Keys>(trie: &Trie<K::Key>, keys: &K, (entries, shift): Reached) -> Option<Reached> {
    let is_node = (entries & u32x8::splat(trie::GUARD)).simd_eq(u32x8::splat(trie::NODE));
    if !is_node.any() {
        return beyond_guard(trie, keys, entries);
    }
    let inside: u32x8 = entries << 8 | keys.byte_above(shift);
    let next = node_entries(trie, is_node & inside)?;
    Some((is_node.select(next, entries), shift.wrapping_sub(8)))
}

/// By lane: the bits of the node entry at this index, if all are there. Written out: one way out
/// for all eight, and no value in place of an entry that is not there.
#[inline(always)]
fn node_entries<K: Key>(trie: &Trie<K>, at: u32x8) -> Option<u32x8> {
    let [a, b, c, d, e, f, g, h] = at.to_array();
    let of = |at| trie.node_bits(at);
    Some(u32x8::new([of(a)?, of(b)?, of(c)?, of(d)?, of(e)?, of(f)?, of(g)?, of(h)?]))
}

/// Takes the lanes whose entry is a guard, and no other is a node, beyond it: their entries, and
/// the bits below the byte that indexes a node, which only keys inside have. `None` if they are at
/// different guards.
#[inline(always)]
fn beyond_guard<K: Keys>(trie: &Trie<K::Key>, keys: &K, entries: u32x8) -> Option<(u32x8, u32)> {
    let is_guard: u32x8 = entries.simd_ge(u32x8::splat(trie::GUARD));
    let lane = is_guard.to_bitmask().trailing_zeros() as usize % LANES;
    let entry = entries.to_array()[lane];
    let guard = trie.guard(entry)?;
    let is_other = is_guard & entries.simd_ne(u32x8::splat(entry));
    let differs = keys.differs(&K::splat(guard.prefix), &K::splat(guard.mask())) & is_guard;
    if is_other.any() {
        return None;
    }
    let [inside, outside] = guard.next_bits().map(u32x8::splat);
    let next = differs.select(outside, inside);
    Some((is_guard.select(next, entries), u32::from(guard.inside_shift)))
}

/// The same for each lane by itself: behind guards keys are at different depths.
#[inline(never)]
fn each<K: Keys>(trie: &Trie<K::Key>, keys: &K, entries: [u32; LANES]) -> u32x8 {
    of_lanes(|lane| match entries[lane] {
        trie::NODE.. => trie.lookup(keys.lane(lane)).bits(),
        leaf => leaf,
    })
}

//! Rewrite cache: one entry for each pair of class and next hop among a burst's fast-path frames.
//!
//! Rules, priority, marking and the new Ethernet header depend on the class and the hop alone. They
//! are computed once for each pair, and then applied to each frame. A burst has few pairs; even one
//! with 64 is no slower than a computation for each frame.

use crate::fib::{Hop, Leaf};
use crate::frame::{Frame, length_bytes};
use crate::frame_sums::FrameSums;
use crate::limits::BURST_MAX;
use crate::pipeline::class::Class;
use crate::pipeline::outcome::Outcome;
use crate::pipeline::outcome_groups::{GroupIndex, OutcomeGroups};
use crate::pipeline::route;
use crate::pipeline::rules;
use crate::rx_queues::Ingress;
use crate::snapshot::Snapshot;
use crate::wire::{ethernet, ipv4};
use arrayvec::ArrayVec;

/// Length of the Ethernet and IPv4 headers.
pub(crate) const FAST_PATH_HEAD_BYTES: usize = ethernet::HEADER_BYTES + ipv4::HEADER_BYTES;

/// Bit offsets of the fields of [`RewriteEntry::sums`]; the bytes are at 0. Each field has room for
/// a burst of the longest frames.
const COST_SHIFT: u32 = 24;
const FRAMES_SHIFT: u32 = 48;

/// Offset of the IP header of a fast-path frame, both as received and as sent.
const FAST_PATH_L3: u8 = 14;
const _: () = assert!(FAST_PATH_L3 as usize == ethernet::HEADER_BYTES);

/// The rewrite of the fast-path frames of one pair of class and next hop.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct RewriteEntry {
    /// Class in the upper 32 bits, index of the hop in the lower.
    key: u64,
    /// Frames, buffer cost and bytes so far in this burst, packed so that each frame takes one
    /// addition.
    sums: u64,
    /// Destination and source MAC address.
    macs: [u8; 12],
    /// Longest frame that the adjacency carries.
    frame_bytes_max: u16,
    /// Index of the frames' outcome group.
    group: u8,
    /// Mask of the TOS bits that are kept, and the bits that are set.
    tos_kept: u8,
    tos_set: u8,
}

/// The rewrite entries of the current burst.
#[derive(Debug, Default)]
pub(crate) struct RewriteCache {
    index: GroupIndex,
    rewrite_cache: ArrayVec<RewriteEntry, BURST_MAX>,
}

impl RewriteCache {
    /// Removes the entries of the previous burst, after [`Self::book`].
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.index.clear(self.rewrite_cache.iter().map(|entry| entry.key));
        self.rewrite_cache.clear();
    }

    /// Rewrites and counts one fast-path frame, whose destination resolved to `leaf`. Returns the
    /// index of its outcome group; or `None`, with the frame unchanged, if it must take the generic
    /// path.
    #[inline(always)]
    pub(crate) fn apply<F: Frame>(
        &mut self,
        snapshot: &Snapshot,
        input: Ingress,
        class: Class,
        leaf: Leaf,
        frame: &mut F,
        outcomes: &mut OutcomeGroups,
    ) -> Option<u8> {
        let hop = hop_of(snapshot, leaf, frame);
        let key = u64::from(class.bits()) << 32 | hop as u64;
        let rewrite_cache = &self.rewrite_cache;
        let found = self.index.find(key, |at| rewrite_cache.get(usize::from(at)).map(|r| r.key));
        let at = match found {
            Ok(at) => at,
            Err(bucket) => {
                let bytes = length_bytes(frame);
                let new = || RewriteEntry::new(snapshot, input, class, hop, bytes);
                self.insert(bucket, key, new, outcomes)?
            }
        };
        let entry = self.rewrite_cache.get_mut(usize::from(at))?;
        entry.apply(frame, outcomes.cell_bytes).then_some(entry.group)
    }

    /// Adds the entry that `new` returns, and its outcome group. Returns the index of the entry;
    /// `None` if the frame must take the generic path.
    #[inline(never)]
    fn insert(
        &mut self,
        bucket: usize,
        key: u64,
        new: impl FnOnce() -> Option<(RewriteEntry, Outcome)>,
        outcomes: &mut OutcomeGroups,
    ) -> Option<u8> {
        let (entry, outcome) = new()?;
        #[expect(clippy::cast_possible_truncation, reason = "a burst has 64 frames at the most")]
        let at = self.rewrite_cache.len() as u8;
        let group = outcomes.group_index(outcome);
        self.rewrite_cache.push(RewriteEntry { key, group, ..entry });
        self.index.set(bucket, at);
        Some(at)
    }

    /// Adds the sums of the entries to their outcome groups.
    #[inline(always)]
    pub(crate) fn add_to_groups(&self, outcomes: &mut OutcomeGroups) {
        for entry in &self.rewrite_cache {
            let part = |shift: u32| (entry.sums >> shift & 0xFF_FFFF) as u32;
            let Some(group) = outcomes.groups.get_mut(usize::from(entry.group)) else { continue };
            let (frames, bytes, cost_bytes) = (part(FRAMES_SHIFT), part(0), part(COST_SHIFT));
            group.rx_bytes += bytes;
            group.sums.add(FrameSums { frames, bytes, cost_bytes });
        }
    }
}

/// The index of the next hop for `frame`, whose destination resolved to `leaf`.
#[inline(always)]
pub(crate) fn hop_of<F: Frame>(snapshot: &Snapshot, leaf: Leaf, frame: &F) -> usize {
    if leaf.is_group() {
        // The whole head: the L4 ports follow the IP header.
        leaf.member(route::flow_hash_v4(snapshot, frame.head(), ethernet::HEADER_BYTES))
    } else {
        leaf.first()
    }
}

impl RewriteEntry {
    /// The entry and the outcome of fast-path frames of `class` from `input` to `hop`; `None` if a
    /// frame of `frame_bytes` must take the generic path.
    #[inline(always)]
    pub(crate) fn new(
        snapshot: &Snapshot,
        input: Ingress,
        class: Class,
        hop: usize,
        frame_bytes: u16,
    ) -> Option<(Self, Outcome)> {
        let Hop::Forward(adjacency) = snapshot.fib.hop_at(hop) else { return None };
        // A frame that is too long must not create an outcome group, which could stay empty.
        if adjacency.vlan.is_some() || frame_bytes > adjacency.frame_bytes_max {
            return None;
        }
        let tagged = rules::apply(snapshot, class, input, adjacency.out);
        let entry = Self {
            key: 0,
            sums: 0,
            macs: *adjacency.macs(),
            frame_bytes_max: adjacency.frame_bytes_max,
            group: 0,
            tos_kept: if tagged.dscp.is_some() { 0b11 } else { 0xFF },
            tos_set: tagged.dscp.unwrap_or(0) << 2,
        };
        Some((entry, tagged.outcome.with_l3(FAST_PATH_L3)))
    }

    #[inline(always)]
    pub(crate) fn apply<F: Frame>(&mut self, frame: &mut F, cell_bytes: u32) -> bool {
        let bytes = length_bytes(frame);
        let Some(header) = frame.head_mut().first_chunk_mut::<FAST_PATH_HEAD_BYTES>() else {
            return false;
        };
        if bytes > self.frame_bytes_max {
            return false;
        }
        let cost_bytes = u32::from(bytes).max(cell_bytes);
        self.sums += 1 << FRAMES_SHIFT | u64::from(cost_bytes) << COST_SHIFT | u64::from(bytes);
        let tos = header[15] & self.tos_kept | self.tos_set;
        let ttl = header[22] - 1;
        if let Some(ip) = header.last_chunk_mut() {
            ipv4::set_tos_and_ttl(ip, tos, ttl);
        }
        if let Some(macs) = header.first_chunk_mut() {
            *macs = self.macs;
        }
        true
    }
}

const _: () = assert!(size_of::<RewriteEntry>() == 64, "an entry is one cache line");
const _: () = assert!(
    BURST_MAX * (u16::MAX as usize) < 1 << COST_SHIFT,
    "the sums of a burst do not run into each other"
);

//! The rewrite of a single fast-path frame.

use crate::fib::{Hop, Leaf};
use crate::frame::Frame;
use crate::pipeline::class::Class;
use crate::pipeline::outcome::Outcome;
use crate::pipeline::routed;
use crate::pipeline::rules;
use crate::rx_queues::Ingress;
use crate::snapshot::Snapshot;
use crate::wire::{ethernet, ipv4};

/// Length of the Ethernet and IPv4 headers.
pub(crate) const FAST_PATH_HEAD_BYTES: usize = ethernet::HEADER_BYTES + ipv4::HEADER_BYTES;

/// Offset of the IP header of a fast-path frame, both as received and as sent.
const FAST_PATH_L3: u8 = 14;
const _: () = assert!(FAST_PATH_L3 as usize == ethernet::HEADER_BYTES);

/// The rewrite of a fast-path frame of one class and next hop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RewriteEntry {
    /// Destination and source MAC address.
    macs: [u8; 12],
    /// Mask of the TOS bits that are kept, and the bits that are set.
    tos_kept: u8,
    tos_set: u8,
}

/// The index of the next hop for `frame`, whose destination resolved to `leaf`.
#[inline(always)]
pub(crate) fn hop_of<F: Frame>(snapshot: &Snapshot, leaf: Leaf, frame: &F) -> usize {
    if leaf.is_group() {
        // The whole head: the L4 ports follow the IP header.
        leaf.member(routed::flow_hash_v4(snapshot, frame.head(), ethernet::HEADER_BYTES))
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
            macs: *adjacency.macs(),
            tos_kept: if tagged.dscp.is_some() { 0b11 } else { 0xFF },
            tos_set: tagged.dscp.unwrap_or(0) << 2,
        };
        Some((entry, tagged.outcome.with_l3(FAST_PATH_L3)))
    }

    /// Rewrites the headers of a frame.
    #[inline(always)]
    pub(crate) fn apply<F: Frame>(&self, frame: &mut F) {
        let Some(header) = frame.head_mut().first_chunk_mut::<FAST_PATH_HEAD_BYTES>() else {
            return;
        };
        let tos = header[15] & self.tos_kept | self.tos_set;
        let ttl = header[22] - 1;
        if let Some(ip) = header.last_chunk_mut() {
            ipv4::set_tos_and_ttl(ip, tos, ttl);
        }
        if let Some(macs) = header.first_chunk_mut() {
            *macs = self.macs;
        }
    }
}

//! Rewrites and counts eight frames, by pair of marking and next hop.
//!
//! Rules, priority, marking, the new Ethernet header and the outcome depend on these two alone.
//! They are determined once for each pair of a burst. A burst has few pairs.

use super::eight::{Eight, Marking};
use super::{ALL, LANES, lanes_of, of_lanes};
use crate::fib::Hop;
use crate::frame::{Frame, length_bytes};
use crate::frame_sums::FrameSums;
use crate::limits::BURST_MAX;
use crate::pipeline::outcome_groups::OutcomeGroups;
use crate::pipeline::rules;
use crate::rx_queues::Ingress;
use crate::snapshot::{PortTables, Snapshot};
use crate::wire::ethernet;
use wide::u32x8;

/// Octets of the two MAC addresses.
const MACS: usize = 12;

/// The pairs of the current burst, field by field, with the sums of their frames.
#[derive(Debug)]
pub(crate) struct Pairs {
    count: usize,
    /// Whether all have a header without a tag, as long as the one that their frames came with.
    are_plain: bool,
    marking: [u32; BURST_MAX],
    /// Index of the next hop.
    hop: [u32; BURST_MAX],
    /// Length of the longest frame that takes this path, as received.
    frame_bytes_max: [u32; BURST_MAX],
    tos_kept: [u32; BURST_MAX],
    tos_set: [u32; BURST_MAX],
    header: [Header; BURST_MAX],
    sums: [Sums; BURST_MAX],
}

/// The Ethernet header that the frames of a pair leave with, and their outcome group.
#[derive(Clone, Copy, Debug, Default)]
struct Header {
    macs: [u8; MACS],
    tag: [u8; ethernet::TAG_BYTES],
    has_tag: bool,
    /// What the frame grows by at its front.
    grows_bytes: i8,
    group: u8,
}

/// By lane: sums of the frames of a pair. Bytes are those received.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    frames: u32x8,
    bytes: u32x8,
    cost_bytes: u32x8,
}

impl Default for Pairs {
    fn default() -> Self {
        let none = [0; BURST_MAX];
        Self {
            count: 0,
            are_plain: true,
            marking: none,
            hop: none,
            frame_bytes_max: none,
            tos_kept: none,
            tos_set: none,
            header: [Header::default(); BURST_MAX],
            sums: [Sums::default(); BURST_MAX],
        }
    }
}

/// Where the frames of a burst came in, and the tables for it.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) tables: &'a PortTables,
    pub(crate) ingress: Ingress,
}

/// What became of eight frames so far, by lane.
struct Step {
    /// All ones if the frame's pair is known.
    is_known: u32x8,
    /// All ones if the frame is rewritten and counted.
    is_taken: u32x8,
    place: u32x8,
    tos_kept: u32x8,
    tos_set: u32x8,
}

impl Pairs {
    /// Removes the pairs of the previous burst.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.are_plain = true;
    }

    /// Rewrites and counts up to eight routed frames, whose destinations were looked up. Bit i of
    /// the result is set if frame i was taken, and then place i of `groups` has the index of its
    /// outcome group. The others are unchanged.
    #[inline(always)]
    pub(crate) fn route<F: Frame>(
        &mut self,
        from: Input<'_>,
        eight: &Eight,
        frames: &mut [F],
        outcomes: &mut OutcomeGroups,
        groups: &mut [u8],
    ) -> u32 {
        let hops = eight.hops(from.snapshot, frames);
        let cost_bytes_min = u32x8::splat(outcomes.cell_bytes);
        let mut left_out = eight.others();
        let zero = u32x8::ZERO;
        let mut step =
            Step { is_known: zero, is_taken: zero, place: zero, tos_kept: zero, tos_set: zero };
        let mut looked_at = 0;
        loop {
            for at in looked_at..self.count.min(BURST_MAX) {
                self.step(at, eight, hops, cost_bytes_min, frames, &mut step);
            }
            looked_at = self.count;
            let unknown = ALL & !(step.is_known.to_bitmask() | left_out);
            if unknown == 0 {
                break;
            }
            let lane = unknown.trailing_zeros() as usize % LANES;
            let marking = Marking(eight.marking.to_array()[lane]);
            let pair = (marking, eight.is_tagged, hops.to_array()[lane]);
            let frame_bytes = frames.get(lane).map_or(0, length_bytes);
            if !self.add_route(from, pair, frame_bytes, outcomes) {
                left_out |= 1 << lane;
            }
        }
        let taken = step.is_taken.to_bitmask();
        let [first, second, third] = eight.rewritten(step.tos_kept, step.tos_set, u32x8::ONE);
        let (first, second, third) = (first.to_array(), second.to_array(), third.to_array());
        let places = step.place.to_array();
        if taken == ALL && self.are_plain {
            for (lane, (frame, group)) in frames.iter_mut().zip(groups).enumerate().take(LANES) {
                let header = &self.header[places[lane] as usize % BURST_MAX];
                *group = header.group;
                header.write_plain(frame, [first[lane], second[lane], third[lane]]);
            }
            return taken;
        }
        for (lane, (frame, group)) in frames.iter_mut().zip(groups).enumerate().take(LANES) {
            if taken >> lane & 1 == 1 {
                let header = &self.header[places[lane] as usize % BURST_MAX];
                *group = header.group;
                header.write(frame, [first[lane], second[lane], third[lane]]);
            }
        }
        taken
    }

    /// [`Self::route`] for the frames at the end of a burst, fewer than eight.
    #[inline(never)]
    pub(crate) fn route_rest<F: Frame>(
        &mut self,
        from: Input<'_>,
        eight: &Eight,
        frames: &mut [F],
        outcomes: &mut OutcomeGroups,
        groups: &mut [u8],
    ) -> u32 {
        self.route(from, eight, frames, outcomes, groups)
    }

    /// Counts the frames that belong to the pair at `at`.
    #[inline(always)]
    fn step<F: Frame>(
        &mut self,
        at: usize,
        eight: &Eight,
        hops: u32x8,
        cost_bytes_min: u32x8,
        frames: &mut [F],
        step: &mut Step,
    ) {
        let is_it = eight.marking.simd_eq(u32x8::splat(self.marking[at]))
            & hops.simd_eq(u32x8::splat(self.hop[at]));
        step.is_known |= is_it;
        let mut is_it = is_it & eight.frame_bytes.simd_le(u32x8::splat(self.frame_bytes_max[at]));
        let header = &self.header[at];
        if header.grows_bytes > 0 {
            is_it = header.grow(is_it, frames);
        }
        step.is_taken |= is_it;
        #[expect(clippy::cast_possible_truncation, reason = "the index of a pair")]
        let place = u32x8::splat(at as u32);
        step.place |= is_it & place;
        step.tos_kept |= is_it & u32x8::splat(self.tos_kept[at]);
        step.tos_set |= is_it & u32x8::splat(self.tos_set[at]);
        let sent_bytes: u32x8 =
            eight.frame_bytes + u32x8::splat(i32::from(header.grows_bytes).cast_unsigned());
        let sums = &mut self.sums[at];
        // All ones is minus one.
        sums.frames -= is_it;
        sums.bytes += is_it & eight.frame_bytes;
        sums.cost_bytes += is_it & sent_bytes.max(cost_bytes_min);
    }

    /// Adds the pair of a marking and a next hop. Returns false if a frame of `frame_bytes` must
    /// take the generic path.
    #[inline(never)]
    fn add_route(
        &mut self,
        Input { snapshot, tables, ingress }: Input<'_>,
        (marking, is_tagged, hop): (Marking, bool, u32),
        frame_bytes: u16,
        outcomes: &mut OutcomeGroups,
    ) -> bool {
        let Hop::Forward(adjacency) = snapshot.fib.hop_at(hop as usize) else { return false };
        let class = marking.class(tables);
        let tag_bytes = |is_tagged| if is_tagged { ethernet::TAG_BYTES } else { 0 };
        let (came, leaves) = (tag_bytes(is_tagged), tag_bytes(adjacency.vlan.is_some()));
        let frame_bytes_max = usize::from(adjacency.frame_bytes_max) + came;
        // A frame that is too long must not create an outcome group, which could stay empty.
        if self.count == BURST_MAX || usize::from(frame_bytes) > frame_bytes_max {
            return false;
        }
        let tagged = rules::apply(snapshot, class, ingress, adjacency.out);
        let mut header = Header { macs: *adjacency.macs(), ..Header::default() };
        if let Some(vlan) = adjacency.vlan {
            let pcp = snapshot.tags.pcp[tagged.tag.index()];
            let [a, b] = ethernet::VLAN.to_be_bytes();
            let [c, d] = ethernet::with_pcp(vlan.value(), pcp).to_be_bytes();
            (header.tag, header.has_tag) = ([a, b, c, d], true);
        }
        let at = self.count;
        #[expect(clippy::cast_possible_truncation, reason = "headers")]
        {
            header.grows_bytes = leaves as i8 - came as i8;
            let l3 = (ethernet::HEADER_BYTES + leaves) as u8;
            header.group = outcomes.group_index(tagged.outcome.with_l3(l3));
            self.frame_bytes_max[at] = frame_bytes_max as u32;
        }
        self.marking[at] = marking.0;
        self.hop[at] = hop;
        self.tos_kept[at] = if tagged.dscp.is_some() { 0b11 } else { 0xFF };
        self.tos_set[at] = u32::from(tagged.dscp.unwrap_or(0) << 2);
        self.are_plain &= header.grows_bytes == 0 && !header.has_tag;
        self.header[at] = header;
        self.sums[at] = Sums::default();
        self.count += 1;
        true
    }

    /// Adds the sums of the pairs to their outcome groups.
    #[inline(always)]
    pub(crate) fn add_to_groups(&self, outcomes: &mut OutcomeGroups) {
        for (sums, header) in self.sums.iter().zip(&self.header).take(self.count) {
            let Some(group) = outcomes.groups.get_mut(usize::from(header.group)) else { continue };
            let (frames, rx_bytes) = (sums.frames.reduce_add(), sums.bytes.reduce_add());
            let grown_bytes = i32::from(header.grows_bytes).cast_unsigned().wrapping_mul(frames);
            let bytes = rx_bytes.wrapping_add(grown_bytes);
            group.rx_bytes += rx_bytes;
            group.sums.add(FrameSums { frames, bytes, cost_bytes: sums.cost_bytes.reduce_add() });
        }
    }
}

impl Header {
    /// Makes room in front of the frames whose lanes are set. Returns those that have it.
    #[inline(never)]
    fn grow<F: Frame>(&self, is_it: u32x8, frames: &mut [F]) -> u32x8 {
        let bytes = usize::try_from(self.grows_bytes).unwrap_or(0);
        let mut grown = 0;
        for lane in lanes_of(is_it.to_bitmask()) {
            let has_room = frames.get_mut(lane).is_some_and(|frame| frame.grow_front(bytes));
            grown |= u32::from(has_room) << lane;
        }
        of_lanes(|lane| 0_u32.wrapping_sub(grown >> lane & 1))
    }

    /// [`Self::write`] for a header without a tag, as long as the frame's.
    #[inline(always)]
    fn write_plain<F: Frame>(&self, frame: &mut F, [first, second, third]: [u32; 3]) {
        if let Some(head) = frame.head_mut().first_chunk_mut::<26>() {
            head[..MACS].copy_from_slice(&self.macs);
            head[14..18].copy_from_slice(&first.to_le_bytes());
            head[18..22].copy_from_slice(&second.to_le_bytes());
            head[22..26].copy_from_slice(&third.to_le_bytes());
        }
    }

    /// Writes this header and the first 12 octets of the IP header.
    #[inline(always)]
    fn write<F: Frame>(&self, frame: &mut F, ip: [u32; 3]) {
        if self.grows_bytes < 0 {
            let _ = frame.shrink_front(usize::from(self.grows_bytes.unsigned_abs()));
        }
        let head = frame.head_mut();
        let Some(macs) = head.first_chunk_mut() else { return };
        *macs = self.macs;
        let l3 = if self.has_tag {
            if let Some(tag) = head.get_mut(MACS..).and_then(<[u8]>::first_chunk_mut) {
                *tag = self.tag;
            }
            ethernet::HEADER_BYTES + ethernet::TAG_BYTES
        } else {
            ethernet::HEADER_BYTES
        };
        let ip_header = head.get_mut(l3..).and_then(<[u8]>::first_chunk_mut::<12>);
        let Some(ip_header) = ip_header else { return };
        for (octets, word) in ip_header.as_chunks_mut::<4>().0.iter_mut().zip(ip) {
            *octets = word.to_le_bytes();
        }
    }
}

//! Rewrites and counts eight frames, by pair of marking and next hop; of bridged frames, by pair of
//! marking and [`Target`](super::stations::Target).
//!
//! Rules, priority, marking, the new Ethernet header and the outcome depend on these two alone.
//! They are determined once for each pair of a burst. A burst has few pairs.

use super::eight::Eight;
use super::header::Header;
use super::marking::Marking;
use super::stations::Target;
use super::tunnels::{Outer, Through};
use super::{ALL, LANES, octet};
use crate::fib::Hop;
use crate::frame::{Frame, length_bytes};
use crate::frame_sums::FrameSums;
use crate::l2::EgressForm;
use crate::limits::BURST_MAX;
use crate::pipeline::bridge;
use crate::pipeline::outcome_groups::OutcomeGroups;
use crate::pipeline::rules;
use crate::rx_queues::Ingress;
use crate::snapshot::{PortMode, PortTables, Snapshot};
use crate::wire::{ethernet, ipv4};
use wide::{i16x8, u8x16, u32x8};

/// Places of pairs in a table that any number below this power of two is an index of: the compiler
/// needs no check.
const PLACES: usize = BURST_MAX.next_power_of_two();

/// The pairs of the current burst, field by field, with the sums of their frames.
#[derive(Debug)]
pub(crate) struct Pairs {
    count: usize,
    /// Whether all have a [plain header](Header::is_plain).
    are_plain: bool,
    /// Whether all have a [tagged header](Header::is_tagged).
    are_tagged: bool,
    /// Whether one changes the DSCP.
    is_any_marked: bool,
    marking: [u32; BURST_MAX],
    /// Index of the next hop, or bits of the target.
    hop: [u32; BURST_MAX],
    /// Length of the longest frame that takes this path, as received.
    frame_bytes_max: [u32; BURST_MAX],
    given: [u32; BURST_MAX],
    header: [Header; PLACES],
    /// Of a pair whose frames go into a tunnel.
    outer: [Outer; BURST_MAX],
    sums: [Sums; BURST_MAX],
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
            are_tagged: true,
            is_any_marked: false,
            marking: none,
            hop: none,
            frame_bytes_max: none,
            given: none,
            header: [Header::default(); PLACES],
            outer: [Outer::NONE; BURST_MAX],
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
    /// What its pair gives it.
    given: Given,
}

impl Pairs {
    /// Removes the pairs of the previous burst.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.are_plain = true;
        self.are_tagged = true;
        self.is_any_marked = false;
    }

    /// Rewrites and counts up to eight frames, whose destinations were looked up. Bit i of the
    /// result is set if frame i was taken, and then place i of `groups` has the index of its
    /// outcome group. The others are unchanged.
    #[inline(always)]
    pub(crate) fn take<F: Frame, const IS_BRIDGED: bool>(
        &mut self,
        from: Input<'_>,
        eight: &Eight,
        frames: &mut [F],
        outcomes: &mut OutcomeGroups,
        groups: &mut [u8],
    ) -> u32 {
        let hops = if IS_BRIDGED { eight.leaves } else { eight.hops(from.snapshot, frames) };
        let cost_bytes_min = u32x8::splat(outcomes.cell_bytes);
        let mut left_out = eight.others();
        let none = u32x8::ZERO;
        let mut step = Step { is_known: none, is_taken: none, given: Given(none) };
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
            let is_added = if IS_BRIDGED {
                self.add_target(from, pair, outcomes)
            } else {
                self.add_route(from, pair, frame_bytes, outcomes)
            };
            if !is_added {
                left_out |= 1 << lane;
            }
        }
        let taken = step.is_taken.to_bitmask();
        let is_one_shape = taken == ALL && (self.are_plain || !IS_BRIDGED && self.are_tagged);
        if is_one_shape && let Some(groups) = groups.first_chunk_mut() {
            *groups = step.given.groups();
            if IS_BRIDGED && !self.is_any_marked {
                return taken;
            }
        }
        let (tos_kept, tos_set) = (step.given.tos_kept(), step.given.tos_set());
        let ip = if IS_BRIDGED {
            eight.marked(tos_kept, tos_set)
        } else {
            eight.rewritten(tos_kept, tos_set, u32x8::ONE)
        };
        if is_one_shape {
            let starts = eight.starts(ip).into_iter().zip(step.given.places());
            // Asked once, not for each frame: a frame that is written could be anything else, for
            // all that the compiler knows.
            if self.are_plain {
                for (frame, (ip, place)) in frames.iter_mut().zip(starts) {
                    self.header_at(place).write_plain::<F, IS_BRIDGED>(frame, ip);
                }
            } else {
                for (frame, (ip, place)) in frames.iter_mut().zip(starts) {
                    self.header_at(place).write_tagged(frame, ip);
                }
            }
            return taken;
        }
        // Not above, for both: there they stay in registers.
        let (ip, places) = (eight.starts(ip), step.given.places());
        for (lane, (frame, group)) in frames.iter_mut().zip(groups).enumerate().take(LANES) {
            if taken >> lane & 1 == 1 {
                let (ip, place) = (ip[lane], places[lane]);
                let header = self.header_at(place);
                *group = header.group;
                if IS_BRIDGED {
                    header.write_bridged(frame, ip);
                } else if header.in_tunnel
                    && let Some(outer) = self.outer.get(usize::from(place))
                {
                    outer.write(header, frame, ip, eight.v6 >> lane & 1 == 1);
                } else {
                    header.write(frame, ip);
                }
            }
        }
        taken
    }

    /// [`Self::take`] for the frames at the end of a burst, fewer than eight.
    #[inline(never)]
    pub(crate) fn take_rest<F: Frame, const IS_BRIDGED: bool>(
        &mut self,
        from: Input<'_>,
        eight: &Eight,
        frames: &mut [F],
        outcomes: &mut OutcomeGroups,
        groups: &mut [u8],
    ) -> u32 {
        self.take::<F, IS_BRIDGED>(from, eight, frames, outcomes, groups)
    }

    /// The header of the pair at `place`.
    #[inline(always)]
    const fn header_at(&self, place: u8) -> &Header {
        &self.header[place as usize % PLACES]
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
        step.given.0 |= is_it & u32x8::splat(self.given[at]);
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
    #[cold]
    #[inline(never)]
    fn add_route(
        &mut self,
        Input { snapshot, tables, ingress }: Input<'_>,
        (marking, is_tagged, hop): (Marking, bool, u32),
        frame_bytes: u16,
        outcomes: &mut OutcomeGroups,
    ) -> bool {
        let through = Through::from_bits(hop);
        let next = through.map_or(hop as usize, |through| through.hop);
        let Hop::Forward(adjacency) = snapshot.fib.hop_at(next) else { return false };
        let class = marking.class(snapshot, tables, ingress.port);
        let tag_bytes = |is_tagged| if is_tagged { ethernet::TAG_BYTES } else { 0 };
        let outer_bytes = |is_in_tunnel| if is_in_tunnel { ipv4::HEADER_BYTES } else { 0 };
        let came = tag_bytes(is_tagged) + outer_bytes(marking.has_left_tunnel());
        let l3 = ethernet::HEADER_BYTES + tag_bytes(adjacency.vlan.is_some());
        let outer = outer_bytes(through.is_some());
        let leaves = l3 + outer - ethernet::HEADER_BYTES;
        let frame_bytes_max = (usize::from(adjacency.frame_bytes_max) + came).saturating_sub(outer);
        // A frame that is too long must not create an outcome group, which could stay empty.
        if self.count == BURST_MAX || usize::from(frame_bytes) > frame_bytes_max {
            return false;
        }
        let (tagged, dscp) = if let Some(Through { id, .. }) = through {
            let Some(tunnel) = snapshot.tunnels.get(id) else { return false };
            let tags = &tunnel.outer_tag;
            let entering = rules::apply_through(snapshot, class, ingress, adjacency.out, tags);
            let Some(outer) = Outer::new(tunnel, entering.outer.dscp) else { return false };
            self.outer[self.count] = outer;
            (entering.outer, entering.inner_dscp)
        } else {
            let tagged = rules::apply(snapshot, class, ingress, adjacency.out);
            (tagged, tagged.dscp)
        };
        let pcp = snapshot.tags.pcp[tagged.tag.index()];
        let tci = adjacency.vlan.map(|vlan| ethernet::with_pcp(vlan.value(), pcp));
        let mut header = Header::new(*adjacency.macs(), tci);
        header.in_tunnel = through.is_some();
        header.has_new_type = marking.has_left_tunnel();
        let at = self.count;
        #[expect(clippy::cast_possible_truncation, reason = "headers")]
        {
            header.grows_bytes = leaves as i8 - came as i8;
            header.group = outcomes.group_index(tagged.outcome.with_l3(l3 as u8));
            self.frame_bytes_max[at] = frame_bytes_max as u32;
        }
        self.add(marking, hop, dscp, header);
        true
    }

    /// Adds the pair of a marking and a target. Returns false if its frames must take the generic
    /// path.
    #[cold]
    #[inline(never)]
    fn add_target(
        &mut self,
        Input { snapshot, tables, ingress }: Input<'_>,
        (marking, is_tagged, target): (Marking, bool, u32),
        outcomes: &mut OutcomeGroups,
    ) -> bool {
        let Some(Target { out, vid }) = Target::from_bits(target) else { return false };
        let port = snapshot.ports.get(out.index()).map(|port| &port.mode);
        let Some(PortMode::Bridged(form)) = port else { return false };
        let Some(egress) = form.egress(vid).filter(|_| self.count < BURST_MAX) else {
            return false;
        };
        let class = marking.class(snapshot, tables, ingress.port);
        let tagged = rules::apply(snapshot, class, ingress, out);
        let tci = (egress == EgressForm::Tagged).then(|| {
            let received = is_tagged.then(|| marking.tci());
            bridge::egress_tci(snapshot, received, &tagged, vid)
        });
        let mut header = Header::new(Default::default(), tci);
        let tag_bytes = |is_tagged| if is_tagged { ethernet::TAG_BYTES } else { 0 };
        let (came, leaves) = (tag_bytes(is_tagged), tag_bytes(tci.is_some()));
        #[expect(clippy::cast_possible_truncation, reason = "headers")]
        {
            header.grows_bytes = leaves as i8 - came as i8;
            let l3 = (ethernet::HEADER_BYTES + leaves) as u8;
            header.group = outcomes.group_index(tagged.outcome.with_l3(l3));
        }
        self.frame_bytes_max[self.count] = u32::MAX;
        self.add(marking, target, tagged.dscp, header);
        true
    }

    /// Adds a pair whose frames get this DSCP, if any.
    fn add(&mut self, marking: Marking, hop: u32, dscp: Option<u8>, header: Header) {
        let at = self.count;
        self.marking[at] = marking.0;
        self.hop[at] = hop;
        self.given[at] = Given::bits(at, header.group, dscp);
        self.are_plain &= header.is_plain();
        self.are_tagged &= header.is_tagged();
        self.is_any_marked |= dscp.is_some();
        self.header[at] = header;
        self.sums[at] = Sums::default();
        self.count += 1;
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

/// What a pair gives each of its frames, in the octets of a word: its index, the bits of TOS that
/// it sets, its outcome group, the bits of TOS that it keeps. By lane; 0 of a frame that is not
/// taken.
#[derive(Clone, Copy)]
struct Given(u32x8);

impl Given {
    /// Of the pair at `at`, whose frames get this DSCP, if any.
    #[expect(clippy::cast_possible_truncation, reason = "below BURST_MAX")]
    fn bits(at: usize, group: u8, dscp: Option<u8>) -> u32 {
        let tos_kept = if dscp.is_some() { 0b11 } else { 0xFF };
        u32::from_le_bytes([at as u8, dscp.unwrap_or(0) << 2, group, tos_kept])
    }

    #[inline(always)]
    fn places(self) -> [u8; LANES] {
        let each: [[u8; 4]; LANES] = bytemuck::cast(self.0);
        each.map(|[place, ..]| place)
    }

    #[inline(always)]
    fn tos_set(self) -> u32x8 {
        octet(self.0 >> 8)
    }

    #[inline(always)]
    fn groups(self) -> [u8; LANES] {
        let words = i16x8::from_i32x8_saturate(bytemuck::cast(octet(self.0 >> 16)));
        let [groups, _]: [[u8; LANES]; 2] = bytemuck::cast(u8x16::narrow_i16x8(words, words));
        groups
    }

    #[inline(always)]
    fn tos_kept(self) -> u32x8 {
        self.0 >> 24
    }
}

const _: () = assert!(BURST_MAX <= 1 << u8::BITS, "the index of a pair is an octet");

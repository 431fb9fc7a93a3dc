//! What plain frames of one class and one next hop have in common: everything but their bytes.
//!
//! Rules, priority, marking and the new Ethernet header follow from the class and the hop alone, so
//! a burst works them out once for each such pair, and a frame only has them applied. A burst has
//! few pairs; even one with 64 is no slower than asking for each frame.

use crate::classify::Class;
use crate::fates::{Fates, Index};
use crate::fib::{Hop, Leaf};
use crate::frame::{Frame, length_bytes};
use crate::ids::PortId;
use crate::lane::{self, Fate};
use crate::limits::BURST_MAX;
use crate::plain::PLAIN_BYTES;
use crate::route;
use crate::snapshot::Snapshot;
use crate::wire::{ethernet, ipv4};
use arrayvec::ArrayVec;

/// Where the parts of [`Recipe::sums`] begin. Each has room for a burst of the longest frames.
const COST_SHIFT: u32 = 24;
const FRAMES_SHIFT: u32 = 48;

/// Where the IP header of a plain frame is, coming and going.
const PLAIN_L3: u8 = 14;
const _: () = assert!(PLAIN_L3 as usize == ethernet::HEADER_BYTES);

/// How the plain frames of one pair are treated.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Recipe {
    /// Class in the upper half, index of the hop in the lower.
    key: u64,
    /// Frames, their cost and their bytes so far in this burst, in one number: one addition a
    /// frame.
    sums: u64,
    /// Destination and source address.
    macs: [u8; 12],
    /// The longest frame that goes this way.
    frame_bytes_max: u16,
    /// The frame's tally.
    tally: u8,
    /// What stays of TOS, and what is put in.
    tos_kept: u8,
    tos_set: u8,
}

/// The recipes of the burst in hand.
#[derive(Debug, Default)]
pub(crate) struct Recipes {
    index: Index,
    recipes: ArrayVec<Recipe, BURST_MAX>,
}

impl Recipes {
    /// Forgets the burst before, whose sums have been [taken](Self::book).
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.index.clear(self.recipes.iter().map(|recipe| recipe.key));
        self.recipes.clear();
    }

    /// Takes one plain frame, whose destination led to `leaf`, through rules and rewrite, and
    /// counts it: the place of its tally. `None`, and the frame is as it was, if it must go the
    /// general way.
    #[inline(always)]
    pub(crate) fn apply<F: Frame>(
        &mut self,
        snapshot: &Snapshot,
        input: PortId,
        class: Class,
        leaf: Leaf,
        frame: &mut F,
        fates: &mut Fates,
    ) -> Option<u8> {
        let hop = hop_of(snapshot, leaf, frame);
        let key = u64::from(class.bits()) << 32 | hop as u64;
        let recipes = &self.recipes;
        let found = self.index.find(key, |at| recipes.get(usize::from(at)).map(|r| r.key));
        let at = match found {
            Ok(at) => at,
            Err(bucket) => match self.write(snapshot, input, class, hop, frame, fates) {
                Some(recipe) => self.keep(bucket, Recipe { key, ..recipe }),
                None => return None,
            },
        };
        let recipe = self.recipes.get_mut(usize::from(at))?;
        recipe.apply(frame, fates.cell_bytes).then_some(recipe.tally)
    }

    /// The recipe for frames like `frame`, if they have one.
    #[inline(never)]
    fn write<F: Frame>(
        &self,
        snapshot: &Snapshot,
        input: PortId,
        class: Class,
        hop: usize,
        frame: &F,
        fates: &mut Fates,
    ) -> Option<Recipe> {
        let (recipe, fate) = Recipe::new(snapshot, input, class, hop, length_bytes(frame))?;
        Some(Recipe { tally: fates.place(fate), ..recipe })
    }

    #[inline(always)]
    fn keep(&mut self, bucket: usize, recipe: Recipe) -> u8 {
        #[expect(clippy::cast_possible_truncation, reason = "a burst has 64 frames at the most")]
        let at = self.recipes.len() as u8;
        self.recipes.push(recipe);
        self.index.set(bucket, at);
        at
    }

    /// Adds what was counted to the tallies.
    #[inline(always)]
    pub(crate) fn book(&self, fates: &mut Fates) {
        for recipe in &self.recipes {
            let part = |shift: u32| (recipe.sums >> shift & 0xFF_FFFF) as u32;
            let Some(tally) = fates.tallies.get_mut(usize::from(recipe.tally)) else { continue };
            tally.frames += part(FRAMES_SHIFT);
            tally.rx_bytes += part(0);
            tally.bytes += part(0);
            tally.cost_bytes += part(COST_SHIFT);
        }
    }
}

/// The index of the hop that `frame`, whose destination led to `leaf`, takes.
#[inline(always)]
pub(crate) fn hop_of<F: Frame>(snapshot: &Snapshot, leaf: Leaf, frame: &F) -> usize {
    if leaf.is_group() {
        // The whole head: the flow's ports lie behind the headers.
        leaf.member(route::flow_hash_v4(snapshot, frame.head(), ethernet::HEADER_BYTES))
    } else {
        leaf.first()
    }
}

impl Recipe {
    /// How plain frames of `class` from `input` to `hop` are treated, and their fate; `None` if one
    /// of `frame_bytes` must go the general way.
    #[inline(always)]
    pub(crate) fn new(
        snapshot: &Snapshot,
        input: PortId,
        class: Class,
        hop: usize,
        frame_bytes: u16,
    ) -> Option<(Self, Fate)> {
        let Hop::Forward(adjacency) = snapshot.fib.hop_at(hop) else { return None };
        // A frame that does not fit must not found a tally that no frame may come to join.
        if adjacency.vlan.is_some() || frame_bytes > adjacency.frame_bytes_max {
            return None;
        }
        let tagged = lane::tag(snapshot, class, input, adjacency.out);
        let recipe = Self {
            key: 0,
            sums: 0,
            macs: *adjacency.macs(),
            frame_bytes_max: adjacency.frame_bytes_max,
            tally: 0,
            tos_kept: if tagged.dscp.is_some() { 0b11 } else { 0xFF },
            tos_set: tagged.dscp.unwrap_or(0) << 2,
        };
        Some((recipe, tagged.fate.with_l3(PLAIN_L3)))
    }

    #[inline(always)]
    pub(crate) fn apply<F: Frame>(&mut self, frame: &mut F, cell_bytes: u32) -> bool {
        let bytes = length_bytes(frame);
        let Some(header) = frame.head_mut().first_chunk_mut::<PLAIN_BYTES>() else { return false };
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

const _: () = assert!(size_of::<Recipe>() == 64, "a recipe is one cache line");
const _: () = assert!(
    BURST_MAX * (u16::MAX as usize) < 1 << COST_SHIFT,
    "the sums of a burst do not run into each other"
);

//! The outcome of a frame: the result of the stages, which dispatch acts on.

use crate::buffer::ViqId;
use crate::counters::DropReason;
use crate::frame_sums::FrameSums;
use crate::ids::{PortId, Priority, Tag};
use crate::limits::PORTS_MAX;
use crate::punt::PuntReason;

/// The kind of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// To a port and priority.
    Forward,
    /// To every other port of its VLAN.
    Flood,
    /// To the control thread.
    Punt(PuntReason),
    /// Dropped.
    Drop(DropReason),
    /// Consumed by the port that received it: MAC control (PFC, PAUSE).
    Consume,
}

impl Verdict {
    const PUNT: u8 = 16;
    const DROP: u8 = 64;

    /// A unique code for each verdict.
    #[inline(always)]
    const fn code(self) -> u8 {
        match self {
            Self::Forward => 0,
            Self::Flood => 1,
            Self::Consume => 2,
            Self::Punt(reason) => Self::PUNT + reason as u8,
            Self::Drop(reason) => Self::DROP + reason as u8,
        }
    }

    fn from_code(code: u8) -> Self {
        match code {
            0 => Self::Forward,
            1 => Self::Flood,
            Self::PUNT..Self::DROP => Self::Punt(PuntReason::ALL[usize::from(code - Self::PUNT)]),
            Self::DROP.. => Self::Drop(DropReason::ALL[usize::from(code - Self::DROP)]),
            _ => Self::Consume,
        }
    }
}

const _: () = assert!(DropReason::COUNT < 192, "a verdict's code has eight bits");

/// The outcome of a frame, with everything that accounting needs except the length. Frames of one
/// burst with the same outcome are counted together. It is packed for the same reason as
/// [`Class`](crate::pipeline::class::Class), and so that a comparison is one instruction.
///
/// From the lowest bit on: VIQ (16), egress port (8), tag before a change (6), followed (1), none
/// (1), verdict (8), egress priority (3), change (2), class (5), tag after a change (6), offset of
/// the IP header (8).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome(u64);

const _: () = assert!(PORTS_MAX <= 256, "an egress port has eight bits");

const TAG_BEFORE: u32 = 24;
const FOLLOWED: u64 = 1 << 30;
const CHANGE: u32 = 43;
const CLASS: u32 = 45;
const CLASS_MASK: u64 = 0x1F;
const TAG_AFTER: u32 = 50;

/// The class value for "not classified".
const NO_CLASS: u8 = 8;
/// Added to the class of a frame that is not counted as received in that class.
const UNCOUNTED: u8 = 16;

impl Outcome {
    /// For a frame that is not forwarded, with ingress priority `class` if it was classified.
    #[inline(always)]
    pub(crate) const fn ends(verdict: Verdict, class: Option<Priority>) -> Self {
        let class = match class {
            Some(class) => class.value(),
            None => NO_CLASS,
        };
        Self(ViqId::NONE.bits() as u64 | (verdict.code() as u64) << 32 | (class as u64) << CLASS)
    }

    /// For a frame that is not forwarded and not counted as received in a class: it was not
    /// addressed to this port, or could not be parsed. `class` is the class of its marking, as far
    /// as that was parsed.
    #[inline(always)]
    pub(crate) const fn ends_unclassified(verdict: Verdict, class: Priority) -> Self {
        let class = UNCOUNTED + class.value();
        Self(ViqId::NONE.bits() as u64 | (verdict.code() as u64) << 32 | (class as u64) << CLASS)
    }

    /// For a frame of ingress priority `class`, charged to `viq`, that leaves port `out` with
    /// `priority`. It has no IP header unless [`Self::with_l3`] sets the offset.
    #[inline(always)]
    pub(crate) const fn forward(
        viq: ViqId,
        out: PortId,
        priority: Priority,
        change: TagChange,
        class: Priority,
    ) -> Self {
        Self(
            viq.bits() as u64
                | (out.index_u16() as u64) << 16
                | (priority.value() as u64) << 40
                | (change as u64) << CHANGE
                | (class.value() as u64) << CLASS,
        )
    }

    /// The same for frames that came with `tag` and leave with `new_tag`.
    #[inline(always)]
    pub(crate) const fn with_tags(self, tag: Tag, new_tag: Tag) -> Self {
        let tags = (tag.value() as u64) << TAG_BEFORE | (new_tag.value() as u64) << TAG_AFTER;
        Self(self.0 | tags)
    }

    /// The tags before and after, if a rule changed the tag.
    pub(crate) fn tags(self) -> (Tag, Tag) {
        let tag = |shift: u32| Tag::from_low_bits((self.0 >> shift & 63) as u8);
        (tag(TAG_BEFORE), tag(TAG_AFTER))
    }

    /// The same, with the IP header at offset `l3` of the transmitted frame.
    #[inline(always)]
    pub(crate) const fn with_l3(self, l3: u8) -> Self {
        Self(self.0 & (u64::MAX >> 8) | (l3 as u64) << 56)
    }

    /// Offset of the IP header in the transmitted frame, 0 if there is none.
    #[inline(always)]
    pub(crate) const fn l3(self) -> u8 {
        (self.0 >> 56) as u8
    }

    /// The same for a frame that a capture follows: it is of no group with frames that none does.
    #[inline(always)]
    pub(crate) const fn followed(self) -> Self {
        Self(self.0 | FOLLOWED)
    }

    /// Whether a capture follows the frame through its burst.
    #[inline(always)]
    pub(crate) const fn is_followed(self) -> bool {
        self.0 & FOLLOWED != 0
    }

    /// The verdict.
    #[inline(always)]
    pub(crate) fn verdict(self) -> Verdict {
        Verdict::from_code((self.0 >> 32 & 0xFF) as u8)
    }

    /// Whether the verdict is [`Verdict::Forward`].
    #[inline(always)]
    pub(crate) const fn is_forward(self) -> bool {
        self.0 >> 32 & 0xFF == 0
    }

    /// The VIQ that the frame is charged to.
    #[inline(always)]
    pub(crate) const fn viq(self) -> ViqId {
        ViqId::from_bits((self.0 & 0xFFFF) as u16)
    }

    /// The egress port.
    #[inline(always)]
    pub(crate) fn out(self) -> PortId {
        PortId::from_index((self.0 >> 16 & 0xFF) as usize).unwrap_or_default()
    }

    /// The egress priority.
    #[inline(always)]
    pub(crate) const fn priority(self) -> Priority {
        Priority::from_low_bits((self.0 >> 40 & 7) as u8)
    }

    /// What the rules did to the tag.
    #[inline(always)]
    pub(crate) const fn change(self) -> TagChange {
        match self.0 >> CHANGE & 3 {
            0 => TagChange::None,
            1 => TagChange::Remarked,
            2 => TagChange::Raised,
            _ => TagChange::Demoted,
        }
    }

    /// The ingress priority in which the frame is counted as received, if any.
    #[inline(always)]
    pub(crate) const fn class(self) -> Option<Priority> {
        Priority::new((self.0 >> CLASS & CLASS_MASK) as u8)
    }

    /// The ingress priority of the frame's marking as far as it was parsed, counted or not.
    #[inline(always)]
    pub(crate) const fn marked_class(self) -> Option<Priority> {
        Priority::new((self.0 >> CLASS & CLASS_MASK & !(UNCOUNTED as u64)) as u8)
    }

    /// The packed value, unique for each outcome.
    #[inline(always)]
    pub(crate) const fn key(self) -> u64 {
        self.0
    }
}

impl core::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Outcome")
            .field("verdict", &self.verdict())
            .field("viq", &self.viq())
            .field("out", &self.out())
            .field("priority", &self.priority())
            .field("change", &self.change())
            .field("class", &self.class())
            .field("tags", &self.tags())
            .field("l3", &self.l3())
            .field("is_followed", &self.is_followed())
            .finish()
    }
}

/// The outcome and the lengths of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameOutcome {
    pub(crate) outcome: Outcome,
    /// Length as received, in bytes.
    pub(crate) rx_bytes: u16,
    /// Length as transmitted, in bytes.
    pub(crate) bytes: u16,
}

impl FrameOutcome {
    /// For a frame of `rx_bytes` that is not forwarded, with ingress priority `class` if it was
    /// classified.
    #[inline(always)]
    pub(crate) const fn ends(verdict: Verdict, class: Option<Priority>, rx_bytes: u16) -> Self {
        Self { outcome: Outcome::ends(verdict, class), rx_bytes, bytes: rx_bytes }
    }
}

/// The outcome of a frame that is not forwarded. A frame that was addressed to this port is counted
/// as received in `class`; for other frames `class` only records the marking.
pub(crate) fn ends_with(verdict: Verdict, class: Priority, rx_bytes: u16) -> FrameOutcome {
    match verdict {
        Verdict::Punt(_) | Verdict::Drop(DropReason::SourcePortFiltered) => {
            FrameOutcome::ends(verdict, Some(class), rx_bytes)
        }
        _ => {
            let outcome = Outcome::ends_unclassified(verdict, class);
            FrameOutcome { outcome, rx_bytes, bytes: rx_bytes }
        }
    }
}

/// What happened to a frame's tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TagChange {
    /// The tag is unchanged.
    None,
    /// The frame's marking was not trusted, or disagreed with its tag.
    Remarked,
    /// A rule changed it to another lossless tag.
    Raised,
    /// A rule, or the absence of one, made it lossy.
    Demoted,
}

/// The frames of a burst with one outcome, and their sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutcomeGroup {
    pub(crate) outcome: Outcome,
    /// Bytes as received.
    pub(crate) rx_bytes: u32,
    pub(crate) sums: FrameSums,
}

impl OutcomeGroup {
    /// A group of one frame whose buffer cost is charged elsewhere.
    pub(crate) fn of_one(frame_outcome: &FrameOutcome) -> Self {
        let &FrameOutcome { outcome, rx_bytes, bytes } = frame_outcome;
        Self { outcome, rx_bytes: rx_bytes.into(), sums: FrameSums::of_one(bytes, 0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(
            out in 0_usize..256, input in 0_usize..256, p in 0_u8..8, class in 0_u8..8, change in 0_usize..4, l3: u8,
            before in 0_u8..64, after in 0_u8..64,
        ) {
            let changes = [TagChange::None, TagChange::Remarked, TagChange::Raised, TagChange::Demoted];
            let port = |index| PortId::from_index(index).unwrap();
            let (out, priority, class) = (port(out), Priority::from_low_bits(p), Priority::from_low_bits(class));
            let viq = ViqId::new(port(input), priority);
            let outcome = Outcome::forward(viq, out, priority, changes[change], class).with_l3(l3);
            let tags = (Tag::from_low_bits(before), Tag::from_low_bits(after));
            let outcome = outcome.with_tags(tags.0, tags.1);
            prop_assert_eq!(outcome.tags(), tags);
            prop_assert_eq!(outcome.l3(), l3);
            prop_assert_eq!((outcome.viq(), outcome.out(), outcome.priority()), (viq, out, priority));
            prop_assert_eq!((outcome.change(), outcome.class()), (changes[change], Some(class)));
            prop_assert!(outcome.is_forward());
            prop_assert_eq!(outcome.verdict(), Verdict::Forward);
            prop_assert!(!outcome.is_followed() && outcome.followed().is_followed());
            prop_assert_eq!(outcome.followed().key() ^ outcome.key(), FOLLOWED);
        }
    }

    #[test]
    fn every_verdict_is_unpacked_as_it_was_packed() {
        let punts = PuntReason::ALL.iter().map(|&reason| Verdict::Punt(reason));
        let drops = DropReason::ALL.iter().map(|&reason| Verdict::Drop(reason));
        let others = [Verdict::Flood, Verdict::Consume];
        for verdict in punts.chain(drops).chain(others) {
            for class in [None, Some(Priority::from_low_bits(5))] {
                let outcome = Outcome::ends(verdict, class);
                assert_eq!((outcome.verdict(), outcome.class()), (verdict, class));
                assert!(!outcome.is_forward());
                assert_eq!((outcome.viq(), outcome.marked_class()), (ViqId::NONE, class));
            }
            let class = Priority::from_low_bits(7);
            let outcome = Outcome::ends_unclassified(verdict, class);
            assert_eq!((outcome.verdict(), outcome.class()), (verdict, None));
            assert_eq!(outcome.marked_class(), Some(class));
        }
    }
}

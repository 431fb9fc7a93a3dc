//! What the stages find out of one frame, and what frames of one burst have in common.

use crate::agent::PuntReason;
use crate::buffer::ViqId;
use crate::classify::Class;
use crate::counters::DropReason;
use crate::ids::{PortId, Priority, Tag};
use crate::snapshot::Snapshot;

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// To a port and priority.
    Forward,
    /// To every other port of its VLAN.
    Flood,
    /// To the control thread.
    Punt(PuntReason),
    /// Nowhere.
    Drop(DropReason),
    /// It was for this port alone: PFC, PAUSE.
    Consume,
}

impl Verdict {
    const PUNT: u8 = 16;
    const DROP: u8 = 64;

    /// A number of its own for each verdict.
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

/// What becomes of a frame, with everything that is booked for it but its length. Frames of one
/// burst that share it are booked together. Packed, as [`Class`] is and for the same reason; and
/// telling two apart is one compare.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fate(u64);

/// The class that stands for "not classified".
const NO_CLASS: u8 = 8;
/// Added to the class of a frame that is not counted as received in it.
const UNCOUNTED: u8 = 16;

impl Fate {
    /// Of a frame that ends here, of priority `class` if it got that far.
    #[inline(always)]
    pub(crate) const fn ends(verdict: Verdict, class: Option<Priority>) -> Self {
        let class = match class {
            Some(class) => class.value(),
            None => NO_CLASS,
        };
        Self(ViqId::NONE.bits() as u64 | (verdict.code() as u64) << 32 | (class as u64) << 48)
    }

    /// Of a frame that ends here and is not counted as received in a class: it was not for this
    /// port, or could not be read. Its marking, as far as that was read, is of `class`.
    #[inline(always)]
    pub(crate) const fn ends_unclassified(verdict: Verdict, class: Priority) -> Self {
        let class = UNCOUNTED + class.value();
        Self(ViqId::NONE.bits() as u64 | (verdict.code() as u64) << 32 | (class as u64) << 48)
    }

    /// Of a frame of ingress priority `class`, charged to `viq`, that leaves by `out` with
    /// `priority`; without an IP header, until [`Self::with_l3`] says where it is.
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
                | (change as u64) << 44
                | (class.value() as u64) << 48,
        )
    }

    /// The same with the IP header at offset `l3` of the frame as it leaves.
    #[inline(always)]
    pub(crate) const fn with_l3(self, l3: u8) -> Self {
        Self(self.0 & (u64::MAX >> 8) | (l3 as u64) << 56)
    }

    /// Offset of the IP header as the frame leaves, 0 if there is none.
    #[inline(always)]
    pub(crate) const fn l3(self) -> u8 {
        (self.0 >> 56) as u8
    }

    /// What becomes of the frame.
    #[inline(always)]
    pub(crate) fn verdict(self) -> Verdict {
        Verdict::from_code((self.0 >> 32 & 0xFF) as u8)
    }

    /// Whether it goes to a port.
    #[inline(always)]
    pub(crate) const fn is_forward(self) -> bool {
        self.0 >> 32 & 0xFF == 0
    }

    /// The VIQ it is charged to.
    #[inline(always)]
    pub(crate) const fn viq(self) -> ViqId {
        ViqId::from_bits((self.0 & 0xFFFF) as u16)
    }

    /// Where it leaves.
    #[inline(always)]
    pub(crate) fn out(self) -> PortId {
        PortId::from_index((self.0 >> 16 & 0xFFFF) as usize).unwrap_or_default()
    }

    /// The priority it leaves with.
    #[inline(always)]
    pub(crate) const fn priority(self) -> Priority {
        Priority::from_low_bits((self.0 >> 40 & 7) as u8)
    }

    /// What the rules did.
    #[inline(always)]
    pub(crate) const fn change(self) -> TagChange {
        match self.0 >> 44 & 3 {
            0 => TagChange::None,
            1 => TagChange::Remarked,
            2 => TagChange::Raised,
            _ => TagChange::Demoted,
        }
    }

    /// The priority it came in with, if it got as far as being classified.
    #[inline(always)]
    pub(crate) const fn class(self) -> Option<Priority> {
        Priority::new((self.0 >> 48 & 0xFF) as u8)
    }

    /// The priority that it came in with as far as its marking was read, counted or not.
    #[inline(always)]
    pub(crate) const fn marked_class(self) -> Option<Priority> {
        Priority::new((self.0 >> 48 & 0xFF & !(UNCOUNTED as u64)) as u8)
    }

    /// The fate as a number of its own.
    #[inline(always)]
    pub(crate) const fn key(self) -> u64 {
        self.0
    }
}

impl core::fmt::Debug for Fate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Fate")
            .field("verdict", &self.verdict())
            .field("viq", &self.viq())
            .field("out", &self.out())
            .field("priority", &self.priority())
            .field("change", &self.change())
            .field("class", &self.class())
            .field("l3", &self.l3())
            .finish()
    }
}

/// One frame's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) fate: Fate,
    /// Length as it came, in bytes.
    pub(crate) rx_bytes: u16,
    /// Length as it leaves, in bytes.
    pub(crate) bytes: u16,
}

impl Lane {
    /// The lane of a frame of `rx_bytes` that ends here, of priority `class` if it got that far.
    #[inline(always)]
    pub(crate) const fn ends(verdict: Verdict, class: Option<Priority>, rx_bytes: u16) -> Self {
        Self { fate: Fate::ends(verdict, class), rx_bytes, bytes: rx_bytes }
    }
}

/// What becomes of a frame that is not forwarded, and in which class it is counted: frames that
/// were for this port are, the others end with their marking only.
pub(crate) fn ends_with(verdict: Verdict, class: Priority, rx_bytes: u16) -> Lane {
    match verdict {
        Verdict::Punt(_) | Verdict::Drop(DropReason::SamePort) => {
            Lane::ends(verdict, Some(class), rx_bytes)
        }
        _ => {
            let fate = Fate::ends_unclassified(verdict, class);
            Lane { fate, rx_bytes, bytes: rx_bytes }
        }
    }
}

/// What became of a frame's tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TagChange {
    /// It is what the frame came with.
    None,
    /// The frame's marking was not believed.
    Remarked,
    /// A rule moved it to another lossless tag.
    Raised,
    /// A rule, or the lack of one, made it lossy.
    Demoted,
}

/// The outcome of rules for one (frame, out port).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tagged {
    /// The tag it goes on with.
    pub(crate) tag: Tag,
    /// The DSCP to write, where the marking changes.
    pub(crate) dscp: Option<u8>,
    /// Where that leads.
    pub(crate) fate: Fate,
}

/// Rules: the tag that a frame of `class` goes on with from `input` to `output`, and what follows.
///
/// The egress priority follows the *new* tag (Tagger, Fig. 8); the VIQ follows the old one. A frame
/// that becomes lossy here is charged as lossy, so that it can neither pause upstream nor use
/// headroom.
#[inline(always)]
pub(crate) fn tag(snapshot: &Snapshot, class: Class, input: PortId, output: PortId) -> Tagged {
    let tag = snapshot.new_tag(class, input, output);
    if tag != class.tag() || class.must_remark() {
        return changed(snapshot, class, tag, input, output);
    }
    let priority = class.priority();
    let viq = ViqId::new(input, priority);
    let fate = Fate::forward(viq, output, priority, TagChange::None, priority);
    Tagged { tag, dscp: None, fate }
}

/// The same for a frame whose marking changes.
#[inline(never)]
fn changed(snapshot: &Snapshot, class: Class, tag: Tag, input: PortId, output: PortId) -> Tagged {
    let is_own = tag == class.tag();
    // Of frames that go by their hops the tag does not know the priority.
    let priority = if is_own { class.priority() } else { snapshot.tags.priority[tag.index()] };
    let change = match tag {
        _ if is_own => TagChange::Remarked,
        _ if snapshot.tags.is_lossless(tag) => TagChange::Raised,
        _ => TagChange::Demoted,
    };
    let charged = if change == TagChange::Demoted { priority } else { class.priority() };
    let viq = ViqId::new(input, charged);
    let fate = Fate::forward(viq, output, priority, change, class.priority());
    Tagged { tag, dscp: Some(snapshot.tags.dscp[tag.index()]), fate }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(
            out in 0_usize..256, input in 0_usize..256, p in 0_u8..8, class in 0_u8..8, change in 0_usize..4, l3: u8,
        ) {
            let changes = [TagChange::None, TagChange::Remarked, TagChange::Raised, TagChange::Demoted];
            let port = |index| PortId::from_index(index).unwrap();
            let (out, priority, class) = (port(out), Priority::from_low_bits(p), Priority::from_low_bits(class));
            let viq = ViqId::new(port(input), priority);
            let fate = Fate::forward(viq, out, priority, changes[change], class).with_l3(l3);
            prop_assert_eq!(fate.l3(), l3);
            prop_assert_eq!((fate.viq(), fate.out(), fate.priority()), (viq, out, priority));
            prop_assert_eq!((fate.change(), fate.class()), (changes[change], Some(class)));
            prop_assert!(fate.is_forward());
            prop_assert_eq!(fate.verdict(), Verdict::Forward);
        }
    }

    #[test]
    fn every_verdict_is_unpacked_as_it_was_packed() {
        let punts = PuntReason::ALL.map(Verdict::Punt);
        let drops = DropReason::ALL.iter().map(|&reason| Verdict::Drop(reason));
        let others = [Verdict::Flood, Verdict::Consume];
        for verdict in punts.into_iter().chain(drops).chain(others) {
            for class in [None, Some(Priority::from_low_bits(5))] {
                let fate = Fate::ends(verdict, class);
                assert_eq!((fate.verdict(), fate.class()), (verdict, class));
                assert!(!fate.is_forward());
                assert_eq!((fate.viq(), fate.marked_class()), (ViqId::NONE, class));
            }
            let class = Priority::from_low_bits(7);
            let fate = Fate::ends_unclassified(verdict, class);
            assert_eq!((fate.verdict(), fate.class()), (verdict, None));
            assert_eq!(fate.marked_class(), Some(class));
        }
    }
}

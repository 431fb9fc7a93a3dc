//! TTL classes: the buffer class of a frame follows from its TTL.
//!
//! A frame's class is the number of switches that it has passed: `ttl0` minus the TTL with which it
//! leaves. Its VIQ (virtual ingress queue) and VEQ (virtual egress queue) are those of that class.
//! So a VIQ of class j is fed by the VEQ of class j - 1 upstream, and its pauses name class j - 1.
//! A queue then waits only for queues of higher classes, and the highest class waits for none. This
//! excludes deadlock for all routes, loops included (TTL-based buffer management, sections 1.2 to
//! 1.4).
//!
//! A frame that has made more hops than there are classes becomes lossy. So does a frame whose
//! sender did not start at `ttl0`.

use crate::ids::Priority;
use crate::limits::PRIORITIES;
use crate::pipeline::class::Class;
use arrayvec::ArrayVec;

/// The classes for which a switch has buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parity {
    /// All of them.
    #[default]
    All,
    /// Odd ones: in a tree whose leaf switches have the hosts, the leaves and every second level
    /// above.
    Odd,
    /// Even ones: the levels between.
    Even,
}

impl Parity {
    /// Whether frames of class number `class` may arrive at this switch.
    #[inline]
    pub const fn holds(self, class: usize) -> bool {
        match self {
            Self::All => true,
            Self::Odd => class % 2 == 1,
            Self::Even => class.is_multiple_of(2),
        }
    }
}

/// The TTL classes of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TtlClasses {
    /// The initial TTL of lossless frames.
    pub ttl0: u8,
    /// The priority of each class, by class number. Class 0 is that of the sending hosts.
    pub priorities: ArrayVec<Priority, PRIORITIES>,
    /// Which classes may arrive at this switch.
    pub parity: Parity,
}

impl TtlClasses {
    /// The class of a frame that leaves a node with `ttl`; `None` if it has none.
    pub(crate) fn class_leaving(&self, ttl: u8) -> Option<usize> {
        let class = usize::from(self.ttl0.checked_sub(ttl)?);
        (class < self.priorities.len()).then_some(class)
    }

    /// The priority of a frame that leaves a node with `ttl`; `None` if it is not lossless.
    pub fn priority_leaving(&self, ttl: u8) -> Option<Priority> {
        Some(self.priorities[self.class_leaving(ttl)?])
    }

    /// The classes of frames in this switch, its own hop included.
    pub fn classes_here(&self) -> impl Iterator<Item = usize> {
        (1..self.priorities.len()).filter(|&class| self.parity.holds(class))
    }

    /// Bits of the priorities whose frames are lossless in this switch.
    pub fn lossless_bits(&self) -> u8 {
        self.classes_here().fold(0, |bits, class| bits | self.priorities[class].bit())
    }

    /// By priority of a VIQ: the priority of its frames upstream, which a pause names. A priority
    /// that is no class maps to itself.
    pub fn upstream(&self) -> [Priority; PRIORITIES] {
        let mut upstream = Priority::EACH;
        for class in 1..self.priorities.len() {
            upstream[self.priorities[class].index()] = self.priorities[class - 1];
        }
        upstream
    }
}

/// By the TTL with which a frame arrives: its priority, if it is lossless.
#[derive(Clone, Debug)]
pub(crate) struct TtlClassTable {
    by_ttl: [u8; 256],
    /// The class of frames that are not lossless.
    lossy: Class,
}

/// No lossless class.
const NONE: u8 = u8::MAX;

impl TtlClassTable {
    /// The table of a port. If the port is not `trusted` (it faces hosts), only the first hop is
    /// lossless.
    pub(crate) fn compile(ttl_classes: &TtlClasses, trusted: bool, lossy: Class) -> Self {
        let by_ttl = core::array::from_fn(|ttl| {
            // TTL 0 cannot be decremented; such a frame is handled as one whose TTL has expired.
            let left = u8::try_from(ttl).ok().and_then(|ttl| ttl.checked_sub(1));
            let class = left.and_then(|ttl| ttl_classes.class_leaving(ttl));
            let class = class.filter(|&class| class > 0 && ttl_classes.parity.holds(class));
            let class = class.filter(|&class| trusted || class == 1);
            class.map_or(NONE, |class| ttl_classes.priorities[class].value())
        });
        Self { by_ttl, lossy }
    }

    /// The class of a frame that is lossless by its marking and arrives with `ttl`; a lossy class
    /// is unchanged.
    #[inline(always)]
    pub(crate) fn of(&self, class: Class, ttl: u8) -> Class {
        match self.by_ttl[usize::from(ttl)] {
            _ if !class.is_lossless() => class,
            NONE => self.lossy,
            priority => class.with_priority(Priority::from_low_bits(priority)),
        }
    }

    /// The class of a frame without a TTL.
    pub(crate) const fn of_none(&self, class: Class) -> Class {
        if class.is_lossless() { self.lossy } else { class }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Tag;

    fn p(value: u8) -> Priority {
        Priority::from_low_bits(value)
    }

    /// Classes 0 to 3 on priorities 0, 3, 1 and 4, from TTL 64.
    fn ttl_classes(parity: Parity) -> TtlClasses {
        TtlClasses { ttl0: 64, priorities: [p(0), p(3), p(1), p(4)].into_iter().collect(), parity }
    }

    const LOSSY: Class = Class::new(Tag::from_low_bits(9), Priority::from_low_bits(7), false, true);

    /// The priority of a lossless frame that arrives with each TTL.
    fn found(parity: Parity, trusted: bool) -> alloc::vec::Vec<(u8, u8)> {
        let table = TtlClassTable::compile(&ttl_classes(parity), trusted, LOSSY);
        let class = Class::new(Tag::from_low_bits(1), p(6), true, false);
        let of = |ttl| (ttl, table.of(class, ttl));
        let lossless = (0..=255).map(of).filter(|(_, class)| class.is_lossless());
        lossless.map(|(ttl, class)| (ttl, class.priority().value())).collect()
    }

    #[test]
    fn class_is_hops_so_far_this_one_counted() {
        assert_eq!(found(Parity::All, true), [(62, 4), (63, 1), (64, 3)]);
        assert_eq!(found(Parity::Odd, true), [(62, 4), (64, 3)]);
        assert_eq!(found(Parity::Even, true), [(63, 1)]);
        assert_eq!(found(Parity::All, false), [(64, 3)], "a host cannot begin further on");
        assert_eq!(found(Parity::Even, false), []);
    }

    #[test]
    fn lossy_frames_stay_as_they_are_and_frames_without_a_ttl_are_not_lossless() {
        let table = TtlClassTable::compile(&ttl_classes(Parity::All), true, LOSSY);
        let lossy = Class::new(Tag::from_low_bits(2), p(2), false, false);
        let lossless = Class::new(Tag::from_low_bits(1), p(6), true, false);
        assert_eq!((table.of(lossy, 64), table.of_none(lossy)), (lossy, lossy));
        assert_eq!((table.of(lossless, 10), table.of_none(lossless)), (LOSSY, LOSSY));
    }

    #[test]
    fn a_pause_names_the_class_before() {
        let upstream = ttl_classes(Parity::All).upstream().map(Priority::value);
        assert_eq!(upstream, [0, 3, 2, 0, 1, 5, 6, 7]);
        assert_eq!(ttl_classes(Parity::Odd).lossless_bits(), 1 << 3 | 1 << 4);
        assert_eq!(ttl_classes(Parity::All).priority_leaving(64), Some(p(0)));
        assert_eq!(
            (
                ttl_classes(Parity::All).priority_leaving(60),
                ttl_classes(Parity::All).class_leaving(65)
            ),
            (None, None)
        );
    }
}

//! Classes by hops: the TTL scheme.
//!
//! A frame's class is the number of switches it has been through: `ttl0` less the TTL it leaves
//! with. VIQ and VEQ are those of that class, so a VIQ of class j is fed by the VEQ of class j - 1
//! upstream, and that is what its pauses name. A queue then waits only for queues of higher
//! classes, and the highest waits for none: no deadlock, whatever the routes, loops included
//! (TTL-based buffer management, sections 1.2 to 1.4).
//!
//! A frame that has made more hops than there are classes is not lossless any more, nor is one
//! whose sender did not start at `ttl0`.

use crate::classify::Class;
use crate::ids::Priority;
use crate::limits::PRIORITIES;
use arrayvec::ArrayVec;

/// Which classes a switch holds buffer for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parity {
    /// All of them.
    #[default]
    All,
    /// Odd ones: on a tree whose leaf switches have the hosts, leaves and every second level above.
    Odd,
    /// Even ones: the levels between.
    Even,
}

impl Parity {
    /// Whether class number `class` may come to this switch.
    #[inline]
    pub const fn holds(self, class: usize) -> bool {
        match self {
            Self::All => true,
            Self::Odd => class % 2 == 1,
            Self::Even => class.is_multiple_of(2),
        }
    }
}

/// The classes of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HopClasses {
    /// The TTL that lossless frames start with.
    pub ttl0: u8,
    /// The priority of each class, from class 0, that of the hosts which send, on.
    pub priorities: ArrayVec<Priority, PRIORITIES>,
    /// Which of them come to this switch.
    pub parity: Parity,
}

impl HopClasses {
    /// The class of a frame that leaves a node with `ttl`; `None` if it has none.
    pub fn class_leaving(&self, ttl: u8) -> Option<usize> {
        let class = usize::from(self.ttl0.checked_sub(ttl)?);
        (class < self.priorities.len()).then_some(class)
    }

    /// The priority of a frame that leaves a node with `ttl`; `None` if it is not lossless.
    pub fn priority_leaving(&self, ttl: u8) -> Option<Priority> {
        Some(self.priorities[self.class_leaving(ttl)?])
    }

    /// Classes of frames in this switch, which has counted the hop to itself.
    pub fn classes_here(&self) -> impl Iterator<Item = usize> {
        (1..self.priorities.len()).filter(|&class| self.parity.holds(class))
    }

    /// Bits of the priorities whose frames are lossless in this switch.
    pub fn lossless_bits(&self) -> u8 {
        self.classes_here().fold(0, |bits, class| bits | self.priorities[class].bit())
    }

    /// By priority of a VIQ: the priority that upstream keeps its frames in, which a pause names.
    /// One that is no class is its own.
    pub fn upstream(&self) -> [Priority; PRIORITIES] {
        let mut upstream = Priority::EACH;
        for class in 1..self.priorities.len() {
            upstream[self.priorities[class].index()] = self.priorities[class - 1];
        }
        upstream
    }
}

/// By the TTL a frame arrives with: its priority, if it is lossless at all.
#[derive(Clone, Debug)]
pub(crate) struct HopTable {
    by_ttl: [u8; 256],
    /// The class of frames that are not.
    lossy: Class,
}

/// No lossless class.
const NONE: u8 = u8::MAX;

impl HopTable {
    /// The table of a port; where it is not `trusted`, of hosts, only a first hop counts.
    pub(crate) fn compile(hops: &HopClasses, trusted: bool, lossy: Class) -> Self {
        let by_ttl = core::array::from_fn(|ttl| {
            // TTL 0 cannot fall; such a frame ends as any other without hops left.
            let left = u8::try_from(ttl).ok().and_then(|ttl| ttl.checked_sub(1));
            let class = left.and_then(|ttl| hops.class_leaving(ttl));
            let class = class.filter(|&class| class > 0 && hops.parity.holds(class));
            let class = class.filter(|&class| trusted || class == 1);
            class.map_or(NONE, |class| hops.priorities[class].value())
        });
        Self { by_ttl, lossy }
    }

    /// The class of a frame that is lossless by its marking and arrives with `ttl`.
    #[inline(always)]
    pub(crate) fn of(&self, class: Class, ttl: u8) -> Class {
        match self.by_ttl[usize::from(ttl)] {
            _ if !class.is_lossless() => class,
            NONE => self.lossy,
            priority => class.with_priority(Priority::from_low_bits(priority)),
        }
    }

    /// The class of a frame that has no TTL.
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
    fn hops(parity: Parity) -> HopClasses {
        HopClasses { ttl0: 64, priorities: [p(0), p(3), p(1), p(4)].into_iter().collect(), parity }
    }

    const LOSSY: Class = Class::new(Tag::from_low_bits(9), Priority::from_low_bits(7), false, true);

    /// The priority of a lossless frame that arrives with each TTL.
    fn found(parity: Parity, trusted: bool) -> alloc::vec::Vec<(u8, u8)> {
        let table = HopTable::compile(&hops(parity), trusted, LOSSY);
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
        let table = HopTable::compile(&hops(Parity::All), true, LOSSY);
        let lossy = Class::new(Tag::from_low_bits(2), p(2), false, false);
        let lossless = Class::new(Tag::from_low_bits(1), p(6), true, false);
        assert_eq!((table.of(lossy, 64), table.of_none(lossy)), (lossy, lossy));
        assert_eq!((table.of(lossless, 10), table.of_none(lossless)), (LOSSY, LOSSY));
    }

    #[test]
    fn a_pause_names_the_class_before() {
        let upstream = hops(Parity::All).upstream().map(Priority::value);
        assert_eq!(upstream, [0, 3, 2, 0, 1, 5, 6, 7]);
        assert_eq!(hops(Parity::Odd).lossless_bits(), 1 << 3 | 1 << 4);
        assert_eq!(hops(Parity::All).priority_leaving(64), Some(p(0)));
        assert_eq!(
            (hops(Parity::All).priority_leaving(60), hops(Parity::All).class_leaving(65)),
            (None, None)
        );
    }
}

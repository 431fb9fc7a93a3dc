//! From what neighbors say to this switch's level and the types of its ports: the 802.1 slides'
//! steps, as one function of all that is believed now.
//!
//! 1. A host at a port: the level is 1, the port a downlink.
//! 2. A host ignores all that ([`Device::EndStation`](super::Device)); it has no business here.
//! 3. No host: the level is one more than the lowest that a neighbor says.
//! 4. A neighbor one level below is at a downlink, one above at an uplink.
//!
//! The slides tell it frame by frame and say nothing of neighbors that go. Worked out anew
//! whenever anything changes, from the last word of every neighbor, it does not depend on the
//! order of arrival and forgets what is gone. Two additions make it settle:
//!
//! - A neighbor that says it leads *down* to us is above us: it has its level from us or from our
//!   like, so it is not counted in step 3 (split horizon). Otherwise a switch that lost its hosts
//!   would climb on what it had itself said.
//! - Levels end at [`LEVEL_MAX`]: where nobody has a host, what is left of old levels climbs no
//!   further and is forgotten.

use super::topology::Orientation;
use alloc::vec::Vec;

/// The highest level: no fabric has so many, and unlearning takes no more rounds than this.
pub const LEVEL_MAX: u8 = 8;

/// What is believed of the other end of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heard {
    /// Nothing: nobody is there, speaks, or is believed.
    #[default]
    Nothing,
    /// It is a host.
    Host,
    /// It is a switch.
    Switch {
        /// Its level, if it knows.
        level: Option<u8>,
        /// What it takes the link to be, seen from its side.
        says: Orientation,
    },
}

/// What rules need to know of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Facing {
    /// No link: no frame passes.
    Nothing,
    /// Towards the hosts, and both ends say so.
    Down,
    /// Away from the hosts, or it is not known: a frame that comes from there and goes there again
    /// must raise its tag, to be safe.
    Up,
}

/// The level, and the port types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learnt {
    /// Links between this switch and the hosts.
    pub level: Option<u8>,
    /// By port.
    pub orientations: Vec<Orientation>,
}

/// Learns from `ports` what follows; `fixed` is the level if the operator has said it.
pub fn learn(fixed: Option<u8>, ports: &[Heard]) -> Learnt {
    let level = fixed.or_else(|| level(ports));
    Learnt { level, orientations: ports.iter().map(|&heard| orientation(level, heard)).collect() }
}

/// Steps 1 and 3.
fn level(ports: &[Heard]) -> Option<u8> {
    let below = |heard: &Heard| match *heard {
        Heard::Host => Some(0),
        Heard::Switch { level, says } if says != Orientation::Downlink => level.filter(|&l| l > 0),
        Heard::Switch { .. } | Heard::Nothing => None,
    };
    let lowest = ports.iter().filter_map(below).min()?;
    Some(lowest).filter(|&level| level < LEVEL_MAX).map(|level| level + 1)
}

/// Steps 1 and 4. The slides leave a port to the same level unmarked; the standard has a name for
/// it. Levels further apart contradict the tree, and no type would be right.
fn orientation(ours: Option<u8>, heard: Heard) -> Orientation {
    match (ours, heard) {
        (_, Heard::Host) => Orientation::Downlink,
        (Some(ours), Heard::Switch { level: Some(theirs), .. }) if theirs > 0 => {
            match (ours.checked_sub(theirs), theirs.checked_sub(ours)) {
                (Some(0), _) => Orientation::Crosslink,
                (Some(1), _) => Orientation::Downlink,
                (_, Some(1)) => Orientation::Uplink,
                _ => Orientation::Unknown,
            }
        }
        _ => Orientation::Unknown,
    }
}

/// What rules are to take a port with a link for. A downlink counts only once the other end says
/// that it leads up: while the two ends are of different minds, both take it for an uplink, and no
/// turn that keeps its tag can be part of a cycle.
pub(super) fn facing(orientation: Orientation, heard: Heard) -> Facing {
    match (orientation, heard) {
        (Orientation::Downlink, Heard::Host | Heard::Switch { says: Orientation::Uplink, .. }) => {
            Facing::Down
        }
        _ => Facing::Up,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Orientation::{Crosslink, Downlink, Unknown, Uplink};
    use proptest::prelude::*;

    fn switch(level: u8, says: Orientation) -> Heard {
        Heard::Switch { level: Some(level), says }
    }

    fn learnt(ports: &[Heard]) -> (Option<u8>, Vec<Orientation>) {
        let Learnt { level, orientations } = learn(None, ports);
        (level, orientations)
    }

    /// The slides' steps, one message after the other, as they are printed.
    #[test]
    fn the_steps_of_the_slides() {
        let nothing = Heard::Nothing;
        // Step 1: a host; the corresponding port is a downlink, the others are unmarked.
        assert_eq!(learnt(&[nothing, Heard::Host]), (Some(1), [Unknown, Downlink].into()));
        // "or has level != 1": a level that was there gives way.
        let leaf = switch(1, Unknown);
        assert_eq!(learnt(&[leaf, nothing]), (Some(2), [Downlink, Unknown].into()));
        assert_eq!(learnt(&[leaf, Heard::Host]), (Some(1), [Crosslink, Downlink].into()));
        // Step 3: the minimum of all ports, plus one.
        assert_eq!(
            learnt(&[switch(3, Unknown), switch(1, Unknown), nothing]),
            (Some(2), [Uplink, Downlink, Unknown].into())
        );
        // Step 4: N = M + 1 is a downlink, N = M - 1 an uplink.
        assert_eq!(
            learnt(&[Heard::Host, switch(2, Downlink)]),
            (Some(1), [Downlink, Uplink].into())
        );
    }

    #[test]
    fn nobody_climbs_on_its_own_word() {
        // Both spines have their level from us, and we have lost our hosts.
        assert_eq!(
            learnt(&[switch(2, Downlink), switch(2, Downlink)]),
            (None, [Unknown; 2].into())
        );
        // One of them says that we are not below it any more.
        let (level, types) = learnt(&[switch(2, Unknown), switch(2, Downlink)]);
        assert_eq!((level, types), (Some(3), [Downlink; 2].into()));
    }

    #[test]
    fn what_contradicts_a_tree_is_left_open() {
        assert_eq!(learn(Some(1), &[switch(3, Unknown)]).orientations, [Unknown]);
        assert_eq!(learn(Some(2), &[switch(2, Uplink)]).orientations, [Crosslink]);
        assert_eq!(learnt(&[switch(0, Unknown)]), (None, [Unknown].into()), "no switch is a host");
        assert_eq!(learnt(&[switch(LEVEL_MAX, Unknown)]), (None, [Unknown].into()));
        assert_eq!(learnt(&[switch(255, Unknown)]), (None, [Unknown].into()));
    }

    #[test]
    fn a_downlink_counts_when_both_ends_say_so() {
        assert_eq!(facing(Downlink, Heard::Host), Facing::Down);
        assert_eq!(facing(Downlink, switch(1, Uplink)), Facing::Down);
        for says in [Unknown, Crosslink, Downlink] {
            assert_eq!(facing(Downlink, switch(1, says)), Facing::Up);
        }
        for other in [Uplink, Crosslink, Unknown] {
            assert_eq!(facing(other, switch(1, Uplink)), Facing::Up);
        }
    }

    proptest! {
        #[test]
        fn the_order_of_ports_does_not_matter(
            words in prop::collection::vec((0..4_u8, 0..5_u8), 0..12), fixed in prop::option::of(1..5_u8),
        ) {
            let heard = |(kind, level): (u8, u8)| match kind {
                0 => Heard::Nothing,
                1 => Heard::Host,
                2 => Heard::Switch { level: None, says: Unknown },
                _ => switch(level, [Uplink, Downlink, Crosslink, Unknown][usize::from(level % 4)]),
            };
            let ports: Vec<Heard> = words.into_iter().map(heard).collect();
            let there = learn(fixed, &ports);
            let mut back = learn(fixed, &ports.iter().rev().copied().collect::<Vec<_>>());
            back.orientations.reverse();
            prop_assert_eq!(there, back);
        }
    }
}

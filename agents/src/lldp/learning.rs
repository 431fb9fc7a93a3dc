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
pub enum AcceptedPeer {
    /// Nothing: nobody is there, speaks, or is believed.
    #[default]
    Unknown,
    /// It is a host.
    Host,
    /// It is a switch.
    Switch {
        /// Its level, if it knows.
        level: Option<u8>,
        /// What it takes the link to be, seen from its side.
        its_orientation: Orientation,
    },
}

/// What rules need to know of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortRole {
    /// No link: no frame passes.
    NoLink,
    /// Towards the hosts, and both ends say so.
    Downlink,
    /// Away from the hosts, or it is not known: a frame that comes from there and goes there again
    /// must raise its tag, to be safe.
    Uplink,
}

/// The level, and the port types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// Links between this switch and the hosts.
    pub level: Option<u8>,
    /// By port.
    pub orientations: Vec<Orientation>,
}

/// Learns from `ports` what follows; `fixed` is the level if the operator has said it.
pub fn learn(fixed: Option<u8>, ports: &[AcceptedPeer]) -> Learned {
    let level = fixed.or_else(|| level(ports));
    Learned { level, orientations: ports.iter().map(|&peer| orientation(level, peer)).collect() }
}

/// Steps 1 and 3.
fn level(ports: &[AcceptedPeer]) -> Option<u8> {
    let below = |peer: &AcceptedPeer| match *peer {
        AcceptedPeer::Host => Some(0),
        AcceptedPeer::Switch { level, its_orientation }
            if its_orientation != Orientation::Downlink =>
        {
            level.filter(|&l| l > 0)
        }
        AcceptedPeer::Switch { .. } | AcceptedPeer::Unknown => None,
    };
    let lowest = ports.iter().filter_map(below).min()?;
    Some(lowest).filter(|&level| level < LEVEL_MAX).map(|level| level + 1)
}

/// Steps 1 and 4. The slides leave a port to the same level unmarked; the standard has a name for
/// it. Levels further apart contradict the tree, and no type would be right.
fn orientation(ours: Option<u8>, peer: AcceptedPeer) -> Orientation {
    match (ours, peer) {
        (_, AcceptedPeer::Host) => Orientation::Downlink,
        (Some(ours), AcceptedPeer::Switch { level: Some(theirs), .. }) if theirs > 0 => {
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
pub(super) fn port_role(orientation: Orientation, peer: AcceptedPeer) -> PortRole {
    match (orientation, peer) {
        (
            Orientation::Downlink,
            AcceptedPeer::Host | AcceptedPeer::Switch { its_orientation: Orientation::Uplink, .. },
        ) => PortRole::Downlink,
        _ => PortRole::Uplink,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Orientation::{Crosslink, Downlink, Unknown, Uplink};
    use proptest::prelude::*;

    fn switch(level: u8, its_orientation: Orientation) -> AcceptedPeer {
        AcceptedPeer::Switch { level: Some(level), its_orientation }
    }

    fn learned(ports: &[AcceptedPeer]) -> (Option<u8>, Vec<Orientation>) {
        let Learned { level, orientations } = learn(None, ports);
        (level, orientations)
    }

    /// The slides' steps, one message after the other, as they are printed.
    #[test]
    fn the_steps_of_the_slides() {
        let nothing = AcceptedPeer::Unknown;
        // Step 1: a host; the corresponding port is a downlink, the others are unmarked.
        assert_eq!(learned(&[nothing, AcceptedPeer::Host]), (Some(1), [Unknown, Downlink].into()));
        // "or has level != 1": a level that was there gives way.
        let leaf = switch(1, Unknown);
        assert_eq!(learned(&[leaf, nothing]), (Some(2), [Downlink, Unknown].into()));
        assert_eq!(learned(&[leaf, AcceptedPeer::Host]), (Some(1), [Crosslink, Downlink].into()));
        // Step 3: the minimum of all ports, plus one.
        assert_eq!(
            learned(&[switch(3, Unknown), switch(1, Unknown), nothing]),
            (Some(2), [Uplink, Downlink, Unknown].into())
        );
        // Step 4: N = M + 1 is a downlink, N = M - 1 an uplink.
        assert_eq!(
            learned(&[AcceptedPeer::Host, switch(2, Downlink)]),
            (Some(1), [Downlink, Uplink].into())
        );
    }

    #[test]
    fn nobody_climbs_on_its_own_word() {
        // Both spines have their level from us, and we have lost our hosts.
        assert_eq!(
            learned(&[switch(2, Downlink), switch(2, Downlink)]),
            (None, [Unknown; 2].into())
        );
        // One of them says that we are not below it any more.
        let (level, types) = learned(&[switch(2, Unknown), switch(2, Downlink)]);
        assert_eq!((level, types), (Some(3), [Downlink; 2].into()));
    }

    #[test]
    fn what_contradicts_a_tree_is_left_open() {
        assert_eq!(learn(Some(1), &[switch(3, Unknown)]).orientations, [Unknown]);
        assert_eq!(learn(Some(2), &[switch(2, Uplink)]).orientations, [Crosslink]);
        assert_eq!(learned(&[switch(0, Unknown)]), (None, [Unknown].into()), "no switch is a host");
        assert_eq!(learned(&[switch(LEVEL_MAX, Unknown)]), (None, [Unknown].into()));
        assert_eq!(learned(&[switch(255, Unknown)]), (None, [Unknown].into()));
    }

    #[test]
    fn a_downlink_counts_when_both_ends_say_so() {
        assert_eq!(port_role(Downlink, AcceptedPeer::Host), PortRole::Downlink);
        assert_eq!(port_role(Downlink, switch(1, Uplink)), PortRole::Downlink);
        for its_orientation in [Unknown, Crosslink, Downlink] {
            assert_eq!(port_role(Downlink, switch(1, its_orientation)), PortRole::Uplink);
        }
        for other in [Uplink, Crosslink, Unknown] {
            assert_eq!(port_role(other, switch(1, Uplink)), PortRole::Uplink);
        }
    }

    proptest! {
        #[test]
        fn the_order_of_ports_does_not_matter(
            words in prop::collection::vec((0..4_u8, 0..5_u8), 0..12), fixed in prop::option::of(1..5_u8),
        ) {
            let peer = |(kind, level): (u8, u8)| match kind {
                0 => AcceptedPeer::Unknown,
                1 => AcceptedPeer::Host,
                2 => AcceptedPeer::Switch { level: None, its_orientation: Unknown },
                _ => switch(level, [Uplink, Downlink, Crosslink, Unknown][usize::from(level % 4)]),
            };
            let ports: Vec<AcceptedPeer> = words.into_iter().map(peer).collect();
            let there = learn(fixed, &ports);
            let mut back = learn(fixed, &ports.iter().rev().copied().collect::<Vec<_>>());
            back.orientations.reverse();
            prop_assert_eq!(there, back);
        }
    }
}

//! The level of this switch and the types of its ports: the steps of the 802.1 slides, as one
//! function of the accepted peers of all ports.
//!
//! 1. A host at a port: the level is 1, the port a downlink.
//! 2. A host ignores all claims ([`Device::EndStation`](super::topology::Device)); it is not
//!    handled here.
//! 3. No host: the level is one more than the lowest that a neighbor advertises.
//! 4. A neighbor one level below is at a downlink, one above at an uplink.
//!
//! The slides give the steps for each received frame and do not cover neighbors that go. Here the
//! steps are applied to the last advertisement of every neighbor, whenever one changes. The result
//! does not depend on the order of arrival, and neighbors that are gone have no effect. Two
//! additions make it converge:
//!
//! - A neighbor that advertises its port to us as a downlink is above us. It has learned its level
//!   from us or from a switch at our level, so step 3 does not count it (split horizon). Otherwise
//!   a switch that lost its hosts would raise its level by what it advertised itself.
//! - Levels end at a limit that the operator sets ([`LEVEL_MAX`] at the most). Where no switch has
//!   a host, old levels rise up to it and are dropped. So a higher limit makes a switch forget
//!   later.

use super::topology::Orientation;
use alloc::vec::Vec;

/// The highest level that the TLV can state: 255 is "unknown", and a switch above level 254 would
/// have it.
pub const LEVEL_MAX: u8 = 254;
/// The limit unless the operator sets another one. No Clos network in use has more levels than
/// this.
pub const LEVEL_LIMIT_DEFAULT: u8 = 8;

/// The other end of a port, as far as its claims are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AcceptedPeer {
    /// No neighbor, or no claim that is accepted.
    #[default]
    Unknown,
    /// A host.
    Host,
    /// A switch.
    Switch {
        /// The level that it advertises.
        level: Option<u8>,
        /// The orientation that it advertises for its port to us.
        its_orientation: Orientation,
    },
}

/// The role of a port in the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortRole {
    /// The link is down: no frame passes.
    NoLink,
    /// Towards the hosts; both ends agree on it.
    Downlink,
    /// Away from the hosts, or not known. A frame that arrives from an uplink and leaves by an
    /// uplink must have its tag raised, so that no deadlock is possible.
    Uplink,
}

/// The level, and the types of the ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Learned {
    /// The number of links between this switch and the hosts.
    pub(super) level: Option<u8>,
    /// The type of each port.
    pub(super) orientations: Vec<Orientation>,
}

/// Computes level and port types from the peers of all ports. `fixed` is the level that the
/// operator has configured; no level above `limit` is learned.
pub(super) fn learn(fixed: Option<u8>, limit: u8, ports: &[AcceptedPeer]) -> Learned {
    let level = fixed.or_else(|| level(limit, ports));
    Learned { level, orientations: ports.iter().map(|&peer| orientation(level, peer)).collect() }
}

/// Steps 1 and 3.
fn level(limit: u8, ports: &[AcceptedPeer]) -> Option<u8> {
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
    Some(lowest).filter(|&level| level < limit).map(|level| level + 1)
}

/// Steps 1 and 4. The slides leave a port to the same level unmarked; in the standard it is a
/// crosslink. Levels that differ by more than one contradict the tree, and no type fits.
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

/// The role of a port whose link is up. A downlink counts as one only if the other end is a host or
/// advertises an uplink. While the two ends disagree, both treat the link as an uplink, and no turn
/// that keeps its tag can be part of a cycle.
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
        let Learned { level, orientations } = learn(None, LEVEL_LIMIT_DEFAULT, ports);
        (level, orientations)
    }

    /// The steps of the slides, one message after the other, as printed.
    #[test]
    fn the_steps_of_the_slides() {
        let nothing = AcceptedPeer::Unknown;
        // Step 1: a host; the corresponding port is a downlink, the others are unmarked.
        assert_eq!(learned(&[nothing, AcceptedPeer::Host]), (Some(1), [Unknown, Downlink].into()));
        // "or has level != 1": a level that was known is replaced.
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
    fn a_switch_does_not_raise_its_level_by_its_own_advertisement() {
        // Both spines have learned their level from us, and we have lost our hosts.
        assert_eq!(
            learned(&[switch(2, Downlink), switch(2, Downlink)]),
            (None, [Unknown; 2].into())
        );
        // One of them no longer advertises a downlink to us.
        let (level, types) = learned(&[switch(2, Unknown), switch(2, Downlink)]);
        assert_eq!((level, types), (Some(3), [Downlink; 2].into()));
    }

    #[test]
    fn a_level_that_contradicts_the_tree_gives_no_port_type() {
        assert_eq!(learn(Some(1), 8, &[switch(3, Unknown)]).orientations, [Unknown]);
        assert_eq!(learn(Some(2), 8, &[switch(2, Uplink)]).orientations, [Crosslink]);
        assert_eq!(
            learned(&[switch(0, Unknown)]),
            (None, [Unknown].into()),
            "level 0 is a host's only"
        );
        assert_eq!(learned(&[switch(LEVEL_LIMIT_DEFAULT, Unknown)]), (None, [Unknown].into()));
        assert_eq!(learned(&[switch(255, Unknown)]), (None, [Unknown].into()));
    }

    #[test]
    fn levels_go_up_to_the_limit_and_the_tlvs_last() {
        for limit in [1, 2, 8, 9, 100, LEVEL_MAX] {
            let below = learn(None, limit, &[switch(limit - 1, Unknown)]).level;
            assert_eq!(below, (limit > 1).then_some(limit), "level 0 is a host's only");
            assert_eq!(learn(None, limit, &[switch(limit, Unknown)]).level, None);
        }
        assert_eq!(learn(None, LEVEL_MAX, &[switch(255, Unknown)]).level, None, "255 is unknown");
    }

    #[test]
    fn a_downlink_counts_when_both_ends_agree() {
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
            let there = learn(fixed, 8, &ports);
            let mut back = learn(fixed, 8, &ports.iter().rev().copied().collect::<Vec<_>>());
            back.orientations.reverse();
            prop_assert_eq!(there, back);
        }
    }
}

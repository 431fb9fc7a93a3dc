//! What is believed of a neighbor's word. A port says who may be at its other end; a neighbor
//! that claims to be something else there is refused, and moves no level.

use super::learning::AcceptedPeer;
use super::pdu::{Capabilities, Pdu};
use super::topology::{Device, Orientation};

/// Who may be at the other end of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllowedPeer {
    /// A host or a switch, as it says.
    #[default]
    Any,
    /// A host, whatever it says.
    Host,
    /// A switch.
    Switch,
}

/// What a neighbor says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerClaim {
    /// Nothing that would tell.
    Unknown,
    /// A host, by its topology TLV; or a station only, by its capabilities.
    Host,
    /// It bridges or routes, by its capabilities, and says nothing of levels. Many hosts do.
    Forwards,
    /// A switch, by its topology TLV.
    Switch {
        /// Its level, if it knows.
        level: Option<u8>,
        /// What it takes the link to be.
        its_orientation: Orientation,
    },
}

impl PeerClaim {
    /// What `pdu` says.
    pub(super) fn of(pdu: &Pdu) -> Self {
        if let Some(topology) = pdu.topology {
            match topology.device {
                Device::EndStation => return Self::Host,
                Device::Bridge | Device::Router => {
                    return Self::Switch {
                        level: topology.level,
                        its_orientation: topology.orientation,
                    };
                }
                Device::Unknown => {}
            }
        }
        let enabled_bits = pdu.capabilities.unwrap_or_default().enabled_bits;
        if enabled_bits & (Capabilities::BRIDGE | Capabilities::ROUTER) != 0 {
            Self::Forwards
        } else if enabled_bits & Capabilities::STATION != 0 {
            Self::Host
        } else {
            Self::Unknown
        }
    }
}

/// What is believed of one port's neighbors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PolicyResult {
    pub(super) peer: AcceptedPeer,
    /// One of them claims to be what the port does not allow.
    pub(super) is_refused: bool,
    /// They are not of one mind, and so nothing is believed.
    pub(super) has_multiple_neighbors: bool,
}

/// What is believed of `claims` where the port allows `faces`. Several neighbors at one port, a
/// host and its NIC say, are as good as one if they agree.
pub(super) fn apply_policy(
    allowed_peer: AllowedPeer,
    claims: impl Iterator<Item = PeerClaim>,
) -> PolicyResult {
    let mut result = PolicyResult::default();
    for claim in claims {
        let peer = match (allowed_peer, claim) {
            (AllowedPeer::Host, PeerClaim::Switch { .. })
            | (AllowedPeer::Switch, PeerClaim::Host) => {
                result.is_refused = true;
                continue;
            }
            (AllowedPeer::Host, _) | (_, PeerClaim::Host) => AcceptedPeer::Host,
            (_, PeerClaim::Unknown) => continue,
            (_, PeerClaim::Forwards) => {
                AcceptedPeer::Switch { level: None, its_orientation: Orientation::Unknown }
            }
            (_, PeerClaim::Switch { level, its_orientation }) => {
                AcceptedPeer::Switch { level, its_orientation }
            }
        };
        result.has_multiple_neighbors |=
            result.peer != AcceptedPeer::Unknown && result.peer != peer;
        result.peer = peer;
    }
    if result.has_multiple_neighbors {
        result.peer = AcceptedPeer::Unknown;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: PeerClaim =
        PeerClaim::Switch { level: Some(2), its_orientation: Orientation::Downlink };
    const AS_SWITCH: AcceptedPeer =
        AcceptedPeer::Switch { level: Some(2), its_orientation: Orientation::Downlink };
    const MUTE: AcceptedPeer =
        AcceptedPeer::Switch { level: None, its_orientation: Orientation::Unknown };

    #[test]
    fn a_port_believes_what_it_allows() {
        use AllowedPeer::{Any, Host, Switch};
        for (allowed_peer, claim, peer, is_refused) in [
            (Any, PeerClaim::Unknown, AcceptedPeer::Unknown, false),
            (Any, PeerClaim::Host, AcceptedPeer::Host, false),
            (Any, PeerClaim::Forwards, MUTE, false),
            (Any, SWITCH, AS_SWITCH, false),
            (Host, PeerClaim::Unknown, AcceptedPeer::Host, false),
            (Host, PeerClaim::Host, AcceptedPeer::Host, false),
            (Host, PeerClaim::Forwards, AcceptedPeer::Host, false),
            (Host, SWITCH, AcceptedPeer::Unknown, true),
            (Switch, PeerClaim::Unknown, AcceptedPeer::Unknown, false),
            (Switch, PeerClaim::Host, AcceptedPeer::Unknown, true),
            (Switch, PeerClaim::Forwards, MUTE, false),
            (Switch, SWITCH, AS_SWITCH, false),
        ] {
            let result = apply_policy(allowed_peer, [claim].into_iter());
            assert_eq!(
                result,
                PolicyResult { peer, is_refused, has_multiple_neighbors: false },
                "{allowed_peer:?} {claim:?}"
            );
        }
    }

    #[test]
    fn neighbors_that_agree_are_one_and_others_are_none() {
        let of = |claims: &[PeerClaim]| apply_policy(AllowedPeer::Any, claims.iter().copied());
        assert_eq!(
            of(&[PeerClaim::Host, PeerClaim::Unknown, PeerClaim::Host]).peer,
            AcceptedPeer::Host
        );
        let torn = of(&[PeerClaim::Host, SWITCH, PeerClaim::Host]);
        assert_eq!((torn.peer, torn.has_multiple_neighbors), (AcceptedPeer::Unknown, true));
        assert_eq!(of(&[]), PolicyResult::default());
    }
}

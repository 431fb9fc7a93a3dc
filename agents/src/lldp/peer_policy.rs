//! Which claims of a neighbor a port accepts. The operator configures what may be at the other end
//! of a port. A claim to be something else is refused and changes no level.

use super::learning::AcceptedPeer;
use super::pdu::{Capabilities, Pdu};
use super::topology::{Device, Orientation};

/// What may be at the other end of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum AllowedPeer {
    /// A host or a switch, as it claims.
    #[default]
    Any,
    /// A host, whatever it claims.
    Host,
    /// A switch.
    Switch,
}

/// What a neighbor claims to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PeerClaim {
    /// No claim.
    Unknown,
    /// A host, by its topology TLV or by the capability "station only".
    Host,
    /// A bridge or router, by its capabilities, without a topology TLV. Many hosts claim this.
    Forwards,
    /// A switch, by its topology TLV.
    Switch {
        /// The level that it advertises.
        level: Option<u8>,
        /// The orientation that it advertises for its port to us.
        its_orientation: Orientation,
    },
}

impl PeerClaim {
    /// The claim in `pdu`.
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

/// The claims of the neighbors of one port, after the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PolicyResult {
    pub(super) peer: AcceptedPeer,
    /// A neighbor claims to be what the port does not allow.
    pub(super) is_refused: bool,
    /// Several neighbors make different claims, so none is accepted.
    pub(super) has_multiple_neighbors: bool,
}

/// What a port with `allowed_peer` accepts of `claims`. Several neighbors at one port, such as a
/// host and its NIC, count as one if their claims agree.
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
    fn a_port_accepts_what_it_allows() {
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
    fn claims_of_several_neighbors_are_accepted_if_they_agree() {
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

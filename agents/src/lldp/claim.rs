//! What is believed of a neighbor's word. A port says who may be at its other end; a neighbor
//! that claims to be something else there is refused, and moves no level.

use super::learning::Heard;
use super::pdu::{Capabilities, Pdu};
use super::topology::{Device, Orientation};

/// Who may be at the other end of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Faces {
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
pub enum Claim {
    /// Nothing that would tell.
    Nothing,
    /// A host, by its topology TLV; or a station only, by its capabilities.
    Host,
    /// It bridges or routes, by its capabilities, and says nothing of levels. Many hosts do.
    Forwards,
    /// A switch, by its topology TLV.
    Switch {
        /// Its level, if it knows.
        level: Option<u8>,
        /// What it takes the link to be.
        says: Orientation,
    },
}

impl Claim {
    /// What `pdu` says.
    pub(super) fn of(pdu: &Pdu) -> Self {
        if let Some(topology) = pdu.topology {
            match topology.device {
                Device::EndStation => return Self::Host,
                Device::Bridge | Device::Router => {
                    return Self::Switch { level: topology.level, says: topology.orientation };
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
            Self::Nothing
        }
    }
}

/// What is believed of one port's neighbors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Believed {
    pub(super) heard: Heard,
    /// One of them claims to be what the port does not allow.
    pub(super) is_refused: bool,
    /// They are not of one mind, and so nothing is believed.
    pub(super) is_torn: bool,
}

/// What is believed of `claims` where the port allows `faces`. Several neighbors at one port, a
/// host and its NIC say, are as good as one if they agree.
pub(super) fn believe(faces: Faces, claims: impl Iterator<Item = Claim>) -> Believed {
    let mut believed = Believed::default();
    for claim in claims {
        let heard = match (faces, claim) {
            (Faces::Host, Claim::Switch { .. }) | (Faces::Switch, Claim::Host) => {
                believed.is_refused = true;
                continue;
            }
            (Faces::Host, _) | (_, Claim::Host) => Heard::Host,
            (_, Claim::Nothing) => continue,
            (_, Claim::Forwards) => Heard::Switch { level: None, says: Orientation::Unknown },
            (_, Claim::Switch { level, says }) => Heard::Switch { level, says },
        };
        believed.is_torn |= believed.heard != Heard::Nothing && believed.heard != heard;
        believed.heard = heard;
    }
    if believed.is_torn {
        believed.heard = Heard::Nothing;
    }
    believed
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: Claim = Claim::Switch { level: Some(2), says: Orientation::Downlink };
    const AS_SWITCH: Heard = Heard::Switch { level: Some(2), says: Orientation::Downlink };
    const MUTE: Heard = Heard::Switch { level: None, says: Orientation::Unknown };

    #[test]
    fn a_port_believes_what_it_allows() {
        use Faces::{Any, Host, Switch};
        for (faces, claim, heard, is_refused) in [
            (Any, Claim::Nothing, Heard::Nothing, false),
            (Any, Claim::Host, Heard::Host, false),
            (Any, Claim::Forwards, MUTE, false),
            (Any, SWITCH, AS_SWITCH, false),
            (Host, Claim::Nothing, Heard::Host, false),
            (Host, Claim::Host, Heard::Host, false),
            (Host, Claim::Forwards, Heard::Host, false),
            (Host, SWITCH, Heard::Nothing, true),
            (Switch, Claim::Nothing, Heard::Nothing, false),
            (Switch, Claim::Host, Heard::Nothing, true),
            (Switch, Claim::Forwards, MUTE, false),
            (Switch, SWITCH, AS_SWITCH, false),
        ] {
            let believed = believe(faces, [claim].into_iter());
            assert_eq!(
                believed,
                Believed { heard, is_refused, is_torn: false },
                "{faces:?} {claim:?}"
            );
        }
    }

    #[test]
    fn neighbours_that_agree_are_one_and_others_are_none() {
        let of = |claims: &[Claim]| believe(Faces::Any, claims.iter().copied());
        assert_eq!(of(&[Claim::Host, Claim::Nothing, Claim::Host]).heard, Heard::Host);
        let torn = of(&[Claim::Host, SWITCH, Claim::Host]);
        assert_eq!((torn.heard, torn.is_torn), (Heard::Nothing, true));
        assert_eq!(of(&[]), Believed::default());
    }
}

//! The Topology Recognition TLV: what a device is, its level, and the direction of a port.
//!
//! It has two formats. That of the standard (IEEE 802.1Qcz-2023, D.2.16) has the OUI of 802.1 and
//! subtype 0x14. The slides that preceded the standard have other numbers for the same values and
//! subtype 1, but give no OUI. Under the OUI of 802.1 subtype 1 is Port VLAN ID, so the format of
//! the slides has an OUI of its own here.
//!
//! | octet | standard | slides |
//! |---|---|---|
//! | device | 0 end station, 1 bridge, 2 router, 255 unknown | 0 host, 1 switch |
//! | level | 0 edge, 255 unknown | 0 server, and a switch that has none yet |
//! | port | 0 uplink, 1 downlink, 2 crosslink, 255 unknown | 0 unmarked, 1 uplink, 2 downlink |

use strum::IntoStaticStr;

/// IEEE 802.1.
pub(super) const IEEE_802_1: [u8; 3] = [0x00, 0x80, 0xC2];
/// The subtype of the standard under [`IEEE_802_1`].
pub(super) const SUBTYPE: u8 = 0x14;
/// The OUI of the format of the slides. It is locally administered, so it is assigned to no one.
pub(super) const SLIDES_OUI: [u8; 3] = [0x0A, 0x6B, 0x6E];
/// The subtype of the slides.
pub(super) const SLIDES_SUBTYPE: u8 = 1;

const UNKNOWN: u8 = 255;

/// The format of the TLV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Profile {
    /// The Topology Recognition TLV of IEEE 802.1Qcz-2023.
    #[default]
    Standard,
    /// As in the slides of 2019 that it came from, under an OUI of its own.
    Slides,
}

/// What a device is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Device {
    /// A host: level 0, whatever its neighbors advertise (step 2 of the slides).
    EndStation,
    /// A switch that bridges. The format of the slides has only this kind of switch.
    Bridge,
    /// A switch that routes.
    Router,
    /// Not advertised.
    #[default]
    Unknown,
}

/// The direction of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Orientation {
    /// Away from the hosts.
    Uplink,
    /// Towards the hosts.
    Downlink,
    /// To the same level.
    Crosslink,
    /// Not known; "unmarked" in the slides.
    #[default]
    Unknown,
}

impl Orientation {
    /// The name in tables and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Device {
    /// The name in tables and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The content of the TLV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// What the sender is.
    pub device: Device,
    /// The number of links between it and the hosts: 0 for a host, `None` if not known.
    pub level: Option<u8>,
    /// The direction of the port that sent it.
    pub orientation: Orientation,
}

impl Topology {
    /// The three octets behind the subtype.
    pub(super) fn write(self, profile: Profile) -> [u8; 3] {
        match profile {
            Profile::Standard => [
                match self.device {
                    Device::EndStation => 0,
                    Device::Bridge => 1,
                    Device::Router => 2,
                    Device::Unknown => UNKNOWN,
                },
                self.level.unwrap_or(UNKNOWN),
                match self.orientation {
                    Orientation::Uplink => 0,
                    Orientation::Downlink => 1,
                    Orientation::Crosslink => 2,
                    Orientation::Unknown => UNKNOWN,
                },
            ],
            // This format has no number for an unknown device and for a crosslink.
            Profile::Slides => [
                u8::from(self.device != Device::EndStation),
                self.level.unwrap_or(0),
                match self.orientation {
                    Orientation::Uplink => 1,
                    Orientation::Downlink => 2,
                    Orientation::Crosslink | Orientation::Unknown => 0,
                },
            ],
        }
    }

    /// Reads the octets behind the subtype. Reserved values are read as unknown. Octets behind the
    /// third are ignored, as a later edition may define them.
    pub(super) fn read(profile: Profile, octets: &[u8]) -> Option<Self> {
        let &[device, level, port] = octets.first_chunk()?;
        Some(match profile {
            Profile::Standard => Self {
                device: match device {
                    0 => Device::EndStation,
                    1 => Device::Bridge,
                    2 => Device::Router,
                    _ => Device::Unknown,
                },
                level: (level != UNKNOWN).then_some(level),
                orientation: match port {
                    0 => Orientation::Uplink,
                    1 => Orientation::Downlink,
                    2 => Orientation::Crosslink,
                    _ => Orientation::Unknown,
                },
            },
            Profile::Slides => {
                let device = match device {
                    0 => Device::EndStation,
                    1 => Device::Bridge,
                    _ => Device::Unknown,
                };
                Self {
                    device,
                    level: (level != 0 || device == Device::EndStation).then_some(level),
                    orientation: match port {
                        1 => Orientation::Uplink,
                        2 => Orientation::Downlink,
                        _ => Orientation::Unknown,
                    },
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Device::{Bridge, EndStation, Router, Unknown};
    use Orientation::{Crosslink, Downlink, Uplink};

    fn of(device: Device, level: Option<u8>, orientation: Orientation) -> Topology {
        Topology { device, level, orientation }
    }

    #[test]
    fn both_formats_have_the_numbers_of_their_documents() {
        for (octets, topology) in [
            ([0, 0, 255], of(EndStation, Some(0), Orientation::Unknown)),
            ([1, 1, 0], of(Bridge, Some(1), Uplink)),
            ([2, 3, 1], of(Router, Some(3), Downlink)),
            ([1, 254, 2], of(Bridge, Some(254), Crosslink)),
            ([255, 255, 255], of(Unknown, None, Orientation::Unknown)),
        ] {
            assert_eq!(topology.write(Profile::Standard), octets);
            assert_eq!(Topology::read(Profile::Standard, &octets), Some(topology));
        }
        for (octets, topology) in [
            ([0, 0, 0], of(EndStation, Some(0), Orientation::Unknown)),
            ([1, 0, 0], of(Bridge, None, Orientation::Unknown)),
            ([1, 1, 1], of(Bridge, Some(1), Uplink)),
            ([1, 255, 2], of(Bridge, Some(255), Downlink)),
        ] {
            assert_eq!(topology.write(Profile::Slides), octets);
            assert_eq!(Topology::read(Profile::Slides, &octets), Some(topology));
        }
        assert_eq!(of(Router, Some(2), Crosslink).write(Profile::Slides), [1, 2, 0]);
    }

    #[test]
    fn reserved_values_are_unknown_and_truncated_tlvs_are_not_read() {
        let read = |octets: &[u8]| Topology::read(Profile::Standard, octets);
        assert_eq!(read(&[7, 4, 9, 1, 2, 3]), Some(of(Unknown, Some(4), Orientation::Unknown)));
        assert_eq!(read(&[1, 1]), None);
        assert_eq!(
            Topology::read(Profile::Slides, &[9, 0, 9]),
            Some(of(Unknown, None, Orientation::Unknown))
        );
        assert_eq!(Topology::read(Profile::Slides, &[]), None);
    }
}

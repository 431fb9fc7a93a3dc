//! A whole LLDPDU: its mandatory and optional TLVs (IEEE 802.1AB-2016, clause 8 and 9.2.7.7).

use super::org_tlv::{
    self, IEEE_802_3, MAX_FRAME_SIZE, OrgTlv, PFC_CONFIGURATION, PfcConfiguration, TlvError,
};
use super::tlv::{self, Reader, Tlv, Truncated};
use super::topology::{IEEE_802_1, Profile, SLIDES_OUI, SLIDES_SUBTYPE, SUBTYPE, Topology};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;
use dataplane::wire::{MacAddress, be16};
use derive_more::Display;

/// The longest chassis or port id, without its subtype.
const ID_BYTES_MAX: usize = 255;
/// The longest name or description, in octets.
const TEXT_BYTES_MAX: usize = 255;
/// The subtypes of chassis and port ids that are MAC addresses.
const CHASSIS_MAC: u8 = 4;
const PORT_MAC: u8 = 3;
/// The subtype of a port id that is the name of an interface.
const PORT_INTERFACE_NAME: u8 = 5;
/// The families of management addresses (IANA address family numbers).
const FAMILY_IPV4: u8 = 1;
const FAMILY_IPV6: u8 = 2;
const FAMILY_MAC: u8 = 6;
/// The interface numbering of a management address whose interface is unknown.
const INTERFACE_UNKNOWN: u8 = 1;

/// A chassis or port id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// Its kind: 802.1AB, tables 8-2 and 8-3.
    pub subtype: u8,
    /// Its value: 1 to 255 octets.
    pub octets: Vec<u8>,
}

impl Id {
    /// The id of a chassis by its MAC address.
    pub(super) fn chassis(mac: MacAddress) -> Self {
        Self { subtype: CHASSIS_MAC, octets: mac.0.to_vec() }
    }

    /// Whether it is the id of a chassis by this MAC address.
    pub(super) fn is_mac(&self, mac: MacAddress) -> bool {
        self.subtype == CHASSIS_MAC && self.octets == mac.0
    }

    /// The id of a port by the name of its interface.
    pub(super) fn port(name: &str) -> Self {
        let octets = name.as_bytes().iter().copied().take(ID_BYTES_MAX).collect();
        Self { subtype: PORT_INTERFACE_NAME, octets }
    }

    fn read(value: &[u8]) -> Option<Self> {
        let (&subtype, octets) = value.split_first()?;
        let fits = (1..=ID_BYTES_MAX).contains(&octets.len());
        fits.then(|| Self { subtype, octets: octets.to_owned() })
    }

    /// For display: a MAC address if the subtype is `mac_subtype`, else text or hexadecimal.
    fn show(&self, mac_subtype: u8) -> String {
        match <[u8; 6]>::try_from(&self.octets[..]) {
            Ok(octets) if self.subtype == mac_subtype => alloc::format!("{}", MacAddress(octets)),
            _ if self.octets.iter().all(|octet| (0x20..0x7F).contains(octet)) => text(&self.octets),
            _ => self.octets.iter().map(|octet| alloc::format!("{octet:02x}")).collect(),
        }
    }

    /// A chassis id for display.
    pub fn as_chassis(&self) -> String {
        self.show(CHASSIS_MAC)
    }

    /// A port id for display.
    pub fn as_port(&self) -> String {
        self.show(PORT_MAC)
    }
}

/// The capabilities of a system, one bit each (802.1AB, table 8-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Capabilities that it has.
    pub supported_bits: u16,
    /// Capabilities that are enabled.
    pub enabled_bits: u16,
}

impl Capabilities {
    /// MAC bridge.
    pub const BRIDGE: u16 = 1 << 2;
    /// Router.
    pub const ROUTER: u16 = 1 << 4;
    /// Station only.
    pub(crate) const STATION: u16 = 1 << 7;
}

/// A management address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
pub enum ManagementAddress {
    /// An IP address.
    Ip(IpAddr),
    /// A MAC address, if the system has no IP address.
    Mac(MacAddress),
}

/// An LLDPDU, as far as its TLVs are known. Texts have no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// The sender.
    pub chassis: Id,
    /// The port of the sender.
    pub port: Id,
    /// Seconds for which this is valid; 0 in a shutdown LLDPDU.
    pub ttl_s: u16,
    /// The port description.
    pub port_description: Option<String>,
    /// The system name.
    pub system_name: Option<String>,
    /// The system description.
    pub system_description: Option<String>,
    /// The system capabilities.
    pub capabilities: Option<Capabilities>,
    /// The first management address that is an IP or MAC address.
    pub management: Option<ManagementAddress>,
    /// The longest frame that it accepts, with FCS.
    pub max_frame_bytes: Option<u16>,
    /// Its PFC configuration.
    pub pfc: Option<PfcConfiguration>,
    /// Device, level and port type. If both formats are present, those of the standard.
    pub topology: Option<Topology>,
}

/// TLVs of an LLDPDU that were not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TlvCounts {
    /// TLVs of unknown types.
    pub(super) unrecognized: u32,
    /// TLVs that were malformed, repeated, or truncated by the end of the frame.
    pub(super) discarded: u32,
}

/// Why an LLDPDU is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PduError {
    /// It does not begin with a valid chassis id, port id and TTL.
    Mandatory,
    /// One of those three is repeated.
    Repeated,
    /// Its end TLV is not empty.
    End,
}

impl Pdu {
    /// An LLDPDU with only the mandatory TLVs.
    pub(super) const fn new(chassis: Id, port: Id, ttl_s: u16) -> Self {
        Self {
            chassis,
            port,
            ttl_s,
            port_description: None,
            system_name: None,
            system_description: None,
            capabilities: None,
            management: None,
            max_frame_bytes: None,
            pfc: None,
            topology: None,
        }
    }

    /// Reads the bytes behind the ethertype. Padding behind the end TLV is ignored.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, TlvCounts), PduError> {
        let mut reader = Reader::new(bytes);
        let mut must = |kind| match reader.next() {
            Some(Ok(tlv)) if tlv.kind == kind => Ok(tlv.value),
            _ => Err(PduError::Mandatory),
        };
        let chassis = Id::read(must(tlv::CHASSIS_ID)?).ok_or(PduError::Mandatory)?;
        let port = Id::read(must(tlv::PORT_ID)?).ok_or(PduError::Mandatory)?;
        let ttl_s = be16(must(tlv::TTL)?, 0).ok_or(PduError::Mandatory)?;
        let mut draft = Draft {
            pdu: Self::new(chassis, port, ttl_s),
            tlv_counts: TlvCounts::default(),
            profile: None,
        };
        for tlv in reader {
            match tlv {
                Ok(Tlv { kind: tlv::END, value: [] }) => break,
                Ok(Tlv { kind: tlv::END, .. }) => return Err(PduError::End),
                Ok(Tlv { kind: tlv::CHASSIS_ID | tlv::PORT_ID | tlv::TTL, .. }) => {
                    return Err(PduError::Repeated);
                }
                Ok(tlv) => draft.take(tlv),
                Err(Truncated) => draft.tlv_counts.discarded += 1,
            }
        }
        Ok((draft.pdu, draft.tlv_counts))
    }

    /// Appends the LLDPDU, its topology in `profile`.
    pub(super) fn write(&self, profile: Profile, into: &mut Vec<u8>) {
        let id = |id: &Id, kind, into: &mut Vec<u8>| {
            tlv::write(into, kind, &[&[id.subtype], &id.octets])
        };
        id(&self.chassis, tlv::CHASSIS_ID, into);
        id(&self.port, tlv::PORT_ID, into);
        tlv::write(into, tlv::TTL, &[&self.ttl_s.to_be_bytes()]);
        // A shutdown LLDPDU has the mandatory TLVs only.
        if self.ttl_s != 0 {
            self.write_optional(profile, into);
        }
        tlv::write(into, tlv::END, &[]);
    }

    fn write_optional(&self, profile: Profile, into: &mut Vec<u8>) {
        let texts = [
            (tlv::PORT_DESCRIPTION, &self.port_description),
            (tlv::SYSTEM_NAME, &self.system_name),
            (tlv::SYSTEM_DESCRIPTION, &self.system_description),
        ];
        for (kind, text) in texts {
            if let Some(text) = text {
                tlv::write(into, kind, &[cut(text).as_bytes()]);
            }
        }
        if let Some(Capabilities { supported_bits, enabled_bits }) = self.capabilities {
            let pieces = [&supported_bits.to_be_bytes()[..], &enabled_bits.to_be_bytes()];
            tlv::write(into, tlv::CAPABILITIES, &pieces);
        }
        if let Some(address) = self.management {
            write_management(address, into);
        }
        let mut org_tlv = |oui: [u8; 3], subtype, octets: &[u8]| {
            tlv::write(into, tlv::ORG_SPECIFIC, &[&oui, &[subtype], octets]);
        };
        if let Some(bytes) = self.max_frame_bytes {
            org_tlv(IEEE_802_3, MAX_FRAME_SIZE, &bytes.to_be_bytes());
        }
        if let Some(pfc) = self.pfc {
            org_tlv(IEEE_802_1, PFC_CONFIGURATION, &pfc.write());
        }
        if let Some(topology) = self.topology {
            let (oui, subtype) = match profile {
                Profile::Standard => (IEEE_802_1, SUBTYPE),
                Profile::Slides => (SLIDES_OUI, SLIDES_SUBTYPE),
            };
            org_tlv(oui, subtype, &topology.write(profile));
        }
    }
}

/// An LLDPDU that is being read.
struct Draft {
    pdu: Pdu,
    tlv_counts: TlvCounts,
    /// The format of the topology TLV that was read, if any.
    profile: Option<Profile>,
}

impl Draft {
    /// Takes a TLV. Of repeated TLVs the first counts (9.2.7.7.2).
    fn take(&mut self, tlv: Tlv<'_>) {
        let Pdu {
            port_description, system_name, system_description, capabilities, management, ..
        } = &mut self.pdu;
        let is_taken = match tlv.kind {
            tlv::PORT_DESCRIPTION => keep(port_description, read_text(tlv.value)),
            tlv::SYSTEM_NAME => keep(system_name, read_text(tlv.value)),
            tlv::SYSTEM_DESCRIPTION => keep(system_description, read_text(tlv.value)),
            tlv::CAPABILITIES => keep(capabilities, read_capabilities(tlv.value)),
            // This TLV may be repeated, and addresses of other families are valid.
            tlv::MANAGEMENT_ADDRESS => match read_management(tlv.value) {
                Some(address) => {
                    *management = management.or(address);
                    true
                }
                None => false,
            },
            tlv::ORG_SPECIFIC => match org_tlv::read(tlv.value) {
                Ok(read) => self.take_org_tlv(read),
                Err(TlvError::Malformed) => false,
                Err(TlvError::Unrecognized) => {
                    self.tlv_counts.unrecognized += 1;
                    true
                }
            },
            _ => {
                self.tlv_counts.unrecognized += 1;
                true
            }
        };
        self.tlv_counts.discarded += u32::from(!is_taken);
    }

    fn take_org_tlv(&mut self, read: OrgTlv) -> bool {
        match read {
            OrgTlv::Pfc(pfc) => keep(&mut self.pdu.pfc, Some(pfc)),
            OrgTlv::MaxFrameBytes(bytes) => keep(&mut self.pdu.max_frame_bytes, Some(bytes)),
            OrgTlv::Topology(profile, topology) => match (self.profile, profile) {
                (None, _) | (Some(Profile::Slides), Profile::Standard) => {
                    (self.profile, self.pdu.topology) = (Some(profile), Some(topology));
                    true
                }
                (Some(Profile::Standard), Profile::Slides) => true,
                (Some(_), _) => false,
            },
        }
    }
}

/// Stores `value` if `place` is empty. Returns whether it did.
fn keep<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    let is_new = place.is_none() && value.is_some();
    if is_new {
        *place = value;
    }
    is_new
}

fn read_text(value: &[u8]) -> Option<String> {
    (value.len() <= TEXT_BYTES_MAX).then(|| text(value))
}

/// Text without control characters.
fn text(octets: &[u8]) -> String {
    let text = String::from_utf8_lossy(octets);
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The longest prefix of `text` that fits.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

fn read_capabilities(value: &[u8]) -> Option<Capabilities> {
    Some(Capabilities { supported_bits: be16(value, 0)?, enabled_bits: be16(value, 2)? })
}

/// The address; `Some(None)` if it is of another family; `None` if the TLV is malformed. The
/// address with its family has 2 to 32 octets. An interface number and an object identifier follow
/// it.
fn read_management(value: &[u8]) -> Option<Option<ManagementAddress>> {
    let (&bytes, rest) = value.split_first()?;
    let (address, rest) = rest.split_at_checked(usize::from(bytes))?;
    let (&family, address) = address.split_first().filter(|_| (2..=32).contains(&bytes))?;
    let (_interface, rest) = rest.split_at_checked(5)?;
    let (&object_bytes, rest) = rest.split_first()?;
    if usize::from(object_bytes) > rest.len() {
        return None;
    }
    let ip = |ip| Some(ManagementAddress::Ip(ip));
    Some(match family {
        FAMILY_IPV4 => <[u8; 4]>::try_from(address).ok().and_then(|octets| ip(octets.into())),
        FAMILY_IPV6 => <[u8; 16]>::try_from(address).ok().and_then(|octets| ip(octets.into())),
        FAMILY_MAC => <[u8; 6]>::try_from(address)
            .ok()
            .map(|octets| ManagementAddress::Mac(MacAddress(octets))),
        _ => None,
    })
}

fn write_management(address: ManagementAddress, into: &mut Vec<u8>) {
    let mut write = |family, octets: &[u8]| {
        let bytes = u8::try_from(1 + octets.len()).unwrap_or_default();
        let nowhere = [INTERFACE_UNKNOWN, 0, 0, 0, 0, 0];
        tlv::write(into, tlv::MANAGEMENT_ADDRESS, &[&[bytes, family], octets, &nowhere]);
    };
    match address {
        ManagementAddress::Ip(IpAddr::V4(ip)) => write(FAMILY_IPV4, &ip.octets()),
        ManagementAddress::Ip(IpAddr::V6(ip)) => write(FAMILY_IPV6, &ip.octets()),
        ManagementAddress::Mac(mac) => write(FAMILY_MAC, &mac.0),
    }
}

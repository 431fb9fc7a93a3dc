//! A whole LLDPDU: which TLVs must be there, and what the others say (IEEE 802.1AB-2016, clause 8
//! and 9.2.7.7).

use super::org_tlv::{
    self, IEEE_802_3, MAX_FRAME_SIZE, OrgTlv, PFC_CONFIGURATION, PfcConfiguration, TlvError,
};
use super::tlv::{self, Reader, Tlv, Truncated};
use super::topology::{IEEE_802_1, Profile, SLIDES_OUI, SLIDES_SUBTYPE, SUBTYPE, Topology};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;
use dataplane::wire::{MacAddress, be16};

/// The longest chassis or port id, its subtype not counted.
const ID_BYTES_MAX: usize = 255;
/// Names and descriptions, in octets.
const TEXT_BYTES_MAX: usize = 255;
/// Chassis and port ids that are MAC addresses, and names of interfaces.
const CHASSIS_MAC: u8 = 4;
const PORT_MAC: u8 = 3;
/// A port id that is the name of an interface.
const PORT_INTERFACE_NAME: u8 = 5;
/// Families of a management address (IANA address family numbers).
const FAMILY_IPV4: u8 = 1;
const FAMILY_IPV6: u8 = 2;
const FAMILY_MAC: u8 = 6;
/// The interface behind a management address is not known.
const INTERFACE_UNKNOWN: u8 = 1;

/// A chassis or port id: how it is made, and what it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// 802.1AB, tables 8-2 and 8-3.
    pub subtype: u8,
    /// 1 to 255 octets.
    pub octets: Vec<u8>,
}

impl Id {
    /// A chassis by its MAC address.
    pub fn chassis(mac: MacAddress) -> Self {
        Self { subtype: CHASSIS_MAC, octets: mac.0.to_vec() }
    }

    /// Whether it is a chassis by this MAC address.
    pub(super) fn is_mac(&self, mac: MacAddress) -> bool {
        self.subtype == CHASSIS_MAC && self.octets == mac.0
    }

    /// A port by the name of its interface.
    pub fn port(name: &str) -> Self {
        let octets = name.as_bytes().iter().copied().take(ID_BYTES_MAX).collect();
        Self { subtype: PORT_INTERFACE_NAME, octets }
    }

    fn read(value: &[u8]) -> Option<Self> {
        let (&subtype, octets) = value.split_first()?;
        let fits = (1..=ID_BYTES_MAX).contains(&octets.len());
        fits.then(|| Self { subtype, octets: octets.to_owned() })
    }

    /// For people: a MAC address where `mac_subtype` says it is one, else text or hexadecimal.
    fn show(&self, mac_subtype: u8) -> String {
        match <[u8; 6]>::try_from(&self.octets[..]) {
            Ok(octets) if self.subtype == mac_subtype => alloc::format!("{}", MacAddress(octets)),
            _ if self.octets.iter().all(|octet| (0x20..0x7F).contains(octet)) => text(&self.octets),
            _ => self.octets.iter().map(|octet| alloc::format!("{octet:02x}")).collect(),
        }
    }

    /// A chassis id for people.
    pub fn as_chassis(&self) -> String {
        self.show(CHASSIS_MAC)
    }

    /// A port id for people.
    pub fn as_port(&self) -> String {
        self.show(PORT_MAC)
    }
}

/// What a system can do, and which of that it does; a bit each (802.1AB, table 8-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// What it can do.
    pub supported_bits: u16,
    /// What it does.
    pub enabled_bits: u16,
}

impl Capabilities {
    /// It bridges.
    pub const BRIDGE: u16 = 1 << 2;
    /// It routes.
    pub const ROUTER: u16 = 1 << 4;
    /// It is a station and nothing else.
    pub const STATION: u16 = 1 << 7;
}

/// Where a system is managed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagementAddress {
    /// By IP.
    Ip(IpAddr),
    /// It has no IP address.
    Mac(MacAddress),
}

impl fmt::Display for ManagementAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Mac(address) => address.fmt(f),
        }
    }
}

/// An LLDPDU, as far as it is understood here. Texts have no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Who.
    pub chassis: Id,
    /// Which of its ports.
    pub port: Id,
    /// For how many seconds this holds; 0 is goodbye.
    pub ttl_s: u16,
    /// The port in words.
    pub port_description: Option<String>,
    /// The system's name.
    pub system_name: Option<String>,
    /// The system in words.
    pub system_description: Option<String>,
    /// What it can do.
    pub capabilities: Option<Capabilities>,
    /// The first address at which it is managed that is IP or MAC.
    pub management: Option<ManagementAddress>,
    /// The longest frame it takes, FCS included.
    pub max_frame_bytes: Option<u16>,
    /// Which priorities PFC protects there.
    pub pfc: Option<PfcConfiguration>,
    /// Level and port type. If both profiles are said, the standard's.
    pub topology: Option<Topology>,
}

/// What was in an LLDPDU besides what it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TlvCounts {
    /// TLVs nobody here understands.
    pub(super) unrecognized: u32,
    /// TLVs that were malformed, there a second time, or cut short by the end of the frame.
    pub(super) discarded: u32,
}

/// Why an LLDPDU says nothing at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PduError {
    /// It does not begin with chassis id, port id and TTL, each sound.
    Mandatory,
    /// One of those three is there a second time.
    Repeated,
    /// Its end has a length.
    End,
}

impl Pdu {
    /// An LLDPDU that says only who and for how long.
    pub const fn new(chassis: Id, port: Id, ttl_s: u16) -> Self {
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

    /// Reads what follows the ethertype; padding behind the end is not looked at.
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
        // Goodbye needs no more.
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
    /// In which form the topology was said so far.
    profile: Option<Profile>,
}

impl Draft {
    /// What is said twice holds as it was said first (9.2.7.7.2).
    fn take(&mut self, tlv: Tlv<'_>) {
        let Pdu {
            port_description, system_name, system_description, capabilities, management, ..
        } = &mut self.pdu;
        let is_taken = match tlv.kind {
            tlv::PORT_DESCRIPTION => keep(port_description, read_text(tlv.value)),
            tlv::SYSTEM_NAME => keep(system_name, read_text(tlv.value)),
            tlv::SYSTEM_DESCRIPTION => keep(system_description, read_text(tlv.value)),
            tlv::CAPABILITIES => keep(capabilities, read_capabilities(tlv.value)),
            // There may be several of these, and those of other families are as good.
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

/// Puts `value` where nothing is yet; whether it did.
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

/// Text that does no harm where it is shown.
fn text(octets: &[u8]) -> String {
    let text = String::from_utf8_lossy(octets);
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The longest start of `text` that fits.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

fn read_capabilities(value: &[u8]) -> Option<Capabilities> {
    Some(Capabilities { supported_bits: be16(value, 0)?, enabled_bits: be16(value, 2)? })
}

/// The address, or `Some(None)` if it is of another family; `None` if it is malformed. An address
/// with its family has 2 to 32 octets; an interface number and an object identifier follow.
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

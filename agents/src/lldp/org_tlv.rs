//! Organizationally specific TLVs of IEEE 802.1 and 802.3, as far as this switch reads or sends
//! them.

use super::topology::{IEEE_802_1, Profile, SLIDES_OUI, SLIDES_SUBTYPE, SUBTYPE, Topology};

/// IEEE 802.3.
pub(super) const IEEE_802_3: [u8; 3] = [0x00, 0x12, 0x0F];
/// Maximum Frame Size (IEEE 802.3, 79.3.4), under [`IEEE_802_3`].
pub(super) const MAX_FRAME_SIZE: u8 = 4;
/// Priority-based Flow Control Configuration (IEEE 802.1Q, D.2.10), under [`IEEE_802_1`].
pub(super) const PFC_CONFIGURATION: u8 = 0x0B;

/// The PFC configuration that a station advertises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PfcConfiguration {
    /// It accepts the configuration of its neighbor.
    pub willing: bool,
    /// It cannot bypass MACsec for PFC frames (MACsec bypass capability, inverted).
    pub mbc: bool,
    /// The number of priorities that can have PFC at once; 0 to 15 on the wire.
    pub capability: u8,
    /// Bit p is set if PFC is enabled for priority p.
    pub enabled_bits: u8,
}

impl PfcConfiguration {
    /// The two octets behind the subtype.
    pub(super) const fn write(self) -> [u8; 2] {
        let flags = (self.willing as u8) << 7 | (self.mbc as u8) << 6 | self.capability & 0x0F;
        [flags, self.enabled_bits]
    }

    pub(super) fn read(octets: &[u8]) -> Option<Self> {
        let &[flags, enabled_bits] = octets.first_chunk()?;
        Some(Self {
            willing: flags & 0x80 != 0,
            mbc: flags & 0x40 != 0,
            capability: flags & 0x0F,
            enabled_bits,
        })
    }
}

/// An organizationally specific TLV that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrgTlv {
    Topology(Profile, Topology),
    Pfc(PfcConfiguration),
    MaxFrameBytes(u16),
}

/// Why a TLV cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlvError {
    /// Its type is unknown.
    Unrecognized,
    /// It is too short for its fields.
    Malformed,
}

/// Reads the value of a TLV of type 127.
pub(super) fn read(value: &[u8]) -> Result<OrgTlv, TlvError> {
    let Some((&[a, b, c, subtype], octets)) = value.split_first_chunk() else {
        return Err(TlvError::Malformed);
    };
    let topology =
        |profile| Topology::read(profile, octets).map(|it| OrgTlv::Topology(profile, it));
    let read = match ([a, b, c], subtype) {
        (IEEE_802_1, SUBTYPE) => topology(Profile::Standard),
        (SLIDES_OUI, SLIDES_SUBTYPE) => topology(Profile::Slides),
        (IEEE_802_1, PFC_CONFIGURATION) => PfcConfiguration::read(octets).map(OrgTlv::Pfc),
        (IEEE_802_3, MAX_FRAME_SIZE) => {
            octets.first_chunk().map(|&size| OrgTlv::MaxFrameBytes(u16::from_be_bytes(size)))
        }
        _ => return Err(TlvError::Unrecognized),
    };
    read.ok_or(TlvError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pfc_is_read_as_it_is_written() {
        let pfc = PfcConfiguration { willing: true, mbc: false, capability: 8, enabled_bits: 0x18 };
        assert_eq!(pfc.write(), [0x88, 0x18]);
        assert_eq!(PfcConfiguration::read(&pfc.write()), Some(pfc));
        assert_eq!(PfcConfiguration::read(&[0xFF]), None);
    }

    #[test]
    fn unknown_tlvs_are_distinguished_from_malformed_ones() {
        assert_eq!(read(&[0, 0x80, 0xC2, 1, 0, 9]), Err(TlvError::Unrecognized), "Port VLAN ID");
        assert_eq!(read(&[0, 0x12, 0x0F, 4, 5]), Err(TlvError::Malformed));
        assert_eq!(read(&[0, 0x12, 0x0F, 4, 5, 0xF2]), Ok(OrgTlv::MaxFrameBytes(1_522)));
        assert_eq!(read(&[0, 0x80, 0xC2]), Err(TlvError::Malformed));
    }
}

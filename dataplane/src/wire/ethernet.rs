//! Ethernet II and 802.1Q.

/// IPv4.
pub const IPV4: u16 = 0x0800;
/// ARP.
pub const ARP: u16 = 0x0806;
/// 802.1Q customer tag.
pub const VLAN: u16 = 0x8100;
/// 802.1ad service tag.
pub const SERVICE_VLAN: u16 = 0x88A8;
/// IPv6.
pub const IPV6: u16 = 0x86DD;
/// MAC control: PAUSE and PFC.
pub const MAC_CONTROL: u16 = 0x8808;
/// LLDP.
pub const LLDP: u16 = 0x88CC;

/// Destination, source, ethertype.
pub const HEADER_BYTES: usize = 14;
/// One VLAN tag.
pub const TAG_BYTES: usize = 4;

/// The VLAN identifier of a tag's control information.
#[inline(always)]
pub const fn vid(tci: u16) -> u16 {
    tci & 0x0FFF
}

/// The priority code point of a tag's control information.
#[inline(always)]
pub const fn pcp(tci: u16) -> u8 {
    (tci >> 13) as u8
}

/// `tci` with another priority code point.
#[inline(always)]
pub const fn with_pcp(tci: u16, pcp: u8) -> u16 {
    (tci & 0x1FFF) | ((pcp as u16 & 7) << 13)
}

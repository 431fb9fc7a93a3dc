//! Parse: what kind of frame this is and where its headers are. One pass, never past the end of
//! what arrived.
//!
//! Reads: the frame's first piece and its length. Writes: [`Parsed`]. Counts: nothing; a frame that
//! cannot be read is [`Kind::Bad`] and the pipeline counts its [`DropReason`].

use super::{array_at, be16, ethernet, ipv4, ipv6};
use crate::counters::DropReason;
use core::net::IpAddr;

/// What the pipeline does next depends on this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// IPv4 with a header that holds.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// ARP.
    Arp,
    /// PAUSE, PFC: ethertype 0x8808, or anything to 01:80:C2:00:00:01.
    MacControl,
    /// LLDP, by its ethertype; it is one only if it is sent to LLDP's group address, too.
    Lldp,
    /// Something else, which a bridge carries and a router does not.
    Other,
    /// Unreadable, and why.
    Bad(DropReason),
}

/// The tag control information that stands for "no VLAN tag": its reserved VID occurs on no wire.
pub(crate) const NO_TAG: u16 = 0xFFFF;

/// Where things are in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// What it is.
    pub kind: Kind,
    /// Offset of what follows the last ethertype: the IP header, if there is one.
    pub l3: u8,
    /// DSCP and ECN (the TOS octet, the traffic class); 0 if not IP.
    pub tos: u8,
    /// TTL or hop limit; 0 if not IP.
    pub ttl: u8,
    /// Tag control information of the outermost VLAN tag, or [`NO_TAG`].
    pub tci: u16,
}

impl Parsed {
    const fn other(kind: Kind, l3: u8, tci: u16) -> Self {
        Self { kind, l3, tos: 0, ttl: 0, tci }
    }

    /// Whether the frame carries a VLAN tag.
    pub const fn is_tagged(&self) -> bool {
        self.tci != NO_TAG
    }
}

/// Parses a frame of `frame_bytes` in all, of which `head` is the first piece.
#[inline(always)]
pub fn parse(head: &[u8], frame_bytes: usize) -> Parsed {
    let Some(start) = head.first_chunk::<{ ethernet::HEADER_BYTES }>() else {
        return Parsed::other(Kind::Bad(DropReason::Truncated), 0, NO_TAG);
    };
    match u16::from_be_bytes([start[12], start[13]]) {
        ethernet::IPV4 => parse_ipv4(head, frame_bytes, ethernet::HEADER_BYTES, NO_TAG),
        ethernet::IPV6 => parse_ipv6(head, frame_bytes, ethernet::HEADER_BYTES, NO_TAG),
        ethertype => parse_rest(head, frame_bytes, ethertype),
    }
}

/// Frames with VLAN tags, and those that are not IP. Two tags are looked through; a third makes the
/// frame [`Kind::Other`], classified by its outermost tag.
#[inline(never)]
fn parse_rest(head: &[u8], frame_bytes: usize, first_ethertype: u16) -> Parsed {
    let mut tci = NO_TAG;
    let mut ethertype = first_ethertype;
    let mut at = ethernet::HEADER_BYTES;
    for _ in 0..2 {
        if ethertype != ethernet::VLAN && ethertype != ethernet::SERVICE_VLAN {
            break;
        }
        let (Some(inner_tci), Some(inner_ethertype)) = (be16(head, at), be16(head, at + 2)) else {
            return Parsed::other(Kind::Bad(DropReason::Truncated), 0, tci);
        };
        if tci == NO_TAG {
            // VID 0xFFF is reserved (802.1Q 9.6); clear a bit so that it cannot pass for no tag.
            tci = if inner_tci == NO_TAG { inner_tci & !0x1000 } else { inner_tci };
        }
        ethertype = inner_ethertype;
        at += ethernet::TAG_BYTES;
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most 22")]
    let l3 = at as u8;
    match ethertype {
        ethernet::IPV4 => parse_ipv4(head, frame_bytes, at, tci),
        ethernet::IPV6 => parse_ipv6(head, frame_bytes, at, tci),
        ethernet::ARP => Parsed::other(Kind::Arp, l3, tci),
        ethernet::MAC_CONTROL => Parsed::other(Kind::MacControl, l3, tci),
        ethernet::LLDP => Parsed::other(Kind::Lldp, l3, tci),
        _ => Parsed::other(Kind::Other, l3, tci),
    }
}

#[inline(always)]
fn parse_ipv4(head: &[u8], frame_bytes: usize, at: usize, tci: u16) -> Parsed {
    let bad = |reason| Parsed::other(Kind::Bad(reason), 0, tci);
    let Some(header) = array_at::<{ ipv4::HEADER_BYTES }>(head, at) else {
        return bad(DropReason::Truncated);
    };
    let header_bytes = usize::from(header[0] & 0x0F) * 4;
    let total_bytes = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] >> 4 != 4 || header_bytes < ipv4::HEADER_BYTES || total_bytes < header_bytes {
        return bad(DropReason::BadHeader);
    }
    if total_bytes > frame_bytes - at {
        return bad(DropReason::Truncated);
    }
    let whole = if header_bytes == ipv4::HEADER_BYTES {
        ipv4::checksum_holds(header)
    } else {
        match head.get(at..at + header_bytes) {
            Some(header) => ipv4::checksum_holds(header),
            None => return bad(DropReason::Truncated),
        }
    };
    if !whole {
        return bad(DropReason::BadChecksum);
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most 42, in a tunnel")]
    Parsed { kind: Kind::Ipv4, l3: at as u8, tos: header[1], ttl: header[8], tci }
}

#[inline(always)]
fn parse_ipv6(head: &[u8], frame_bytes: usize, at: usize, tci: u16) -> Parsed {
    let bad = |reason| Parsed::other(Kind::Bad(reason), 0, tci);
    let Some(header) = array_at::<{ ipv6::HEADER_BYTES }>(head, at) else {
        return bad(DropReason::Truncated);
    };
    if header[0] >> 4 != 6 {
        return bad(DropReason::BadHeader);
    }
    let payload_bytes = usize::from(u16::from_be_bytes([header[4], header[5]]));
    if payload_bytes > frame_bytes - at - ipv6::HEADER_BYTES {
        return bad(DropReason::Truncated);
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most 42, in a tunnel")]
    Parsed { kind: Kind::Ipv6, l3: at as u8, tos: ipv6::traffic_class(header), ttl: header[7], tci }
}

/// Parses the IPv4 or IPv6 header at `at`, inside a packet that ends at `end`, of a frame of which
/// `head` is the first piece. `tci` is the frame's, or [`NO_TAG`].
#[inline(never)]
pub(crate) fn parse_inner(head: &[u8], end: usize, at: usize, is_v6: bool, tci: u16) -> Parsed {
    let header_bytes = if is_v6 { ipv6::HEADER_BYTES } else { ipv4::HEADER_BYTES };
    if end < at + header_bytes {
        return Parsed::other(Kind::Bad(DropReason::Truncated), 0, tci);
    }
    if is_v6 { parse_ipv6(head, end, at, tci) } else { parse_ipv4(head, end, at, tci) }
}

/// Source and destination of a frame that [`parse`] found to be IP at offset `l3`.
pub fn addresses(head: &[u8], kind: Kind, l3: usize) -> Option<(IpAddr, IpAddr)> {
    Some(match kind {
        Kind::Ipv4 => {
            let address = |at: usize| array_at::<4>(head, l3 + at).map(|&it| IpAddr::from(it));
            (address(12)?, address(16)?)
        }
        Kind::Ipv6 => {
            let address = |at: usize| array_at::<16>(head, l3 + at).map(|&it| IpAddr::from(it));
            (address(8)?, address(24)?)
        }
        _ => return None,
    })
}

/// Protocol and ports of an IP packet, for the flow hash; ports are 0 where there are none, and for
/// every fragment, so that the fragments of a datagram stay together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowPorts {
    /// IP protocol or next header.
    pub protocol: u8,
    /// Source port of TCP, UDP (RoCEv2 puts its entropy here) or SCTP, and destination port; 0 for
    /// other protocols and for fragments.
    pub ports: (u16, u16),
}

/// Reads [`FlowPorts`] of a frame that [`parse`] found to be IP at offset `l3`.
#[inline]
pub fn flow_ports(head: &[u8], kind: Kind, l3: usize) -> FlowPorts {
    let Some(ip) = head.get(l3..) else { return FlowPorts::default() };
    let (protocol, l4) = match kind {
        Kind::Ipv4 if ip.len() >= ipv4::HEADER_BYTES => {
            let is_fragment = u16::from_be_bytes([ip[6], ip[7]]) & 0x3FFF != 0;
            let l4 = usize::from(ip[0] & 0x0F) * 4;
            (ip[9], if is_fragment { usize::MAX } else { l4 })
        }
        Kind::Ipv6 if ip.len() >= ipv6::HEADER_BYTES => (ip[6], ipv6::HEADER_BYTES),
        _ => return FlowPorts::default(),
    };
    let has_ports = matches!(protocol, 6 | 17 | 132);
    let ports = be16(ip, l4).zip(be16(ip, l4.saturating_add(2))).filter(|_| has_ports);
    FlowPorts { protocol, ports: ports.unwrap_or_default() }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;

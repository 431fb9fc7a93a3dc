//! IPv4 and IPv6 headers: one view of both versions, for reading and for writing.

use super::counters::Outcome;
use super::ethernet::{Incoming, Outgoing};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetProtocol, IPV4_HEADER_LEN, IPV6_HEADER_LEN, IpProtocol, Ipv4Packet, Ipv4Repr,
    Ipv6ExtHeader, Ipv6FragmentHeader, Ipv6Packet, Ipv6Repr,
};

/// The DSCP of packets that the switch originates, except echo replies: CS6, network control
/// (RFC 4594).
pub(super) const CONTROL_DSCP: u8 = 48;
/// The TTL or hop limit of packets that may be routed (RFC 1812, 4.2.2.9).
pub(super) const HOP_LIMIT: u8 = 64;
/// An authentication header gives its length in these units, less two (RFC 4302, 2.2).
const AH_WORD_BYTES: usize = 4;

/// Source and destination, of one address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressPair {
    V4 { source: Ipv4Addr, destination: Ipv4Addr },
    V6 { source: Ipv6Addr, destination: Ipv6Addr },
}

impl AddressPair {
    /// From `source` to `destination`; `None` if they are of different families.
    pub(super) fn new(source: IpAddr, destination: IpAddr) -> Option<Self> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Self::V4 { source, destination }),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Self::V6 { source, destination }),
            _ => None,
        }
    }

    pub(super) fn source(self) -> IpAddr {
        match self {
            Self::V4 { source, .. } => source.into(),
            Self::V6 { source, .. } => source.into(),
        }
    }

    pub(super) fn destination(self) -> IpAddr {
        match self {
            Self::V4 { destination, .. } => destination.into(),
            Self::V6 { destination, .. } => destination.into(),
        }
    }
}

/// Which part of a datagram a packet is. A later variant has less of the datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fragment {
    /// No fragment.
    Whole,
    /// IPv6 only: a whole datagram with a fragment header (RFC 6946).
    Atomic,
    /// The first of several.
    First,
    /// Any other fragment. It has no header of the upper layer.
    Later,
}

/// A received packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct IpPacket<'a> {
    pub(super) addresses: AddressPair,
    pub(super) hop_limit: u8,
    pub(super) dscp: u8,
    pub(super) fragment: Fragment,
    /// The protocol of the payload, behind all extension headers that could be followed.
    pub(super) protocol: IpProtocol,
    /// The payload, without the padding of the frame.
    pub(super) payload: &'a [u8],
    /// The whole packet with its header, without the padding of the frame.
    pub(super) packet: &'a [u8],
    /// Length of the IPv4 header with its options, or of the fixed IPv6 header.
    pub(super) header_bytes: usize,
}

impl<'a> IpPacket<'a> {
    /// Reads the IP packet in a frame.
    pub(super) fn of_frame(incoming: &Incoming<'a>) -> Result<Self, Outcome> {
        let packet = match incoming.ethertype {
            EthernetProtocol::Ipv4 => Self::read_v4(incoming.payload),
            EthernetProtocol::Ipv6 => Self::read_v6(incoming.payload),
            _ => return Err(Outcome::Unsupported),
        };
        packet.ok_or(Outcome::Malformed)
    }

    fn read_v4(bytes: &'a [u8]) -> Option<Self> {
        let header = Ipv4Packet::new_checked(bytes).ok()?;
        if header.version() != 4 || !header.verify_checksum() {
            return None;
        }
        let fragment = match (header.frag_offset(), header.more_frags()) {
            (0, false) => Fragment::Whole,
            (0, true) => Fragment::First,
            _ => Fragment::Later,
        };
        Some(Self {
            addresses: AddressPair::V4 {
                source: header.src_addr(),
                destination: header.dst_addr(),
            },
            hop_limit: header.hop_limit(),
            dscp: header.dscp(),
            fragment,
            protocol: header.next_header(),
            payload: header.payload(),
            packet: bytes.get(..header.total_len().into())?,
            header_bytes: header.header_len().into(),
        })
    }

    fn read_v6(bytes: &'a [u8]) -> Option<Self> {
        let header = Ipv6Packet::new_checked(bytes).ok()?;
        if header.version() != 6 {
            return None;
        }
        let (fragment, protocol, payload) = follow(header.next_header(), header.payload());
        Some(Self {
            addresses: AddressPair::V6 {
                source: header.src_addr(),
                destination: header.dst_addr(),
            },
            hop_limit: header.hop_limit(),
            dscp: header.traffic_class() >> 2,
            fragment,
            protocol,
            payload,
            packet: bytes.get(..header.total_len())?,
            header_bytes: IPV6_HEADER_LEN,
        })
    }
}

/// Follows IPv6 extension headers, as far as they are complete. Returns the protocol behind them
/// and its bytes.
fn follow(mut next: IpProtocol, mut bytes: &[u8]) -> (Fragment, IpProtocol, &[u8]) {
    let mut fragment = Fragment::Whole;
    loop {
        let step = match next {
            IpProtocol::HopByHop | IpProtocol::Ipv6Route | IpProtocol::Ipv6Opts => {
                Ipv6ExtHeader::new_checked(bytes).ok().and_then(|header| {
                    let rest = bytes.get(8 * (usize::from(header.header_len()) + 1)..)?;
                    Some((header.next_header(), rest))
                })
            }
            IpProtocol::IpSecAh => bytes.first_chunk::<2>().and_then(|&[protocol, words]| {
                let rest = bytes.get(AH_WORD_BYTES * (usize::from(words) + 2)..)?;
                Some((protocol.into(), rest))
            }),
            IpProtocol::Ipv6Frag => bytes.split_first_chunk::<8>().map(|(header, rest)| {
                let part = Ipv6FragmentHeader::new_unchecked(&header[2..]);
                fragment = fragment.max(match (part.frag_offset(), part.more_frags()) {
                    (0, false) => Fragment::Atomic,
                    (0, true) => Fragment::First,
                    _ => Fragment::Later,
                });
                (header[0].into(), rest)
            }),
            _ => None,
        };
        let Some((protocol, rest)) = step else { return (fragment, next, bytes) };
        (next, bytes) = (protocol, rest);
        if fragment == Fragment::Later {
            return (fragment, next, bytes);
        }
    }
}

/// The IP header of a packet to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct IpHeader {
    pub(super) addresses: AddressPair,
    pub(super) hop_limit: u8,
    pub(super) dscp: u8,
    pub(super) protocol: IpProtocol,
}

impl IpHeader {
    /// Length of this header.
    pub(super) fn bytes(&self) -> usize {
        match self.addresses {
            AddressPair::V4 { .. } => IPV4_HEADER_LEN,
            AddressPair::V6 { .. } => IPV6_HEADER_LEN,
        }
    }

    /// The frame with this header. `fill` writes the payload, which is `payload_bytes` zeros at
    /// first.
    pub(super) fn frame(
        &self,
        link: Outgoing,
        payload_bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Vec<u8> {
        let ethertype = match self.addresses {
            AddressPair::V4 { .. } => EthernetProtocol::Ipv4,
            AddressPair::V6 { .. } => EthernetProtocol::Ipv6,
        };
        let header_bytes = self.bytes();
        link.frame(ethertype, header_bytes + payload_bytes, |packet| {
            let (header, payload) = packet.split_at_mut(header_bytes);
            self.write(header, payload_bytes);
            fill(payload);
        })
    }

    fn write(&self, bytes: &mut [u8], payload_len: usize) {
        let Self { addresses, hop_limit, dscp, protocol: next_header } = *self;
        match addresses {
            AddressPair::V4 { source: src_addr, destination: dst_addr } => {
                let repr = Ipv4Repr { src_addr, dst_addr, next_header, payload_len, hop_limit };
                let mut header = Ipv4Packet::new_unchecked(bytes);
                repr.emit(&mut header, &ChecksumCapabilities::ignored());
                header.set_dscp(dscp);
                header.fill_checksum();
            }
            AddressPair::V6 { source: src_addr, destination: dst_addr } => {
                let repr = Ipv6Repr { src_addr, dst_addr, next_header, payload_len, hop_limit };
                let mut header = Ipv6Packet::new_unchecked(bytes);
                repr.emit(&mut header);
                header.set_traffic_class(dscp << 2);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use IpProtocol::{HopByHop, Icmpv6, IpSecAh, Ipv6Frag, Ipv6Opts, Ipv6Route, Tcp, Udp};

    /// An extension header of `units` times eight bytes; `next` follows it.
    fn header(next: IpProtocol, units: u8) -> Vec<u8> {
        let mut bytes = alloc::vec![0; 8 * usize::from(units)];
        (bytes[0], bytes[1]) = (next.into(), units - 1);
        bytes
    }

    fn fragment(next: IpProtocol, offset_and_flag: u16) -> Vec<u8> {
        let [high, low] = offset_and_flag.to_be_bytes();
        // The second byte is reserved, and no length.
        alloc::vec![next.into(), 0xFF, high, low, 0, 0, 0, 1]
    }

    #[test]
    fn extension_headers_are_followed_to_the_payload() {
        let mut ah = header(Udp, 3);
        ah[1] = 4; // 24 bytes are six words, less two
        let (atomic, first, later) = (0, 1, 8);
        let cases: [(&str, IpProtocol, &[Vec<u8>], _); 9] = [
            ("none", Udp, &[], (Fragment::Whole, Udp)),
            (
                "three",
                HopByHop,
                &[header(Ipv6Opts, 1), header(Ipv6Route, 2), header(Tcp, 3)],
                (Fragment::Whole, Tcp),
            ),
            ("authentication", IpSecAh, &[ah], (Fragment::Whole, Udp)),
            ("atomic", Ipv6Frag, &[fragment(Icmpv6, atomic)], (Fragment::Atomic, Icmpv6)),
            (
                "first",
                Ipv6Frag,
                &[fragment(Ipv6Opts, first), header(Udp, 1)],
                (Fragment::First, Udp),
            ),
            ("later", Ipv6Frag, &[fragment(Udp, later)], (Fragment::Later, Udp)),
            (
                "first around an atomic one",
                Ipv6Frag,
                &[fragment(Ipv6Frag, first), fragment(Udp, atomic)],
                (Fragment::First, Udp),
            ),
            ("cut short", HopByHop, &[header(Udp, 4)[..15].to_vec()], (Fragment::Whole, HopByHop)),
            ("half a fragment header", Ipv6Frag, &[], (Fragment::Whole, Ipv6Frag)),
        ];
        for (name, first, headers, (part, protocol)) in cases {
            let bytes = [headers.concat(), alloc::vec![0xC3; 5]].concat();
            let (found_part, found, rest) = follow(first, &bytes);
            assert_eq!((found_part, found), (part, protocol), "{name}");
            let is_followed = !matches!(found, HopByHop | Ipv6Frag);
            assert_eq!(rest.len() == 5, is_followed || headers.is_empty(), "{name}");
        }
    }

    #[test]
    fn what_follows_in_a_later_fragment_is_data() {
        let looks_like_a_header = header(Icmpv6, 1);
        let bytes = [fragment(Ipv6Opts, 8), looks_like_a_header.clone()].concat();
        assert_eq!(follow(Ipv6Frag, &bytes), (Fragment::Later, Ipv6Opts, &looks_like_a_header[..]));
    }
}

//! Test frames: Ethernet, optional VLAN tag, IPv4 or IPv6, UDP, and the test payload.

use super::flow::FlowSpec;
use super::payload::{self, TestHeader};
use dataplane::wire::MacAddress;
use smoltcp::wire::{EthernetProtocol, IpAddress, IpProtocol, Ipv4Packet, Ipv6Packet, UdpPacket};
use std::net::IpAddr;

const ETHERNET_BYTES: usize = 14;
const VLAN_BYTES: usize = 4;
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
const UDP_BYTES: usize = 8;
const VLAN_ETHERTYPE: u16 = 0x8100;

/// The resolved addresses of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Addresses {
    /// From which MAC.
    pub source_mac: MacAddress,
    /// To which MAC.
    pub destination_mac: MacAddress,
    /// From which address, of the same version as the destination.
    pub source: IpAddr,
    /// From which UDP port.
    pub source_port: u16,
}

/// A flow's frame, without the fields that differ from frame to frame.
#[derive(Clone, Debug)]
pub(super) struct FrameTemplate {
    bytes: Vec<u8>,
    udp_at: usize,
    source: IpAddress,
    destination: IpAddress,
    name: Vec<u8>,
}

impl FrameTemplate {
    /// The frame of `flow`, called `name`, between `addresses`.
    pub(super) fn new(flow: &FlowSpec, addresses: &Addresses, name: &str) -> Self {
        let mut bytes = vec![0; flow.size_bytes];
        bytes[0..6].copy_from_slice(&addresses.destination_mac.0);
        bytes[6..12].copy_from_slice(&addresses.source_mac.0);
        let mut ip_at = ETHERNET_BYTES;
        if let Some((vlan, pcp)) = flow.vlan {
            bytes[12..14].copy_from_slice(&VLAN_ETHERTYPE.to_be_bytes());
            bytes[14..16].copy_from_slice(&(u16::from(pcp) << 13 | vlan).to_be_bytes());
            ip_at += VLAN_BYTES;
        }
        let ethertype = match flow.destination {
            IpAddr::V4(_) => EthernetProtocol::Ipv4,
            IpAddr::V6(_) => EthernetProtocol::Ipv6,
        };
        bytes[ip_at - 2..ip_at].copy_from_slice(&u16::from(ethertype).to_be_bytes());
        let udp_at = ip_at + write_ip(flow, addresses.source, &mut bytes[ip_at..]);
        let mut udp = UdpPacket::new_unchecked(&mut bytes[udp_at..]);
        udp.set_src_port(addresses.source_port);
        udp.set_dst_port(flow.port);
        udp.set_len(length(flow.size_bytes - udp_at));
        let (source, destination) = (addresses.source.into(), flow.destination.into());
        Self { bytes, udp_at, source, destination, name: name.as_bytes().to_vec() }
    }

    /// Length of the frame, without its FCS.
    pub(super) const fn frame_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of UDP payload in the frame.
    pub(super) const fn payload_bytes(&self) -> usize {
        self.bytes.len() - self.udp_at - UDP_BYTES
    }

    /// Writes the frame with `test_header` into `into`, and returns the part that it takes.
    ///
    /// # Panics
    /// `into` is shorter than the frame.
    pub(super) fn write<'a>(&self, test_header: &TestHeader, into: &'a mut [u8]) -> &'a [u8] {
        let (headers, _) = self.bytes.split_at(self.udp_at + UDP_BYTES);
        let frame = &mut into[..self.bytes.len()];
        frame[..headers.len()].copy_from_slice(headers);
        payload::write(test_header, &self.name, &mut frame[headers.len()..]);
        UdpPacket::new_unchecked(&mut frame[self.udp_at..])
            .fill_checksum(&self.source, &self.destination);
        frame
    }
}

/// Writes the IP header at the start of `rest`, which becomes the packet, and returns the length of
/// the header.
fn write_ip(flow: &FlowSpec, source: IpAddr, rest: &mut [u8]) -> usize {
    let bytes = rest.len();
    match (source, flow.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut ip = Ipv4Packet::new_unchecked(rest);
            ip.set_version(4);
            ip.set_header_len(20);
            ip.set_dscp(flow.dscp);
            ip.set_ecn(flow.ecn);
            ip.set_total_len(length(bytes));
            ip.clear_flags();
            ip.set_dont_frag(true);
            ip.set_hop_limit(flow.ttl);
            ip.set_next_header(IpProtocol::Udp);
            ip.set_src_addr(source);
            ip.set_dst_addr(destination);
            ip.fill_checksum();
            IPV4_BYTES
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let mut ip = Ipv6Packet::new_unchecked(rest);
            ip.set_version(6);
            ip.set_traffic_class(flow.dscp << 2 | flow.ecn);
            ip.set_payload_len(length(bytes - IPV6_BYTES));
            ip.set_hop_limit(flow.ttl);
            ip.set_next_header(IpProtocol::Udp);
            ip.set_src_addr(source);
            ip.set_dst_addr(destination);
            IPV6_BYTES
        }
        _ => unreachable!("a flow's addresses are of one version"),
    }
}

fn length(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or(u16::MAX)
}

/// A received UDP frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed<'a> {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// DSCP.
    pub dscp: u8,
    /// Whether its ECN field is Congestion Experienced.
    pub congested: bool,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Whether the checksums of IP and UDP fit.
    pub checksums_fit: bool,
    /// The UDP payload.
    pub payload: &'a [u8],
}

/// Parses a frame; `None` if it is not complete UDP over IP over Ethernet.
pub(super) fn observe(frame: &[u8]) -> Option<Observed<'_>> {
    let ethertype_at = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let mut ip_at = ETHERNET_BYTES;
    while ethertype_at(ip_at - 2)? == VLAN_ETHERTYPE {
        ip_at += VLAN_BYTES;
    }
    let packet = frame.get(ip_at..)?;
    match EthernetProtocol::from(ethertype_at(ip_at - 2)?) {
        EthernetProtocol::Ipv4 => {
            let ip = Ipv4Packet::new_checked(packet).ok()?;
            if ip.version() != 4 || ip.next_header() != IpProtocol::Udp || ip.frag_offset() != 0 {
                return None;
            }
            let addresses = (IpAddr::V4(ip.src_addr()), IpAddr::V4(ip.dst_addr()));
            let class = ip.dscp() << 2 | ip.ecn();
            observe_udp(addresses, class, ip.hop_limit(), ip.verify_checksum(), ip.payload())
        }
        EthernetProtocol::Ipv6 => {
            let ip = Ipv6Packet::new_checked(packet).ok()?;
            if ip.version() != 6 || ip.next_header() != IpProtocol::Udp {
                return None;
            }
            let addresses = (IpAddr::V6(ip.src_addr()), IpAddr::V6(ip.dst_addr()));
            observe_udp(addresses, ip.traffic_class(), ip.hop_limit(), true, ip.payload())
        }
        _ => None,
    }
}

fn observe_udp(
    (source, destination): (IpAddr, IpAddr),
    traffic_class: u8,
    ttl: u8,
    ip_checksum_fits: bool,
    segment: &[u8],
) -> Option<Observed<'_>> {
    const CONGESTION_EXPERIENCED: u8 = 3;
    let udp = UdpPacket::new_checked(segment).ok()?;
    Some(Observed {
        source,
        destination,
        dscp: traffic_class >> 2,
        congested: traffic_class & 3 == CONGESTION_EXPERIENCED,
        ttl,
        checksums_fit: ip_checksum_fits && udp.verify_checksum(&source.into(), &destination.into()),
        payload: udp.payload(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::payload::Payload;
    use super::*;
    use proptest::prelude::*;

    const MACS: (MacAddress, MacAddress) =
        (MacAddress([2, 0, 0, 0, 0, 1]), MacAddress([2, 0, 0, 0, 0, 2]));

    fn built(spec: &str, sequence: u64) -> (FlowSpec, TestHeader, Vec<u8>) {
        let flow: FlowSpec = spec.parse().expect(spec);
        let source = match flow.destination {
            IpAddr::V4(_) => IpAddr::from([10, 0, 0, 1]),
            IpAddr::V6(_) => IpAddr::from([0xFD00, 0, 0, 0, 0, 0, 0, 1]),
        };
        let (source_mac, destination_mac) = MACS;
        let addresses = Addresses { source_mac, destination_mac, source, source_port: 50_000 };
        let template = FrameTemplate::new(&flow, &addresses, "f1");
        let test_header =
            TestHeader { flow: 7, priority: flow.priority, run: 1, sequence, sent_ns: 99 };
        let mut buffer = vec![0xEE; 10_000];
        let frame = template.write(&test_header, &mut buffer).to_vec();
        assert_eq!(frame.len(), template.frame_bytes());
        (flow, test_header, frame)
    }

    #[test]
    fn headers_stand_where_the_standards_put_them() {
        let (_, _, frame) = built("dst-ip=10.0.0.2,dscp=26,ttl=9,vlan=5,pcp=6,size=100", 0);
        let hex = |range: std::ops::Range<usize>| {
            frame[range].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        assert_eq!(hex(0..18), "020000000002020000000001".to_owned() + "8100c0050800");
        assert_eq!(hex(18..22), "456a0052");
        assert_eq!(hex(26..28), "0911");
        assert_eq!(hex(38..42), "c35012b7");
    }

    #[test]
    fn a_flipped_bit_in_any_header_byte_is_seen() {
        for spec in ["dst-ip=10.0.0.2,size=200", "dst-ip=fd00::2,size=200"] {
            let (_, _, frame) = built(spec, 3);
            let ipv6 = spec.contains("fd00");
            for at in ETHERNET_BYTES..frame.len() {
                // No checksum covers the traffic class, flow label and hop limit of IPv6.
                if ipv6 && (at < ETHERNET_BYTES + 4 || at == ETHERNET_BYTES + 7) {
                    continue;
                }
                let mut damaged = frame.clone();
                damaged[at] ^= 0x10;
                let unharmed = observe(&damaged).is_some_and(|observed| observed.checksums_fit);
                assert!(!unharmed, "{spec}: byte {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_observed(
            ipv6: bool, tagged: bool, dscp in 0_u8..64, ecn in 0_u8..4, ttl in 1_u8..=255,
            more in 0_usize..9_000, sequence in 0_u64..1 << 40,
        ) {
            let destination = if ipv6 { "fd00::2" } else { "10.0.0.2" };
            let size = 90 + more;
            let vlan = if tagged { ",vlan=4" } else { "" };
            let spec = format!("dst-ip={destination},dscp={dscp},ecn={ecn},ttl={ttl},size={size}{vlan}");
            let (flow, test_header, frame) = built(&spec, sequence);
            let observed = observe(&frame).expect("whole");
            prop_assert_eq!(frame.len(), size);
            prop_assert_eq!(observed.destination, flow.destination);
            prop_assert_eq!((observed.dscp, observed.congested), (dscp, ecn == 3));
            prop_assert_eq!((observed.ttl, observed.checksums_fit), (ttl, true));
            let wanted = Payload::Ours { test_header, name: b"f1", intact: true };
            prop_assert_eq!(payload::read(observed.payload), wanted);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(
            mut bytes in prop::collection::vec(any::<u8>(), 0..120), kind in 0_usize..3,
        ) {
            if bytes.len() > 14 {
                bytes[12..14].copy_from_slice(&[[0x08, 0x00], [0x86, 0xDD], [0x81, 0x00]][kind]);
                bytes[14] = [0x45, 0x60, 0x00][kind];
            }
            let _ = observe(&bytes);
        }
    }
}

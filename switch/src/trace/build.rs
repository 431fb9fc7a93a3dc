//! A frame from its description: Ethernet, a VLAN tag, IP, and the start of UDP, TCP or whatever it
//! is.

use super::request::Description;
use dataplane::limits::FRAME_BYTES_MAX;
use dataplane::wire::MacAddress;
use smoltcp::wire::{IpProtocol, Ipv4Packet, Ipv6Packet};
use std::net::IpAddr;

const ETHERNET_BYTES: usize = 14;
const VLAN_BYTES: usize = 4;
const VLAN: [u8; 2] = [0x81, 0];
const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;

/// Why a description is that of no frame: one line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DescriptionError {
    /// One address of each version.
    #[error("source {0} and destination {1} are of different IP versions; give two of one")]
    Versions(IpAddr, IpAddr),
    /// The length.
    #[error(
        "a frame of {bytes} bytes: these headers need {min}, and no port takes more than {max}"
    )]
    Length {
        /// What was wanted.
        bytes: usize,
        /// The least.
        min: usize,
        /// The most.
        max: usize,
    },
    /// A field has another range.
    #[error("{field} is {value}; it is 0 to {max}")]
    Range {
        /// Which.
        field: &'static str,
        /// What was wanted.
        value: u16,
        /// The most.
        max: u16,
    },
}

/// Bytes of the transport header that are written.
const fn transport_bytes(protocol: u8) -> usize {
    match protocol {
        TCP => 20,
        UDP => 8,
        SCTP => 12,
        _ => 0,
    }
}

/// The frame of `description` from `source` to `destination`.
///
/// # Errors
/// It is no frame.
pub(super) fn build(
    description: &Description,
    source: MacAddress,
    destination: MacAddress,
) -> Result<Vec<u8>, DescriptionError> {
    let Description { dscp, pcp, vlan, protocol, frame_bytes, .. } = *description;
    let in_range = |field, value: u16, max| {
        if value > max { Err(DescriptionError::Range { field, value, max }) } else { Ok(()) }
    };
    in_range("dscp", dscp.into(), 63)?;
    in_range("pcp", pcp.into(), 7)?;
    in_range("vlan", vlan.unwrap_or_default(), 4095)?;
    let ip_at = ETHERNET_BYTES + if vlan.is_some() { VLAN_BYTES } else { 0 };
    let ip_bytes = if description.destination.is_ipv4() { 20 } else { 40 };
    let min = ip_at + ip_bytes + transport_bytes(protocol);
    let max = FRAME_BYTES_MAX;
    if frame_bytes < min || frame_bytes > max {
        return Err(DescriptionError::Length { bytes: frame_bytes, min, max });
    }
    let mut frame = vec![0; frame_bytes];
    frame[..6].copy_from_slice(&destination.0);
    frame[6..12].copy_from_slice(&source.0);
    if let Some(vlan) = vlan {
        frame[12..14].copy_from_slice(&VLAN);
        frame[14..16].copy_from_slice(&(u16::from(pcp) << 13 | vlan).to_be_bytes());
    }
    let ethertype: u16 = if ip_bytes == 20 { 0x0800 } else { 0x86DD };
    frame[ip_at - 2..ip_at].copy_from_slice(&ethertype.to_be_bytes());
    write_ip(description, &mut frame[ip_at..])?;
    let l4 = &mut frame[ip_at + ip_bytes..];
    if transport_bytes(protocol) > 0 {
        l4[..2].copy_from_slice(&description.source_port.to_be_bytes());
        l4[2..4].copy_from_slice(&description.destination_port.to_be_bytes());
    }
    match protocol {
        UDP => {
            let bytes = length(l4.len());
            l4[4..6].copy_from_slice(&bytes.to_be_bytes());
        }
        TCP => l4[12] = 5 << 4,
        _ => {}
    }
    Ok(frame)
}

fn write_ip(description: &Description, packet: &mut [u8]) -> Result<(), DescriptionError> {
    let bytes = packet.len();
    match (description.source, description.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let mut ip = Ipv4Packet::new_unchecked(packet);
            ip.set_version(4);
            ip.set_header_len(20);
            ip.set_dscp(description.dscp);
            ip.set_total_len(length(bytes));
            ip.set_dont_frag(true);
            ip.set_hop_limit(description.ttl);
            ip.set_next_header(IpProtocol::from(description.protocol));
            ip.set_src_addr(source);
            ip.set_dst_addr(destination);
            ip.fill_checksum();
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let mut ip = Ipv6Packet::new_unchecked(packet);
            ip.set_version(6);
            ip.set_traffic_class(description.dscp << 2);
            ip.set_payload_len(length(bytes - 40));
            ip.set_hop_limit(description.ttl);
            ip.set_next_header(IpProtocol::from(description.protocol));
            ip.set_src_addr(source);
            ip.set_dst_addr(destination);
        }
        (source, destination) => return Err(DescriptionError::Versions(source, destination)),
    }
    Ok(())
}

fn length(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataplane::wire::parse::{Kind, flow_ports, parse};
    use proptest::prelude::*;

    fn description() -> Description {
        Description {
            source: "10.0.1.1".parse().unwrap(),
            destination: "10.0.2.1".parse().unwrap(),
            dscp: 26,
            protocol: UDP,
            source_port: 49_152,
            destination_port: 4_791,
            ttl: 64,
            vlan: None,
            pcp: 0,
            frame_bytes: 100,
            source_mac: None,
            destination_mac: None,
        }
    }

    #[test]
    fn what_is_no_frame_is_refused_with_a_reason() {
        let say = |description: Description| {
            let macs = (MacAddress([2; 6]), MacAddress([4; 6]));
            build(&description, macs.0, macs.1).unwrap_err().to_string()
        };
        let v6 = "fd00::1".parse().unwrap();
        assert_eq!(
            say(Description { source: v6, ..description() }),
            "source fd00::1 and destination 10.0.2.1 are of different IP versions; give two of one"
        );
        assert!(say(Description { frame_bytes: 41, ..description() }).contains("need 42"));
        assert_eq!(say(Description { dscp: 64, ..description() }), "dscp is 64; it is 0 to 63");
    }

    proptest! {
        /// The dataplane's parser reads what was described.
        #[test]
        fn a_described_frame_is_read_as_it_was_described(
            v6: bool, dscp in 0_u8..64, protocol: u8, ports: (u16, u16), ttl: u8,
            tag in proptest::option::of((1_u16..4095, 0_u8..8)), frame_bytes in 82_usize..1500,
        ) {
            let address = |v4: &str| if v6 { format!("fd00::{v4}").parse().unwrap() } else { v4.parse().unwrap() };
            let described = Description {
                source: address("10.0.1.1"), destination: address("10.0.2.1"), dscp, protocol,
                source_port: ports.0, destination_port: ports.1, ttl, vlan: tag.map(|tag| tag.0),
                pcp: tag.map_or(0, |tag| tag.1), frame_bytes, ..description()
            };
            let bytes = build(&described, MacAddress([2; 6]), MacAddress([4; 6])).unwrap();
            prop_assert_eq!(bytes.len(), frame_bytes);
            let parsed = parse(&bytes, bytes.len());
            prop_assert_eq!(parsed.kind, if v6 { Kind::Ipv6 } else { Kind::Ipv4 });
            prop_assert_eq!((parsed.tos >> 2, parsed.ttl), (dscp, ttl));
            let tci = tag.map(|(vlan, pcp)| u16::from(pcp) << 13 | vlan);
            prop_assert_eq!(parsed.is_tagged().then_some(parsed.tci), tci);
            let flow = flow_ports(&bytes, parsed.kind, usize::from(parsed.l3));
            let has_ports = transport_bytes(protocol) > 0;
            prop_assert_eq!(flow.protocol, protocol);
            prop_assert_eq!(flow.ports, if has_ports { ports } else { (0, 0) });
        }
    }
}

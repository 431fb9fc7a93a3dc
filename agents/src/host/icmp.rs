//! ICMP and ICMPv6: echo replies, and errors to the senders of packets that the switch cannot
//! forward.

use super::counters::Outcome;
use super::ethernet::{Incoming, Outgoing};
use super::interface::Interface;
use super::ip::{AddressPair, CONTROL_DSCP, Fragment, HOP_LIMIT, IpHeader, IpPacket};
use alloc::vec::Vec;
use core::net::IpAddr;
use smoltcp::wire::{
    IPV6_HEADER_LEN, IPV6_MIN_MTU, Icmpv4DstUnreachable, Icmpv4Message, Icmpv4Packet,
    Icmpv4TimeExceeded, Icmpv6DstUnreachable, Icmpv6Message, Icmpv6Packet, Icmpv6TimeExceeded,
    IpProtocol,
};

/// The header of every echo and every error. The data or the quoted packet follows.
const ICMP_HEADER_BYTES: usize = 8;
/// What an ICMPv4 error quotes of the IP payload (RFC 792): ports, or the identifier of an echo.
const QUOTED_PAYLOAD_BYTES: usize = 8;
/// The most that an ICMPv6 error quotes: it fits the minimum MTU (RFC 4443, 2.4 c).
const QUOTED_V6_BYTES_MAX: usize = IPV6_MIN_MTU - IPV6_HEADER_LEN - ICMP_HEADER_BYTES;

/// Why a packet is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IcmpError {
    TtlExpired,
    NoRoute,
    HostUnreachable,
    PortUnreachable,
    TooBig { mtu_bytes: u16 },
}

/// The reply to an echo request to us. Its source is the destination of the request; DSCP and PCP
/// are those of the request.
pub(super) fn echo_reply(
    interface: &Interface,
    incoming: &Incoming<'_>,
    packet: &IpPacket<'_>,
) -> Result<Vec<u8>, Outcome> {
    let request = packet.payload;
    let Some(&message) = request.first() else { return Err(Outcome::Malformed) };
    match (packet.addresses, packet.protocol) {
        (AddressPair::V4 { .. }, IpProtocol::Icmp) => {
            if Icmpv4Message::from(message) != Icmpv4Message::EchoRequest {
                return Err(Outcome::Unsupported);
            }
            let echo = Icmpv4Packet::new_checked(request).map_err(|_| Outcome::Malformed)?;
            if echo.msg_code() != 0 || !echo.verify_checksum() {
                return Err(Outcome::Malformed);
            }
        }
        (AddressPair::V6 { source, destination }, IpProtocol::Icmpv6) => {
            if Icmpv6Message::from(message) != Icmpv6Message::EchoRequest {
                return Err(Outcome::Unsupported);
            }
            let echo = Icmpv6Packet::new_checked(request).map_err(|_| Outcome::Malformed)?;
            if echo.msg_code() != 0 || !echo.verify_checksum(&source, &destination) {
                return Err(Outcome::Malformed);
            }
        }
        _ => return Err(Outcome::Unsupported),
    }
    let addresses = AddressPair::new(packet.addresses.destination(), packet.addresses.source());
    let Some(addresses) = addresses else { return Err(Outcome::Malformed) };
    let header =
        IpHeader { addresses, hop_limit: HOP_LIMIT, dscp: packet.dscp, protocol: packet.protocol };
    if header.bytes() + request.len() > interface.mtu_bytes.into() {
        return Err(Outcome::TooBig);
    }
    let link = Outgoing::reply(interface, incoming);
    Ok(header.frame(link, request.len(), |reply| {
        reply.copy_from_slice(request);
        match addresses {
            AddressPair::V4 { .. } => {
                let mut echo = Icmpv4Packet::new_unchecked(reply);
                echo.set_msg_type(Icmpv4Message::EchoReply);
                echo.fill_checksum();
            }
            AddressPair::V6 { source, destination } => {
                let mut echo = Icmpv6Packet::new_unchecked(reply);
                echo.set_msg_type(Icmpv6Message::EchoReply);
                echo.fill_checksum(&source, &destination);
            }
        }
    }))
}

/// Whether an error may be sent about `packet` (RFC 1812, 4.3.2.7; RFC 4443, 2.4 e). Not about an
/// error, as errors about errors could loop. Not about a packet or frame to a group, and not to a
/// source that is not a single station, as one packet could cause many errors.
pub(super) fn may_send_error(
    interface: &Interface,
    incoming: &Incoming<'_>,
    packet: &IpPacket<'_>,
) -> bool {
    let is_to_group = match packet.addresses.destination() {
        IpAddr::V4(v4) => v4.is_multicast() || interface.is_broadcast(v4),
        IpAddr::V6(v6) => v6.is_multicast(),
    };
    !incoming.destination.is_multicast()
        && !is_to_group
        && interface.is_host(packet.addresses.source())
        && packet.fragment != Fragment::Later
        && !is_error(packet)
}

/// Whether `packet` is an ICMP error or redirect, or may be one.
fn is_error(packet: &IpPacket<'_>) -> bool {
    let message = packet.payload.first().copied();
    match packet.protocol {
        // All queries are listed. A message type that is not yet defined counts as an error.
        IpProtocol::Icmp => {
            message.is_none_or(|octet| !matches!(octet, 0 | 8 | 9 | 10 | 13..=18 | 42 | 43))
        }
        IpProtocol::Icmpv6 => message
            .map(Icmpv6Message::from)
            .is_none_or(|message| message.is_error() || message == Icmpv6Message::Redirect),
        _ => false,
    }
}

/// The frame with an error about `packet`, from `source`, an address of ours, to the sender of the
/// frame. `None` if `source` is of the other address family.
pub(super) fn error_frame(
    interface: &Interface,
    incoming: &Incoming<'_>,
    packet: &IpPacket<'_>,
    source: IpAddr,
    error: IcmpError,
) -> Option<Vec<u8>> {
    let addresses = AddressPair::new(source, packet.addresses.source())?;
    let (protocol, quoted_bytes_max) = match addresses {
        AddressPair::V4 { .. } => (IpProtocol::Icmp, packet.header_bytes + QUOTED_PAYLOAD_BYTES),
        AddressPair::V6 { .. } => (IpProtocol::Icmpv6, QUOTED_V6_BYTES_MAX),
    };
    let quoted = packet.packet.get(..quoted_bytes_max).unwrap_or(packet.packet);
    let header = IpHeader { addresses, hop_limit: HOP_LIMIT, dscp: CONTROL_DSCP, protocol };
    let link = Outgoing::new(interface, incoming.source);
    Some(header.frame(link, ICMP_HEADER_BYTES + quoted.len(), |message| {
        message[ICMP_HEADER_BYTES..].copy_from_slice(quoted);
        match addresses {
            AddressPair::V4 { .. } => write_v4(message, error),
            AddressPair::V6 { .. } => write_v6(message, error, addresses),
        }
    }))
}

fn write_v4(message: &mut [u8], error: IcmpError) {
    let (kind, code) = match error {
        IcmpError::TtlExpired => {
            (Icmpv4Message::TimeExceeded, Icmpv4TimeExceeded::TtlExpired.into())
        }
        IcmpError::NoRoute => unreachable(Icmpv4DstUnreachable::NetUnreachable),
        IcmpError::HostUnreachable => unreachable(Icmpv4DstUnreachable::HostUnreachable),
        IcmpError::PortUnreachable => unreachable(Icmpv4DstUnreachable::PortUnreachable),
        IcmpError::TooBig { mtu_bytes } => {
            message[6..8].copy_from_slice(&mtu_bytes.to_be_bytes());
            unreachable(Icmpv4DstUnreachable::FragRequired)
        }
    };
    let mut packet = Icmpv4Packet::new_unchecked(message);
    packet.set_msg_type(kind);
    packet.set_msg_code(code);
    packet.fill_checksum();

    fn unreachable(reason: Icmpv4DstUnreachable) -> (Icmpv4Message, u8) {
        (Icmpv4Message::DstUnreachable, reason.into())
    }
}

fn write_v6(message: &mut [u8], error: IcmpError, addresses: AddressPair) {
    let AddressPair::V6 { source, destination } = addresses else { return };
    let (kind, code) = match error {
        IcmpError::TtlExpired => {
            (Icmpv6Message::TimeExceeded, Icmpv6TimeExceeded::HopLimitExceeded.into())
        }
        IcmpError::NoRoute => unreachable(Icmpv6DstUnreachable::NoRoute),
        IcmpError::HostUnreachable => unreachable(Icmpv6DstUnreachable::AddrUnreachable),
        IcmpError::PortUnreachable => unreachable(Icmpv6DstUnreachable::PortUnreachable),
        IcmpError::TooBig { .. } => (Icmpv6Message::PktTooBig, 0),
    };
    let mut packet = Icmpv6Packet::new_unchecked(message);
    packet.set_msg_type(kind);
    packet.set_msg_code(code);
    if let IcmpError::TooBig { mtu_bytes } = error {
        packet.set_pkt_too_big_mtu(mtu_bytes.into());
    }
    packet.fill_checksum(&source, &destination);

    fn unreachable(reason: Icmpv6DstUnreachable) -> (Icmpv6Message, u8) {
        (Icmpv6Message::DstUnreachable, reason.into())
    }
}

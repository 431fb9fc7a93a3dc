//! Neighbor discovery (RFC 4861): the neighbors of IPv6. The agent sends and receives neighbor
//! solicitations and advertisements. It neither sends nor obeys router advertisements and
//! redirects.

use super::counters::Outcome;
use super::ethernet::{Incoming, Outgoing, is_station};
use super::interface::Interface;
use super::ip::{AddressPair, CONTROL_DSCP, Fragment, IpHeader, IpPacket};
use super::neighbor_message::{NeighborMessage, NeighborUpdate, UpdateKind};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};
use dataplane::wire::MacAddress;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, Icmpv6Message, Icmpv6Packet, Icmpv6Repr, IpProtocol, NdiscNeighborFlags,
    NdiscRepr, RawHardwareAddress,
};

/// The hop limit that proves that a message comes from this link.
const ON_LINK_HOP_LIMIT: u8 = 255;
/// The group of all nodes on the link.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

/// Whether `packet` is a neighbor solicitation or advertisement.
pub(super) fn is_ndisc(packet: &IpPacket<'_>) -> bool {
    let message = packet.payload.first().map(|&octet| Icmpv6Message::from(octet));
    packet.protocol == IpProtocol::Icmpv6
        && matches!(message, Some(Icmpv6Message::NeighborSolicit | Icmpv6Message::NeighborAdvert))
}

/// Reads a neighbor solicitation or advertisement that `interface` received. The checks are those
/// of RFC 4861, 7.1.1 and 7.1.2, and of RFC 6980 (no fragments).
pub(super) fn process(
    interface: &Interface,
    incoming: &Incoming<'_>,
    packet: &IpPacket<'_>,
) -> Result<NeighborMessage, Outcome> {
    let AddressPair::V6 { source, destination } = packet.addresses else {
        return Err(Outcome::Malformed);
    };
    if packet.hop_limit != ON_LINK_HOP_LIMIT || packet.fragment != Fragment::Whole {
        return Err(Outcome::Malformed);
    }
    let message = Icmpv6Packet::new_checked(packet.payload).map_err(|_| Outcome::Malformed)?;
    let checks = ChecksumCapabilities::default();
    match Icmpv6Repr::parse(&source, &destination, &message, &checks) {
        Ok(Icmpv6Repr::Ndisc(NdiscRepr::NeighborSolicit { target_addr, lladdr })) => {
            let mac = station(lladdr)?;
            on_solicitation(interface, incoming, (source, destination), target_addr, mac)
        }
        Ok(Icmpv6Repr::Ndisc(NdiscRepr::NeighborAdvert { flags, target_addr, lladdr })) => {
            let mac = station(lladdr)?;
            on_advertisement(interface, destination, flags, target_addr, mac)
        }
        _ => Err(Outcome::Malformed),
    }
}

fn on_solicitation(
    interface: &Interface,
    incoming: &Incoming<'_>,
    (source, destination): (Ipv6Addr, Ipv6Addr),
    target: Ipv6Addr,
    mac: Option<MacAddress>,
) -> Result<NeighborMessage, Outcome> {
    // Without a source address the sender tests whether the target is free (RFC 4862, 5.4.2). The
    // answer then goes to all nodes.
    let is_duplicate_check = source.is_unspecified();
    let is_sound = if is_duplicate_check {
        destination == solicited_node(target) && mac.is_none()
    } else {
        interface.is_host(source.into())
    };
    if !is_sound || target.is_multicast() {
        return Err(Outcome::Malformed);
    }
    let is_for_us = interface.owns(target.into());
    let is_on_link = interface.is_on_link(source.into());
    let kind = if is_for_us && is_on_link { UpdateKind::Request } else { UpdateKind::Unsolicited };
    let update = mac.map(|mac| NeighborUpdate { kind, mac: Some(mac), overrides: true });
    Ok(NeighborMessage {
        update: update.map(|update| (source.into(), update)),
        reply: is_for_us.then(|| {
            let frame = if is_duplicate_check {
                announcement(interface, target)
            } else {
                let flags = NdiscNeighborFlags::SOLICITED | NdiscNeighborFlags::OVERRIDE;
                advertisement(interface, target, flags, source, incoming.source)
            };
            (frame, Outcome::SolicitationAnswered)
        }),
        otherwise: Outcome::NotForUs,
    })
}

fn on_advertisement(
    interface: &Interface,
    destination: Ipv6Addr,
    flags: NdiscNeighborFlags,
    target: Ipv6Addr,
    mac: Option<MacAddress>,
) -> Result<NeighborMessage, Outcome> {
    let is_solicited = flags.contains(NdiscNeighborFlags::SOLICITED);
    if !interface.is_host(target.into()) || destination.is_multicast() && is_solicited {
        return Err(Outcome::Malformed);
    }
    let is_answer = is_solicited && interface.owns(destination.into());
    let kind = if is_answer { UpdateKind::Solicited } else { UpdateKind::Unsolicited };
    let update =
        NeighborUpdate { kind, mac, overrides: flags.contains(NdiscNeighborFlags::OVERRIDE) };
    Ok(NeighborMessage {
        update: Some((target.into(), update)),
        reply: None,
        otherwise: Outcome::Unsolicited,
    })
}

/// The MAC address in a link-layer address option, if there is one.
fn station(option: Option<RawHardwareAddress>) -> Result<Option<MacAddress>, Outcome> {
    let Some(raw) = option else { return Ok(None) };
    match <[u8; 6]>::try_from(raw.as_bytes()).map(MacAddress) {
        Ok(mac) if is_station(mac) => Ok(Some(mac)),
        _ => Err(Outcome::Malformed),
    }
}

/// A solicitation for `target`: to its solicited-node group, or to `mac` if it is known. Never
/// `None`, as every interface has a link-local address to send from.
pub(super) fn solicitation(
    interface: &Interface,
    target: Ipv6Addr,
    mac: Option<MacAddress>,
) -> Option<Vec<u8>> {
    let IpAddr::V6(source) = interface.source_for(target.into())? else { return None };
    let destination = if mac.is_some() { target } else { solicited_node(target) };
    let link = Outgoing::new(interface, mac.unwrap_or_else(|| multicast_mac(destination)));
    let repr = NdiscRepr::NeighborSolicit { target_addr: target, lladdr: Some(ours(interface)) };
    Some(frame(link, source, destination, repr))
}

/// An advertisement to all nodes that `target` is at our MAC address (RFC 4861, 7.2.6).
pub(super) fn announcement(interface: &Interface, target: Ipv6Addr) -> Vec<u8> {
    let flags = NdiscNeighborFlags::OVERRIDE;
    advertisement(interface, target, flags, ALL_NODES, multicast_mac(ALL_NODES))
}

fn advertisement(
    interface: &Interface,
    target: Ipv6Addr,
    flags: NdiscNeighborFlags,
    destination: Ipv6Addr,
    mac: MacAddress,
) -> Vec<u8> {
    let repr = NdiscRepr::NeighborAdvert {
        flags: flags | NdiscNeighborFlags::ROUTER,
        target_addr: target,
        lladdr: Some(ours(interface)),
    };
    frame(Outgoing::new(interface, mac), target, destination, repr)
}

fn frame(link: Outgoing, source: Ipv6Addr, destination: Ipv6Addr, repr: NdiscRepr<'_>) -> Vec<u8> {
    let header = IpHeader {
        addresses: AddressPair::V6 { source, destination },
        hop_limit: ON_LINK_HOP_LIMIT,
        dscp: CONTROL_DSCP,
        protocol: IpProtocol::Icmpv6,
    };
    header.frame(link, repr.buffer_len(), |payload| {
        let mut message = Icmpv6Packet::new_unchecked(payload);
        let checks = ChecksumCapabilities::default();
        Icmpv6Repr::Ndisc(repr).emit(&source, &destination, &mut message, &checks);
    })
}

fn ours(interface: &Interface) -> RawHardwareAddress {
    EthernetAddress(interface.mac.0).into()
}

/// The solicited-node group of `address` (RFC 4291, 2.7.1).
fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    const GROUP: u128 = 0xFF02_0000_0000_0000_0000_0001_FF00_0000;
    Ipv6Addr::from_bits(GROUP | address.to_bits() & 0x00FF_FFFF)
}

/// The MAC address of an IPv6 group (RFC 2464, 7).
fn multicast_mac(group: Ipv6Addr) -> MacAddress {
    let [.., a, b, c, d] = group.octets();
    MacAddress([0x33, 0x33, a, b, c, d])
}

//! ARP (RFC 826, with the probes and announcements of RFC 5227): the neighbors of IPv4.

use super::counters::Outcome;
use super::ethernet::{Incoming, Outgoing, is_station};
use super::interface::Interface;
use super::neighbor_message::{NeighborMessage, NeighborUpdate, UpdateKind};
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};
use dataplane::wire::MacAddress;
use smoltcp::wire::{ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetProtocol};

/// Reads an ARP packet that `interface` received.
///
/// Only requests for an address of this interface are answered, not those for an address of another
/// interface: our packets to that host would not leave by this one.
pub(super) fn process(
    interface: &Interface,
    incoming: &Incoming<'_>,
) -> Result<NeighborMessage, Outcome> {
    let packet = ArpPacket::new_checked(incoming.payload).map_err(|_| Outcome::Malformed)?;
    let Ok(ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr: EthernetAddress(sender),
        source_protocol_addr: address,
        target_protocol_addr: target,
        ..
    }) = ArpRepr::parse(&packet)
    else {
        return Err(Outcome::Malformed);
    };
    let sender = MacAddress(sender);
    let is_for_us = interface.owns(target.into());
    let is_on_link = interface.is_on_link(address.into());
    let (kind, otherwise) = match operation {
        ArpOperation::Request if is_for_us && is_on_link => {
            (UpdateKind::Request, Outcome::NotForUs)
        }
        ArpOperation::Request => (UpdateKind::Unsolicited, Outcome::NotForUs),
        ArpOperation::Reply if is_for_us => (UpdateKind::Solicited, Outcome::Unsolicited),
        ArpOperation::Reply => (UpdateKind::Unsolicited, Outcome::Unsolicited),
        ArpOperation::Unknown(_) => return Err(Outcome::Unsupported),
    };
    // A probe (RFC 5227, 2.1.1) tests whether an address is free. It has no sender address.
    let is_probe = operation == ArpOperation::Request && address.is_unspecified();
    if !is_station(sender) || !is_probe && !interface.is_host(address.into()) {
        return Err(Outcome::Malformed);
    }
    let update = NeighborUpdate { kind, mac: Some(sender), overrides: true };
    let is_request_for_us = operation == ArpOperation::Request && is_for_us;
    Ok(NeighborMessage {
        update: (!is_probe).then_some((address.into(), update)),
        reply: is_request_for_us.then(|| {
            let link = Outgoing::new(interface, incoming.source);
            (reply(interface, link, target, sender, address), Outcome::ArpAnswered)
        }),
        otherwise,
    })
}

fn reply(
    interface: &Interface,
    link: Outgoing,
    ours: Ipv4Addr,
    their_mac: MacAddress,
    theirs: Ipv4Addr,
) -> Vec<u8> {
    frame(link, ArpOperation::Reply, (interface.mac, ours), (their_mac, theirs))
}

/// A request for `target`: to all stations, or to `mac` if it is known. `None` if the interface has
/// no IPv4 address to send it from.
pub(super) fn request(
    interface: &Interface,
    target: Ipv4Addr,
    mac: Option<MacAddress>,
) -> Option<Vec<u8>> {
    let IpAddr::V4(ours) = interface.source_for(target.into())? else { return None };
    let link = Outgoing::new(interface, mac.unwrap_or(MacAddress::BROADCAST));
    let unknown = MacAddress::default();
    Some(frame(link, ArpOperation::Request, (interface.mac, ours), (unknown, target)))
}

/// An announcement to all stations that `ours` is at our MAC address (RFC 5227, 2.3).
pub(super) fn announcement(interface: &Interface, ours: Ipv4Addr) -> Vec<u8> {
    let link = Outgoing::new(interface, MacAddress::BROADCAST);
    let unknown = MacAddress::default();
    frame(link, ArpOperation::Request, (interface.mac, ours), (unknown, ours))
}

fn frame(
    link: Outgoing,
    operation: ArpOperation,
    (source_mac, source_protocol_addr): (MacAddress, Ipv4Addr),
    (target_mac, target_protocol_addr): (MacAddress, Ipv4Addr),
) -> Vec<u8> {
    let repr = ArpRepr::EthernetIpv4 {
        operation,
        source_hardware_addr: EthernetAddress(source_mac.0),
        source_protocol_addr,
        target_hardware_addr: EthernetAddress(target_mac.0),
        target_protocol_addr,
    };
    link.frame(EthernetProtocol::Arp, repr.buffer_len(), |payload| {
        repr.emit(&mut ArpPacket::new_unchecked(payload));
    })
}

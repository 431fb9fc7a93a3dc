//! One switch's routing table, as its control plane would write it.

use super::Router;
use crate::topology::{HostId, Peer, SwitchId, Topology, link_address, mac};
use dataplane::fib::{Interface, Route, Routes};
use dataplane::ids::PortId;
use ipnet::Ipv4Net;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

/// The routing table of `switch`, whose ports carry frames of `frame_bytes_max`.
pub(crate) fn table(
    router: &Router,
    topology: &Topology,
    switch: SwitchId,
    frame_bytes_max: u16,
) -> Routes {
    let mut routes = Routes::new();
    let mut gateways = BTreeMap::new();
    for (port, attachment) in topology.attachments(switch) {
        let own = link_address(attachment.link, attachment.side);
        let gateway = IpAddr::V4(link_address(attachment.link, 1 - attachment.side));
        routes.set_interface(Interface {
            net: Ipv4Net::new_assert(own, 30).into(),
            port,
            vlan: None,
            mac: mac(switch.0, port),
            frame_bytes_max,
        });
        let peer_mac = match attachment.peer {
            Peer::Switch(peer, port) => mac(peer.0, port),
            Peer::Host(host) => mac(topology.ports.len() + host.0, PortId::FIRST),
        };
        let known = routes.set_neighbor(gateway, port, peer_mac);
        debug_assert_eq!(known, Ok(true), "at most 256 neighbors, each unicast, each once");
        gateways.insert(port, gateway);
    }
    for (net, ports) in entries(router, topology, switch) {
        let via: Vec<IpAddr> =
            ports.iter().filter_map(|port| gateways.get(port).copied()).collect();
        let set = routes.set_route(net.into(), Route::Via(via));
        debug_assert!(set.is_ok(), "{net}: {set:?}");
    }
    routes
}

/// The prefixes of a switch, and their egress ports.
fn entries(
    router: &Router,
    topology: &Topology,
    switch: SwitchId,
) -> BTreeMap<Ipv4Net, Vec<PortId>> {
    let mut entries = BTreeMap::new();
    let host_net = |address: Ipv4Addr| Ipv4Net::new_assert(address, 32);
    for &to in router.destinations.iter().filter(|&&to| to != switch) {
        let ports = router.ports_to(switch, to);
        if !ports.is_empty() {
            entries.insert(topology.switch_net(to), ports);
        }
    }
    for (port, attachment) in topology.attachments(switch) {
        if let Peer::Host(host) = attachment.peer {
            entries.insert(host_net(topology.host_address(host)), vec![port]);
        }
    }
    for (&address, &port) in &router.pinned_at[switch.0] {
        entries.insert(host_net(address), vec![port]);
    }
    let misrouted = router.wrong.range((switch, HostId(0))..=(switch, HostId(usize::MAX)));
    for (&(_, host), &port) in misrouted {
        entries.insert(host_net(topology.host_address(host)), vec![port]);
        for pinned in router.pinned.iter().filter(|pinned| pinned.to == host) {
            entries.insert(host_net(pinned.address), vec![port]);
        }
    }
    entries
}

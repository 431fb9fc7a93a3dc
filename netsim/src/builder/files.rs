//! Switches that are configured by files: the addresses that those know, and who is at their links.

use super::NetworkBuilder;
use crate::topology::{Peer, SwitchId, Topology, mac};
use dataplane::fib::Routes;
use dataplane::ids::PortId;
use dataplane::wire::MacAddress;
use ipnet::IpNet;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

impl NetworkBuilder {
    /// Says that the switches are configured by files that know the hosts by these addresses, by
    /// number of the host: neighbors are found by the network's links, not by ARP.
    pub(crate) fn addresses_of_files(&mut self, addresses: Vec<Ipv4Addr>) {
        self.given = addresses;
    }

    /// The address of a switch's port.
    pub(super) fn port_mac(&self, switch: SwitchId, port: PortId) -> MacAddress {
        let config = self.switches[switch.0].config.as_ref();
        let settings = config.and_then(|config| config.settings.ports.get(port.index()));
        settings.map_or_else(|| mac(switch.0, port), |port| port.mac)
    }

    /// Adds the neighbors of a configured switch, as ARP would find them on its links.
    pub(super) fn find_neighbors(
        &self,
        topology: &Topology,
        switch: SwitchId,
        routes: &mut Routes,
    ) {
        let known: BTreeSet<IpAddr> = routes.neighbors().map(|(address, ..)| address).collect();
        for (port, attachment) in topology.attachments(switch) {
            let (mac, addresses) = match attachment.peer {
                Peer::Host(host) => {
                    let mac = mac(self.switches.len() + host.0, PortId::FIRST);
                    (mac, vec![IpAddr::V4(topology.host_address(host))])
                }
                Peer::Switch(peer, far) => {
                    let config = self.switches[peer.0].config.as_ref();
                    let far_port = config.and_then(|config| config.ports.get(far.index()));
                    let nets = far_port.into_iter().flat_map(|port| &port.addresses);
                    (self.port_mac(peer, far), nets.map(IpNet::addr).collect())
                }
            };
            for address in addresses.into_iter().filter(|address| !known.contains(address)) {
                let set = routes.set_neighbor(address, port, mac);
                debug_assert!(set.is_ok(), "{address}: {set:?}");
            }
        }
    }
}

//! What follows from the file in the dataplane's own tables: forwarding, interfaces, routes, rules.

use super::SwitchConfig;
use agents::host;
use dataplane::fib::{self, Fib, Routes, RoutesError};
use dataplane::rules::RuleTable;
use dataplane::snapshot::{PortForwarding, PortMode, Snapshot};
use dataplane::tunnel::Tunnels;
use ipnet::{IpNet, Ipv6Net};

impl SwitchConfig {
    /// Each port's part of a snapshot.
    pub fn forwarding(&self) -> Vec<PortForwarding> {
        let ports = self.ports.iter().zip(&self.settings.ports);
        ports
            .map(|(port, settings)| PortForwarding {
                mac: settings.mac,
                mode: port.mode.clone(),
                trust: port.trust,
                checks_source: port.checks_source,
                has_tap: port.tap.is_some(),
                qos_map: port.qos_map.clone(),
            })
            .collect()
    }

    /// The compiled rules; `None` if tags never change.
    pub fn rule_table(&self) -> Option<RuleTable> {
        let rules = self.rules.as_ref()?;
        Some(RuleTable::compile(&rules.entries, self.ports.len(), rules.lossy_tag))
    }

    /// The tunnels, for the packet path.
    pub fn tunnel_table(&self) -> Tunnels {
        Tunnels::new(self.tunnels.iter().map(|tunnel| tunnel.tunnel.clone()).collect())
    }

    /// The tables of the packet path, with the routes of `fib`.
    pub fn snapshot(&self, epoch: u64, fib: Fib) -> Snapshot {
        let (tags, seed) = (self.tag_map.clone(), self.settings.seed);
        let (ports, rules) = (self.forwarding(), self.rule_table());
        let mut snapshot = Snapshot::new(epoch, &ports, tags, rules, fib, seed);
        snapshot.static_macs.clone_from(&self.static_macs);
        snapshot.tunnels = self.tunnel_table();
        snapshot
    }

    /// The routed ports as the control thread's agent sees them.
    pub fn interfaces(&self) -> Vec<host::Interface> {
        let ports = self.ports.iter().zip(&self.settings.ports);
        ports
            .filter_map(|(port, settings)| {
                let PortMode::Routed { vlan } = port.mode else { return None };
                Some(host::Interface {
                    port: port.id,
                    mac: settings.mac,
                    vlan,
                    addresses: port.addresses.clone(),
                    mtu_bytes: port.mtu,
                    has_tap: port.tap.is_some(),
                })
            })
            .collect()
    }

    /// The routing table at start: connected networks (those of the link-local addresses, too),
    /// static routes, static neighbors.
    ///
    /// # Errors
    /// What the routing table cannot hold. None for a configuration that was loaded.
    pub fn routing_table(&self) -> Result<Routes, TablesError> {
        let mut routes = Routes::new();
        for interface in self.interfaces() {
            let frame_bytes_max = self.settings.ports[interface.port.index()].frame_bytes_max;
            for net in networks(&interface) {
                routes.set_interface(fib::Interface {
                    net,
                    port: interface.port,
                    vlan: interface.vlan,
                    mac: interface.mac,
                    frame_bytes_max,
                });
            }
        }
        routes.set_locals(self.loopback.iter().copied());
        for (prefix, route) in &self.routes {
            let refused = |why| TablesError { prefix: *prefix, why };
            routes.set_route(*prefix, route.clone()).map_err(refused)?;
        }
        for neighbor in &self.neighbors {
            let refused = |why| TablesError { prefix: neighbor.address.into(), why };
            routes.set_neighbor(neighbor.address, neighbor.port, neighbor.mac).map_err(refused)?;
        }
        Ok(routes)
    }
}

/// A configuration whose routes or neighbors the routing table cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("route {prefix}: {why}")]
pub struct TablesError {
    prefix: IpNet,
    why: RoutesError,
}

/// The networks of an interface, that of its link-local address included.
fn networks(interface: &host::Interface) -> impl Iterator<Item = IpNet> {
    let link_local = IpNet::V6(Ipv6Net::new_assert(interface.link_local(), 64));
    let others = interface.addresses.iter().copied();
    others.filter(move |net| net.addr() != link_local.addr()).chain([link_local])
}

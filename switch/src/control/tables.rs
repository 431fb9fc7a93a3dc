//! From a configuration, and the neighbours that were found, to the tables of the packet path.

use config::SwitchConfig;
use dataplane::agent::{Interface, NeighborKey};
use dataplane::fib;
use dataplane::ids::PortId;
use dataplane::rules::{RuleTable, TcamEntry};
use dataplane::snapshot::{PortForwarding, PortMode, Snapshot};
use dataplane::wire::MacAddress;
use ipnet::{IpNet, Ipv6Net};
use std::collections::HashSet;
use std::net::IpAddr;

/// The control thread's tables, and the configuration they came from.
#[derive(Clone, Debug)]
pub struct Tables {
    config: SwitchConfig,
    interfaces: Vec<Interface>,
    routes: fib::Routes,
}

/// The configuration cannot become tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("route {prefix}: {why}")]
pub struct TablesError {
    prefix: IpNet,
    why: fib::RoutesError,
}

impl Tables {
    /// The tables of `config`, with no neighbours but the static ones.
    ///
    /// # Errors
    /// A route that the packet path cannot hold.
    pub fn new(config: SwitchConfig) -> Result<Self, TablesError> {
        let interfaces = interfaces(&config);
        let mut routes = fib::Routes::new();
        for interface in &interfaces {
            let frame_bytes_max = config.settings.ports[interface.port.index()].frame_bytes_max;
            for net in networks(interface) {
                routes.set_interface(fib::Interface {
                    net,
                    port: interface.port,
                    vlan: interface.vlan,
                    mac: interface.mac,
                    frame_bytes_max,
                });
            }
        }
        for (prefix, route) in &config.routes {
            let refused = |why| TablesError { prefix: *prefix, why };
            routes.set_route(*prefix, route.clone()).map_err(refused)?;
        }
        for neighbor in &config.neighbors {
            // The configuration holds no more of them than there is room.
            let _new = routes.set_neighbour(neighbor.address, neighbor.port, neighbor.mac);
        }
        Ok(Self { config, interfaces, routes })
    }

    /// The configuration.
    pub const fn config(&self) -> &SwitchConfig {
        &self.config
    }

    /// The switch's own interfaces, for the agent.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Puts other rules in the place of those there are; whether they are others.
    pub fn set_entries(&mut self, entries: Vec<TcamEntry>) -> bool {
        self.config.rules.as_mut().is_some_and(|rules| {
            let is_other = rules.entries != entries;
            rules.entries = entries;
            is_other
        })
    }

    /// The routing table.
    pub const fn routes(&self) -> &fib::Routes {
        &self.routes
    }

    /// Takes over the neighbours that `old` knew, as far as the configuration does not say
    /// otherwise.
    pub fn take_neighbors(&mut self, old: &Self) {
        let fixed: HashSet<IpAddr> = self.config.neighbors.iter().map(|n| n.address).collect();
        for (address, port, mac) in old.routes.neighbours().filter(|n| !fixed.contains(&n.0)) {
            // The table was large enough for them before.
            let _known = self.routes.set_neighbour(address, port, mac);
        }
    }

    /// Frames to `neighbor` can go, to `mac`. Returns whether the packet path must be told.
    pub fn neighbor_up(&mut self, neighbor: NeighborKey, mac: MacAddress) -> bool {
        // The agent's own table is the smaller one, so there is room.
        self.routes.set_neighbour(neighbor.address, neighbor.port, mac).unwrap_or(false)
    }

    /// Frames to `neighbor` cannot go. Returns whether the packet path must be told.
    pub fn neighbor_down(&mut self, neighbor: NeighborKey) -> bool {
        match self.routes.remove_neighbour(neighbor.address) {
            None => false,
            Some((port, _)) if port == neighbor.port => true,
            Some((port, mac)) => {
                // The same address was found on another port since.
                let _as_before = self.routes.set_neighbour(neighbor.address, port, mac);
                false
            }
        }
    }

    /// Whom a frame to `destination` that could not be forwarded was meant for: whoever has to be
    /// asked for, else whoever is known by now, else nobody.
    pub fn unresolved_hop(&self, destination: IpAddr) -> Option<NeighborKey> {
        let hops = self.routes.next_hops(destination);
        let known = hops.iter().find(|hop| hop.mac.is_some());
        known.or_else(|| hops.first()).map(key)
    }

    /// The narrowest way of a frame to `destination` that was too long for the way it should go.
    pub fn narrowest_hop(&self, destination: IpAddr) -> Option<NeighborKey> {
        let hops = self.routes.next_hops(destination);
        hops.iter().min_by_key(|hop| hop.interface.frame_bytes_max).map(key)
    }

    /// Compiles the tables for the packet path.
    pub fn snapshot(&self, epoch: u64) -> Snapshot {
        let config = &self.config;
        let ports: Vec<PortForwarding> =
            (0..config.ports.len()).map(|index| forwarding(config, index)).collect();
        let rules = config.rules.as_ref();
        let rules =
            rules.map(|set| RuleTable::compile(&set.entries, config.ports.len(), set.lossy_tag));
        let (tags, seed) = (config.tag_map.clone(), config.settings.seed);
        Snapshot::new(epoch, &ports, tags, rules, self.routes.compile(), seed)
    }

    /// Ports that forward in another way, or in other VLANs, than in `old`: what was learnt there
    /// is no longer true.
    pub fn remade_ports(&self, old: &Self) -> Vec<PortId> {
        let pairs = self.config.ports.iter().zip(&old.config.ports);
        pairs
            .filter(|(new, old)| !is_same_mode(&new.mode, &old.mode))
            .map(|(new, _)| new.id)
            .collect()
    }
}

fn key(hop: &fib::NextHop) -> NeighborKey {
    NeighborKey { port: hop.interface.port, address: hop.address }
}

/// An interface for each routed port.
fn interfaces(config: &SwitchConfig) -> Vec<Interface> {
    let routed = config.ports.iter().filter_map(|port| match &port.mode {
        PortMode::Routed { vlan } => Some(Interface {
            port: port.id,
            mac: config.settings.ports[port.id.index()].mac,
            vlan: *vlan,
            addresses: port.addresses.clone(),
            mtu_bytes: port.mtu,
        }),
        PortMode::Bridged(_) => None,
    });
    routed.collect()
}

/// The networks of an interface, that of its link-local address included.
fn networks(interface: &Interface) -> impl Iterator<Item = IpNet> {
    let link_local = IpNet::V6(Ipv6Net::new_assert(interface.link_local(), 64));
    let others = interface.addresses.iter().copied();
    others.filter(move |net| net.addr() != link_local.addr()).chain([link_local])
}

fn forwarding(config: &SwitchConfig, index: usize) -> PortForwarding {
    let port = &config.ports[index];
    PortForwarding {
        mac: config.settings.ports[index].mac,
        mode: port.mode.clone(),
        trust: port.trust,
    }
}

fn is_same_mode(one: &PortMode, other: &PortMode) -> bool {
    match (one, other) {
        (PortMode::Routed { vlan: one }, PortMode::Routed { vlan: other }) => one == other,
        (PortMode::Bridged(one), PortMode::Bridged(other)) => one == other,
        _ => false,
    }
}

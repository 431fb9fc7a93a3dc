//! The tables of the packet path, from the configuration and the neighbors found.

use crate::host_taps::HostAddresses;
use crate::log;
use agents::host::{Interface, NeighborKey};
use config::SwitchConfig;
use config::switch::TablesError;
use dataplane::fib;
use dataplane::ids::PortId;
use dataplane::rules::TcamEntry;
use dataplane::snapshot::{PortMode, Snapshot};
use dataplane::wire::MacAddress;
use ipnet::IpNet;
use std::collections::HashSet;
use std::net::IpAddr;

/// The control thread's tables, and the configuration they came from.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    config: SwitchConfig,
    interfaces: Vec<Interface>,
    routes: fib::Routes,
}

impl Tables {
    /// The tables of `config`, with no neighbors but the static ones.
    ///
    /// # Errors
    /// A route or neighbor that the packet path cannot hold.
    pub(crate) fn new(config: SwitchConfig) -> Result<Self, TablesError> {
        let (interfaces, routes) = (config.interfaces(), config.routing_table()?);
        Ok(Self { config, interfaces, routes })
    }

    /// The configuration.
    pub(crate) const fn config(&self) -> &SwitchConfig {
        &self.config
    }

    /// The switch's own interfaces, for the agent.
    pub(crate) fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Replaces the rules; returns whether they changed.
    pub(crate) fn set_entries(&mut self, entries: Vec<TcamEntry>) -> bool {
        self.config.rules.as_mut().is_some_and(|rules| {
            let is_other = rules.entries != entries;
            rules.entries = entries;
            is_other
        })
    }

    /// The routing table.
    pub(crate) const fn routes(&self) -> &fib::Routes {
        &self.routes
    }

    /// Copies the neighbors that `old` knew, unless the configuration sets them.
    pub(crate) fn take_neighbors(&mut self, old: &Self) {
        let fixed: HashSet<IpAddr> = self.config.neighbors.iter().map(|n| n.address).collect();
        for (address, port, mac) in old.routes.neighbors().filter(|n| !fixed.contains(&n.0)) {
            // The table was large enough for them before.
            let _known = self.routes.set_neighbor(address, port, mac);
        }
    }

    /// `neighbor` is resolved to `mac`. Returns whether the packet path needs new tables.
    pub(crate) fn neighbor_up(&mut self, neighbor: NeighborKey, mac: MacAddress) -> bool {
        // The agent's own table is the smaller one, so there is room.
        self.routes.set_neighbor(neighbor.address, neighbor.port, mac).unwrap_or(false)
    }

    /// `neighbor` is not reachable. Returns whether the packet path needs new tables.
    pub(crate) fn neighbor_down(&mut self, neighbor: NeighborKey) -> bool {
        match self.routes.remove_neighbor(neighbor.address) {
            None => false,
            Some((port, _)) if port == neighbor.port => true,
            Some((port, mac)) => {
                // The same address was found on another port since.
                let _as_before = self.routes.set_neighbor(neighbor.address, port, mac);
                false
            }
        }
    }

    /// Gives the ports with TAPs the addresses that the kernel has for them. Returns whether that
    /// changes anything.
    pub(crate) fn set_host_addresses(&mut self, host: &HostAddresses) -> bool {
        let loopback_port = host.by_port.keys().next().copied();
        let mut taken: Vec<(PortId, IpNet)> = Vec::new();
        let mut any = false;
        for interface in &mut self.interfaces {
            let (port, link_local) = (interface.port, interface.link_local());
            let Some(nets) = host.by_port.get(&port).filter(|_| interface.has_tap) else {
                taken.extend(interface.addresses.iter().map(|&net| (port, net)));
                continue;
            };
            // The link-local address that follows from the MAC address is always there.
            let wanted = nets.iter().filter(|net| net.addr() != link_local);
            let mut wanted: Vec<IpNet> = wanted.copied().collect();
            wanted.retain(|net| !is_taken(&taken, port, net));
            taken.extend(wanted.iter().map(|&net| (port, net)));
            let loopback = host.loopback.iter().filter(|_| Some(port) == loopback_port);
            let local = wanted.iter().copied().chain(loopback.map(|net| net.addr().into()));
            any |= set_networks(&mut self.routes, &self.config, interface, local.collect());
            interface.addresses = wanted;
        }
        any
    }

    /// The next hop of a frame to `destination` that could not be forwarded: a resolved one, else
    /// the first one.
    pub(crate) fn unresolved_hop(&self, destination: IpAddr) -> Option<NeighborKey> {
        let hops = self.routes.next_hops(destination);
        let known = hops.iter().find(|hop| hop.mac.is_some());
        known.or_else(|| hops.first()).map(key)
    }

    /// The next hop with the smallest MTU, for a frame to `destination` that was too long.
    pub(crate) fn narrowest_hop(&self, destination: IpAddr) -> Option<NeighborKey> {
        let hops = self.routes.next_hops(destination);
        hops.iter().min_by_key(|hop| hop.interface.frame_bytes_max).map(key)
    }

    /// Compiles the tables for the packet path.
    pub(crate) fn snapshot(&self, epoch: u64) -> Snapshot {
        self.config.snapshot(epoch, &self.routes)
    }

    /// Ports whose mode or VLANs differ from `old`: what was learned there is no longer valid.
    pub(crate) fn remade_ports(&self, old: &Self) -> Vec<PortId> {
        let pairs = self.config.ports.iter().zip(&old.config.ports);
        pairs
            .filter(|(new, old)| !is_same_mode(&new.mode, &old.mode))
            .map(|(new, _)| new.id)
            .collect()
    }
}

/// Whether another port has a network that overlaps `net`: a route would not know which to take. A
/// single address may be on several ports, as unnumbered ones have it.
fn is_taken(taken: &[(PortId, IpNet)], port: PortId, net: &IpNet) -> bool {
    let is_single = |net: &IpNet| net.prefix_len() == net.max_prefix_len();
    let is_link_local = matches!(net, IpNet::V6(six) if six.addr().is_unicast_link_local());
    let overlaps = |(of, other): &(PortId, IpNet)| {
        *of != port
            && !is_single(other)
            && (other.contains(&net.network()) || net.contains(&other.network()))
    };
    let other = taken.iter().find(|one| overlaps(one));
    if is_single(net) || is_link_local {
        return false;
    }
    if let Some((of, other)) = other {
        let text = format!(
            "the address {net} of port {port} is not used: port {of} has {other}, and every routed \
             port needs a network of its own"
        );
        log::warning("host", text);
    }
    other.is_some()
}

/// Connects the networks of `interface` in `routes`: those of `nets`, and that of its link-local
/// address. Returns whether that changes anything.
fn set_networks(
    routes: &mut fib::Routes,
    config: &SwitchConfig,
    interface: &Interface,
    nets: Vec<IpNet>,
) -> bool {
    let Interface { port, vlan, mac, .. } = *interface;
    let link_local = IpAddr::V6(interface.link_local());
    let known = routes.interfaces().filter(|known| known.port == port && known.vlan == vlan);
    let known: Vec<IpNet> = known.map(|known| known.net).collect();
    let (mut any, frame_bytes_max) = (false, config.settings.ports[port.index()].frame_bytes_max);
    for net in known.iter().filter(|net| net.addr() != link_local && !nets.contains(net)) {
        routes.remove_interface(port, vlan, net.addr());
        any = true;
    }
    for net in nets.into_iter().filter(|net| !known.contains(net)) {
        routes.set_interface(fib::Interface { net, port, vlan, mac, frame_bytes_max });
        any = true;
    }
    any
}

fn key(hop: &fib::NextHop) -> NeighborKey {
    NeighborKey { port: hop.interface.port, address: hop.address }
}

fn is_same_mode(one: &PortMode, other: &PortMode) -> bool {
    match (one, other) {
        (PortMode::Routed { vlan: one }, PortMode::Routed { vlan: other }) => one == other,
        (PortMode::Bridged(one), PortMode::Bridged(other)) => one == other,
        _ => false,
    }
}

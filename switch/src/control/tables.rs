//! The tables of the packet path, from the configuration and the neighbors found.

use agents::host::{self, Interface, NeighborKey};
use config::SwitchConfig;
use config::switch::TablesError;
use dataplane::fib;
use dataplane::ids::PortId;
use dataplane::rules::TcamEntry;
use dataplane::snapshot::{PortMode, Snapshot};
use dataplane::tunnel::Tunnel;
use dataplane::wire::MacAddress;
use std::collections::HashSet;
use std::net::IpAddr;

/// The control thread's tables, and the configuration they came from.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(super) config: SwitchConfig,
    pub(super) interfaces: Vec<Interface>,
    pub(super) routes: fib::Routes,
    /// Of the same number is all that is no route and no neighbor.
    generation: u64,
}

impl Tables {
    /// The tables of `config`, with no neighbors but the static ones.
    ///
    /// # Errors
    /// A route or neighbor that the packet path cannot hold.
    pub(crate) fn new(config: SwitchConfig) -> Result<Self, TablesError> {
        let (interfaces, routes) = (config.interfaces(), config.routing_table()?);
        Ok(Self { config, interfaces, routes, generation: 0 })
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
            self.generation += u64::from(is_other);
            is_other
        })
    }

    /// The routing table.
    pub(crate) const fn routes(&self) -> &fib::Routes {
        &self.routes
    }

    /// The routing table, for routes that are learned.
    pub(crate) const fn routes_mut(&mut self) -> &mut fib::Routes {
        &mut self.routes
    }

    /// A number that is another one once anything but routes and neighbors is.
    pub(crate) const fn generation(&self) -> u64 {
        self.generation
    }

    /// Takes the place of `old`, and the routes that it learned.
    pub(crate) fn succeed(&mut self, old: &mut Self) {
        self.generation = old.generation + 1;
        self.routes.take_learned(&mut old.routes);
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

    /// The next hop of a frame to `destination` that could not be forwarded: a resolved one, else
    /// the first one.
    pub(crate) fn unresolved_hop(&self, destination: IpAddr) -> Option<NeighborKey> {
        let hops = self.routes.next_hops(destination);
        let known = hops.iter().find(|hop| hop.mac.is_some());
        known.or_else(|| hops.first()).map(key)
    }

    /// The next hop with the smallest MTU, for a frame to `destination` that was too long.
    pub(crate) fn narrowest_hop(&self, destination: IpAddr) -> Option<host::NextHop> {
        let hops = self.routes.next_hops(destination);
        let neighbor = hops.iter().min_by_key(|hop| hop.interface.frame_bytes_max).map(key)?;
        let is_tunneled = self.routes.tunnel_to(destination).is_some();
        let tunnel_bytes = if is_tunneled { Tunnel::HEADER_BYTES } else { 0 };
        Some(host::NextHop { neighbor, tunnel_bytes })
    }

    /// Compiles the tables for the packet path.
    pub(crate) fn snapshot(&self, epoch: u64) -> Snapshot {
        self.snapshot_with(epoch, self.routes.compile())
    }

    /// As [`Self::snapshot`], with these routes.
    pub(crate) fn snapshot_with(&self, epoch: u64, fib: fib::Fib) -> Snapshot {
        self.config.snapshot(epoch, fib)
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

//! Where each switch sends frames to each destination, and which destinations are treated alike.

use crate::network::switch_files::SwitchFiles;
use crate::switch::{SwitchConfig, TablesError};
use dataplane::fib::{NextHop, Route, RoutedBy, Routes};
use dataplane::ids::PortId;
use dataplane::snapshot::Snapshot;
use dataplane::tunnel::TunnelId;
use fabric::Network;
use fabric::network::Peer;
use ipnet::IpNet;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr};

/// Destinations that every switch treats alike, by number.
pub(super) type DestinationId = u32;

/// What a switch may do with a frame to some destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Way {
    /// It is one of the switch's own addresses.
    Ours,
    /// A neighbor on this port takes it.
    Port(PortId),
    /// Into this tunnel, to its other end.
    Tunnel(TunnelId, Ipv4Addr),
    /// No neighbor has the address of the next hop.
    NoNeighbor,
    /// No route.
    NoRoute,
    /// A blackhole.
    Blackhole,
}

/// A switch's tables.
#[derive(Debug)]
pub(super) struct SwitchTables {
    pub(super) snapshot: Snapshot,
    pub(super) routes: Routes,
}

impl SwitchTables {
    fn new(config: &SwitchConfig) -> Result<Self, TablesError> {
        let routes = config.routing_table()?;
        Ok(Self { snapshot: config.snapshot(1, routes.compile()), routes })
    }
}

/// The tables of all switches, and the destinations.
#[derive(Debug)]
pub(super) struct Lookups {
    pub(super) switches: Vec<SwitchTables>,
    /// By destination: an address that stands for all that are treated alike.
    pub(super) addresses: Vec<IpAddr>,
    /// By destination: whether a host has it.
    pub(super) is_host: Vec<bool>,
    /// By destination and switch: a place in `ways`.
    looks: Vec<Vec<u32>>,
    ways: Vec<Vec<Way>>,
    /// The destination of each address that is known by itself.
    known: HashMap<IpAddr, DestinationId>,
}

impl Lookups {
    pub(super) fn new(network: &Network, files: &SwitchFiles) -> Result<Self, TablesError> {
        let switches = files.switches.iter().map(SwitchTables::new);
        let mut lookups = Self {
            switches: switches.collect::<Result<_, _>>()?,
            addresses: Vec::new(),
            is_host: Vec::new(),
            looks: Vec::new(),
            ways: Vec::new(),
            known: HashMap::new(),
        };
        let hosts: BTreeSet<IpAddr> =
            files.hosts.iter().flat_map(|host| host.addresses.iter().copied()).collect();
        let (mut alike, mut numbers) = (BTreeMap::new(), HashMap::new());
        let alone = alone(files);
        for address in representatives(&prefixes(&lookups, &alone)) {
            let looks = (0..).zip(&lookups.switches).map(|(switch, tables)| {
                let ways = ways(network, files, switch, tables, address);
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                *numbers.entry(ways).or_insert(next)
            });
            let looks: Vec<u32> = looks.collect();
            let is_host = hosts.contains(&address);
            // A tunnel ends at an address, so those of switches differ from each other.
            let is_ours = lookups.switches.iter().any(|it| it.routes.is_ours(address));
            let key = (looks.clone(), is_host, is_ours.then_some(address));
            let next = u32::try_from(alike.len()).unwrap_or(u32::MAX);
            let destination = *alike.entry(key).or_insert(next);
            if destination == next {
                lookups.addresses.push(address);
                lookups.is_host.push(is_host);
                lookups.looks.push(looks);
            }
            if alone.contains(&address) {
                lookups.known.insert(address, destination);
            }
        }
        let mut ways: Vec<(Vec<Way>, u32)> = numbers.into_iter().collect();
        ways.sort_unstable_by_key(|&(_, number)| number);
        lookups.ways = ways.into_iter().map(|(ways, _)| ways).collect();
        Ok(lookups)
    }

    /// What a switch may do with frames to a destination: at least one way.
    pub(super) fn ways(&self, switch: u32, destination: DestinationId) -> &[Way] {
        &self.ways[self.looks[destination as usize][switch as usize] as usize]
    }

    /// The destination of the other end of a tunnel.
    pub(super) fn end_of_tunnel(&self, remote: Ipv4Addr) -> Option<DestinationId> {
        self.known.get(&IpAddr::V4(remote)).copied()
    }
}

/// The addresses that are destinations by themselves: those of switches, neighbors and hosts, and
/// the ends of tunnels.
fn alone(files: &SwitchFiles) -> BTreeSet<IpAddr> {
    let hosts = files.hosts.iter().flat_map(|host| host.addresses.iter().copied());
    let mut alone: BTreeSet<IpAddr> = hosts.collect();
    for switch in &files.switches {
        let ports = switch.ports.iter().flat_map(|port| &port.addresses);
        alone.extend(ports.map(IpNet::addr));
        alone.extend(switch.neighbors.iter().map(|neighbor| neighbor.address));
        alone.extend(&switch.loopback);
        alone.extend(switch.tunnels.iter().map(|it| IpAddr::V4(it.tunnel.local)));
        alone.extend(switch.tunnels.iter().filter_map(|it| Some(IpAddr::V4(it.tunnel.remote?))));
    }
    alone
}

/// All prefixes that any switch tells from others.
fn prefixes(lookups: &Lookups, alone: &BTreeSet<IpAddr>) -> BTreeSet<IpNet> {
    let known = lookups.switches.iter().flat_map(|SwitchTables { routes, .. }| {
        let connected = routes.interfaces().map(|interface| interface.net.trunc());
        connected.chain(routes.routes().map(|(prefix, _)| prefix))
    });
    known.chain(alone.iter().map(|&address| address.into())).collect()
}

/// Of each prefix the first address that is in no longer one. Addresses with the same longest
/// prefix are treated alike by every switch.
fn representatives(prefixes: &BTreeSet<IpNet>) -> Vec<IpAddr> {
    prefixes.iter().filter_map(|prefix| first_of_its_own(prefixes, *prefix)).collect()
}

fn first_of_its_own(prefixes: &BTreeSet<IpNet>, prefix: IpNet) -> Option<IpAddr> {
    let mut first = prefix.network();
    for inner in prefixes.range(prefix..).skip(1).take_while(|inner| prefix.contains(*inner)) {
        if inner.network() > first {
            break;
        }
        if inner.broadcast() >= first {
            first = successor(inner.broadcast())?;
        }
    }
    prefix.contains(&first).then_some(first)
}

fn successor(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(it) => u32::from(it).checked_add(1).map(|next| Ipv4Addr::from(next).into()),
        IpAddr::V6(it) => u128::from(it).checked_add(1).map(|it| IpAddr::V6(it.into())),
    }
}

/// What `switch` may do with frames to `address`: all equal-cost ways. A next hop without a static
/// neighbor is where a node on a link has its address, as ARP or ND would find it.
fn ways(
    network: &Network,
    files: &SwitchFiles,
    switch: u32,
    tables: &SwitchTables,
    address: IpAddr,
) -> Vec<Way> {
    match tables.routes.routed_by(address) {
        RoutedBy::Ours => return vec![Way::Ours],
        // No file has learned routes.
        RoutedBy::Nothing | RoutedBy::Learned(..) => return vec![Way::NoRoute],
        RoutedBy::Static(_, Route::Blackhole) => return vec![Way::Blackhole],
        RoutedBy::Static(_, &Route::Tunnel { id, remote }) => return vec![Way::Tunnel(id, remote)],
        RoutedBy::Static(_, Route::Via(_)) | RoutedBy::Connected(_) => {}
    }
    let stations = tables.routes.next_hops(address);
    let answers = stations.iter().filter(|station| answers(network, files, switch, station));
    let ports: BTreeSet<PortId> = answers.map(|station| station.interface.port).collect();
    if ports.is_empty() {
        return vec![Way::NoNeighbor];
    }
    ports.into_iter().map(Way::Port).collect()
}

/// Whether there is a neighbor with the address of `station` on its port's link. One that is static
/// is believed, as far as anything is linked there.
fn answers(network: &Network, files: &SwitchFiles, switch: u32, station: &NextHop) -> bool {
    let Some(slot) = network.slot(switch, station.interface.port) else { return false };
    let has = match network.peer(slot) {
        Peer::None => return false,
        Peer::Host(host) => files.hosts[host as usize].addresses.contains(&station.address),
        Peer::Slot(far) => {
            let port = files.port(network, far);
            let mut own = port.addresses.iter().map(IpNet::addr);
            own.any(|own| own == station.address) || is_link_local(files, network, far, station)
        }
    };
    has || station.mac.is_some()
}

/// Whether the next hop is the link-local address of the far port.
fn is_link_local(files: &SwitchFiles, network: &Network, far: u32, station: &NextHop) -> bool {
    let interfaces = files.switches[network.owner(far) as usize].interfaces();
    let there = interfaces.iter().find(|interface| interface.port == network.port(far));
    there.is_some_and(|interface| IpAddr::V6(interface.link_local()) == station.address)
}

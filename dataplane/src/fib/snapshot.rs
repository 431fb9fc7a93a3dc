//! From [`Routes`] to [`Fib`]: which answer wins where several would do, and the table of hops.
//!
//! For one prefix the last of these wins: what no router forwards (RFC 1812 5.3.7, RFC 4291 2.5), a
//! learned route, a static route, a connected network, a neighbor's own prefix (/32 or /128), the two broadcast
//! addresses of an IPv4 network, our own addresses. Between prefixes, the longest wins. A neighbor
//! gets its own prefix only where the connected network is what its address would be routed by: a
//! longer static route inside that network keeps its right.

use super::buckets::{deal, without_unusable};
use super::compile::Prefix;
use super::groups::{GroupId, Path};
use super::learned::{AnyRoute, Target};
use super::prefix_map::longest_match;
use super::routes::{Interface, NextHop, Route, Routes};
use super::{Adjacency, Fib, Hop, Leaf, Trie};
use crate::ids::PortId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// What no router forwards: "this network", loopback, link-local, multicast, limited broadcast.
const NEVER_FORWARDED_V4: [Ipv4Net; 5] = [
    Ipv4Net::new_assert(Ipv4Addr::new(0, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8),
    Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(224, 0, 0, 0), 4),
    Ipv4Net::new_assert(Ipv4Addr::BROADCAST, 32),
];

/// What no router forwards: unspecified, loopback, link-local, multicast.
const NEVER_FORWARDED_V6: [Ipv6Net; 4] = [
    Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 128),
    Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128),
    Ipv6Net::new_assert(Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 0), 10),
    Ipv6Net::new_assert(Ipv6Addr::new(0xFF00, 0, 0, 0, 0, 0, 0, 0), 8),
];

impl Routes {
    /// The table for the packet path. Takes a tenth to a quarter of a microsecond for each
    /// route.
    pub fn compile(&self) -> Fib {
        let mut snapshot = Snapshot::new();
        snapshot.add_never_forwarded();
        snapshot.add_learned(self);
        snapshot.add_routes(self);
        snapshot.add_connected(self);
        snapshot.add_neighbors(self);
        snapshot.add_addresses(self);
        snapshot.finish()
    }
}

/// A [`Fib`] under construction: prefixes in order of precedence, the strongest last.
struct Snapshot<'a> {
    v4: Vec<Prefix<u32>>,
    v6: Vec<Prefix<u128>>,
    hops: Vec<Hop>,
    discard: Leaf,
    local: Leaf,
    resolve: BTreeMap<PortId, Leaf>,
    groups: BTreeMap<&'a [IpAddr], Leaf>,
    learned_groups: BTreeMap<GroupId, Leaf>,
}

impl<'a> Snapshot<'a> {
    fn new() -> Self {
        let mut snapshot = Self {
            v4: Vec::new(),
            v6: Vec::new(),
            hops: Vec::from([Hop::NoRoute]),
            discard: Leaf::NO_ROUTE,
            local: Leaf::NO_ROUTE,
            resolve: BTreeMap::new(),
            groups: BTreeMap::new(),
            learned_groups: BTreeMap::new(),
        };
        snapshot.discard = snapshot.leaf(&[Hop::Discard]);
        snapshot.local = snapshot.leaf(&[Hop::Local]);
        snapshot
    }

    fn add_never_forwarded(&mut self) {
        for net in
            NEVER_FORWARDED_V4.map(IpNet::V4).into_iter().chain(NEVER_FORWARDED_V6.map(IpNet::V6))
        {
            self.push(net, self.discard);
        }
    }

    fn add_learned(&mut self, routes: &Routes) {
        for (&prefix, route) in &routes.learned {
            let leaf = match route.target {
                Target::Group(group) => self.learned_group(routes, group),
                Target::Blackhole => self.discard,
                Target::Unreachable => Leaf::NO_ROUTE,
            };
            self.push(prefix, leaf);
        }
    }

    fn add_routes(&mut self, routes: &'a Routes) {
        for (&prefix, route) in &routes.routes {
            let leaf = match route {
                Route::Via(gateways) => self.group(routes, gateways),
                Route::Blackhole => self.discard,
            };
            self.push(prefix, leaf);
        }
    }

    fn add_connected(&mut self, routes: &Routes) {
        for (&net, claims) in routes.connected.iter().filter(|(net, _)| !is_ambiguous(net)) {
            if let Some(interface) = claims.first() {
                let leaf = self.resolve(interface.port);
                self.push(net, leaf);
            }
        }
    }

    fn add_neighbors(&mut self, routes: &Routes) {
        for &address in routes.neighbors.keys() {
            let host = IpNet::from(address);
            let near = longest_match(&routes.connected, address).map(|(near, _)| near);
            let far = routes.route_to(address);
            let station = match (near, far) {
                (Some(near), _) if is_ambiguous(&near) => continue,
                (Some(near), far)
                    if far
                        .as_ref()
                        .is_none_or(|(far, _)| far.prefix_len() <= near.prefix_len()) =>
                {
                    routes.stations(address).into_iter().next()
                }
                // A network that a learned route says is on the link.
                (_, Some((_, AnyRoute::Learned(Target::Group(group))))) => {
                    let mut paths = routes.groups.paths(group).iter();
                    let on_link = paths.find(|path| path.gateway.is_none());
                    on_link.and_then(|path| routes.stations_by(path, address).into_iter().next())
                }
                _ => None,
            };
            if let Some(adjacency) = station.as_ref().and_then(adjacency) {
                let leaf = self.leaf(&[Hop::Forward(adjacency)]);
                self.push(host, leaf);
            }
        }
    }

    fn add_addresses(&mut self, routes: &Routes) {
        for Interface { net, .. } in routes.interfaces() {
            // A /31 or /32 has no broadcast address (RFC 3021).
            if let (IpNet::V4(net), 0..=30) = (net, net.prefix_len()) {
                self.push(IpNet::from(IpAddr::V4(net.network())), self.discard);
                self.push(IpNet::from(IpAddr::V4(net.broadcast())), self.discard);
            }
        }
        for Interface { net, .. } in routes.interfaces() {
            self.push(IpNet::from(net.addr()), self.local);
        }
    }

    /// The leaf of a static route: the gateways with a known MAC address; if there is none, a
    /// question for the first that is in a connected network.
    fn group(&mut self, routes: &Routes, gateways: &'a [IpAddr]) -> Leaf {
        if let Some(&leaf) = self.groups.get(gateways) {
            return leaf;
        }
        let stations: Vec<_> = gateways.iter().map(|&it| routes.stations(it)).collect();
        let leaf = self.spread(&alloc::vec![1; gateways.len()], &stations);
        self.groups.insert(gateways, leaf);
        leaf
    }

    fn learned_group(&mut self, routes: &Routes, group: GroupId) -> Leaf {
        if let Some(&leaf) = self.learned_groups.get(&group) {
            return leaf;
        }
        let paths = routes.groups.paths(group);
        // A path without a gateway leads to the destination itself, which has to be asked for.
        let stations: Vec<_> = paths.iter().map(|path| stations_of(routes, path)).collect();
        let on_link = paths.iter().find_map(|path| path.gateway.is_none().then_some(path.port?));
        let leaf = match on_link {
            Some(port) => self.resolve(port),
            None => {
                let weights: Vec<u16> = paths.iter().map(|path| path.weight).collect();
                self.spread(&weights, &stations)
            }
        };
        self.learned_groups.insert(group, leaf);
        leaf
    }

    /// The leaf of members with these weights, each with the stations that it may be: the buckets
    /// of those with a known MAC address; if there is none, a question for the first.
    fn spread(&mut self, weights: &[u16], stations: &[Vec<NextHop>]) -> Leaf {
        let known: Vec<Option<Adjacency>> =
            stations.iter().map(|members| members.first().and_then(adjacency)).collect();
        if known.iter().all(Option::is_none) {
            let first = stations.iter().flatten().next();
            return first.map_or(Leaf::NO_ROUTE, |first| self.resolve(first.interface.port));
        }
        let mut buckets = deal(weights);
        without_unusable(&mut buckets, |member| known[usize::from(member)].is_some());
        let hops = buckets.iter().filter_map(|&member| known[usize::from(member)]);
        let hops: Vec<Hop> = hops.map(Hop::Forward).collect();
        self.leaf(&hops)
    }

    fn resolve(&mut self, port: PortId) -> Leaf {
        if let Some(&leaf) = self.resolve.get(&port) {
            return leaf;
        }
        let leaf = self.leaf(&[Hop::Resolve { port }]);
        self.resolve.insert(port, leaf);
        leaf
    }

    fn leaf(&mut self, hops: &[Hop]) -> Leaf {
        let leaf = Leaf::new(self.hops.len(), hops.len());
        self.hops.extend_from_slice(hops);
        leaf.expect("`Routes` holds no more than a leaf can name")
    }

    fn push(&mut self, net: IpNet, leaf: Leaf) {
        let len = net.prefix_len();
        match net.addr() {
            IpAddr::V4(address) => self.v4.push(Prefix { address: address.to_bits(), len, leaf }),
            IpAddr::V6(address) => self.v6.push(Prefix { address: address.to_bits(), len, leaf }),
        }
    }

    fn finish(mut self) -> Fib {
        Fib {
            v4: Trie::compile(&mut self.v4),
            v6: Trie::compile(&mut self.v6),
            hops: self.hops.into_boxed_slice(),
        }
    }
}

/// The stations of a path with a gateway.
fn stations_of(routes: &Routes, path: &Path) -> Vec<NextHop> {
    path.gateway.map_or_else(Vec::new, |gateway| routes.stations_by(path, gateway))
}

/// The way to a station whose MAC address is known.
fn adjacency(station: &NextHop) -> Option<Adjacency> {
    let Interface { port, vlan, mac, frame_bytes_max, .. } = station.interface;
    Some(Adjacency::new(port, vlan, frame_bytes_max, station.mac?, mac))
}

/// IPv6 link-local networks are on every port at once, so an address in them says nothing about the
/// way; they serve as gateways, whose port their neighbor entry tells, and are never forwarded to.
fn is_ambiguous(net: &IpNet) -> bool {
    matches!(net, IpNet::V6(net) if net.addr().is_unicast_link_local())
}

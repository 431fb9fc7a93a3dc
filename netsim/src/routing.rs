//! Ways through the network, and the routes that make every switch keep to them.

use crate::builder::BuildError;
use crate::topology::{
    Attachment, HostId, Peer, SwitchId, Topology, host_address, link_address, mac, path_address,
};
use dataplane::fib::{Interface, Route, Routes};
use dataplane::ids::PortId;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

/// Which way a flow goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// A shortest one; of several, the one that each switch leaves by its lowest port.
    Shortest,
    /// Through these switches, from the sender's to the receiver's, each once. Where two switches
    /// share several links, by the lowest port.
    Through(Vec<SwitchId>),
}

/// The routes that all ways together need.
#[derive(Debug)]
pub(crate) struct Router<'a> {
    topology: &'a Topology,
    switches: &'a [String],
    hosts: &'a [String],
    /// By switch: out port by destination.
    out: Vec<BTreeMap<Ipv4Addr, PortId>>,
    /// By destination switch: distance of each switch, `None` if it cannot be reached.
    distances: BTreeMap<SwitchId, Vec<Option<u32>>>,
}

impl<'a> Router<'a> {
    pub(crate) fn new(topology: &'a Topology, switches: &'a [String], hosts: &'a [String]) -> Self {
        let out = vec![BTreeMap::new(); switches.len()];
        Self { topology, switches, hosts, out, distances: BTreeMap::new() }
    }

    /// Adds the way of flow number `flow`; returns the address to send to.
    pub(crate) fn add(
        &mut self,
        flow: usize,
        way: &Way,
        from: HostId,
        to: HostId,
    ) -> Result<Ipv4Addr, BuildError> {
        let (first, (last, last_port)) =
            (self.topology.access[from.0].0, self.topology.access[to.0]);
        let (address, hops) = match way {
            Way::Shortest => (host_address(to), self.shortest(first, last, from, to)?),
            Way::Through(switches) => {
                (path_address(flow), self.explicit(switches, first, last, from, to)?)
            }
        };
        for (switch, port) in hops.into_iter().chain([(last, last_port)]) {
            self.out[switch.0].insert(address, port);
        }
        Ok(address)
    }

    /// Every switch but the last, with the port to leave it by.
    fn shortest(
        &mut self,
        first: SwitchId,
        last: SwitchId,
        from: HostId,
        to: HostId,
    ) -> Result<Vec<(SwitchId, PortId)>, BuildError> {
        let topology = self.topology;
        let distances = self.distances.entry(last).or_insert_with(|| distances_to(topology, last));
        let mut hops = Vec::new();
        let mut at = first;
        while at != last {
            let nearer = topology.attachments(at).find_map(|(port, attachment)| {
                let Peer::Switch(next, _) = attachment.peer else { return None };
                let here = distances[at.0]?;
                (distances[next.0]? + 1 == here).then_some((port, next))
            });
            let Some((port, next)) = nearer else {
                let name = |host: HostId| self.hosts[host.0].clone();
                return Err(BuildError::NoWay { from: name(from), to: name(to) });
            };
            hops.push((at, port));
            at = next;
        }
        Ok(hops)
    }

    fn explicit(
        &self,
        path: &[SwitchId],
        first: SwitchId,
        last: SwitchId,
        from: HostId,
        to: HostId,
    ) -> Result<Vec<(SwitchId, PortId)>, BuildError> {
        let name = |switch: SwitchId| self.switches[switch.0].clone();
        if path.first() != Some(&first) || path.last() != Some(&last) {
            let (from, to) = (self.hosts[from.0].clone(), self.hosts[to.0].clone());
            return Err(BuildError::WayEnds { from, to, first: name(first), last: name(last) });
        }
        if let Some(at) = (1..path.len()).find(|&at| path[..at].contains(&path[at])) {
            return Err(BuildError::WayRepeats { switch: name(path[at]) });
        }
        path.windows(2)
            .map(|pair| {
                let leads = |attachment: &Attachment| {
                    matches!(attachment.peer, Peer::Switch(next, _) if next == pair[1])
                };
                let found = self.topology.attachments(pair[0]).find(|(_, at)| leads(at));
                found.map(|(port, _)| (pair[0], port)).ok_or_else(|| BuildError::NotLinked {
                    from: name(pair[0]),
                    to: name(pair[1]),
                })
            })
            .collect()
    }

    /// The routing table of `switch`.
    pub(crate) fn routes(&self, switch: SwitchId, frame_bytes_max: u16) -> Routes {
        let mut routes = Routes::new();
        let mut gateways = BTreeMap::new();
        for (port, attachment) in self.topology.attachments(switch) {
            let own = link_address(attachment.link, attachment.side);
            let gateway = IpAddr::V4(link_address(attachment.link, 1 - attachment.side));
            routes.set_interface(Interface {
                net: ipnet::Ipv4Net::new_assert(own, 30).into(),
                port,
                vlan: None,
                mac: mac(switch.0, port),
                frame_bytes_max,
            });
            let peer_mac = match attachment.peer {
                Peer::Switch(peer, port) => mac(peer.0, port),
                Peer::Host(host) => mac(self.switches.len() + host.0, PortId::FIRST),
            };
            let known = routes.set_neighbour(gateway, port, peer_mac);
            debug_assert_eq!(known, Ok(true), "at most 256 neighbours, each unicast, each once");
            gateways.insert(port, gateway);
        }
        for (&destination, port) in &self.out[switch.0] {
            let via = Route::Via(gateways.get(port).copied().into_iter().collect());
            let net = ipnet::Ipv4Net::new_assert(destination, 32).into();
            let set = routes.set_route(net, via);
            debug_assert_eq!(set, Ok(None), "one gateway, and fewer destinations than routes fit");
        }
        routes
    }
}

/// The distance of every switch to `last`, by breadth-first search.
fn distances_to(topology: &Topology, last: SwitchId) -> Vec<Option<u32>> {
    let mut distances = vec![None; topology.ports.len()];
    distances[last.0] = Some(0);
    let mut frontier = VecDeque::from([(last, 0)]);
    while let Some((at, distance)) = frontier.pop_front() {
        for (_, attachment) in topology.attachments(at) {
            let Peer::Switch(next, _) = attachment.peer else { continue };
            if distances[next.0].is_none() {
                distances[next.0] = Some(distance + 1);
                frontier.push_back((next, distance + 1));
            }
        }
    }
    distances
}

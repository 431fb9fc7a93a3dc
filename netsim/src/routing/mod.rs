//! Routes: the contents of every switch's tables, and how they change when links do.
//!
//! Frames to a host follow the prefix of its switch, as [`RouteKind`] says. A flow with a path of
//! its own has an address of its own, and a route for it in every switch on the path. With local
//! reroute, the switches at a link that went down send around it, each by its own knowledge.

mod graph;
mod tables;

pub(crate) use graph::Graph;
pub(crate) use tables::table;

use crate::build_error::BuildError;
use crate::flow::{FlowId, Way};
use crate::topology::{Attachment, HostId, Peer, SwitchId, Topology, path_address};
use dataplane::ids::PortId;
use random::SplitMix64;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

/// How frames to a switch's hosts are routed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouteKind {
    /// Each switch has one next hop, the one with the lowest port.
    #[default]
    Shortest,
    /// Each switch has all next hops of shortest ways, and spreads flows over them by hash.
    Ecmp,
}

/// A flow with a path of its own.
#[derive(Clone, Debug)]
struct Pinned {
    address: Ipv4Addr,
    to: HostId,
    way: Vec<(SwitchId, PortId)>,
    /// The path before any reroute.
    original: Vec<(SwitchId, PortId)>,
}

/// The routes of all switches.
#[derive(Debug)]
pub(crate) struct Router {
    kind: RouteKind,
    /// With the links that switches know to be down: from the start, or since they noticed.
    graph: Graph,
    /// Switches whose hosts are routed to.
    destinations: BTreeSet<SwitchId>,
    pinned: Vec<Pinned>,
    /// By switch: the egress ports of pinned paths.
    pinned_at: Vec<BTreeMap<Ipv4Addr, PortId>>,
    /// Wrong routes: a switch's port for frames to a host.
    wrong: BTreeMap<(SwitchId, HostId), PortId>,
    rng: SplitMix64,
}

/// The names and links that the router needs to add a path.
pub(crate) struct Map<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) switches: &'a [String],
    pub(crate) hosts: &'a [String],
}

impl Router {
    /// A router of a network where links of `down` are down from the start, as every switch knows.
    pub(crate) fn new(topology: &Topology, kind: RouteKind, down: &[usize], seed: u64) -> Self {
        let mut graph = Graph::new(topology);
        down.iter().for_each(|&link| graph.set_link(link, false));
        Self {
            kind,
            pinned_at: vec![BTreeMap::new(); topology.ports.len()],
            graph,
            destinations: BTreeSet::new(),
            pinned: Vec::new(),
            wrong: BTreeMap::new(),
            rng: random::seeded(seed),
        }
    }

    /// Adds the path of flow number `flow`; returns the destination address.
    pub(crate) fn add(
        &mut self,
        flow: usize,
        way: &Way,
        from: HostId,
        to: HostId,
        map: &Map<'_>,
    ) -> Result<Ipv4Addr, BuildError> {
        let (first, (last, last_port)) = (map.topology.access[from.0].0, map.topology.access[to.0]);
        let mut way = match way {
            Way::Routed => {
                self.route_to(last);
                self.check_way(first, last, from, to, map)?;
                return Ok(map.topology.host_address(to));
            }
            Way::Pinned => {
                self.graph.learn(last);
                self.check_way(first, last, from, to, map)?;
                let walked = self.graph.walk(first, last, &[], &mut self.rng);
                walked.ok_or_else(|| no_way(from, to, map))?
            }
            Way::Through(switches) => explicit(switches, first, last, from, to, map)?,
            Way::Ports(ports) => {
                let without_last = ports.len().saturating_sub(1);
                ports[..without_last].to_vec()
            }
        };
        way.push((last, last_port));
        let address = path_address(flow);
        way.iter().for_each(|&(switch, port)| {
            self.pinned_at[switch.0].insert(address, port);
        });
        self.graph.learn(last);
        self.pinned.push(Pinned { address, to, original: way.clone(), way });
        Ok(address)
    }

    /// Adds routes to the hosts of `switch` in every switch.
    pub(crate) fn route_to(&mut self, switch: SwitchId) {
        self.graph.learn(switch);
        self.destinations.insert(switch);
    }

    fn check_way(
        &self,
        first: SwitchId,
        last: SwitchId,
        from: HostId,
        to: HostId,
        map: &Map<'_>,
    ) -> Result<(), BuildError> {
        self.graph.distance(first, last).map(|_| ()).ok_or_else(|| no_way(from, to, map))
    }

    /// The egress ports of `at` for frames to the hosts of `to`.
    fn ports_to(&self, at: SwitchId, to: SwitchId) -> Vec<PortId> {
        let hops = self.graph.next_hops(at, to);
        let count = match self.kind {
            RouteKind::Shortest => 1,
            RouteKind::Ecmp => hops.len(),
        };
        hops.iter().take(count).map(|next| next.port).collect()
    }

    /// The switches at a link have noticed that it went down or came up.
    pub(crate) fn set_link(&mut self, link: usize, up: bool) {
        self.graph.set_link(link, up);
    }

    /// Whether a link is known to be down.
    pub(crate) fn is_down(&self, link: usize) -> bool {
        self.graph.is_down(link)
    }

    /// Reroutes around links that are down, and back; returns the switches whose tables change.
    /// `ends` are the switches at the changed link.
    pub(crate) fn reroute(&mut self, ends: &[SwitchId], topology: &Topology) -> BTreeSet<SwitchId> {
        let mut changed: BTreeSet<SwitchId> = ends.iter().copied().collect();
        for number in 0..self.pinned.len() {
            let Some(way) = self.new_way(number, topology) else { continue };
            let pinned = &mut self.pinned[number];
            for (switch, _) in std::mem::replace(&mut pinned.way, way) {
                self.pinned_at[switch.0].remove(&pinned.address);
                changed.insert(switch);
            }
            for &(switch, port) in &pinned.way {
                self.pinned_at[switch.0].insert(pinned.address, port);
                changed.insert(switch);
            }
        }
        changed
    }

    /// The new path of a pinned flow, if it changes.
    fn new_way(&mut self, number: usize, topology: &Topology) -> Option<Vec<(SwitchId, PortId)>> {
        let pinned = &self.pinned[number];
        let is_down = |&(switch, port): &(SwitchId, PortId)| {
            let attachment = topology.ports[switch.0][port.index()].as_ref();
            attachment.is_some_and(|attachment| self.graph.is_down(attachment.link))
        };
        if pinned.way != pinned.original && !pinned.original.iter().any(is_down) {
            return Some(pinned.original.clone());
        }
        // From the switch at the link that is down, with the last hop to the host as it was.
        let at = pinned.way.iter().position(is_down)?;
        let &(last, last_port) = pinned.way.last()?;
        let visited: Vec<SwitchId> = pinned.way[..at].iter().map(|&(switch, _)| switch).collect();
        let from = pinned.way[at].0;
        let rest = self.graph.walk(from, last, &visited, &mut self.rng)?;
        let kept = pinned.way[..at].iter().copied();
        Some(kept.chain(rest).chain([(last, last_port)]).collect())
    }

    /// Gives `switch` a route for the frames of a flow with a path of its own, or takes it away.
    pub(crate) fn set_path_port(&mut self, switch: SwitchId, flow: FlowId, port: Option<PortId>) {
        let address = path_address(flow.0);
        match port {
            Some(port) => self.pinned_at[switch.0].insert(address, port),
            None => self.pinned_at[switch.0].remove(&address),
        };
    }

    /// Gives `switch` a wrong port for frames to `host`, or the right one again.
    pub(crate) fn misroute(&mut self, switch: SwitchId, host: HostId, port: Option<PortId>) {
        match port {
            Some(port) => self.wrong.insert((switch, host), port),
            None => self.wrong.remove(&(switch, host)),
        };
    }
}

fn no_way(from: HostId, to: HostId, map: &Map<'_>) -> BuildError {
    BuildError::NoWay { from: map.hosts[from.0].clone(), to: map.hosts[to.0].clone() }
}

/// Every switch of `path` but the last, with the port to leave it by.
fn explicit(
    path: &[SwitchId],
    first: SwitchId,
    last: SwitchId,
    from: HostId,
    to: HostId,
    map: &Map<'_>,
) -> Result<Vec<(SwitchId, PortId)>, BuildError> {
    let name = |switch: SwitchId| map.switches[switch.0].clone();
    if path.first() != Some(&first) || path.last() != Some(&last) {
        let (from, to) = (map.hosts[from.0].clone(), map.hosts[to.0].clone());
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
            let found = map.topology.attachments(pair[0]).find(|(_, at)| leads(at));
            found.map(|(port, _)| (pair[0], port)).ok_or_else(|| BuildError::NotLinked {
                from: name(pair[0]),
                to: name(pair[1]),
            })
        })
        .collect()
}

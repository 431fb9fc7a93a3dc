//! The graph of switches and the links between them: distances and next hops.

use crate::topology::{Attachment, Peer, SwitchId, Topology};
use dataplane::ids::PortId;
use random::{Draw, SplitMix64};
use std::collections::{BTreeMap, VecDeque};

/// Hops of a frame at the most: the time to live that hosts set.
pub(crate) const HOPS_MAX: usize = 64;

/// No path leads there.
const UNREACHABLE: u16 = u16::MAX;

/// A link of a switch to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbor {
    pub(crate) port: PortId,
    pub(crate) switch: SwitchId,
    pub(crate) link: usize,
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Graph {
    /// By switch, lowest port first.
    neighbors: Vec<Vec<Neighbor>>,
    /// By link.
    is_down: Vec<bool>,
    /// By destination: each switch's distance where all links are up.
    distances: BTreeMap<SwitchId, Vec<u16>>,
}

impl Graph {
    pub(crate) fn new(topology: &Topology) -> Self {
        let neighbor = |(port, attachment): (PortId, &Attachment)| match attachment.peer {
            Peer::Switch(switch, _) => Some(Neighbor { port, switch, link: attachment.link }),
            Peer::Host(_) => None,
        };
        let of = |switch| topology.attachments(SwitchId(switch)).filter_map(neighbor).collect();
        Self {
            neighbors: (0..topology.ports.len()).map(of).collect(),
            is_down: vec![false; topology.links.len()],
            distances: BTreeMap::new(),
        }
    }

    /// Notes that a link is up or down.
    pub(crate) fn set_link(&mut self, link: usize, up: bool) {
        self.is_down[link] = !up;
    }

    /// Whether a link is down.
    pub(crate) fn is_down(&self, link: usize) -> bool {
        self.is_down[link]
    }

    /// Computes the distances to `to`, unless they are known.
    pub(crate) fn learn(&mut self, to: SwitchId) {
        let neighbors = &self.neighbors;
        self.distances.entry(to).or_insert_with(|| {
            let mut distances = vec![UNREACHABLE; neighbors.len()];
            distances[to.0] = 0;
            let mut frontier = VecDeque::from([to]);
            while let Some(at) = frontier.pop_front() {
                for next in &neighbors[at.0] {
                    if distances[next.switch.0] == UNREACHABLE {
                        distances[next.switch.0] = distances[at.0] + 1;
                        frontier.push_back(next.switch);
                    }
                }
            }
            distances
        });
    }

    /// Hops from `at` to `to`, to which distances were [computed](Self::learn); `None` if no path
    /// leads there. Links that are down count: a switch knows the network as it was built, and
    /// which links are down.
    pub(crate) fn distance(&self, at: SwitchId, to: SwitchId) -> Option<u16> {
        let distance = *self.distances.get(&to)?.get(at.0)?;
        (distance != UNREACHABLE).then_some(distance)
    }

    /// Whether `next` is nearer to `to` than `at` is.
    fn leads(&self, at: SwitchId, next: &Neighbor, to: SwitchId) -> bool {
        let distances = self.distance(at, to).zip(self.distance(next.switch, to));
        distances.is_some_and(|(here, there)| there + 1 == here)
    }

    /// The links that begin a shortest path from `at` to `to`, whether up or down.
    pub(crate) fn shortest(&self, at: SwitchId, to: SwitchId) -> impl Iterator<Item = &Neighbor> {
        self.neighbors[at.0].iter().filter(move |next| self.leads(at, next, to))
    }

    /// The links that are up of those that begin a shortest path.
    fn shortest_up(&self, at: SwitchId, to: SwitchId) -> impl Iterator<Item = &Neighbor> {
        self.shortest(at, to).filter(|next| !self.is_down[next.link])
    }

    /// The next hops of a switch without a shortest path (Tagger, section VIII-D: candidate next
    /// hops): the nearest of the neighbors that themselves have a shortest path which does not come
    /// back.
    fn detours(&self, at: SwitchId, to: SwitchId) -> Vec<Neighbor> {
        let goes_on = |next: &Neighbor| {
            next.switch == to || self.shortest_up(next.switch, to).any(|after| after.switch != at)
        };
        let up = self.neighbors[at.0].iter().filter(|next| !self.is_down[next.link]);
        let able: Vec<Neighbor> = up.filter(|next| goes_on(next)).copied().collect();
        let nearest = able.iter().filter_map(|next| self.distance(next.switch, to)).min();
        able.into_iter().filter(|next| self.distance(next.switch, to) == nearest).collect()
    }

    /// The next hops of `at` for frames to `to`, with local reroute.
    pub(crate) fn next_hops(&self, at: SwitchId, to: SwitchId) -> Vec<Neighbor> {
        let shortest: Vec<Neighbor> = self.shortest_up(at, to).copied().collect();
        if shortest.is_empty() { self.detours(at, to) } else { shortest }
    }

    /// A random path from `from` to `to` by [`Reroute::Local`](crate::scenario::Reroute::Local) or
    /// [`Reroute::LocalOrBack`](crate::scenario::Reroute::LocalOrBack): a
    /// random one of the shortest ways that are up, else a random one of all other neighbors. The
    /// switches, both ends included; `None` at a dead end, or after [`HOPS_MAX`] hops.
    pub(crate) fn local_walk(
        &self,
        from: SwitchId,
        to: SwitchId,
        may_return: bool,
        rng: &mut SplitMix64,
    ) -> Option<Vec<SwitchId>> {
        let mut way = vec![from];
        let mut before = None;
        let (mut at, mut hops) = (from, Vec::new());
        while at != to {
            let is_new = |next: &&Neighbor| may_return || Some(next.switch) != before;
            hops.clear();
            hops.extend(self.shortest_up(at, to).filter(is_new).copied());
            if hops.is_empty() {
                let up = self.neighbors[at.0].iter().filter(|next| !self.is_down[next.link]);
                hops.extend(up.filter(is_new).copied());
            }
            let next = rng.choose(&hops)?.switch;
            before = Some(at);
            at = next;
            way.push(at);
            if way.len() > HOPS_MAX {
                return None;
            }
        }
        Some(way)
    }

    /// A random path from `from` to `to` along next hops, which avoids the switches of `visited`
    /// and visits none twice: each switch with its egress port. `None` if there is none.
    pub(crate) fn walk(
        &self,
        from: SwitchId,
        to: SwitchId,
        visited: &[SwitchId],
        rng: &mut SplitMix64,
    ) -> Option<Vec<(SwitchId, PortId)>> {
        let mut seen = visited.to_vec();
        let mut way: Vec<(SwitchId, PortId)> = Vec::new();
        let mut at = from;
        while at != to {
            seen.push(at);
            let new = |next: &Neighbor| !seen.contains(&next.switch);
            let mut hops = self.next_hops(at, to);
            hops.retain(new);
            if hops.is_empty() {
                // All next hops were visited: any other neighbor.
                let up = self.neighbors[at.0].iter().filter(|next| !self.is_down[next.link]);
                hops = up.filter(|next| new(next)).copied().collect();
            }
            let Some(next) = rng.choose(&hops) else {
                // A dead end. It is in `seen`, so it is not tried again.
                at = way.pop()?.0;
                continue;
            };
            way.push((at, next.port));
            at = next.switch;
        }
        Some(way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::LinkSpec;
    use crate::topology::LinkDraft;

    /// From A by B or by C to D; the link from B to D is down.
    fn diamond() -> (Graph, [SwitchId; 4]) {
        let ids = [0, 1, 2, 3].map(SwitchId);
        let mut ports = [0; 4];
        let mut end = |switch: usize| {
            ports[switch] += 1;
            ids[switch].port(ports[switch])
        };
        let links = [(0, 1), (0, 2), (1, 3), (2, 3)];
        let links = links.map(|(one, other)| LinkDraft {
            ends: [end(one), end(other)],
            spec: LinkSpec::new(10, 1),
        });
        let names = ["A", "B", "C", "D"].map(str::to_owned);
        let mut graph = Graph::new(&Topology::new(&names, &[], links.to_vec()).unwrap());
        graph.learn(ids[3]);
        graph.set_link(2, false);
        (graph, ids)
    }

    #[test]
    fn a_local_walk_meets_the_dead_end_and_may_turn_round_there() {
        let (graph, ids) = diamond();
        let ways = |may_return| {
            let walk =
                |seed| graph.local_walk(ids[0], ids[3], may_return, &mut random::seeded(seed));
            (0..200).map(walk).collect::<Vec<_>>()
        };
        // A switch that knows nothing beyond its own links chooses B as often as C.
        let straight = Some(vec![ids[0], ids[2], ids[3]]);
        let never_back = ways(false);
        assert!(never_back.iter().all(|way| *way == straight || way.is_none()));
        let lost = never_back.iter().filter(|way| way.is_none()).count();
        assert!((60..140).contains(&lost), "{lost}");
        let turned = Some([0, 1, 0, 2, 3].map(|at| ids[at]).to_vec());
        let back = ways(true);
        assert!(back.contains(&straight) && back.contains(&turned));
        assert!(back.iter().all(Option::is_some));
    }

    #[test]
    fn a_walk_turns_round_at_a_dead_end() {
        let (graph, ids) = diamond();
        for seed in 0..20 {
            let walk = |visited: &[SwitchId]| {
                let way = graph.walk(ids[0], ids[3], visited, &mut random::seeded(seed));
                way.map(|way| way.into_iter().map(|(switch, _)| switch).collect::<Vec<_>>())
            };
            assert_eq!(walk(&[]), Some(vec![ids[0], ids[2]]));
            assert_eq!(walk(&[ids[2]]), None);
        }
    }
}

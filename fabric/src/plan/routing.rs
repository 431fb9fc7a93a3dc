//! Paths of a network of which something is down, and the change from one such state to another.
//!
//! Each pair of switches with hosts has one path, the shortest that the routing allows. Where
//! several next hops are as near, a hash of destination and link decides (rendezvous hashing), so
//! that a failure moves no path that it does not touch.
//!
//! **Up-down** paths go up, then down. If there are switches without hosts, a link leads up away
//! from the hosts, as in a Clos network; else it leads up towards a root, the switch with the most
//! links, as in Autonet's up*/down*. Ties are broken by number. What such paths make wait for each
//! other is ordered by height, so it is free of cycles; that the order changes when the root fails
//! is what makes a change dangerous.

use super::change::{Change, Kind, Operation};
use super::route::{NamedPath, Route};
use crate::network::u32_of;
use crate::network::{End, Network};
use random::Rng;
use rayon::prelude::*;
use std::collections::{BTreeSet, VecDeque};
use strum::{EnumString, IntoStaticStr};

/// How paths are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Routing {
    /// Up, then down: deadlock-free by itself.
    UpDown,
    /// Shortest paths, which can deadlock.
    Shortest,
}

/// What is down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Down {
    /// Both ends of links that are.
    slots: BTreeSet<u32>,
    switches: BTreeSet<u32>,
}

impl Down {
    /// Takes down the link between switches at `slot`.
    pub fn link(&mut self, network: &Network, slot: u32) {
        self.slots.insert(slot);
        self.slots.extend(network.far_slot(slot));
    }

    /// Takes down a switch, and its hosts with it.
    pub fn switch(&mut self, switch: u32) {
        self.switches.insert(switch);
    }

    /// Takes down what `text` names: a switch, a link by a port (`A:3`), or all links between two
    /// switches (`A-B`). `Err` is the whole message.
    ///
    /// # Errors
    /// There is no such thing.
    pub fn named(&mut self, network: &Network, text: &str) -> Result<(), String> {
        if let Some(switch) = network.switch_named(text) {
            self.switch(switch);
            return Ok(());
        }
        let dashes = text.match_indices('-').map(|(at, _)| (&text[..at], &text[at + 1..]));
        for (one, other) in dashes {
            let ends = network.switch_named(one).zip(network.switch_named(other));
            let Some((from, to)) = ends else { continue };
            let between = network.neighbors(from).filter(|&(_, far)| network.owner(far) == to);
            let slots: Vec<u32> = between.map(|(slot, _)| slot).collect();
            if slots.is_empty() {
                return Err(format!("there is no link from `{one}` to `{other}`"));
            }
            slots.into_iter().for_each(|slot| self.link(network, slot));
            return Ok(());
        }
        match network.linked_end(text) {
            Some(End::Slot(slot)) if network.far_slot(slot).is_some() => {
                self.link(network, slot);
                Ok(())
            }
            Some(_) => Err(format!("`{text}` is a host's link; name one between switches")),
            None => {
                Err(format!("`{text}` is no switch and no link; write a switch, `A:3`, or `A-B`"))
            }
        }
    }

    fn has_link(&self, network: &Network, slot: u32, far: u32) -> bool {
        let is_up = |slot: u32| !self.switches.contains(&network.owner(slot));
        !self.slots.contains(&slot) && is_up(slot) && is_up(far)
    }
}

/// A state of the network: which links are there, and which way is up.
#[derive(Debug)]
pub struct Ways<'a> {
    network: &'a Network,
    routing: Routing,
    /// By switch: the slots of its links, and the slots they lead to.
    links: Vec<Vec<(u32, u32)>>,
    /// By switch: its place from the lowest to the highest.
    heights: Vec<u32>,
    is_up: Vec<bool>,
}

/// Cannot be reached.
const FAR: u16 = u16::MAX;

/// By switch: links to a destination, if the path may still go up, and if it may not.
struct Distances([Vec<u16>; 2]);

impl<'a> Ways<'a> {
    /// Those of `network` without what is `down`.
    pub fn new(network: &'a Network, routing: Routing, down: &Down) -> Self {
        let switches = 0..u32_of(network.switches());
        let links = switches.clone().map(|switch| {
            let all = network.neighbors(switch);
            all.filter(|&(slot, far)| down.has_link(network, slot, far)).collect()
        });
        let links: Vec<Vec<(u32, u32)>> = links.collect();
        let is_up: Vec<bool> = switches.map(|switch| !down.switches.contains(&switch)).collect();
        let mut ways = Self { network, routing, links, heights: Vec::new(), is_up };
        ways.heights = ways.find_heights();
        ways
    }

    /// The switches with hosts that are up, by number.
    pub fn edges(&self) -> Vec<u32> {
        let all = 0..u32_of(self.network.switches());
        let has_host = |switch: &u32| self.network.host_slots_of(*switch).next().is_some();
        all.filter(|switch| self.is_up[*switch as usize] && has_host(switch)).collect()
    }

    /// By switch: its place from the lowest to the highest.
    fn find_heights(&self) -> Vec<u32> {
        let count = self.network.switches();
        let edges = self.edges();
        let has_levels = edges.len() < self.is_up.iter().filter(|&&is_up| is_up).count();
        // The root only moves when it fails: it is chosen by the links that were built.
        let links = |switch: &u32| self.network.neighbors(*switch).count();
        let all = (0..u32_of(count)).filter(|&switch| self.is_up[switch as usize]);
        let root = all.max_by_key(|switch| (links(switch), std::cmp::Reverse(*switch)));
        let starts = if has_levels { edges } else { root.into_iter().collect() };
        let mut levels = vec![u32::MAX; count];
        let mut queue = VecDeque::from(starts);
        queue.iter().for_each(|&start| levels[start as usize] = 0);
        while let Some(switch) = queue.pop_front() {
            for &(_, far) in &self.links[switch as usize] {
                let next = self.network.owner(far);
                if levels[next as usize] == u32::MAX {
                    levels[next as usize] = levels[switch as usize] + 1;
                    queue.push_back(next);
                }
            }
        }
        let mut lowest_first: Vec<u32> = (0..u32_of(count)).collect();
        lowest_first.sort_by_key(|&switch| {
            let level = levels[switch as usize];
            (if has_levels { level } else { u32::MAX - level }, switch)
        });
        let mut heights = vec![0; count];
        for (height, &switch) in (0..).zip(&lowest_first) {
            heights[switch as usize] = height;
        }
        heights
    }

    fn leads_up(&self, from: u32, to: u32) -> bool {
        self.routing == Routing::UpDown && self.heights[to as usize] > self.heights[from as usize]
    }

    /// Breadth-first from the destination, over switches that may still go up and that may not.
    fn distances(&self, target: u32) -> Distances {
        let mut distances = [0, 1].map(|_| vec![FAR; self.network.switches()]);
        let mut queue = VecDeque::from([(target, 0_usize), (target, 1)]);
        distances.iter_mut().for_each(|by_switch| by_switch[target as usize] = 0);
        while let Some((switch, descends)) = queue.pop_front() {
            let next = distances[descends][switch as usize].saturating_add(1);
            for &(_, far) in &self.links[switch as usize] {
                let before = self.network.owner(far);
                // A path that comes here upwards went up before; one that comes downwards did
                // either.
                let states = match (self.leads_up(before, switch), descends) {
                    (true, 0) => 0..1,
                    (false, 1) => 0..2,
                    _ => continue,
                };
                for state in states {
                    let known = &mut distances[state][before as usize];
                    if *known == FAR && next < FAR {
                        *known = next;
                        queue.push_back((before, state));
                    }
                }
            }
        }
        Distances(distances)
    }

    /// The path from `source` to `target`, by the distances to it.
    fn route(&self, distances: &Distances, source: u32, target: u32) -> Option<Route> {
        let (mut switch, mut descends) = (source, 0_usize);
        let mut left = distances.0[0][source as usize];
        if left == FAR {
            return None;
        }
        let mut inputs = Vec::with_capacity(usize::from(left));
        while switch != target {
            left = left.checked_sub(1)?;
            let next = self.links[switch as usize].iter().filter_map(|&(slot, far)| {
                let to = self.network.owner(far);
                let goes_up = self.leads_up(switch, to);
                let state = usize::from(descends == 1 || !goes_up);
                let is_near = distances.0[state][to as usize] == left;
                let is_allowed = is_near && !(goes_up && descends == 1);
                is_allowed.then_some((weight(target, slot), far, state))
            });
            let (_, far, state) = next.max()?;
            inputs.push(far);
            (switch, descends) = (self.network.owner(far), state);
        }
        let mut hosts = self.network.host_slots_of(source);
        let first = hosts.next();
        // A path that stays at a switch goes from one of its hosts to another.
        let last = match source == target {
            true => hosts.next(),
            false => self.network.host_slots_of(target).next(),
        };
        Some(Route { source: first, first: source, inputs, target: last })
    }

    /// The paths from each of `sources` to `target`, with the source.
    fn to<'b>(
        &'b self,
        target: u32,
        sources: &'b [u32],
    ) -> impl Iterator<Item = (u32, Option<Route>)> + 'b {
        let is_up = self.is_up[target as usize];
        let distances = self.distances(target);
        sources.iter().map(move |&source| {
            let both_up = is_up && self.is_up[source as usize];
            (source, both_up.then(|| self.route(&distances, source, target)).flatten())
        })
    }

    /// All paths of pairs, named `A>B`.
    pub fn paths(&self, pairs: &[(u32, Vec<u32>)]) -> Vec<NamedPath> {
        let paths = pairs.par_iter().flat_map_iter(|(target, sources)| {
            let routes = self.to(*target, sources);
            routes.filter_map(|(source, route)| Some(self.named(source, *target, route?)))
        });
        paths.collect()
    }

    fn named(&self, source: u32, target: u32, route: Route) -> NamedPath {
        let [from, to] = [source, target].map(|switch| self.network.switch_name(switch));
        NamedPath { name: format!("{from}>{to}"), route }
    }
}

/// The weight of a link for a destination (Thaler and Ravishankar, 1998).
fn weight(target: u32, slot: u32) -> u64 {
    let key = u64::from(target) << 32 | u64::from(slot);
    random::seeded(key).next_u64()
}

/// Every switch with hosts to every other, by destination.
pub fn all_pairs(network: &Network) -> Vec<(u32, Vec<u32>)> {
    let edges = Ways::new(network, Routing::Shortest, &Down::default()).edges();
    let others = |&target: &u32| {
        (target, edges.iter().copied().filter(|&source| source != target).collect())
    };
    edges.iter().map(others).collect()
}

/// Pairs up to which paths that are the same in both states are listed.
const LISTED_MAX: usize = 100_000;

/// The change from one state of a network to another, for pairs of switches by destination. Paths
/// that are the same in both are not listed if there are very many.
pub fn change(
    network: &Network,
    old: &Ways<'_>,
    new: &Ways<'_>,
    pairs: &[(u32, Vec<u32>)],
) -> Change {
    let mut change = Change::new(network);
    let count: usize = pairs.iter().map(|(_, sources)| sources.len()).sum();
    // A few destinations at a time: all paths of a large network do not fit in memory.
    for some in pairs.chunks(64) {
        let routes: Vec<_> = some
            .par_iter()
            .flat_map_iter(|(target, sources)| {
                let both = old.to(*target, sources).zip(new.to(*target, sources));
                both.map(|((source, old), (_, new))| (source, *target, old, new))
            })
            .collect();
        for (source, target, before, after) in routes {
            if before == after {
                let Some(route) = before else { continue };
                change.keep(network, &route);
                if count <= LISTED_MAX {
                    change.kept.push(old.named(source, target, route));
                }
                continue;
            }
            let sides = [(Kind::Remove, old, before), (Kind::Add, new, after)];
            for (kind, ways, route) in sides {
                let path = route.map(|route| ways.named(source, target, route));
                change.operations.extend(path.map(|path| Operation { kind, path }));
            }
        }
    }
    // Those that remove come first; the sort keeps the order among each.
    change.operations.sort_by_key(|operation| operation.kind);
    change
}

#[cfg(test)]
mod tests {
    use super::super::{Model, Planner, Timing};
    use super::*;
    use crate::support::generated;

    /// All shortest distances, slowly: as many rounds as there are switches.
    fn slow_distance(ways: &Ways<'_>, source: u32, target: u32) -> Option<usize> {
        let mut reached = vec![(source, false)];
        let mut links = 0;
        loop {
            if reached.iter().any(|&(switch, _)| switch == target) {
                return Some(links);
            }
            let before = reached.clone();
            for &(switch, descends) in &before {
                for &(_, far) in &ways.links[switch as usize] {
                    let to = ways.network.owner(far);
                    let goes_up = ways.leads_up(switch, to);
                    let next = (to, !goes_up || descends);
                    let is_known = reached.contains(&next);
                    if !(is_known || goes_up && descends) {
                        reached.push(next);
                    }
                }
            }
            links += 1;
            if reached.len() == before.len() {
                return None;
            }
        }
    }

    #[test]
    fn paths_are_the_shortest_allowed_and_their_own_waits_close_no_cycle() {
        for text in [
            "kind = 'fat-tree'\nk = 4",
            "kind = 'hyperx'\nshape = [4, 4]\nhosts = 1",
            "kind = 'jellyfish'\nswitches = 20\nports = 6\nnetwork_ports = 4\nseed = 3",
        ] {
            let network = generated(text);
            let mut down = Down::default();
            down.switch(0);
            let pairs = all_pairs(&network);
            for down in [Down::default(), down] {
                let ways = Ways::new(&network, Routing::UpDown, &down);
                let paths = ways.paths(&pairs);
                let edges = ways.edges().len();
                assert_eq!(paths.len(), edges * (edges - 1), "{text}: all are connected");
                for path in &paths {
                    let route = &path.route;
                    let last = route.inputs.last().map(|&input| network.owner(input)).unwrap();
                    let shortest = slow_distance(&ways, route.first, last);
                    assert_eq!(Some(route.inputs.len()), shortest, "{}", path.name);
                    let turns: Vec<_> = route.turns(&network).collect();
                    assert!(turns.iter().all(|t| network.owner(t.0) == network.owner(t.1)));
                }
                let change = Change::between(&network, paths, Vec::new());
                assert!(Planner::new(&network, &change, Timing::default()).is_ok());
            }
        }
    }

    #[test]
    fn a_failure_moves_what_it_touches_and_nothing_else() {
        let network = generated("kind = 'fat-tree'\nk = 4");
        let mut down = Down::default();
        down.named(&network, &network.show(network.neighbors(0).next().unwrap().0)).unwrap();
        let [old, new] =
            [Down::default(), down.clone()].map(|down| Ways::new(&network, Routing::UpDown, &down));
        let change = change(&network, &old, &new, &all_pairs(&network));
        assert!(!change.operations.is_empty());
        for operation in &change.operations[..change.removes()] {
            let inputs = &operation.path.route.inputs;
            assert!(inputs.iter().any(|input| down.slots.contains(input)), "{operation:?}");
        }
        assert_eq!(usize::try_from(change.kept_paths).unwrap() + change.removes(), 8 * 7);
        let planner = Planner::new(&network, &change, Timing::default()).unwrap();
        assert_eq!(planner.operations_on_cycles(), 0, "up-down in a Clos network keeps its order");
        assert!(planner.plan(Model::Parallel).order.pairs().is_empty());
    }

    #[test]
    fn what_is_down_is_named_in_three_ways_or_refused() {
        let network = generated("kind = 'clos'\nleaves = 2\nspines = 2\nhosts = 1");
        let mut down = Down::default();
        for name in ["S1", "L1-S2", "L2:2"] {
            assert_eq!(down.named(&network, name), Ok(()), "{name}");
        }
        assert_eq!((down.switches.len(), down.slots.len()), (1, 4));
        for (name, why) in
            [("L1-L2", "no link from `L1` to `L2`"), ("X", "is no switch and no link")]
        {
            assert!(down.named(&network, name).unwrap_err().contains(why), "{name}");
        }
    }
}

//! Whether a scheme can hold on a scenario's network, before anything is built.

use super::{Route, ScenarioConfig, SchemeKind};
use crate::headroom::{Link, Software, needed_bytes};
use crate::network::{End, Network, Peer};
use dataplane::gentle::IS_BUILT;
use dataplane::hops::Parity;
use dataplane::limits::PRIORITIES;
use dataplane::settings::Threshold;
use std::collections::VecDeque;

/// The longest frame of these networks.
const FRAME_BYTES: u32 = 1_514;

/// Whether `kind` can hold on the network of `config`; `Err` is the whole message.
///
/// # Errors
/// It cannot, and what would do.
pub fn check(config: &ScenarioConfig, kind: SchemeKind) -> Result<(), String> {
    match kind {
        SchemeKind::Ttl => {
            classes(config)?;
            parities(config).map(drop)
        }
        SchemeKind::Gfc => gentle(config),
        SchemeKind::Pfc
        | SchemeKind::Watchdog
        | SchemeKind::Tagger
        | SchemeKind::UpDown
        | SchemeKind::Lossy => Ok(()),
    }
}

/// How many classes `ttl` has: one for each link of the longest path, or as many as the scenario
/// says.
///
/// # Errors
/// There are fewer than that.
pub fn classes(config: &ScenarioConfig) -> Result<usize, String> {
    let links = longest_path_links(config);
    let classes = config.scheme.classes.map_or_else(|| links.clamp(2, PRIORITIES), usize::from);
    if links <= classes {
        return Ok(classes);
    }
    Err(if links > PRIORITIES {
        format!(
            "`ttl` needs a class for each of the {links} links of the longest path, and PFC has \
             {PRIORITIES}; use shorter paths or `tagger`"
        )
    } else {
        format!("the longest path has {links} links, so `ttl` needs `classes = {links}`")
    })
}

/// Links of the longest path that a flow takes, hosts' own included.
fn longest_path_links(config: &ScenarioConfig) -> usize {
    let graph = Graph::of(config);
    let listed = config.flows.iter().map(|flow| match &flow.route {
        Route::Path(turns) => turns.len() + 1,
        Route::Routed => graph.links(flow.from, flow.to),
    });
    let hosts = (0..).take(config.network.hosts());
    let pairs = |from: u32| hosts.clone().map(move |to| (from, to));
    // Traffic at random may take any pair.
    let any = hosts.clone().flat_map(pairs).filter(|_| !config.traffic.is_empty());
    let by_switch = any.map(|(from, to)| (graph.access[from as usize], graph.access[to as usize]));
    let mut distinct: Vec<(u32, u32)> = by_switch.filter(|(from, to)| from != to).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let routed = distinct.into_iter().map(|(from, to)| graph.distance(from, to) + 2);
    listed.chain(routed).max().unwrap_or(2)
}

/// The switches that a scenario's links join, without those that are down from the start.
struct Graph<'a> {
    network: &'a Network,
    is_down: Vec<bool>,
    /// By host: its switch.
    access: Vec<u32>,
    /// By switch with hosts: links to each other.
    distances: std::cell::RefCell<std::collections::BTreeMap<u32, Vec<usize>>>,
}

impl<'a> Graph<'a> {
    fn of(config: &'a ScenarioConfig) -> Self {
        let network = &config.network;
        let mut is_down = vec![false; network.slots()];
        for &end in &config.routing.failed {
            for end in network.links()[network.link_with(end).unwrap_or_default()].ends {
                if let End::Slot(slot) = end {
                    is_down[slot as usize] = true;
                }
            }
        }
        let mut access = vec![0; network.hosts()];
        for slot in (0_u32..).take(network.slots()) {
            if let Peer::Host(host) = network.peer(slot) {
                access[host as usize] = network.owner(slot);
            }
        }
        Self { network, is_down, access, distances: std::cell::RefCell::default() }
    }

    fn links(&self, from: u32, to: u32) -> usize {
        self.distance(self.access[from as usize], self.access[to as usize]) + 2
    }

    /// Links between two switches; 0 if there is no way.
    fn distance(&self, from: u32, to: u32) -> usize {
        let mut known = self.distances.borrow_mut();
        known.entry(from).or_insert_with(|| self.walk(from))[to as usize]
    }

    fn walk(&self, from: u32) -> Vec<usize> {
        let mut distance = vec![0; self.network.switches()];
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for far in self.neighbours(at) {
                if far != from && distance[far as usize] == 0 {
                    distance[far as usize] = distance[at as usize] + 1;
                    queue.push_back(far);
                }
            }
        }
        distance
    }

    fn neighbours(&self, at: u32) -> impl Iterator<Item = u32> {
        let slots = self.network.slots_of(at).filter(|&slot| !self.is_down[slot as usize]);
        slots.filter_map(|slot| match self.network.peer(slot) {
            Peer::Slot(far) => Some(self.network.owner(far)),
            _ => None,
        })
    }
}

/// By switch: which classes come there. On a tree every second one: those that are an even number
/// of links from a switch with hosts see odd classes.
///
/// # Errors
/// The scenario says it is a tree, and two switches with hosts are an odd number of links apart.
pub fn parities(config: &ScenarioConfig) -> Result<Vec<Parity>, String> {
    let network = &config.network;
    if !config.scheme.tree {
        return Ok(vec![Parity::All; network.switches()]);
    }
    let graph = Graph::of(config);
    let mut parity: Vec<Option<Parity>> = vec![None; network.switches()];
    let mut queue: VecDeque<u32> = VecDeque::new();
    for &switch in &graph.access {
        if parity[switch as usize].replace(Parity::Odd).is_none() {
            queue.push_back(switch);
        }
    }
    while let Some(at) = queue.pop_front() {
        let here = parity[at as usize];
        let other = if here == Some(Parity::Odd) { Parity::Even } else { Parity::Odd };
        for far in graph.neighbours(at) {
            match parity[far as usize] {
                None => {
                    parity[far as usize] = Some(other);
                    queue.push_back(far);
                }
                known if known == here => {
                    let (one, two) = (network.switch_name(at), network.switch_name(far));
                    return Err(format!(
                        "classes of both parities meet in {one} and {two}, which are linked: this is no \
                         tree; remove `tree`"
                    ));
                }
                Some(_) => {}
            }
        }
    }
    Ok(parity.into_iter().map(Option::unwrap_or_default).collect())
}

/// Every link's queue keeps the bound.
fn gentle(config: &ScenarioConfig) -> Result<(), String> {
    if !IS_BUILT {
        return Err(
            "this build has no gentle flow control; build with the feature `gfc`".to_owned()
        );
    }
    let Threshold::Static { xoff_bytes } = config.buffers.threshold else {
        return Err("`gfc` goes by how full a queue is; give [switches] a static `xoff`".to_owned());
    };
    for link in config.network.links() {
        let on_wire = Link {
            speed: link.speed.unwrap_or(config.links.speed),
            length: link.length.unwrap_or(config.links.length),
            mtu_bytes: FRAME_BYTES,
        };
        let full_bytes = config.scheme.gentle.full_bytes(xoff_bytes);
        let delay_bytes = needed_bytes(&on_wire, &Software::default(), config.buffers.cell_bytes);
        config.scheme.gentle.slope(&on_wire, full_bytes, delay_bytes)?;
    }
    Ok(())
}

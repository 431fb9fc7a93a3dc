//! Whether a scheme can hold on a scenario's network, before anything is built.

use super::{FRAME_BYTES_MOST, Route, ScenarioConfig, SchemeKind};
use crate::headroom::{Link, Software, needed_bytes};
use crate::network::{End, Network};
use dataplane::gentle::IS_BUILT;
use dataplane::hops::Parity;
use dataplane::limits::PRIORITIES;
use dataplane::settings::Threshold;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

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
    let up = UpLinks::of(config);
    let listed = config.flows.iter().filter_map(|flow| match &flow.route {
        Route::Path(turns) => Some(turns.len() + 1),
        Route::Routed => None,
    });
    let routed = if config.traffic.is_empty() {
        let ways = flows_by_switch(config);
        ways.iter().filter_map(|(&from, to)| up.farthest(from, to)).max()
    } else {
        // Traffic at random may take any pair, those of flows too.
        let switches = (0..).take(config.network.switches());
        let has_hosts = |&at: &u32| config.network.host_slots_of(at).next().is_some();
        let with_hosts: BTreeSet<u32> = switches.filter(has_hosts).collect();
        with_hosts.iter().filter_map(|&from| up.farthest(from, &with_hosts)).max()
    };
    listed.chain(routed.map(|between| between + 2)).max().unwrap_or(2)
}

/// By switch: the switches that its hosts send to on no listed path.
fn flows_by_switch(config: &ScenarioConfig) -> BTreeMap<u32, BTreeSet<u32>> {
    let network = &config.network;
    let access = |host| network.host_slot(host).map(|slot| network.owner(slot));
    let mut ways: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for flow in config.flows.iter().filter(|flow| flow.route == Route::Routed) {
        if let (Some(from), Some(to)) = (access(flow.from), access(flow.to)) {
            ways.entry(from).or_default().insert(to);
        }
    }
    ways
}

/// The links between a scenario's switches, without those that are down from the start.
struct UpLinks<'a> {
    network: &'a Network,
    /// By slot.
    is_down: Vec<bool>,
}

impl<'a> UpLinks<'a> {
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
        Self { network, is_down }
    }

    fn neighbors(&self, at: u32) -> impl Iterator<Item = u32> {
        let links = self.network.neighbors(at).filter(|&(slot, _)| !self.is_down[slot as usize]);
        links.map(|(_, far)| self.network.owner(far))
    }

    /// Links from a switch to the farthest of `to`.
    fn farthest(&self, from: u32, to: &BTreeSet<u32>) -> Option<usize> {
        let distances = self.distances(from);
        to.iter().map(|&to| distances[to as usize]).max()
    }

    /// Links from a switch to each; 0 if there is no way.
    fn distances(&self, from: u32) -> Vec<usize> {
        let mut distances = vec![0; self.network.switches()];
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for far in self.neighbors(at) {
                if far != from && distances[far as usize] == 0 {
                    distances[far as usize] = distances[at as usize] + 1;
                    queue.push_back(far);
                }
            }
        }
        distances
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
    let up = UpLinks::of(config);
    let mut parity: Vec<Option<Parity>> = vec![None; network.switches()];
    let mut queue: VecDeque<u32> = VecDeque::new();
    for slot in (0..).take(network.hosts()).filter_map(|host| network.host_slot(host)) {
        let switch = network.owner(slot);
        if parity[switch as usize].replace(Parity::Odd).is_none() {
            queue.push_back(switch);
        }
    }
    while let Some(at) = queue.pop_front() {
        let here = parity[at as usize];
        let other = if here == Some(Parity::Odd) { Parity::Even } else { Parity::Odd };
        for far in up.neighbors(at) {
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

/// Whether every link's queue keeps the bound of `gfc`.
///
/// # Errors
/// One does not, has none to keep, or this build has no gentle flow control.
pub fn gentle(config: &ScenarioConfig) -> Result<(), String> {
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
            mtu_bytes: FRAME_BYTES_MOST.into(),
        };
        let full_bytes = config.scheme.gentle.full_bytes(xoff_bytes);
        let delay_bytes = needed_bytes(&on_wire, &Software::default(), config.buffers.cell_bytes);
        config.scheme.gentle.slope(&on_wire, full_bytes, delay_bytes)?;
    }
    Ok(())
}

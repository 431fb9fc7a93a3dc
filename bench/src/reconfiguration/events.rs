//! What happens to a network: links and switches fail, and links are replaced as in the
//! reconfiguration paper's Fig. 2, with traffic led around those that are out.

use fabric::Network;
use fabric::plan::routing::{Down, Routing, Ways, change};
use fabric::plan::{Change, NamedPath};
use random::{Draw, SplitMix64};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// One link fails.
    Link,
    /// One link in a hundred fails.
    Links,
    /// A switch fails that is not the root of up-down routing.
    Switch,
    /// The root fails: the order of all switches changes.
    Root,
    /// One link in fifty comes back and others go; who meets one goes around it, up again after
    /// down.
    Replacement,
}

impl Event {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Link => "a link fails",
            Self::Links => "1 % of links fail",
            Self::Switch => "a switch fails",
            Self::Root => "the root fails",
            Self::Replacement => "2 % of links replaced",
        }
    }

    /// Those that mean something in networks of a kind.
    pub(crate) fn of(kind: &str) -> [Self; 4] {
        // Where hosts are at the lowest level there is no root; without detours up-down paths never
        // meet in a cycle there.
        let last = if LEVELED.contains(&kind) { Self::Replacement } else { Self::Root };
        [Self::Link, Self::Links, Self::Switch, last]
    }
}

/// The networks with hosts at the lowest level only.
const LEVELED: [&str; 2] = ["fat-tree", "VL2"];

/// Pairs of switches by destination: so many for each switch with hosts.
pub(crate) fn pairs(network: &Network, each: usize) -> Vec<(u32, Vec<u32>)> {
    let edges = Ways::new(network, Routing::UpDown, &Down::default()).edges();
    let mut rng = random::seeded(7);
    let mut others = |target: u32| {
        let mut sources = BTreeSet::new();
        while sources.len() < each.min(edges.len() - 1) {
            sources.insert(edges[rng.index(edges.len())]);
            sources.remove(&target);
        }
        (target, sources.into_iter().collect())
    };
    edges.iter().map(|&target| others(target)).collect()
}

/// The change that an event brings about.
pub(crate) fn happen(network: &Network, event: Event, pairs: &[(u32, Vec<u32>)]) -> Change {
    let mut rng = random::seeded(11);
    if event == Event::Replacement {
        let [old, new] =
            [0, 1].map(|_| detoured(network, &mut rng, network.links().len() / 50, pairs));
        return Change::between(network, old, new);
    }
    let whole = Ways::new(network, Routing::UpDown, &Down::default());
    if event == Event::Link {
        // One that some path goes over.
        loop {
            let mut down = Down::default();
            some_links(network, &mut rng, 1, &mut down);
            let change =
                change(network, &whole, &Ways::new(network, Routing::UpDown, &down), pairs);
            if !change.operations.is_empty() {
                return change;
            }
        }
    }
    let mut down = Down::default();
    match event {
        Event::Links => some_links(network, &mut rng, network.links().len() / 100, &mut down),
        // Without a level of its own the root is the first of those with the most links.
        Event::Root => down.switch(root(network)),
        Event::Switch | Event::Link | Event::Replacement => {
            let switches = u32::try_from(network.switches()).unwrap_or(u32::MAX);
            let at = rng.index(network.switches());
            let switch = u32::try_from(at).unwrap_or(0);
            down.switch(if switch == root(network) { (switch + 1) % switches } else { switch });
        }
    }
    let [old, new] = [Down::default(), down].map(|down| Ways::new(network, Routing::UpDown, &down));
    change(network, &old, &new, pairs)
}

fn root(network: &Network) -> u32 {
    let switches = 0..u32::try_from(network.switches()).unwrap_or(u32::MAX);
    let links = |switch: &u32| network.neighbors(*switch).count();
    switches.max_by_key(|switch| (links(switch), std::cmp::Reverse(*switch))).unwrap_or(0)
}

fn some_links(network: &Network, rng: &mut SplitMix64, count: usize, down: &mut Down) {
    for slot in random_links(network, rng, count) {
        down.link(network, slot);
    }
}

fn random_links(network: &Network, rng: &mut SplitMix64, count: usize) -> BTreeSet<u32> {
    let mut slots = BTreeSet::new();
    while slots.len() < count {
        let slot = u32::try_from(rng.index(network.slots())).unwrap_or(0);
        if network.far_slot(slot).is_some() {
            slots.insert(slot);
        }
    }
    slots
}

/// The paths of a network in which so many links are out, and the switch before such a link leads
/// around it by the shortest way, as long as that closes no cycle; else the path is found anew.
fn detoured(
    network: &Network,
    rng: &mut SplitMix64,
    count: usize,
    pairs: &[(u32, Vec<u32>)],
) -> Vec<NamedPath> {
    let out = random_links(network, rng, count);
    let is_out = |slot: u32| {
        out.contains(&slot) || network.far_slot(slot).is_some_and(|far| out.contains(&far))
    };
    let mut down = Down::default();
    out.iter().for_each(|&slot| down.link(network, slot));
    let whole = Ways::new(network, Routing::UpDown, &Down::default()).paths(pairs);
    let anew = Ways::new(network, Routing::UpDown, &down).paths(pairs);
    let anew: HashMap<&str, &NamedPath> =
        anew.iter().map(|path| (path.name.as_str(), path)).collect();
    let mut waits = Waits::default();
    let mut paths = Vec::new();
    let (met, clear): (Vec<_>, Vec<_>) =
        whole.into_iter().partition(|path| path.route.inputs.iter().any(|&input| is_out(input)));
    let replaced = met.iter().filter_map(|path| anew.get(path.name.as_str()).copied().cloned());
    for path in clear.into_iter().chain(replaced) {
        waits.add(&path.route.inputs);
        paths.push(path);
    }
    // Who can be led around is, in the place of the path that was found anew.
    let places: HashMap<String, usize> =
        (0..).zip(&paths).map(|(at, path)| (path.name.clone(), at)).collect();
    for path in &met {
        let Some(&at) = places.get(&path.name) else { continue };
        if let Some(inputs) = around(network, path, is_out)
            && waits.stay_acyclic(&inputs)
        {
            waits.add(&inputs);
            paths[at].route.inputs = inputs;
        }
    }
    paths
}

/// The path up to the first link that is out, and on by the shortest way to where it ends.
fn around(network: &Network, path: &NamedPath, is_out: impl Fn(u32) -> bool) -> Option<Vec<u32>> {
    let inputs = &path.route.inputs;
    let at = inputs.iter().position(|&input| is_out(input))?;
    let switches: Vec<u32> = path.route.switches(network).collect();
    let (start, end) = (switches[at], *switches.last()?);
    let mut by: HashMap<u32, u32> = HashMap::new();
    let mut seen: HashSet<u32> = switches[..=at].iter().copied().collect();
    let mut queue = VecDeque::from([start]);
    while let Some(switch) = queue.pop_front() {
        for (slot, far) in network.neighbors(switch) {
            let next = network.owner(far);
            if !is_out(slot) && seen.insert(next) {
                by.insert(next, far);
                queue.push_back(next);
            }
        }
    }
    let mut further = Vec::new();
    let mut switch = end;
    while switch != start {
        let &input = by.get(&switch)?;
        further.push(input);
        switch = network.owner(network.far_slot(input)?);
    }
    further.reverse();
    Some([&inputs[..at], &further].concat())
}

/// Who waits for whom.
#[derive(Default)]
struct Waits(HashMap<u32, BTreeSet<u32>>);

impl Waits {
    fn add(&mut self, inputs: &[u32]) {
        for pair in inputs.windows(2) {
            self.0.entry(pair[0]).or_default().insert(pair[1]);
        }
    }

    /// Whether nothing that the path waits for leads back to it.
    fn stay_acyclic(&self, inputs: &[u32]) -> bool {
        for (at, &start) in inputs.iter().enumerate().skip(1) {
            let before: HashSet<u32> = inputs[..at].iter().copied().collect();
            let mut work = vec![start];
            let mut seen = HashSet::from([start]);
            while let Some(node) = work.pop() {
                if before.contains(&node) {
                    return false;
                }
                let next = self.0.get(&node).into_iter().flatten();
                work.extend(next.filter(|&&next| seen.insert(next)));
            }
        }
        true
    }
}

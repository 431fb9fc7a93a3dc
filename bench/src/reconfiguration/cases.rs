//! Changes of paths: those of the manuscript's figures, random ones, and failures.

use config::NetworkConfig;
use config::path_file::parse;
use fabric::Network;
use fabric::network::{End, Link};
use fabric::plan::routing::{Down, Routing, Ways, change};
use fabric::plan::{Change, NamedPath, Planner, Route, Timing};
use random::{Draw, SplitMix64};
use std::error::Error;
use std::path::Path;

/// A network and a change of its paths.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it is called.
    pub name: &'static str,
    /// The network.
    pub network: Network,
    /// The change.
    pub change: Change,
}

impl Case {
    /// From the text of a network and of its paths before and after.
    fn new(
        name: &'static str,
        network: &str,
        old: &str,
        new: &str,
    ) -> Result<Self, Box<dyn Error>> {
        let network = NetworkConfig::parse(Path::new("N.toml"), network)?.network;
        let old = parse(Path::new("OLD.txt"), old, &network)?;
        let new = parse(Path::new("NEW.txt"), new, &network)?;
        let change = Change::between(&network, old, new);
        Ok(Self { name, network, change })
    }
}

/// Fig. 2: a leaf-spine network in which two links are replaced, one after the other.
///
/// # Errors
/// Never, unless the texts are wrong.
pub fn tree() -> Result<Case, Box<dyn Error>> {
    let network =
        "[generate]\nkind = 'clos'\npods = 2\ntors = 2\nleaves = 2\nspines = 2\nhosts = 2\n";
    let old = "p1: T1 L2 S1 L3 T4\np2: T3 L3 S2 L2 S1 L1 T2\n";
    Case::new("Fig. 2, tree", network, old, "p3: T1 L2 S1 L3 S2 L4 T4\np4: T3 L3 S2 L2 T2\n")
}

/// Fig. 6: a ring of four switches.
///
/// # Errors
/// As [`tree`].
pub fn ring() -> Result<Case, Box<dyn Error>> {
    let network = linked(4, &[(1, 2), (2, 3), (3, 4), (4, 1)]);
    let (old, new) = ("p1: S1 S2 S3\np3: S3 S4 S1\n", "p2: S2 S3 S4 S1\np4: S4 S1 S2\n");
    Case::new("Fig. 6, ring", &network, old, new)
}

/// Old and new paths that are all paths of these trees of four switches: the manuscript's Fig. 3.
///
/// # Errors
/// As [`tree`].
pub fn trees(
    links: &[(usize, usize)],
    old: &[Vec<Vec<usize>>],
    new: &[Vec<Vec<usize>>],
) -> Result<Case, Box<dyn Error>> {
    let text = |trees: &[Vec<Vec<usize>>], side: char| {
        let mut text = String::new();
        for (tree, paths) in trees.iter().enumerate() {
            for (number, path) in paths.iter().enumerate() {
                let switches = path.iter().map(|switch| format!(" S{switch}"));
                text += &format!("{side}{tree}-{number}:{}\n", switches.collect::<String>());
            }
        }
        text
    };
    Case::new("Fig. 3, four trees", &linked(4, links), &text(old, 'o'), &text(new, 'n'))
}

/// So many switches, these pairs of which are linked.
fn linked(switches: usize, links: &[(usize, usize)]) -> String {
    let mut ports = vec![0; switches + 1];
    let mut text = String::new();
    for &(one, other) in links {
        ports[one] += 1;
        ports[other] += 1;
        let ends = format!("\"S{one}:{}\", \"S{other}:{}\"", ports[one], ports[other]);
        text += &format!("[[link]]\nends = [{ends}]\n");
    }
    // A network has a host.
    ports[1] += 1;
    text += &format!("[[host]]\nname = \"H\"\n[[link]]\nends = [\"S1:{}\", \"H\"]\n", ports[1]);
    let switch = |number: usize| {
        format!("[[switch]]\nname = \"S{number}\"\nports = {}\n", ports[number].max(1))
    };
    (1..=switches).map(switch).collect::<String>() + &text
}

/// Every switch linked to every other, with random loop-free paths before and after, each set of
/// which closes no cycle, and both together do.
///
/// # Errors
/// As [`tree`].
pub fn mesh(switches: usize, paths: usize, seed: u64) -> Result<Case, Box<dyn Error>> {
    let pairs = (1..=switches).flat_map(|one| (one + 1..=switches).map(move |other| (one, other)));
    let network = linked(switches, &pairs.collect::<Vec<_>>());
    let network = NetworkConfig::parse(Path::new("N.toml"), &network)?.network;
    let mut rng = random::substream(seed, 1 << 43);
    loop {
        let [old, new] = ['o', 'n'].map(|side| walks(&network, paths, side, &mut rng));
        let change = Change::between(&network, old, new);
        let planner = Planner::new(&network, &change, Timing::default());
        if planner.is_ok_and(|planner| planner.operations_on_cycles() > 0) {
            return Ok(Case { name: "random mesh", network, change });
        }
    }
}

/// Random paths of three to five switches, as many of so many as close no cycle.
fn walks(network: &Network, paths: usize, side: char, rng: &mut SplitMix64) -> Vec<NamedPath> {
    let mut found: Vec<NamedPath> = Vec::new();
    for number in 0..paths {
        let mut row: Vec<u32> = network.all_switches().collect();
        rng.shuffle(&mut row);
        row.truncate(3 + rng.index(3));
        let leads = |pair: &[u32]| {
            network.neighbors(pair[0]).find(|&(_, far)| network.owner(far) == pair[1])
        };
        let inputs: Option<Vec<u32>> =
            row.windows(2).map(|pair| leads(pair).map(|(_, far)| far)).collect();
        let Some(inputs) = inputs else { continue };
        let route = Route { source: None, first: row[0], inputs, target: None };
        found.push(NamedPath { name: format!("{side}{number}"), route });
        let all = Change::between(network, found.clone(), Vec::new());
        if Planner::new(network, &all, Timing::default()).is_err() {
            found.pop();
        }
    }
    found
}

/// A Jellyfish network in which the root of up-down routing fails: so many paths for each switch.
///
/// # Errors
/// As [`tree`].
pub fn jellyfish(
    switches: usize,
    degree: usize,
    each: usize,
    seed: u64,
) -> Result<Case, Box<dyn Error>> {
    let text = format!(
        "[generate]\nkind = 'jellyfish'\nswitches = {switches}\nports = {}\nnetwork_ports = \
         {degree}\nseed = {seed}\n",
        degree + 1
    );
    let network = NetworkConfig::parse(Path::new("N.toml"), &text)?.network;
    let mut rng = random::substream(seed, 1 << 44);
    let pairs: Vec<(u32, Vec<u32>)> = network
        .all_switches()
        .map(|target| {
            let mut others: Vec<u32> =
                network.all_switches().filter(|&other| other != target).collect();
            rng.shuffle(&mut others);
            others.truncate(each);
            (target, others)
        })
        .collect();
    let mut down = Down::default();
    // All switches have as many links: the first is the root.
    down.switch(0);
    let [old, new] =
        [Down::default(), down].map(|down| Ways::new(&network, Routing::UpDown, &down));
    let change = change(&network, &old, &new, &pairs);
    Ok(Case { name: "Jellyfish, root fails", network, change })
}

/// VL2 (Greenberg et al., 2009): aggregation switches of `aggregation_ports`, half of them up to
/// every intermediate switch; each ToR is linked to two aggregation switches and has one host here.
///
/// # Errors
/// A port is used twice: the numbers do not fit.
pub fn vl2(aggregation_ports: usize, intermediate_ports: usize) -> Result<Network, Box<dyn Error>> {
    let mut network = Network::new();
    let (intermediates, aggregations) = (aggregation_ports / 2, intermediate_ports);
    let tors = aggregation_ports * intermediate_ports / 4;
    let add = |network: &mut Network, name: String, ports| network.add_switch(name, ports);
    let tops: Vec<u32> =
        (0..intermediates).map(|n| add(&mut network, format!("I{n}"), aggregations)).collect();
    let middles: Vec<u32> =
        (0..aggregations).map(|n| add(&mut network, format!("A{n}"), aggregation_ports)).collect();
    let bottoms: Vec<u32> = (0..tors).map(|n| add(&mut network, format!("T{n}"), 3)).collect();
    let link = |network: &mut Network, ends: [End; 2]| {
        network.add_link(Link { ends, speed: None, length: None })
    };
    let mut used = vec![0; network.switches()];
    let mut free = |network: &Network, switch: u32| {
        used[switch as usize] += 1;
        End::Slot(network.slots_of(switch).start + used[switch as usize] - 1)
    };
    for &middle in &middles {
        for &top in &tops {
            let ends = [free(&network, middle), free(&network, top)];
            link(&mut network, ends)?;
        }
    }
    for (number, &bottom) in bottoms.iter().enumerate() {
        for uplink in 0..2 {
            let middle = middles[(2 * number + uplink) % middles.len()];
            let ends = [free(&network, bottom), free(&network, middle)];
            link(&mut network, ends)?;
        }
        let host = network.add_host(format!("H{number}"));
        let ends = [free(&network, bottom), End::Host(host)];
        link(&mut network, ends)?;
    }
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vl2_has_the_switches_of_its_paper_and_every_port_is_linked() {
        // D_A = 8, D_I = 6: 4 intermediates, 6 aggregations, 12 ToRs.
        let network = vl2(8, 6).unwrap();
        assert_eq!((network.switches(), network.hosts()), (4 + 6 + 12, 12));
        assert_eq!(network.links().len(), 6 * 4 + 12 * 3);
        let slots = network.all_switches().flat_map(|switch| network.slots_of(switch));
        assert!(slots.into_iter().all(|slot| network.is_linked(End::Slot(slot))));
        let far = |slot| network.far_slot(slot).map(|far| network.owner(far));
        for tor in 10..22 {
            let mut up: Vec<u32> = network.slots_of(tor).filter_map(far).collect();
            up.dedup();
            assert_eq!(up.len(), 2, "two aggregation switches");
        }
    }

    #[test]
    fn random_changes_have_a_cycle_and_a_seed_repeats_them() {
        let [one, again, other] = [1, 1, 2].map(|seed| mesh(5, 6, seed).unwrap().change.operations);
        assert_eq!(one, again);
        assert_ne!(one, other);
    }
}

//! Networks and paths for tests, written as briefly as files write them.
#![allow(dead_code, reason = "each test takes what it needs")]

use fabric::network::generate::{Kind, Parameters, build};
use fabric::network::{End, Link, Peer};
use fabric::paths::{Listed, PathKind, PathSpec, Turn};
use fabric::plan::{NamedPath, Route};
use fabric::{Network, PathSet};

/// The names of numbers that [`generated`] knows.
const NUMBERS: [&str; 12] = [
    "switches",
    "ports",
    "network_ports",
    "seed",
    "leaves",
    "spines",
    "pods",
    "tors",
    "hosts",
    "k",
    "n",
    "q",
];

/// The lines `key = value` of `text`.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (key.trim(), value.trim().trim_matches('\'')))
}

fn number<T: std::str::FromStr>(value: &str) -> T {
    value.parse().ok().unwrap_or_else(|| panic!("`{value}` is no number"))
}

/// The network of `[generate]`: its lines, such as `kind = 'fat-tree'` and `k = 4`.
pub(crate) fn generated(text: &str) -> Network {
    let kind = lines(text).find(|(key, _)| *key == "kind").map(|(_, kind)| match kind {
        "clos" => Kind::Clos,
        "fat-tree" => Kind::FatTree,
        "f10" => Kind::F10,
        "jellyfish" => Kind::Jellyfish,
        "bcube" => Kind::Bcube,
        "hyperx" => Kind::Hyperx,
        "torus" => Kind::Torus,
        "mesh" => Kind::Mesh,
        "slim-fly" => Kind::SlimFly,
        other => panic!("`{other}` is no kind of network"),
    });
    let mut parameters = Parameters::new(kind.expect("a kind"));
    for (key, value) in lines(text).filter(|(key, _)| *key != "kind") {
        if key == "shape" {
            let sizes = value.trim_matches(['[', ']']).split(',');
            parameters.set_shape(sizes.map(|size| number(size.trim())).collect());
            continue;
        }
        let name = NUMBERS.into_iter().find(|known| *known == key);
        parameters.set(name.unwrap_or_else(|| panic!("`{key}` is no number")), number(value));
    }
    build(&parameters).unwrap_or_else(|error| panic!("{error}"))
}

/// The paths of `[paths]`: its lines, such as `kind = 'up-down'` and `bounces = 1`.
pub(crate) fn path_spec(text: &str) -> PathSpec {
    let mut spec = PathSpec::new(PathKind::ShortestTrees);
    for (key, value) in lines(text) {
        match (key, value) {
            ("kind", "shortest-trees") => spec.kind = PathKind::ShortestTrees,
            ("kind", "shortest") => spec.kind = PathKind::Shortest,
            ("kind", "up-down") => spec.kind = PathKind::UpDown { bounces: 0 },
            ("kind", "k-shortest") => spec.kind = PathKind::KShortest { k: 1 },
            ("kind", "all-simple") => spec.kind = PathKind::AllSimple,
            ("bounces", _) => spec.kind = PathKind::UpDown { bounces: number(value) },
            ("k", _) => spec.kind = PathKind::KShortest { k: number(value) },
            ("random", _) => spec.random = number(value),
            ("classes", _) => spec.classes = number(value),
            ("class_bounces", _) => {
                let list = value.trim_matches(['[', ']']).split(',');
                spec.class_bounces = list.map(|bounces| number(bounces.trim())).collect();
                spec.classes = u8::try_from(spec.class_bounces.len()).unwrap();
                let most = spec.class_bounces.iter().copied().max().unwrap();
                spec.kind = PathKind::UpDown { bounces: most };
            }
            _ => panic!("`{key} = {value}` is not known here"),
        }
    }
    spec
}

/// Switches with their numbers of ports, hosts, and links by their ends: `A:1`, or a host.
pub(crate) fn network(
    switches: &[(&str, usize)],
    hosts: &[&str],
    links: &[(&str, &str)],
) -> Network {
    let mut network = Network::new();
    for &(name, ports) in switches {
        network.add_switch(name, ports);
    }
    for &name in hosts {
        network.add_host(name);
    }
    for &(one, other) in links {
        let ends = [end(&network, one), end(&network, other)];
        network.add_link(Link { ends, speed: None, length: None }).unwrap();
    }
    network
}

fn end(network: &Network, name: &str) -> End {
    let Some((switch, port)) = name.split_once(':') else {
        return End::Host(host(network, name).unwrap_or_else(|| panic!("there is no `{name}`")));
    };
    let switch = network.switch_named(switch).unwrap();
    End::Slot(network.slots_of(switch).start + number::<u32>(port) - 1)
}

fn host(network: &Network, name: &str) -> Option<u32> {
    (0..).take(network.hosts()).find(|&host| network.host_name(host) == name)
}

/// The route over the nodes that `text` names: switches, and a host at either end if it says so.
pub(crate) fn route(network: &Network, text: &str) -> Route {
    let words: Vec<&str> = text.split_whitespace().collect();
    let slot = |word: Option<&&str>| {
        host(network, word.expect("a path has nodes")).map(|host| network.host_slot(host).unwrap())
    };
    let (source, target) = (slot(words.first()), slot(words.last()));
    let switches: Vec<(u32, Option<u32>)> = words
        .iter()
        .filter(|word| host(network, word).is_none())
        .map(|word| {
            let (name, port) = word.split_once(':').unzip();
            let switch = network.switch_named(name.unwrap_or(word)).unwrap();
            let slot = |port| network.slots_of(switch).start + number::<u32>(port) - 1;
            (switch, port.map(slot))
        })
        .collect();
    let enter = |hop: &[(u32, Option<u32>)]| {
        let [(before, _), (switch, input)] = *hop else { panic!("a hop has two switches") };
        let mut links = network.neighbors(before).map(|(_, far)| far);
        links
            .find(|&far| network.owner(far) == switch && input.is_none_or(|input| input == far))
            .unwrap_or_else(|| panic!("{text}: no link"))
    };
    let inputs = switches.windows(2).map(enter).collect();
    Route { source, first: switches[0].0, inputs, target }
}

/// The paths of lines `name: node node ...`.
pub(crate) fn named_paths(network: &Network, text: &str) -> Vec<NamedPath> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .map(|(name, nodes)| NamedPath { name: name.to_owned(), route: route(network, nodes) })
        .collect()
}

/// The walk-through example of the Tagger paper (Fig. 5): a triangle of switches with a host each,
/// and every loop-free path between two hosts.
pub(crate) fn triangle() -> (Network, PathSet) {
    let links =
        [("A:2", "D"), ("B:2", "E"), ("C:4", "F"), ("A:3", "B:1"), ("A:4", "C:1"), ("B:4", "C:3")];
    let network = network(&[("A", 4), ("B", 4), ("C", 4)], &["D", "E", "F"], &links);
    let lines = [
        "D A B E",
        "D A C B E",
        "D A C F",
        "D A B C F",
        "E B A D",
        "E B C A D",
        "E B C F",
        "E B A C F",
        "F C A D",
        "F C B A D",
        "F C B E",
        "F C A B E",
    ];
    let turns = lines.map(|line| route(&network, line).turns(&network).collect::<Vec<Turn>>());
    let listed = Listed::of(&network, &turns.each_ref().map(Vec::as_slice));
    assert!(matches!(network.peer(turns[0][0].0), Peer::Host(_)));
    let paths = PathSet::build(&network, &PathSpec::new(PathKind::File(listed))).unwrap();
    (network, paths)
}

/// `switches` switches of so many ports with a host each, and links between them.
pub(crate) fn linked(switches: usize, links: &[[usize; 2]], ports: usize) -> Network {
    let mut network = Network::new();
    for at in 0..switches {
        network.add_switch(format!("S{at}"), ports);
    }
    let mut taken = vec![0; switches];
    let mut port = |network: &Network, at: usize| {
        taken[at] += 1;
        End::Slot(network.slots_of(u32::try_from(at).unwrap()).start + taken[at] - 1)
    };
    for at in 0..switches {
        let host = network.add_host(format!("H{at}"));
        let ends = [End::Host(host), port(&network, at)];
        network.add_link(Link { ends, speed: None, length: None }).unwrap();
    }
    for link in links {
        let ends = link.map(|at| port(&network, at));
        network.add_link(Link { ends, speed: None, length: None }).unwrap();
    }
    network
}

/// A list of paths, each for its own two hosts.
pub(crate) fn list(network: &Network, paths: &[Vec<Turn>]) -> Listed {
    Listed::of(network, &paths.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// The path set that is such a list.
pub(crate) fn listed(network: &Network, paths: &[Vec<Turn>]) -> PathSet {
    PathSet::build(network, &PathSpec::new(PathKind::File(list(network, paths)))).unwrap()
}

/// A shortest path from the first host of each switch to that of each other one, without the link
/// between two slots: the first that a breadth-first search in the order of ports comes to.
pub(crate) fn shortest_without(network: &Network, failed: Option<(u32, u32)>) -> Vec<Vec<Turn>> {
    let is_up = |slot: u32| failed.is_none_or(|(one, other)| slot != one && slot != other);
    let first_host = |switch| network.host_slots_of(switch).next();
    let mut paths = Vec::new();
    for source in network.all_switches() {
        let Some(start) = first_host(source) else { continue };
        let mut inputs: Vec<Option<u32>> = vec![None; network.switches()];
        inputs[source as usize] = Some(start);
        let mut queue = std::collections::VecDeque::from([source]);
        while let Some(switch) = queue.pop_front() {
            for (_, far) in network.neighbors(switch).filter(|&(slot, _)| is_up(slot)) {
                let next = network.owner(far);
                if inputs[next as usize].is_none() {
                    inputs[next as usize] = Some(far);
                    queue.push_back(next);
                }
            }
        }
        for target in network.all_switches().filter(|&target| target != source) {
            let Some(mut output) = first_host(target) else { continue };
            let (mut turns, mut switch) = (Vec::new(), target);
            while let Some(input) = inputs[switch as usize] {
                turns.push((input, output));
                let Some(far) = network.far_slot(input) else { break };
                (output, switch) = (far, network.owner(far));
            }
            turns.reverse();
            paths.push(turns);
        }
    }
    paths
}

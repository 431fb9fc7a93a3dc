//! Networks and paths for tests, written as briefly as files write them.
#![allow(dead_code, reason = "each test takes what it needs")]

use fabric::network::generate::{Kind, Parameters, build};
use fabric::network::{End, Link, Peer};
use fabric::paths::{Listed, PathKind, PathSpec, Turn};
use fabric::plan::{NamedPath, Route};
use fabric::{Network, PathSet};

/// The names of numbers that [`generated`] knows.
const NUMBERS: [&str; 11] = [
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

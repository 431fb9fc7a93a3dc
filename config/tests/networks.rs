//! Topologies and path sets: what the generators build, what is refused, and that following all
//! paths at once gives what following them one by one gives.

use config::NetworkConfig;
use fabric::Network;
use fabric::network::Peer;
use fabric::paths::{PathKind, PathSpec};
use fabric::paths::{PathSet, Walks};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;

fn parse(text: &str) -> NetworkConfig {
    NetworkConfig::parse(Path::new("N.toml"), text).unwrap_or_else(|error| panic!("{error}"))
}

fn generate(text: &str) -> Network {
    parse(&format!("[generate]\n{text}")).network
}

/// A number that depends on the turn and on the state, so that a missed turn shows.
fn mix(input: u32, output: u32, state: u8) -> u8 {
    let mixed = (input.wrapping_mul(31) ^ output.wrapping_mul(17)).wrapping_add(u32::from(state));
    u8::try_from(mixed % 5).unwrap()
}

/// How many paths end in each of five states, one path after the other.
fn slow_tally(network: &Network, walks: &Walks<'_>) -> Vec<u64> {
    let mut ends = vec![0; 5];
    let flow = walks.visit(0, &mut |turns| {
        let state = turns.iter().fold(0, |state, &(i, o)| mix(i, o, state));
        ends[usize::from(state)] += 1;
        check_path(network, turns);
        ControlFlow::Continue(())
    });
    assert!(flow.is_continue());
    ends
}

/// That each turn is within a switch and leads to the next over a link, from a host to a host.
fn check_path(network: &Network, turns: &[(u32, u32)]) {
    assert!(matches!(network.peer(turns[0].0), Peer::Host(_)));
    assert!(matches!(network.peer(turns[turns.len() - 1].1), Peer::Host(_)));
    for &(input, output) in turns {
        assert_eq!(network.owner(input), network.owner(output));
        assert_ne!(input, output);
    }
    for pair in turns.windows(2) {
        assert_eq!(network.far_slot(pair[0].1), Some(pair[1].0));
    }
}

fn check_tally(network: &Network, spec: &PathSpec) -> u64 {
    let paths = PathSet::build(network, spec).unwrap_or_else(|error| panic!("{error}"));
    // Hosts in two groups, so that several ports stand for a switch's hosts.
    let grouped = Walks::grouped(network, &paths, |slot| slot % 2);
    for walks in [Walks::alike(network, &paths), grouped] {
        let slow = slow_tally(network, &walks);
        let fast = walks.tally(0, 5, |i, o, state, _| mix(i, o, state));
        assert_eq!(fast, slow, "{spec:?}");
        let ordered = walks.tally_in_order(0, 5, &mut |i, o, state, _| mix(i, o, state));
        assert_eq!(ordered, slow, "{spec:?}");
    }
    Walks::alike(network, &paths).count()
}

#[test]
fn a_fat_tree_has_the_textbook_numbers() {
    let network = generate("kind = 'fat-tree'\nk = 4");
    assert_eq!((network.switches(), network.hosts(), network.links().len()), (20, 16, 48));
    let counts = [PathKind::ShortestTrees, PathKind::Shortest, PathKind::UpDown { bounces: 0 }]
        .map(|kind| check_tally(&network, &PathSpec::new(kind)));
    // 8 edge switches: 64 pairs with the local ones; ECMP has 2 ways in a pod and 4 between pods.
    // A core has one link into a pod, so that going up to it and back into the same pod would be a
    // u-turn: the up-down paths are just the shortest ones.
    assert_eq!(counts[0], 64);
    assert_eq!(counts[1], 8 + 8 * 2 + 48 * 4);
    assert_eq!(counts[2], counts[1]);
}

#[test]
fn every_topology_is_walked_alike_fast_and_slow() {
    let topologies = [
        "kind = 'clos'\nleaves = 3\nspines = 2\nhosts = 2",
        "kind = 'clos'\npods = 2\ntors = 2\nleaves = 2\nspines = 2\nhosts = 3",
        "kind = 'f10'\nk = 4",
        "kind = 'jellyfish'\nswitches = 12\nports = 6\nnetwork_ports = 4\nseed = 3",
        "kind = 'bcube'\nn = 3\nk = 1",
        "kind = 'hyperx'\nshape = [3, 2]\nhosts = 2",
    ];
    for topology in topologies {
        let network = generate(topology);
        for kind in [PathKind::ShortestTrees, PathKind::Shortest, PathKind::KShortest { k: 3 }] {
            let spec = PathSpec { random: 20, ..PathSpec::new(kind) };
            assert!(check_tally(&network, &spec) > 20, "{topology}");
        }
    }
    let clos = generate("kind = 'clos'\nleaves = 3\nspines = 2\nhosts = 2");
    check_tally(&clos, &PathSpec::new(PathKind::UpDown { bounces: 1 }));
    check_tally(&clos, &PathSpec::new(PathKind::AllSimple));
}

#[test]
fn f10_wires_its_pods_in_two_ways() {
    let network = generate("kind = 'f10'\nk = 4");
    let cores = |name: &str| -> BTreeSet<&str> {
        let all = 0..u32::try_from(network.switches()).unwrap();
        let switch = all.into_iter().find(|&switch| network.switch_name(switch) == name).unwrap();
        let far = network.neighbors(switch).map(|(_, far)| network.switch_name(network.owner(far)));
        far.filter(|name| name.starts_with('C')).collect()
    };
    assert_eq!(cores("A1"), BTreeSet::from(["C1", "C2"]), "a row");
    assert_eq!(cores("A3"), BTreeSet::from(["C1", "C3"]), "a column");
}

#[test]
fn bcube_joins_servers_that_differ_in_one_digit() {
    let network = generate("kind = 'bcube'\nn = 4\nk = 2");
    assert_eq!((network.switches(), network.hosts()), (64 + 3 * 16, 64));
    let mut joined = BTreeMap::new();
    for switch in 0..u32::try_from(network.switches()).unwrap() {
        let name = network.switch_name(switch);
        if let Some((level, digits)) = name.strip_prefix('W').and_then(|name| name.split_once('-'))
        {
            let servers: Vec<&str> = network
                .neighbors(switch)
                .map(|(_, far)| network.switch_name(network.owner(far)))
                .collect();
            joined.insert((level.to_owned(), digits.to_owned()), servers);
        }
    }
    assert_eq!(joined[&("0".to_owned(), "12".to_owned())], ["B120", "B121", "B122", "B123"]);
    assert_eq!(joined[&("2".to_owned(), "12".to_owned())], ["B012", "B112", "B212", "B312"]);
}

#[test]
fn a_path_file_is_followed_to_the_letter() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/networks/triangle.toml");
    let config = NetworkConfig::load(&file).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(check_tally(&config.network, &config.paths), 12);
    let paths = PathSet::build(&config.network, &config.paths).unwrap();
    let mut shown = Vec::new();
    let _ = Walks::alike(&config.network, &paths).visit(0, &mut |turns| {
        let ports = turns
            .iter()
            .map(|&(i, o)| format!("{}>{}", config.network.show(i), config.network.port(o)));
        shown.push(ports.collect::<Vec<_>>().join(" "));
        ControlFlow::Continue(())
    });
    assert!(shown.contains(&"A:2>4 C:1>3 B:4>2".to_owned()), "D A C B E: {shown:?}");
    // All simple paths of the triangle are the same twelve.
    let all = PathSpec::new(PathKind::AllSimple);
    assert_eq!(check_tally(&config.network, &all), 12);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn random_networks_are_walked_alike_fast_and_slow(
        switches in 4..12_usize,
        degree in 2..4_usize,
        hosts in 1..4_usize,
        seed in 0..1000_u64,
        bounces in 0..2_u8,
    ) {
        let switches = switches * 2;
        let network = generate(&format!(
            "kind = 'jellyfish'\nswitches = {switches}\nports = {}\nnetwork_ports = {degree}\nseed = {seed}",
            degree + hosts
        ));
        check_tally(&network, &PathSpec::new(PathKind::ShortestTrees));
        check_tally(&network, &PathSpec::new(PathKind::Shortest));
        check_tally(&network, &PathSpec::new(PathKind::KShortest { k: 4 }));
        if degree == 2 {
            check_tally(&network, &PathSpec::new(PathKind::UpDown { bounces }));
        }
    }
}

/// How many switches have so many links to switches.
fn by_degree(network: &Network) -> BTreeMap<usize, usize> {
    let mut by_degree = BTreeMap::new();
    for switch in network.all_switches() {
        *by_degree.entry(network.neighbors(switch).count()).or_insert(0) += 1;
    }
    by_degree
}

#[test]
fn a_torus_goes_round_and_a_mesh_ends() {
    let torus = generate("kind = 'torus'\nshape = [4, 3]\nhosts = 2");
    assert_eq!((torus.switches(), torus.hosts()), (12, 24));
    assert_eq!(by_degree(&torus), BTreeMap::from([(4, 12)]));
    let narrow = generate("kind = 'torus'\nshape = [4, 2]");
    assert_eq!(by_degree(&narrow), BTreeMap::from([(3, 8)]), "two switches in a row: one link");
    let mesh = generate("kind = 'mesh'\nshape = [4, 3]");
    assert_eq!(by_degree(&mesh), BTreeMap::from([(2, 4), (3, 6), (4, 2)]));
}

#[test]
fn a_slim_fly_has_diameter_two() {
    for (q, degree) in [(5, 7), (13, 19)] {
        let network = generate(&format!("kind = 'slim-fly'\nq = {q}"));
        assert_eq!(by_degree(&network), BTreeMap::from([(degree, 2 * q * q)]));
        let near = |switch: u32| -> BTreeSet<u32> {
            network.neighbors(switch).map(|(_, far)| network.owner(far)).chain([switch]).collect()
        };
        let within_two: BTreeSet<u32> = near(0).into_iter().flat_map(near).collect();
        assert_eq!(within_two.len(), network.switches());
    }
}

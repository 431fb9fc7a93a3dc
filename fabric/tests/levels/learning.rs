//! Random starts, failures, restarts and new cabling: always the right levels within three
//! intervals of the last of them, always the compiler's rules. `KNOTLESS_SEEDS` says how many
//! networks are tried; `make lldp-fuzz` tries 1,000.

use crate::judge::judge;
use crate::support::generated;
use crate::world::{Action, SECOND, World};
use fabric::network::{End, Network};
use random::{Draw, SplitMix64};
use rayon::prelude::*;

/// Three LLDP intervals.
const SETTLED: u64 = 90 * SECOND;
/// Networks that are tried if nobody says otherwise.
const SEEDS: u64 = 40;

fn topology(rng: &mut SplitMix64, seed: u64) -> String {
    let (one, other, third) = (1 + rng.below(6), 1 + rng.below(5), 1 + rng.below(4));
    match seed % 40 {
        39 => "kind='fat-tree'\nk=16".to_owned(),
        19 => "kind='fat-tree'\nk=12".to_owned(),
        9 | 29 => "kind='fat-tree'\nk=8".to_owned(),
        seed if seed % 4 == 0 => {
            format!("kind='clos'\nleaves={}\nspines={other}\nhosts={third}", one + 1)
        }
        seed if seed % 4 == 3 => format!("kind='fat-tree'\nk={}", 2 * third.min(3)),
        _ => {
            let pods = 1 + rng.below(3);
            let sizes = format!("pods={pods}\ntors={one}\nleaves={third}\nspines={other}");
            format!("kind='clos'\n{sizes}\nhosts={}", 1 + rng.below(3))
        }
    }
}

/// Plans what goes wrong with `network` in its first minute; returns how many things.
fn plan(world: &mut World, network: &Network, rng: &mut SplitMix64) -> usize {
    let nodes = network.switches() + network.hosts();
    (0..nodes).for_each(|node| world.plan(rng.below(40 * SECOND), Action::Node(node, true)));
    let links = network.links().len();
    let cuts = rng.index(1 + links / 8);
    for _ in 0..cuts {
        let (link, at) = (rng.index(links), rng.below(50 * SECOND));
        world.plan(at, Action::Link(link, false));
        for _ in 0..rng.below(3) {
            world.plan(at + rng.below(8 * SECOND), Action::Link(link, true));
        }
    }
    let restarts = rng.index(4);
    for _ in 0..restarts {
        let (node, at) = (rng.index(nodes), 41 * SECOND + rng.below(9 * SECOND));
        world.plan(at, Action::Node(node, false));
        if rng.below(3) != 0 {
            world.plan(at + rng.below(9 * SECOND), Action::Node(node, true));
        }
    }
    // Two links between the same two tiers change their far ends: as a human would by mistake.
    let tier = |link: usize| {
        network.links()[link].ends.map(|end| match end {
            End::Slot(slot) => network.switch_name(network.owner(slot)).chars().next(),
            End::Host(_) => None,
        })
    };
    let recablings = rng.index(3);
    for _ in 0..recablings {
        let (one, other) = (rng.index(links), rng.index(links));
        if one != other && tier(one) == tier(other) {
            world.plan(rng.below(60 * SECOND), Action::Recable(one, other));
        }
    }
    cuts + restarts + recablings
}

fn try_seed(seed: u64) -> (usize, u64) {
    let mut rng = random::seeded(seed);
    let topology = topology(&mut rng, seed);
    let network = generated(&topology);
    let mut world = World::new(&network);
    let troubles = plan(&mut world, &network, &mut rng);
    let calm = world.last_at_ns;
    world.run_until(calm + SETTLED);
    let what = format!("seed {seed}, {}", topology.replace('\n', " "));
    judge(&world, &what);
    let settled_ns = world.changed_at.ns.saturating_sub(calm);
    // And it stays so.
    world.run_until(calm + 2 * SETTLED);
    assert!(world.changed_at.ns <= calm + SETTLED, "{what} goes on changing");
    (troubles, settled_ns)
}

#[test]
fn always_the_right_levels_and_the_compilers_rules() {
    let wanted = std::env::var("KNOTLESS_SEEDS").ok().and_then(|text| text.parse().ok());
    let seeds = wanted.unwrap_or(SEEDS);
    let outcomes: Vec<(usize, u64)> = (0..seeds).into_par_iter().map(try_seed).collect();
    let troubles: usize = outcomes.iter().map(|(troubles, _)| troubles).sum();
    let slowest_ns = outcomes.iter().map(|(_, settled_ns)| *settled_ns).max().unwrap_or(0);
    println!(
        "{seeds} networks, {troubles} troubles; the slowest had settled {} ms after the last",
        slowest_ns / 1_000_000
    );
    assert!(troubles as u64 > seeds, "{troubles} troubles are too few to test anything");
}

/// A switch without a host anywhere has no level, and one that loses them all forgets its own.
#[test]
fn without_hosts_all_levels_are_forgotten() {
    let network = generated("kind = 'fat-tree'\nk = 6");
    let mut world = World::new(&network);
    for node in 0..network.switches() + network.hosts() {
        world.plan(0, Action::Node(node, true));
    }
    world.run_until(10 * SECOND);
    judge(&world, "with hosts");
    for host in network.switches()..network.switches() + network.hosts() {
        world.plan(10 * SECOND, Action::Node(host, false));
    }
    world.run_until(10 * SECOND + SETTLED);
    judge(&world, "without");
    assert!((0..network.switches()).all(|switch| world.agent(switch).unwrap().level().is_none()));
    println!(
        "forgotten in {} ms",
        world.changed_at.ns_since(dataplane::time::Instant::from_ns(10 * SECOND)) / 1_000_000
    );
}

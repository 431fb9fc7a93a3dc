//! Whole networks of switches that know nothing: what they learn by LLDP on real wires, beside data
//! and faults, is what a search finds, and their rules are the compiler's.

use crate::support::{MS, US};
use agents::lldp::PortRole;
use config::ScenarioConfig;
use config::scenario::SchemeKind;
use fabric::compile::{Algorithm, Budget, Options as CompileOptions, compile};
use fabric::paths::PathSet;
use netsim::fault_schedule::Action;
use netsim::network::Network;
use netsim::scenario::{Built, Options, build, run};
use random::{Draw, SplitMix64};
use std::collections::VecDeque;

const SECOND: u64 = 1_000 * MS;
const SHAPES: [&str; 4] = [
    "kind = 'clos', leaves = 4, spines = 3, hosts = 2",
    "kind = 'clos', pods = 2, tors = 2, leaves = 2, spines = 2, hosts = 2",
    "kind = 'fat-tree', k = 4",
    "kind = 'fat-tree', k = 6",
];

/// A scenario must have somebody who sends.
const QUIET: &str = "[[flow]]\nfrom = 'H1'\nto = 'H2'\nstop = '1us'\n";

fn scenario(shape: &str, rest: &str) -> ScenarioConfig {
    let text = format!(
        "duration = '300us'\ngenerate = {{ {shape} }}\npaths = {{ kind = 'up-down', bounces = 1 }}\n\
         scheme = {{ kind = 'updown' }}\n{rest}"
    );
    ScenarioConfig::parse("learning.toml".as_ref(), &text).unwrap_or_else(|error| panic!("{error}"))
}

fn learning(config: &ScenarioConfig) -> Built {
    build(config, None, None).unwrap_or_else(|error| panic!("{error}"))
}

/// Every switch has the rules that the compiler writes for the whole network.
fn has_the_compilers_rules(config: &ScenarioConfig, network: &Network) -> bool {
    let paths = PathSet::build(&config.network, &config.paths).unwrap();
    let options =
        CompileOptions { algorithm: Algorithm::UpDown, lossless_max: 7, budget: Budget::Work };
    let compiled = compile(&config.network, &paths, &options, &|_| {}).unwrap();
    let pairs = compiled.rules.iter().zip(network.switch_ids());
    pairs.into_iter().all(|(rules, switch)| {
        let (agent, entries) = network.learned(switch).expect("they learn");
        agent.level().is_some() && entries == rules.entries
    })
}

#[test]
fn rules_are_there_within_microseconds_and_stay() {
    for shape in SHAPES {
        let config = scenario(shape, QUIET);
        let mut network = learning(&config).network;
        let knows = |network: &Network| has_the_compilers_rules(&config, network);
        assert!(!knows(&network), "{shape}: nothing has been said yet");
        network.run_until(100 * US);
        assert!(knows(&network), "{shape}");
        network.run_until(200 * SECOND);
        assert!(knows(&network), "{shape}: after six intervals");
        network.check().unwrap();
        for switch in network.switch_ids() {
            let (agent, _) = network.learned(switch).unwrap();
            assert!(agent.counters().level_changes <= 2, "{shape}: {:?}", agent.counters());
            // Four fast ones, six or seven later, and what changed in between, at each port.
            let ports =
                agent.port_roles().filter(|&facing| facing != PortRole::NoLink).count() as u64;
            let sent = agent.counters().frames_out;
            assert!((10 * ports..=14 * ports).contains(&sent), "{sent} at {ports} ports");
        }
    }
}

#[test]
fn a_switch_that_restarts_and_links_that_fail_are_learned_again() {
    for shape in SHAPES {
        let config = scenario(shape, QUIET);
        let mut network = learning(&config).network;
        for (number, switch) in (1..).zip(network.switch_ids()) {
            let at_ps = number * 300 * MS;
            network.plan(at_ps, Action::SwitchDown(switch));
            network.plan(at_ps + 50 * MS, Action::SwitchUp(switch));
        }
        let links = config.network.links().len();
        for link in (0..links).step_by(3) {
            let at_ps = 20 * SECOND + link as u64 * 7 * MS;
            network.plan(at_ps, Action::LinkDown(link));
            network.plan(at_ps + 900 * MS, Action::LinkUp(link));
        }
        network.run_until(60 * SECOND);
        assert!(has_the_compilers_rules(&config, &network), "{shape}");
        network.check().unwrap();
    }
}

/// Rules change under load, as a link and a switch go and come; frames are lost with the link and
/// the switch, and no other.
#[test]
fn rules_are_swapped_under_load_and_no_frame_is_lost() {
    let traffic = "[[traffic]]\nkind = 'permutation'\nrate = '30G'\n[routing]\nkind = 'ecmp'\nreroute = '5us'\n";
    for shape in SHAPES {
        let mut config = scenario(shape, traffic);
        config.duration_ns = 400_000;
        let calm = run(&config, Options::default()).unwrap();
        assert_eq!(
            (calm.lossless_drops, calm.lossy_drops, calm.deadlock.is_none()),
            (0, 0, true),
            "{shape}"
        );
        assert!(calm.violations.is_empty(), "{shape}: {:?}", calm.violations);

        let mut built = learning(&config);
        let network = &mut built.network;
        let between = |link: &usize| {
            let ends = config.network.links()[*link].ends;
            ends.iter().all(|end| matches!(end, fabric::network::End::Slot(_)))
        };
        let link = (0..config.network.links().len()).find(between).unwrap();
        // With nobody to send around it, the only change is that of rules.
        for round in 0..20 {
            network.plan((100 + 10 * round) * US, Action::LinkDown(link));
            network.plan((105 + 10 * round) * US, Action::LinkUp(link));
        }
        network.run_until(400 * US);
        network.stop_sources();
        network.run_until(20 * MS);
        network.check().unwrap_or_else(|violation| panic!("{shape}: {violation}"));
        assert_eq!(network.frames_inside(), 0, "{shape}");
    }
}

/// The slides' levels, by every profile of the start: what is learned depends on no seed.
#[test]
fn a_run_is_repeatable_to_the_bit() {
    let traffic = "[[traffic]]\nkind = 'permutation'\nrate = '10G'\n";
    let config = scenario(SHAPES[1], traffic);
    let [one, other] = [(), ()].map(|()| run(&config, Options::default()).unwrap().trace_hash);
    assert_eq!(one, other);
    let options = || Options { scheme: Some(SchemeKind::Tagger), ..Options::default() };
    assert_ne!(run(&config, options()).unwrap().trace_hash, one, "LLDP is among the frames");
}

/// Networks that are tried if `KNOTLESS_SEEDS` does not say otherwise.
const SEEDS: u64 = 24;

/// A Clos network or a fat-tree, up to k = 16, large enough that a path may bounce: where none can,
/// the compiler needs no second tag.
fn drawn_shape(rng: &mut SplitMix64, seed: u64) -> String {
    let mut between = |least: u64, most: u64| least + rng.below(most + 1 - least);
    match seed % 40 {
        39 => "kind = 'fat-tree', k = 16".to_owned(),
        19 => "kind = 'fat-tree', k = 12".to_owned(),
        9 | 29 => "kind = 'fat-tree', k = 8".to_owned(),
        at if at % 2 == 0 => {
            let (leaves, spines, hosts) = (between(2, 7), between(2, 5), between(1, 4));
            format!("kind = 'clos', leaves = {leaves}, spines = {spines}, hosts = {hosts}")
        }
        at if at % 4 == 1 => format!("kind = 'fat-tree', k = {}", 2 * between(2, 3)),
        _ => {
            let (pods, tors, leaves) = (between(2, 3), between(2, 5), between(2, 3));
            let (spines, hosts) = (between(2, 4), between(1, 3));
            format!(
                "kind = 'clos', pods = {pods}, tors = {tors}, leaves = {leaves}, spines = {spines}, \
                 hosts = {hosts}"
            )
        }
    }
}

/// Links to the nearest host, by switch.
fn levels(network: &fabric::Network) -> Vec<u8> {
    let mut level: Vec<Option<u8>> = vec![None; network.switches()];
    let mut queue = VecDeque::new();
    for switch in (0..).take(network.switches()) {
        if network.host_slots_of(switch).next().is_some() {
            level[switch as usize] = Some(1);
            queue.push_back(switch);
        }
    }
    while let Some(at) = queue.pop_front() {
        let above = level[at as usize].map(|level| level + 1);
        for far in network.neighbors(at).map(|(_, far)| network.owner(far)) {
            if level[far as usize].is_none() {
                level[far as usize] = above;
                queue.push_back(far);
            }
        }
    }
    level.into_iter().map(|level| level.expect("every switch is linked")).collect()
}

/// Switches start in any order within 40 s, links and switches fail for a while: within three
/// intervals of the last trouble all levels are those that a search finds, and all rules those that
/// the compiler writes.
#[test]
fn levels_are_learned_in_any_order_and_through_failures() {
    let seeds = std::env::var("KNOTLESS_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    let (mut troubles, mut switches) = (0, 0);
    for seed in 1..=seeds.unwrap_or(SEEDS) {
        let mut rng = random::seeded(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let shape = drawn_shape(&mut rng, seed);
        let quiet = "[[traffic]]\nkind = 'permutation'\nstop = '1us'\n";
        let config = scenario(&shape, quiet);
        let mut network = learning(&config).network;
        let mut last_ps = 0;
        let ids: Vec<_> = network.switch_ids().collect();
        for &switch in &ids {
            let starts_ps = 1 + rng.below(40 * SECOND);
            network.plan(0, Action::SwitchDown(switch));
            network.plan(starts_ps, Action::SwitchUp(switch));
            last_ps = last_ps.max(starts_ps);
        }
        let links = config.network.links().len() as u64;
        for _ in 0..=rng.below(1 + links / 8) {
            let link = usize::try_from(rng.below(links)).unwrap();
            let at_ps = rng.below(50 * SECOND);
            let back_ps = at_ps + 1 + rng.below(8 * SECOND);
            network.plan(at_ps, Action::LinkDown(link));
            network.plan(back_ps, Action::LinkUp(link));
            last_ps = last_ps.max(back_ps);
            troubles += 1;
        }
        for _ in 0..rng.below(3) {
            let switch = ids[rng.index(ids.len())];
            let at_ps = 41 * SECOND + rng.below(9 * SECOND);
            let back_ps = at_ps + 1 + rng.below(9 * SECOND);
            network.plan(at_ps, Action::SwitchDown(switch));
            network.plan(back_ps, Action::SwitchUp(switch));
            last_ps = last_ps.max(back_ps);
            troubles += 1;
        }
        network.run_until(last_ps + 90 * SECOND);
        network.check().unwrap_or_else(|violation| panic!("seed {seed}, {shape}: {violation}"));
        for (switch, level) in ids.iter().zip(levels(&config.network)) {
            let (agent, _) = network.learned(*switch).expect("they learn");
            assert_eq!(agent.level(), Some(level), "seed {seed}, {shape}, {switch:?}");
        }
        assert!(has_the_compilers_rules(&config, &network), "seed {seed}, {shape}");
        switches += ids.len();
    }
    eprintln!("{switches} switches, {troubles} troubles");
    assert!(troubles > 20, "{troubles} troubles");
}

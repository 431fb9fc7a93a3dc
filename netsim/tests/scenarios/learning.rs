//! Whole networks of switches that know nothing: what they learn by LLDP on real wires, beside data
//! and faults, is what a search finds, and their rules are the compiler's.

use crate::support::{MS, US};
use config::ScenarioConfig;
use config::compile::{Algorithm, Options as CompileOptions, compile};
use config::paths::PathSet;
use config::scenario::SchemeKind;
use dataplane::lldp::Facing;
use netsim::scenario::{Built, Options, build, run};
use netsim::{Action, Network};

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
    let options = CompileOptions { algorithm: Algorithm::UpDown, lossless_max: 7 };
    let compiled = compile(&config.network, &paths, &options, &|_| {}).unwrap();
    let pairs = compiled.rules.iter().zip(network.switch_ids());
    pairs.into_iter().all(|(rules, switch)| {
        let (agent, entries) = network.learnt(switch).expect("they learn");
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
            let (agent, _) = network.learnt(switch).unwrap();
            assert!(agent.counters().level_changes <= 2, "{shape}: {:?}", agent.counters());
            // Four fast ones, six or seven later, and what changed in between, at each port.
            let ports = agent.facings().filter(|&facing| facing != Facing::Nothing).count() as u64;
            let sent = agent.counters().frames_out;
            assert!((10 * ports..=14 * ports).contains(&sent), "{sent} at {ports} ports");
        }
    }
}

#[test]
fn a_switch_that_restarts_and_links_that_fail_are_learnt_again() {
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
            ends.iter().all(|end| matches!(end, config::network::End::Slot(_)))
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

/// The slides' levels, by every profile of the start: what is learnt depends on no seed.
#[test]
fn a_run_is_repeatable_to_the_bit() {
    let traffic = "[[traffic]]\nkind = 'permutation'\nrate = '10G'\n";
    let config = scenario(SHAPES[1], traffic);
    let [one, other] = [(), ()].map(|()| run(&config, Options::default()).unwrap().trace_hash);
    assert_eq!(one, other);
    let options = || Options { scheme: Some(SchemeKind::Tagger), ..Options::default() };
    assert_ne!(run(&config, options()).unwrap().trace_hash, one, "LLDP is among the frames");
}

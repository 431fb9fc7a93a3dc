//! The other ways out of a deadlock, held to what their papers claim: classes by hops, and the
//! watchdog that only reacts. Gentle flow control has a file of its own (`gfc.rs`).

use config::ScenarioConfig;
use config::scenario::SchemeKind;
use netsim::event::Picoseconds;
use netsim::network::Network;
use netsim::outcome::Outcome;
use netsim::scenario::{Options, build, run};
use random::Draw;
use std::fmt::Write as _;
use std::path::Path;

const US: Picoseconds = 1_000_000;

fn load(name: &str) -> ScenarioConfig {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    ScenarioConfig::load(&folder.join(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn parse(text: &str) -> ScenarioConfig {
    let file = Path::new("test.toml");
    ScenarioConfig::parse(file, text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn simulate(config: &ScenarioConfig, scheme: SchemeKind) -> Outcome {
    let options = Options { scheme: Some(scheme), ..Options::default() };
    let outcome = run(config, options).unwrap_or_else(|error| panic!("{}: {error}", config.name));
    assert!(outcome.violations.is_empty(), "{}: {:?}", config.name, outcome.violations);
    outcome
}

/// A random connected network of up to eight switches, in which every host sends to another one,
/// some switches send some frames the wrong way for a while, and buffers are small.
fn random_network(seed: u64) -> String {
    let mut rng = random::seeded(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let switches = 3 + rng.below(6);
    let mut links: Vec<(u64, u64)> = (1..switches).map(|new| (rng.below(new), new)).collect();
    for _ in 0..rng.below(switches + 2) {
        let (one, other) = (rng.below(switches), rng.below(switches));
        if one != other && !links.contains(&(one, other)) && !links.contains(&(other, one)) {
            links.push((one, other));
        }
    }
    let hosts = switches + rng.below(switches);
    let host_at: Vec<u64> = (0..hosts).map(|host| host % switches).collect();
    let mut ports = vec![0; usize::try_from(switches).unwrap()];
    let mut port = |switch: u64| {
        let port = &mut ports[usize::try_from(switch).unwrap()];
        *port += 1;
        *port
    };
    let mut wired = String::new();
    for &(one, other) in &links {
        let (a, b) = (port(one), port(other));
        writeln!(wired, "[[link]]\nends = ['S{one}:{a}', 'S{other}:{b}']").unwrap();
    }
    for (host, &switch) in host_at.iter().enumerate() {
        let at = port(switch);
        writeln!(wired, "[[link]]\nends = ['S{switch}:{at}', 'h{host}']").unwrap();
    }
    let threshold = match rng.below(4) {
        0 => "static_th = '5KB'".to_owned(),
        1 => "static_th = '30KB'".to_owned(),
        2 => "dynamic_th = -4".to_owned(),
        _ => "dynamic_th = -1".to_owned(),
    };
    let fair = rng.below(2) == 0;
    let kind = ["shortest", "ecmp", "pinned"][rng.index(3)];
    let mut text = format!(
        "duration = '200us'\nseed = {seed}\n[scheme]\nkind = 'ttl'\nclasses = 8\n[switches]\nsize = '2MB'\n\
         lossy = '100KB'\ncell = 64\nfair = {fair}\n{threshold}\n[routing]\nkind = '{kind}'\n"
    );
    for (switch, ports) in ports.iter().enumerate() {
        writeln!(text, "[[switch]]\nname = 'S{switch}'\nports = {ports}").unwrap();
    }
    (0..hosts).for_each(|host| writeln!(text, "[[host]]\nname = 'h{host}'").unwrap());
    text += &wired;
    for host in 0..hosts {
        let to = (host + 1 + rng.below(hosts - 1)) % hosts;
        writeln!(text, "[[flow]]\nfrom = 'h{host}'\nto = 'h{to}'").unwrap();
    }
    for _ in 0..1 + rng.below(4) {
        let &(one, other) = &links[rng.index(links.len())];
        let (at, to) = (20 + rng.below(100), rng.below(hosts));
        let (one, other) = if rng.below(2) == 0 { (one, other) } else { (other, one) };
        writeln!(
            text,
            "[[fault]]\nkind = 'route'\nswitch = 'S{one}'\nvia = 'S{other}'\nto = 'h{to}'\nat = '{at}us'\n\
             until = '{}us'",
            at + 40
        )
        .unwrap();
    }
    text
}

/// Sources stop: does the network come to the empty state, or to a deadlocked one (1.4.3)? Every
/// pause at 40G has run out after 839 us.
fn drains(network: &mut Network) -> bool {
    network.stop_sources();
    let mut before = network.buffer_state();
    for _ in 0..50 {
        network.run_for(2_000 * US);
        let after = network.buffer_state();
        assert!(after.is_legal());
        if after.is_empty() {
            return true;
        }
        if before.is_deadlocked(&after) {
            return false;
        }
        before = after;
    }
    panic!("neither empty nor deadlocked after 100 ms");
}

/// The claim of section 1.4.4: deadlock-free whatever the routes and the scheduler. The same
/// networks under plain PFC are the canary.
#[test]
fn classes_by_hops_always_drain() {
    let seeds = 120;
    let mut deadlocks = 0;
    let (mut lossless_hops, mut expired) = (0, 0);
    for seed in 1..=seeds {
        let text = random_network(seed);
        let config = parse(&text);
        for kind in [SchemeKind::Ttl, SchemeKind::Pfc] {
            let mut built =
                build(&config, Some(kind), None).unwrap_or_else(|e| panic!("{e}\n{text}"));
            let network = &mut built.network;
            for _ in 0..10 {
                network.run_for(20 * US);
                network.check().unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
                assert!(network.buffer_state().is_legal());
            }
            let is_drained = drains(network);
            network.check().unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
            match kind {
                SchemeKind::Ttl => {
                    assert!(is_drained, "seed {seed} deadlocked\n{text}");
                    lossless_hops += network.data_hops();
                }
                _ => deadlocks += u64::from(!is_drained),
            }
        }
        let outcome = simulate(&config, SchemeKind::Ttl);
        expired += outcome.drops.iter().map(|drop| drop.frames).sum::<u64>();
    }
    assert!(deadlocks >= 5, "plain PFC deadlocked in {deadlocks} of {seeds}: nothing was tried");
    assert!(
        lossless_hops > 100_000 && expired > 0,
        "{lossless_hops} hops, {expired} frames expired"
    );
}

/// The watchdog unties a deadlock by dropping what a switch promised not to drop, long after it
/// closed.
#[test]
fn a_watchdog_unties_the_ring_at_a_cost() {
    let mut config = load("ring.toml");
    config.scheme.watchdog.detection_ns = 300_000;
    config.scheme.watchdog.restoration_ns = 300_000;
    let outcome = simulate(&config, SchemeKind::Watchdog);
    let deadlock = outcome.deadlock.expect("it only reacts");
    assert!(outcome.drained_ps.is_some(), "{} frames stuck", outcome.frames_stuck);
    assert!(outcome.watchdog_drops > 50 && outcome.storms >= 1, "{}", outcome.watchdog_drops);
    assert!(deadlock.closed_ps < 100 * US);
    let pfc = simulate(&config, SchemeKind::Pfc);
    assert!(pfc.drained_ps.is_none() && pfc.watchdog_drops == 0);
}

/// A scheme that cannot hold says what would do.
#[test]
fn a_scheme_that_cannot_hold_is_refused_with_the_figure_that_would_do() {
    let chain = |switches: usize| {
        let mut text = "duration = '1us'\n".to_owned();
        for switch in 1..=switches {
            write!(text, "[[switch]]\nname = 'S{switch}'\nports = 3\n").unwrap();
        }
        text += "[[host]]\nname = 'a'\n[[host]]\nname = 'b'\n[[flow]]\nfrom = 'a'\nto = 'b'\n";
        for switch in 1..switches {
            write!(text, "[[link]]\nends = ['S{switch}:2', 'S{}:1']\n", switch + 1).unwrap();
        }
        write!(text, "[[link]]\nends = ['S1:1', 'a']\n[[link]]\nends = ['S{switches}:2', 'b']\n")
            .unwrap();
        text
    };
    let refusal = |text: &str, kind| match run(
        &parse(text),
        Options { scheme: Some(kind), ..Options::default() },
    ) {
        Ok(_) => "none".to_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(refusal(&chain(7), SchemeKind::Ttl), "none");
    assert_eq!(
        refusal(&chain(8), SchemeKind::Ttl),
        "`ttl` cannot hold here: `ttl` needs a class for each of the 9 links of the longest path, and PFC has \
         8; use shorter paths or `tagger`"
    );
    let four = format!("{}\n[scheme]\nclasses = 4\n", chain(4));
    assert_eq!(
        refusal(&four, SchemeKind::Ttl),
        "`ttl` cannot hold here: the longest path has 5 links, so `ttl` needs `classes = 5`"
    );
    let tree = format!("{}\n[scheme]\ntree = true\n", chain(4));
    assert_eq!(
        refusal(&tree, SchemeKind::Ttl),
        "`ttl` cannot hold here: classes of both parities meet in S2 and S3, which are linked: this is no \
         tree; remove `tree`"
    );
    let gfc = refusal(
        &format!("{}\n[switches]\nstatic_th = '20KB'\ncell = 64\n", chain(2)),
        SchemeKind::Gfc,
    );
    assert!(gfc.contains("more than there is; raise `bm` or `static_th`"), "{gfc}");
    let small = format!("{}\n[switches]\nsize = '100KB'\nlossy = '10KB'\n", chain(7));
    let small = refusal(&small, SchemeKind::Ttl);
    assert!(small.contains("promises") && small.contains("give it"), "{small}");
}

/// On a tree consecutive classes never meet: half is reserved, and nothing is lost.
#[test]
fn a_tree_reserves_half_for_classes_by_hops() {
    let text = |tree: bool| {
        format!(
            "duration = '200us'\ngenerate = {{ kind = 'fat-tree', k = 4 }}\n[scheme]\nkind = 'ttl'\nclasses = 8\n\
             tree = {tree}\n[switches]\ncell = 64\n[[traffic]]\nkind = 'permutation'\n"
        )
    };
    let [whole, half] = [false, true].map(|tree| simulate(&parse(&text(tree)), SchemeKind::Ttl));
    // Seven classes: at most four of them odd.
    assert!(
        half.reserved_bytes * 7 <= whole.reserved_bytes * 4,
        "{} of {}",
        half.reserved_bytes,
        whole.reserved_bytes
    );
    for outcome in [&whole, &half] {
        assert!(outcome.drained_ps.is_some() && outcome.lossless_drops == 0);
        assert!(outcome.paused_ps > 0, "nothing was congested");
        assert_eq!(outcome.drops, []);
    }
}

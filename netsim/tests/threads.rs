//! A scenario comes out the same in any number of threads: the hash of the trace, and every figure.

use config::ScenarioConfig;
use config::scenario::SchemeKind;
use netsim::scenario::{Options, ScenarioError, run};
use random::{Draw, SplitMix64};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// More than most scenarios have switches, too.
const THREADS: [usize; 3] = [2, 3, 5];

/// All figures of a run, and the hash; `None` if the scheme cannot hold on the network.
fn outcome(config: &ScenarioConfig, scheme: SchemeKind, threads: usize) -> Option<String> {
    let threads = NonZeroUsize::new(threads);
    match run(config, Options { scheme: Some(scheme), threads, ..Options::default() }) {
        Ok(outcome) => Some(serde_json::to_string(&outcome).unwrap()),
        Err(ScenarioError::Scheme { .. }) => None,
        Err(error) => panic!("{}: {error}", config.name),
    }
}

/// Returns whether the scheme holds on the network.
fn compare(config: &ScenarioConfig, scheme: SchemeKind) -> bool {
    let alone = outcome(config, scheme, 1);
    for threads in THREADS {
        let several = outcome(config, scheme, threads);
        assert!(several == alone, "{} {}: {threads} threads", config.name, scheme.name());
    }
    alone.is_some()
}

#[test]
fn every_shipped_scenario() {
    let mut runs = 0;
    for folder in ["scenarios", "scenarios/compare"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in std::fs::read_dir(folder).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_none_or(|end| end != "toml") {
                continue;
            }
            let config = ScenarioConfig::load(&file).unwrap_or_else(|error| panic!("{error}"));
            let mut kinds: Vec<SchemeKind> = config.expectations.keys().copied().collect();
            kinds.extend(kinds.is_empty().then_some(config.scheme.kind));
            runs += kinds.into_iter().filter(|&kind| compare(&config, kind)).count();
        }
    }
    assert!(runs >= 20, "{runs} runs");
}

/// A network of any kind with traffic of all kinds and a fault of each.
fn scenario(rng: &mut SplitMix64) -> String {
    let networks = [
        "{ kind = 'clos', leaves = 3, spines = 2, hosts = 2 }",
        "{ kind = 'clos', leaves = 5, spines = 3, hosts = 1 }",
        "{ kind = 'fat-tree', k = 4 }",
        "{ kind = 'jellyfish', switches = 10, ports = 4, network_ports = 3, seed = 2 }",
    ];
    let routings = ["shortest", "ecmp", "pinned"];
    let mut any = |of: u64| usize::try_from(rng.below(of)).unwrap();
    let mut text = format!(
        "duration = '150us'\nseed = {}\ngenerate = {}\n\
         routing = {{ kind = '{}', reroute = '20us' }}\nlinks = {{ speed = '{}G', length = '{}m' }}\n\
         switches = {{ static_th = '{}KB' }}\n",
        any(1_000),
        networks[any(4)],
        routings[any(3)],
        [10, 40, 100][any(3)],
        [2, 10, 300][any(3)],
        [10, 40][any(2)],
    );
    for kind in ["permutation", "random", "incast"] {
        let more = match kind {
            "random" => format!("flows = {}\nwindow = '30KB'\n", 2 + any(6)),
            "incast" => "senders = 3\nto = 'H1'\n".to_owned(),
            _ => String::new(),
        };
        text += &format!("[[traffic]]\nkind = '{kind}'\nframe = {}\n{more}", 64 + any(1_400));
    }
    let faults = [
        "kind = 'slow-receiver'\nhost = 'H1'\nspeed = '1G'\n",
        "kind = 'pause-storm'\nhost = 'H2'\n",
        "kind = 'lose-pfc'\nto = 'H1'\nshare = 0.5\n",
    ];
    for fault in faults {
        if any(2) == 0 {
            text += &format!("[[fault]]\n{fault}at = '{}us'\nuntil = '90us'\n", any(60));
        }
    }
    text
}

#[test]
fn random_networks_with_faults() {
    let (mut held, mut lossy) = (0, 0);
    for seed in 0..24 {
        let mut rng = random::seeded(seed);
        let text = scenario(&mut rng);
        let config = ScenarioConfig::parse("random.toml".as_ref(), &text);
        let config = config.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let schemes = [SchemeKind::Pfc, SchemeKind::Tagger, SchemeKind::Lossy, SchemeKind::Ttl];
        let scheme = schemes[usize::try_from(seed % 4).unwrap()];
        held += usize::from(compare(&config, scheme));
        lossy += usize::from(scheme == SchemeKind::Lossy);
    }
    assert!(held >= 15 && lossy == 6, "{held} runs");
}

/// A file of which the test sees what is written.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn captures_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let config = ScenarioConfig::load(&folder.join("ring.toml")).unwrap();
    let captured = |threads| {
        let links = config.network.links();
        let files: Vec<Shared> = links.iter().map(|_| Shared::default()).collect();
        let writers = files.iter().map(|file| -> Box<dyn Write> { Box::new(file.clone()) });
        let captures = links.iter().map(|link| link.ends[0]).zip(writers).collect();
        let threads = NonZeroUsize::new(threads);
        let scheme = Some(SchemeKind::Tagger);
        run(&config, Options { scheme, threads, captures, ..Options::default() }).unwrap();
        let bytes = |file: &Shared| std::mem::take(&mut *file.0.lock().unwrap());
        files.iter().map(bytes).collect::<Vec<_>>()
    };
    let alone = captured(1);
    let full = alone.iter().filter(|file| file.len() > 10_000).count();
    assert!(full >= 3, "{full} links with more than some frames");
    assert!(captured(3) == alone);
}

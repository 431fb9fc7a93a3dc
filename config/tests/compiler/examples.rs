//! Every example network compiles, and comes to what its comments say.

use crate::oracle::{Case, has_cycle};
use config::compile::{Algorithm, Options, compile};
use std::path::Path;

/// The file and the priorities it needs.
const EXAMPLES: [(&str, usize); 9] = [
    ("bcube.toml", 2),
    ("f10.toml", 2),
    ("fat-tree.toml", 1),
    ("hyperx.toml", 2),
    ("jellyfish.toml", 2),
    ("leaf-spine.toml", 3),
    ("pods.toml", 2),
    ("ring.toml", 2),
    ("triangle.toml", 2),
];

#[test]
fn every_example_compiles_and_all_its_paths_are_lossless() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/networks");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let count = files.filter(|name| name.to_string_lossy().ends_with(".toml")).count();
    assert_eq!(count, EXAMPLES.len());
    for (name, priorities) in EXAMPLES {
        let case = Case::example(name);
        let options = Options { algorithm: Algorithm::UpDown, lossless_max: 7 };
        let compiled = compile(&case.network, &case.paths, &options, &|_| {}).unwrap();
        let verdict = &compiled.verdict;
        assert_eq!(compiled.lossless_priorities, priorities, "{name}: {}", compiled.method);
        assert_eq!(verdict.lossless_paths, verdict.paths, "{name}");
        assert!(!has_cycle(&case.network, &compiled.rules), "{name}");
    }
}

/// The rows of `make bench-tagger` that take no time.
#[test]
fn the_papers_evaluation_in_short() {
    for (topology, paths, priorities, rules) in [
        (
            "kind = 'jellyfish'\nswitches = 100\nports = 32\nnetwork_ports = 16",
            "kind = 'shortest-trees'",
            2,
            4,
        ),
        (
            "kind = 'jellyfish'\nswitches = 100\nports = 32\nnetwork_ports = 16",
            "kind = 'k-shortest'\nk = 16",
            2,
            4,
        ),
        (
            "kind = 'jellyfish'\nswitches = 500\nports = 64\nnetwork_ports = 32",
            "kind = 'shortest-trees'",
            2,
            4,
        ),
        (
            "kind = 'jellyfish'\nswitches = 200\nports = 32\nnetwork_ports = 16",
            "kind = 'shortest-trees'\nrandom = 2000",
            2,
            4,
        ),
        ("kind = 'bcube'\nn = 4\nk = 2", "kind = 'k-shortest'\nk = 3", 2, 8),
        ("kind = 'f10'\nk = 16", "kind = 'up-down'\nbounces = 1", 2, 4),
    ] {
        let case = Case::new(&format!("[generate]\n{topology}\n[paths]\n{paths}"));
        let options = Options { algorithm: Algorithm::UpDown, lossless_max: 7 };
        let compiled = compile(&case.network, &case.paths, &options, &|_| {}).unwrap();
        assert!(compiled.lossless_priorities <= priorities, "{topology}: {}", compiled.method);
        assert!(compiled.rules_max() <= rules, "{topology}: {}", compiled.rules_max());
        assert_eq!(compiled.verdict.lossless_paths, compiled.verdict.paths, "{topology}");
    }
}

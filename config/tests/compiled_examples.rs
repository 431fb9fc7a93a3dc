//! Every example network compiles, and comes to what its comments say.

#[path = "../../fabric/tests/support/slow_proof.rs"]
mod slow_proof;

use config::NetworkConfig;
use fabric::PathSet;
use fabric::compile::{Algorithm, Budget, Options, compile};
use slow_proof::has_cycle;
use std::path::Path;

/// The file and the priorities it needs.
const EXAMPLES: [(&str, usize); 11] = [
    ("bcube.toml", 2),
    ("classes.toml", 2),
    ("f10.toml", 2),
    ("fat-tree.toml", 1),
    ("growing-pods.toml", 2),
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
    let files = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name());
    let count = files.filter(|name| name.to_string_lossy().ends_with(".toml")).count();
    assert_eq!(count, EXAMPLES.len());
    for (name, priorities) in EXAMPLES {
        let config = NetworkConfig::load(&directory.join(name)).unwrap_or_else(|e| panic!("{e}"));
        let paths = PathSet::build(&config.network, &config.paths).unwrap();
        let options =
            Options { algorithm: Algorithm::UpDown, lossless_max: 7, budget: Budget::Work };
        let compiled = compile(&config.network, &paths, &options, &|_| {}).unwrap();
        let verdict = &compiled.verdict;
        assert_eq!(compiled.lossless_priorities, priorities, "{name}: {}", compiled.method);
        assert_eq!(verdict.lossless_paths, verdict.paths, "{name}");
        assert!(!has_cycle(&config.network, &compiled.rules), "{name}");
    }
}

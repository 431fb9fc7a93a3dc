//! The evaluation of the Tagger paper, in short.

use crate::oracle::Case;
use fabric::compile::{Algorithm, Budget, Options, compile};

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
        let case = Case::new(topology, paths);
        let options =
            Options { algorithm: Algorithm::UpDown, lossless_max: 7, budget: Budget::Work };
        let compiled = compile(&case.network, &case.paths, &options, &|_| {}).unwrap();
        assert!(compiled.lossless_priorities <= priorities, "{topology}: {}", compiled.method);
        assert!(compiled.rules_max() <= rules, "{topology}: {}", compiled.rules_max());
        assert_eq!(compiled.verdict.lossless_paths, compiled.verdict.paths, "{topology}");
    }
}

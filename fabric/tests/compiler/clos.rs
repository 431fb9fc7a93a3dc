//! Clos networks and fat-trees: k bounces take k + 1 priorities or fewer.

use crate::oracle::Case;
use fabric::compile::{Algorithm, Budget, Compiled, Options, compile};

fn compiled(topology: &str, paths: &str, algorithm: Algorithm) -> Compiled {
    let case = Case::new(topology, paths);
    compile(
        &case.network,
        &case.paths,
        &Options { algorithm, lossless_max: 7, budget: Budget::Work },
        &|_| {},
    )
    .unwrap()
}

const TREES: [&str; 5] = [
    "kind = 'clos'\nleaves = 4\nspines = 2\nhosts = 2",
    "kind = 'clos'\npods = 2\ntors = 2\nleaves = 2\nspines = 2\nhosts = 4",
    "kind = 'clos'\npods = 3\ntors = 4\nleaves = 3\nspines = 5\nhosts = 1",
    "kind = 'fat-tree'\nk = 6",
    "kind = 'f10'\nk = 4",
];

/// By level a frame is raised where it bounces, with two entries for each tag. Orders that need
/// fewer priorities for two bounces or more are in `fewest.rs`.
#[test]
fn k_bounces_take_k_plus_one_priorities_at_the_most_and_two_entries_each() {
    for topology in TREES {
        for bounces in 0..=3_usize {
            let paths = format!("kind = 'up-down'\nbounces = {bounces}");
            let compiled = compiled(topology, &paths, Algorithm::UpDown);
            let said = format!("{topology}, {bounces} bounces: {}", compiled.method);
            let priorities = compiled.lossless_priorities;
            assert!(priorities <= bounces + 1, "{said}: {priorities}");
            if compiled.method == "switches by level" {
                assert_eq!(priorities, bounces + 1, "{said}");
                assert!(compiled.rules_max() <= 2 * priorities, "{said}: {}", compiled.rules_max());
            } else {
                assert!(bounces >= 2, "{said}: one bounce needs two priorities");
                assert!(priorities <= bounces, "{said}: another order for fewer priorities only");
            }
            assert_eq!(compiled.verdict.lossless_paths, compiled.verdict.paths, "{said}");
        }
    }
}

#[test]
fn where_algorithm_2_needs_three_an_order_needs_two() {
    // Fig. 6: shortest and 1-bounce paths.
    let paths = "kind = 'up-down'\nbounces = 1";
    let greedy = compiled(TREES[1], paths, Algorithm::Greedy);
    assert_eq!(greedy.lossless_priorities, 3);
    assert_eq!(greedy.verdict.lossless_paths, greedy.verdict.paths);
    let order = compiled(TREES[1], paths, Algorithm::UpDown);
    assert_eq!(order.lossless_priorities, 2);
}

#[test]
fn shortest_paths_need_no_second_priority() {
    for topology in TREES {
        for kind in ["shortest-trees", "shortest"] {
            let paths = format!("kind = '{kind}'");
            let compiled = compiled(topology, &paths, Algorithm::UpDown);
            assert_eq!(compiled.lossless_priorities, 1, "{topology}");
            assert_eq!(compiled.raised_paths, Some(0));
        }
    }
}

#[test]
fn application_classes_share_tags() {
    // M bounces and N classes: M + N tags.
    for classes in 1..=3_usize {
        let paths = format!("kind = 'up-down'\nbounces = 1\nclasses = {classes}");
        for algorithm in [Algorithm::UpDown, Algorithm::Greedy] {
            let compiled = compiled(TREES[0], &paths, algorithm);
            assert_eq!(compiled.verdict.lossless_paths, compiled.verdict.paths);
            if algorithm == Algorithm::UpDown {
                assert_eq!(compiled.lossless_priorities, 1 + classes);
            }
        }
    }
}

#[test]
fn fewer_priorities_than_needed_leave_some_paths_lossy_and_none_in_a_knot() {
    let paths = "kind = 'up-down'\nbounces = 2";
    for algorithm in [Algorithm::UpDown, Algorithm::Greedy, Algorithm::BruteForce] {
        let case = Case::new(TREES[1], paths);
        let options = Options { algorithm, lossless_max: 2, budget: Budget::Work };
        let compiled = compile(&case.network, &case.paths, &options, &|_| {}).unwrap();
        let verdict = &compiled.verdict;
        assert!(verdict.is_deadlock_free());
        assert!(verdict.lossless_paths < verdict.paths, "{algorithm:?}");
        assert!(compiled.lossless_priorities <= 2);
        assert!(!verdict.lossy.is_empty());
    }
}

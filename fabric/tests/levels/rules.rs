//! The rules that follow from port types are those of the compiler, on every size of Clos.

use crate::judge::{compiled, facings, levels};
use crate::support::{generated, path_spec};
use fabric::compile::{Algorithm, Budget, Options, compile, port_roles};
use fabric::{Network, PathSet, RuleSet};

fn compare(topology: &str) {
    let network = generated(topology);
    let (rules, bounces) = compiled(&network);
    check(&network, &rules, bounces, topology);
}

fn check(network: &Network, rules: &[RuleSet], bounces: u8, what: &str) {
    let levels = levels(network);
    for (switch, rules) in (0..).zip(rules) {
        let facings = facings(network, &levels, switch);
        assert_eq!(port_roles::rules(&rules.switch, &facings, bounces), *rules, "{what}");
    }
}

#[test]
fn of_two_levels() {
    for leaves in [1, 2, 3, 5, 8, 16, 40] {
        for spines in [1, 2, 3, 4, 9, 20] {
            for hosts in [1, 3, 24] {
                compare(&format!("kind='clos'\nleaves={leaves}\nspines={spines}\nhosts={hosts}"));
            }
        }
    }
}

#[test]
fn of_three_levels() {
    for pods in [1, 2, 4] {
        for tors in [1, 2, 5] {
            for leaves in [1, 2, 3] {
                for spines in [1, 2, 6] {
                    let sizes =
                        format!("pods={pods}\ntors={tors}\nleaves={leaves}\nspines={spines}");
                    compare(&format!("kind='clos'\n{sizes}\nhosts=2"));
                }
            }
        }
    }
}

#[test]
fn of_fat_trees_up_to_16_ports() {
    for k in (2..=16).step_by(2) {
        compare(&format!("kind='fat-tree'\nk={k}"));
    }
}

#[test]
fn for_any_number_of_bounces() {
    for bounces in 0..=4 {
        let network = generated("kind='fat-tree'\nk=6");
        let spec = path_spec(&format!("kind='up-down'\nbounces={bounces}"));
        let paths = PathSet::build(&network, &spec).unwrap();
        let options =
            Options { algorithm: Algorithm::UpDown, lossless_max: 7, budget: Budget::Work };
        let compiled = compile(&network, &paths, &options, &|_| {}).unwrap();
        assert_eq!(compiled.lossless_priorities, usize::from(bounces) + 1);
        check(&network, &compiled.rules, bounces, &format!("{bounces} bounces"));
    }
}

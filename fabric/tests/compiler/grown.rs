//! Networks that grow: who keeps its rules, against every rule that new switches could have.

use crate::oracle::{Case, walk};
use crate::slow_proof::has_cycle;
use crate::support::{linked, listed, shortest_without};
use dataplane::ids::{PortId, Tag};
use dataplane::rules::{PortSet, TagMatch, TcamEntry};
use fabric::compile::{
    Algorithm, Budget, Compiled, Grown, Options, Reason, compile, compile_keeping,
};
use fabric::{Network, RuleSet};
use random::{Draw, SplitMix64};

const OPTIONS: Options =
    Options { algorithm: Algorithm::UpDown, lossless_max: 7, budget: Budget::Work };

fn compiled(case: &Case) -> Compiled {
    compile(&case.network, &case.paths, &OPTIONS, &|_| {}).unwrap()
}

/// The old rules of the switches of `network` that have a name of `before`.
fn known(network: &Network, before: &[RuleSet]) -> Vec<Option<RuleSet>> {
    let named = |name: &str| before.iter().find(|rules| rules.switch == name).cloned();
    network.all_switches().map(|switch| named(network.switch_name(switch))).collect()
}

/// Compiles for the network after it has grown, and checks all that is claimed.
fn grown(before: &[RuleSet], after: &Case) -> Grown {
    let old = known(&after.network, before);
    let found =
        compile_keeping(&after.network, &after.paths, &OPTIONS, old.clone(), &|_| {}).unwrap();
    let rules = &found.compiled.rules;
    assert!(!has_cycle(&after.network, rules));
    let (paths, lossless) = walk(after, rules);
    let verdict = &found.compiled.verdict;
    assert_eq!(paths == lossless, verdict.paths == verdict.lossless_paths);
    assert_eq!(lossless, walk(after, &compiled(after).rules).1, "no path is given up");
    for (switch, old) in (0..).zip(&old) {
        let is_changed = found.changes.iter().any(|change| change.switch == switch);
        if let Some(old) = old {
            assert_eq!(*old != rules[switch as usize], is_changed, "{}", old.switch);
        } else {
            assert!(!is_changed, "a new switch does not change");
        }
    }
    found
}

fn tree(k: usize, pods: usize, bounces: usize) -> Case {
    let topology = format!("kind = 'fat-tree'\nk = {k}\npods = {pods}");
    Case::new(&topology, &format!("kind = 'up-down'\nbounces = {bounces}"))
}

/// Tagger, VI-C: "none of the older switches need any rule changes".
#[test]
fn new_pods_leave_the_rules_of_all_old_switches_as_they_are() {
    for (k, bounces) in [(4, 0), (4, 1), (4, 2), (6, 1)] {
        let mut before = compiled(&tree(k, 2, bounces)).rules;
        for pods in 3..=k {
            let after = tree(k, pods, bounces);
            let found = grown(&before, &after);
            assert_eq!(found.changes, [], "{k} ports, {pods} pods, {bounces} bounces");
            before = found.compiled.rules;
        }
    }
}

#[test]
fn a_switch_with_more_ports_changes_and_says_so() {
    let small = Case::new("kind = 'clos'\nleaves = 3\nspines = 2", "kind = 'up-down'");
    let large = Case::new("kind = 'clos'\nleaves = 4\nspines = 2", "kind = 'up-down'");
    let found = grown(&compiled(&small).rules, &large);
    let spines: Vec<&str> =
        found.changes.iter().map(|change| large.network.switch_name(change.switch)).collect();
    assert_eq!(spines, ["S1", "S2"]);
    assert!(found.changes.iter().all(|change| change.reason == Reason::Ports { before: 3 }));
}

#[test]
fn where_more_tags_are_needed_every_switch_changes() {
    let before = tree(4, 2, 0);
    let after = tree(4, 3, 1);
    let found = grown(&compiled(&before).rules, &after);
    assert_eq!(found.changes.len(), before.network.switches());
    assert!(found.changes.iter().all(|change| change.reason == Reason::Tags));
}

/// A random network before and after it grew by a switch with two or three links, with shortest
/// paths and those around a link that fails.
fn growth(rng: &mut SplitMix64) -> (Case, Case) {
    let switches = 4 + rng.index(2);
    let mut links: Vec<[usize; 2]> = (0..switches).map(|at| [at, (at + 1) % switches]).collect();
    let chord = [rng.index(switches), rng.index(switches)];
    if (chord[0] + 1) % switches != chord[1] && (chord[1] + 1) % switches != chord[0] {
        links.extend((chord[0] != chord[1]).then_some(chord));
    }
    let joined = 2 + rng.index(2);
    let first = rng.index(switches);
    let new: Vec<[usize; 2]> = (0..joined).map(|at| [(first + at) % switches, switches]).collect();
    let all: Vec<[usize; 2]> = links.iter().chain(&new).copied().collect();
    // Switches have free ports from the beginning, so that growth does not change their number.
    let case = |switches: usize, links: &[[usize; 2]]| {
        let network = linked(switches, links, all.len() + 1);
        let mut paths = shortest_without(&network, None);
        for switch in network.all_switches() {
            let channels: Vec<(u32, u32)> = network.neighbors(switch).collect();
            for channel in channels.into_iter().take(1) {
                paths.extend(shortest_without(&network, Some(channel)));
            }
        }
        paths.sort_unstable();
        paths.dedup();
        let paths = listed(&network, &paths);
        Case { network, paths }
    };
    (case(switches, &links), case(switches + 1, &all))
}

/// Every way in which the last switch can keep and raise tags on turns between its links, all other
/// switches as in `old`: whether one of them is right. A tag that rises beyond the last is lossy.
fn some_rules_do(after: &Case, old: &[Option<RuleSet>], wanted: u64) -> bool {
    let network = &after.network;
    let new = u32::try_from(network.switches()).unwrap() - 1;
    let links: Vec<PortId> = network.neighbors(new).map(|(slot, _)| network.port(slot)).collect();
    let turns: Vec<(PortId, PortId)> = links
        .iter()
        .flat_map(|&input| links.iter().map(move |&output| (input, output)))
        .filter(|(input, output)| input != output)
        .collect();
    let tags: Vec<Tag> = old[0].as_ref().unwrap().priorities.keys().copied().collect();
    let set = |port: PortId| -> PortSet { std::iter::once(port).collect() };
    (0..1_u64 << (turns.len() * tags.len())).any(|choice| {
        let mut entries = Vec::new();
        for (at, &tag) in tags.iter().enumerate() {
            for (number, &(input, output)) in turns.iter().enumerate() {
                let raises = choice >> (at * turns.len() + number) & 1 == 1;
                let raised = tags.get(at + 1).copied().unwrap_or_default();
                entries.push(TcamEntry {
                    tag: TagMatch::exactly(tag),
                    in_ports: set(input),
                    out_ports: set(output),
                    new_tag: if raises { raised } else { tag },
                });
            }
            // From and to hosts a tag is kept; a frame never turns back.
            let hosts: PortSet =
                network.host_slots_of(new).map(|slot| network.port(slot)).collect();
            let all: PortSet = links.iter().copied().chain(hosts.iter()).collect();
            for (in_ports, out_ports) in [(hosts, all), (all, hosts)] {
                entries.push(TcamEntry {
                    tag: TagMatch::exactly(tag),
                    in_ports,
                    out_ports,
                    new_tag: tag,
                });
            }
        }
        let mut rules: Vec<RuleSet> = old.iter().flatten().cloned().collect();
        let switch = network.switch_name(new).to_owned();
        rules.push(RuleSet { switch, ports: network.ports(new), entries, ..rules[0].clone() });
        !has_cycle(network, &rules) && walk(after, &rules).1 >= wanted
    })
}

/// Where some rules of the new switch let all others keep theirs, they are found, but for a few:
/// the search takes turns one by one and never back.
#[test]
fn nothing_changes_where_nothing_must() {
    let mut rng = random::seeded(3);
    let (mut possible, mut found_too) = (0, 0);
    for case in 0..60 {
        let (before, after) = growth(&mut rng);
        let old = compiled(&before).rules;
        let found = grown(&old, &after);
        let may_all_stay = {
            let known = known(&after.network, &old);
            let ports_stay = (0..).zip(&known).all(|(switch, rules)| {
                rules.as_ref().is_none_or(|rules| rules.ports == after.network.ports(switch))
            });
            assert!(ports_stay, "case {case}");
            some_rules_do(&after, &known, walk(&after, &found.compiled.rules).1)
        };
        assert!(may_all_stay || !found.changes.is_empty(), "case {case}: the oracle missed it");
        possible += u32::from(may_all_stay);
        found_too += u32::from(may_all_stay && found.changes.is_empty());
        for change in &found.changes {
            assert!(
                matches!(change.reason, Reason::Cycle(_) | Reason::Lossy(_) | Reason::Tags),
                "case {case}: {change:?}"
            );
        }
    }
    println!("possible in {possible} of 60, found in {found_too}");
    assert!(possible >= 10, "{possible} of 60 cases tell something");
    assert!(found_too * 100 >= possible * 95, "{found_too} of {possible}");
}

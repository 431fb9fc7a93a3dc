//! Several application classes (Tagger, VI-A): how many tags they need, and why Tagger's printed
//! M + N - 1 is one too few.

use crate::oracle::Case;
use crate::slow_proof::{answer, has_cycle};
use agents::lldp::PortRole;
use dataplane::ids::{Priority, Tag};
use dataplane::rules::{PortSet, TagMatch, TcamEntry};
use fabric::compile::{Algorithm, Budget, Options, compile, port_roles};
use fabric::paths::{Turn, Walks};
use fabric::verify::{NetworkRules, Verdict, verify, verify_rules};
use fabric::{Network, RuleSet};
use std::ops::ControlFlow;

const LEAF_SPINE: &str = "kind = 'clos'\nleaves = 3\nspines = 2\nhosts = 1";
const PODS: &str = "kind = 'clos'\npods = 2\ntors = 2\nleaves = 2\nspines = 2\nhosts = 2";

fn tag(value: usize) -> Tag {
    Tag::new(u8::try_from(value).unwrap()).unwrap()
}

fn switches(network: &Network) -> std::ops::Range<u32> {
    0..u32::try_from(network.switches()).unwrap()
}

/// By switch: how many links it is away from a switch with hosts.
fn levels(network: &Network) -> Vec<u32> {
    let neighbors = |switch| network.neighbors(switch).map(|(_, far)| network.owner(far) as usize);
    let links = |switch: u32| network.neighbors(switch).count();
    let linked = |switch: u32| {
        network.slots_of(switch).filter(|&slot| network.peer(slot) != fabric::network::Peer::None)
    };
    let mut levels: Vec<u32> = switches(network)
        .map(|switch| if linked(switch).count() > links(switch) { 0 } else { u32::MAX })
        .collect();
    for level in 0..3 {
        for switch in switches(network) {
            let is_open = levels[switch as usize] == u32::MAX;
            if is_open && neighbors(switch).any(|far| levels[far] == level) {
                levels[switch as usize] = level + 1;
            }
        }
    }
    levels
}

/// Tagger's own scheme for Clos networks (section IV-C) with `tags` tags: one more at each turn
/// from down to up. The classes start with the tags from 1 on.
fn tagger_scheme(network: &Network, tags: u8, classes: usize) -> Vec<RuleSet> {
    let levels = levels(network);
    let role = |slot: u32| match network.far_slot(slot) {
        Some(far) if levels[network.owner(far) as usize] > levels[network.owner(slot) as usize] => {
            PortRole::Uplink
        }
        _ => PortRole::Downlink,
    };
    let rules = switches(network).map(|switch| {
        let roles: Vec<PortRole> = network.slots_of(switch).map(role).collect();
        let rules = port_roles::rules(network.switch_name(switch), &roles, tags - 1);
        RuleSet { initial_tags: (1..=classes).map(tag).collect(), ..rules }
    });
    rules.collect()
}

/// How often a path turns from down to up.
fn bounces(network: &Network, turns: &[Turn]) -> usize {
    let levels = levels(network);
    let level = |slot| levels[network.owner(slot) as usize];
    let ups: Vec<bool> = turns
        .iter()
        .filter_map(|&(_, output)| Some(level(network.far_slot(output)?) > level(output)))
        .collect();
    ups.windows(2).filter(|two| !two[0] && two[1]).count()
}

fn verdict(case: &Case, rules: Vec<RuleSet>) -> Verdict {
    assert!(!has_cycle(&case.network, &rules));
    let rules = NetworkRules::new(&case.network, rules).unwrap();
    verify(&case.network, &rules, &case.paths)
}

#[test]
fn under_tagger_s_scheme_m_bounces_and_n_classes_take_m_plus_n_tags() {
    for topology in [LEAF_SPINE, PODS] {
        for (m, n) in (0..=2_u8).flat_map(|m| (1..=3_u8).map(move |n| (m, n))) {
            let paths = format!("kind = 'up-down'\nbounces = {m}\nclasses = {n}");
            let case = Case::new(topology, &paths);
            let classes = usize::from(n);
            let enough = verdict(&case, tagger_scheme(&case.network, m + n, classes));
            assert!(enough.classes.iter().all(|class| class.lossless_paths == class.paths));
            if m + n == 1 {
                continue;
            }
            // The counterexample to M + N - 1: the last class, on a path with M bounces.
            let printed = verdict(&case, tagger_scheme(&case.network, m + n - 1, classes));
            let (last, others) = printed.classes.split_last().unwrap();
            assert!(last.lossless_paths < last.paths, "{topology}, M = {m}, N = {n}");
            assert!(others.iter().all(|class| class.lossless_paths == class.paths));
            for path in &printed.lossy {
                assert_eq!(path.class, n - 1);
                assert_eq!(bounces(&case.network, &path.turns), usize::from(m));
            }
        }
    }
}

/// A switch's rules that keep the tag on every turn but these, and give no turn straight back.
fn keep_but(network: &Network, switch: u32, bounced: &[(Tag, Turn, Tag)], tags: usize) -> RuleSet {
    let ports = |slots: &mut dyn Iterator<Item = u32>| -> PortSet {
        slots.map(|slot| network.port(slot)).collect()
    };
    let one = |slot: u32| ports(&mut [slot].into_iter());
    let all = ports(&mut network.slots_of(switch));
    let exact = bounced.iter().map(|&(tag, (input, output), new_tag)| TcamEntry {
        tag: TagMatch::exactly(tag),
        in_ports: one(input),
        out_ports: one(output),
        new_tag,
    });
    let any_tag = TagMatch { value: 0, mask: 0 };
    let back = network.slots_of(switch).map(|slot| TcamEntry {
        tag: any_tag,
        in_ports: one(slot),
        out_ports: one(slot),
        new_tag: Tag::default(),
    });
    let keep = (1..=tags).map(|value| TcamEntry {
        tag: TagMatch::exactly(tag(value)),
        in_ports: all,
        out_ports: all,
        new_tag: tag(value),
    });
    RuleSet {
        switch: network.switch_name(switch).to_owned(),
        ports: network.ports(switch),
        lossy_tag: Tag::default(),
        initial_tag: tag(1),
        initial_tags: Vec::new(),
        priorities: (1..=tags).map(tag).zip(Priority::all().skip(1)).collect(),
        entries: exact.chain(back).chain(keep).collect(),
    }
}

/// The turns of a leaf from one spine to another.
fn bounce_turns(network: &Network) -> Vec<Turn> {
    let levels = levels(network);
    let leaves = switches(network).filter(|&switch| levels[switch as usize] == 0);
    let turns = leaves.flat_map(|leaf| {
        let up = move || network.neighbors(leaf).map(|(slot, _)| slot);
        up().flat_map(move |input| up().map(move |output| (input, output)))
    });
    turns.filter(|(input, output)| input != output).collect()
}

/// The rule sets of a leaf-spine network with `tags` tags that keep all paths of one bounce
/// lossless, in every class, where the frames of class i have tag i until they bounce: after that
/// only the answers to bounces are free. How many there are, and how many of them have no cycle.
fn exhaustive(tags: usize) -> (u64, u64) {
    let network = Case::new(LEAF_SPINE, "kind = 'up-down'").network;
    let turns = bounce_turns(&network);
    let cells: Vec<(Tag, Turn)> =
        (1..=tags).flat_map(|value| turns.iter().map(move |&turn| (tag(value), turn))).collect();
    let count = (tags as u64).pow(u32::try_from(cells.len()).unwrap());
    let mut free_of_cycles = 0;
    for number in 0..count {
        let mut digits = number;
        let mut answer = || {
            let digit = digits % tags as u64;
            digits /= tags as u64;
            tag(usize::try_from(digit).unwrap() + 1)
        };
        let answered: Vec<(Tag, Turn, Tag)> =
            cells.iter().map(|&(tag, turn)| (tag, turn, answer())).collect();
        let rules = switches(&network).map(|switch| {
            let own = answered.iter().filter(|(_, (input, _), _)| network.owner(*input) == switch);
            keep_but(&network, switch, &own.copied().collect::<Vec<_>>(), tags)
        });
        let rules = NetworkRules::new(&network, rules.collect()).unwrap();
        free_of_cycles += u64::from(verify_rules(&network, &rules).is_empty());
    }
    (count, free_of_cycles)
}

#[test]
fn no_rules_at_all_do_with_m_plus_n_minus_1_for_one_bounce_and_one_or_two_classes() {
    assert_eq!(exhaustive(1), (1, 0), "M = 1, N = 1 in one tag");
    assert_eq!(exhaustive(2), (4_096, 0), "M = 1, N = 2 in two tags");
}

/// Every path of every class, one after the other, and whether it is lossless.
fn all_lossless(case: &Case, rules: &[RuleSet]) -> bool {
    let network = &case.network;
    (0..case.paths.classes()).all(|class| {
        let own = case.paths.of_class(class);
        let walks = Walks::grouped(network, &own, |slot| slot);
        let start = match &rules[0].initial_tags[..] {
            [] => rules[0].initial_tag,
            tags => tags[usize::from(class)],
        };
        let walked = walks.visit(0, &mut |turns| {
            let mut tag = start;
            let kept = turns.iter().all(|&(input, output)| {
                tag = answer(network, rules, input, output, tag);
                tag != rules[0].lossy_tag
            });
            if kept { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        walked.is_continue()
    })
}

#[test]
fn classes_that_tolerate_fewer_bounces_save_tags() {
    for (bounces, priorities, initial_tags) in [
        ("[1, 1]", 3, vec![1, 2]),
        ("[1, 0]", 2, vec![1, 2]),
        ("[0, 1]", 2, vec![2, 1]),
        ("[0, 1, 0]", 3, vec![2, 1, 3]),
        ("[1]", 2, vec![]),
    ] {
        for topology in [LEAF_SPINE, PODS] {
            let case = Case::new(topology, &format!("class_bounces = {bounces}"));
            let options =
                Options { algorithm: Algorithm::UpDown, lossless_max: 7, budget: Budget::Work };
            let compiled = compile(&case.network, &case.paths, &options, &|_| {}).unwrap();
            let initial: Vec<Tag> = initial_tags.iter().map(|&value| tag(value)).collect();
            assert_eq!(compiled.rules[0].initial_tags, initial, "{bounces}");
            assert_eq!(compiled.lossless_priorities, priorities, "{topology}, {bounces}");
            assert!(all_lossless(&case, &compiled.rules), "{topology}, {bounces}");
            assert!(!has_cycle(&case.network, &compiled.rules), "{topology}, {bounces}");
            let classes = &compiled.verdict.classes;
            assert!(classes.iter().all(|class| class.lossless_paths == class.paths));
        }
    }
}

#[test]
fn the_paths_of_a_class_are_those_with_its_own_bounces() {
    let case = Case::new(PODS, "class_bounces = [0, 2]");
    let options = Options { algorithm: Algorithm::UpDown, lossless_max: 7, budget: Budget::Work };
    let compiled = compile(&case.network, &case.paths, &options, &|_| {}).unwrap();
    let count = |bounces: u8| {
        let paths = Case::new(PODS, &format!("kind = 'up-down'\nbounces = {bounces}")).paths;
        Walks::alike(&case.network, &paths).count()
    };
    let paths: Vec<u64> = compiled.verdict.classes.iter().map(|class| class.paths).collect();
    assert_eq!(paths, [count(0), count(2)]);
}

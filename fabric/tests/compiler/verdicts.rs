//! What `verify` says of rules of any origin.

use crate::oracle::Case;
use crate::slow_proof::has_cycle;
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::rules::{PortSet, TagMatch, TcamEntry};
use fabric::RuleSet;
use fabric::verify::{NetworkRules, dot, show_path, verify};

fn tag(value: u8) -> Tag {
    Tag::new(value).unwrap()
}

fn all(ports: usize) -> PortSet {
    (0..ports).filter_map(PortId::from_index).collect()
}

/// Rules that keep a tag everywhere: plain PFC.
fn keep_all(case: &Case) -> Vec<RuleSet> {
    (0..u32::try_from(case.network.switches()).unwrap())
        .map(|switch| {
            let ports = case.network.ports(switch);
            let entry = TcamEntry {
                tag: TagMatch::exactly(tag(1)),
                in_ports: all(ports),
                out_ports: all(ports),
                new_tag: tag(1),
            };
            RuleSet {
                switch: case.network.switch_name(switch).to_owned(),
                ports,
                lossy_tag: tag(0),
                initial_tag: tag(1),
                initial_tags: Vec::new(),
                priorities: [(tag(1), Priority::new(1).unwrap())].into(),
                entries: vec![entry],
            }
        })
        .collect()
}

#[test]
fn plain_pfc_has_a_knot_of_two_where_u_turns_are_allowed() {
    let case = Case::triangle();
    let rules = NetworkRules::new(&case.network, keep_all(&case)).unwrap();
    let verdict = verify(&case.network, &rules, &case.paths);
    assert!(!verdict.is_deadlock_free());
    assert_eq!(verdict.cycle.len(), 2, "there and back over one link: {:?}", verdict.cycle);
    assert_eq!(verdict.lossless_paths, 12, "lossless, but not free of deadlock");
}

#[test]
fn without_u_turns_the_triangle_itself_is_the_shortest_knot() {
    let case = Case::triangle();
    let mut rules = keep_all(&case);
    for set in &mut rules {
        let no_turn = set.entries[0];
        let u_turns = (0..set.ports).filter_map(PortId::from_index).map(|port| TcamEntry {
            in_ports: [port].into_iter().collect(),
            out_ports: [port].into_iter().collect(),
            new_tag: tag(0),
            ..no_turn
        });
        set.entries = u_turns.chain([no_turn]).collect();
    }
    assert!(has_cycle(&case.network, &rules));
    let rules = NetworkRules::new(&case.network, rules).unwrap();
    let cycle = verify(&case.network, &rules, &case.paths).cycle;
    let shown: Vec<String> = cycle.iter().map(|hop| case.network.show(hop.input)).collect();
    assert_eq!(cycle.len(), 3, "{shown:?}");
    for (hop, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        assert_eq!(case.network.far_slot(hop.output), Some(next.input), "{shown:?}");
        assert_eq!(hop.new_tag, next.tag);
    }
    let drawn = dot(&case.network, &cycle);
    assert!(drawn.starts_with("digraph") && drawn.matches(" -> ").count() == 3, "{drawn}");
}

#[test]
fn tags_that_share_a_priority_share_their_buffers() {
    // Two tags that alternate would be acyclic as tags, and are not as buffers.
    let case = Case::triangle();
    let mut rules = keep_all(&case);
    for (at, set) in rules.iter_mut().enumerate() {
        set.priorities =
            [(tag(1), Priority::new(1).unwrap()), (tag(2), Priority::new(1).unwrap())].into();
        let (from, to) = if at == 0 { (1, 2) } else { (2, 2) };
        set.entries[0].tag = TagMatch::exactly(tag(from));
        set.entries[0].new_tag = tag(to);
    }
    let same = NetworkRules::new(&case.network, rules.clone()).unwrap();
    assert!(!verify(&case.network, &same, &case.paths).is_deadlock_free());
    for set in &mut rules {
        set.priorities.insert(tag(2), Priority::new(2).unwrap());
    }
    // With priorities of their own only B and C still pass tag 2 on between them.
    let apart = NetworkRules::new(&case.network, rules.clone()).unwrap();
    let verdict = verify(&case.network, &apart, &case.paths);
    assert_eq!(verdict.is_deadlock_free(), !has_cycle(&case.network, &rules));
    assert!(verdict.lossless_paths < verdict.paths);
    let path = &verdict.lossy[0];
    assert!(show_path(&case.network, &path.turns).split(' ').count() >= 4);
}

#[test]
fn rules_that_contradict_each_other_are_refused() {
    let case = Case::triangle();
    let refused = |change: fn(&mut RuleSet)| {
        let mut rules = keep_all(&case);
        change(&mut rules[1]);
        NetworkRules::new(&case.network, rules).unwrap_err()
    };
    let (switch, message) = refused(|set| set.ports = 3);
    assert_eq!((switch, message.as_str()), (1, "`ports` is 3; `B` has 4 in the network"));
    assert!(refused(|set| set.switch = "X".into()).1.contains("these are the rules of `X`"));
    assert!(refused(|set| set.lossy_tag = tag(5)).1.contains("`lossy_tag` is 5, and 0 at `A`"));
    let other = |set: &mut RuleSet| {
        set.priorities.insert(tag(1), Priority::new(3).unwrap());
    };
    assert!(refused(other).1.contains("a pause would stop the wrong queue"));
}

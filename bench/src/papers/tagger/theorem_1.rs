//! Theorem 1: a tag system without a cycle within a tag and without a falling tag is free of
//! deadlock. Random tag systems, good and bad, judged by a slow search for cycles and by the
//! verifier.

use super::PAPER;
use super::compiled::Case;
use crate::row::{Row, Verdict};
use dataplane::ids::{Priority, Tag};
use dataplane::rules::{PortSet, TagMatch, TcamEntry};
use fabric::verify::{NetworkRules, verify_rules};
use fabric::{Network, RuleSet};
use random::{Draw, SplitMix64};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

/// Tag systems that are drawn.
const SYSTEMS: u64 = 2_000;
/// Lossless tags.
const TAGS: u8 = 3;

/// A node of the tagged graph: the slot that a frame comes in by, and its tag.
type Node = (u32, u8);
type Edges = BTreeMap<Node, BTreeSet<Node>>;

/// How the systems came out.
#[derive(Debug, Default)]
struct Counts {
    /// Meet both requirements.
    meet: usize,
    /// Of those, free of cycles by the search.
    meet_and_free: usize,
    /// Have a cycle.
    cyclic: usize,
    /// Judged alike by the verifier and the search.
    agreed: usize,
}

/// The row.
pub(super) fn row() -> Result<Row, Box<dyn Error>> {
    let counts = count(SYSTEMS)?;
    let Counts { meet, meet_and_free, cyclic, agreed } = counts;
    let ours = format!(
        "{meet} of {SYSTEMS} random systems meet both, {meet_and_free} of them are acyclic; \
         {cyclic} systems have cycles; the verifier agrees on {agreed}"
    );
    let paper = "no cycle within a tag, no falling tag: no deadlock";
    Ok(Row::new(PAPER, "Theorem 1", paper, ours, verdict(&counts, SYSTEMS)))
}

fn verdict(counts: &Counts, systems: u64) -> Verdict {
    let is_proven = counts.meet == counts.meet_and_free && counts.agreed as u64 == systems;
    let is_tested = counts.meet >= 100 && counts.cyclic >= 100;
    Verdict::holds_if(is_proven && is_tested, "a counterexample, or too few of either kind")
}

fn count(systems: u64) -> Result<Counts, Box<dyn Error>> {
    let case = Case::parse("[generate]\nkind = 'hyperx'\nshape = [4]\nhosts = 1\n")?;
    let mut counts = Counts::default();
    for seed in 0..systems {
        let mut rng = random::seeded(seed);
        let sets = draw(&case.network, &mut rng);
        let edges = edges(&case.network, &sets);
        let is_free = !has_cycle(&edges, &|_, _| true);
        let within = has_cycle(&edges, &|one, other| one == other);
        let falls = edges.iter().any(|(from, to)| to.iter().any(|to| to.1 < from.1));
        let meets = !within && !falls;
        let rules = NetworkRules::new(&case.network, sets)
            .map_err(|(switch, why)| format!("switch {switch}: {why}"))?;
        counts.meet += usize::from(meets);
        counts.meet_and_free += usize::from(meets && is_free);
        counts.cyclic += usize::from(!is_free);
        counts.agreed += usize::from(verify_rules(&case.network, &rules).is_empty() == is_free);
    }
    Ok(counts)
}

/// Each turn and tag: lossy, or a random new tag, in a third of the systems a lower one too.
fn draw(network: &Network, rng: &mut SplitMix64) -> Vec<RuleSet> {
    let may_fall = rng.one_in(3);
    let lossy_share = 2 + rng.below(8);
    let tags = || (1..=TAGS).map(Tag::from_low_bits);
    let priorities: BTreeMap<Tag, Priority> =
        tags().map(|tag| (tag, Priority::from_low_bits(tag.value()))).collect();
    let mut sets = Vec::new();
    for switch in network.all_switches() {
        let mut entries = Vec::new();
        for (input, output) in network
            .slots_of(switch)
            .flat_map(|input| network.slots_of(switch).map(move |output| (input, output)))
            .filter(|(input, output)| input != output)
        {
            for tag in tags() {
                if !rng.one_in(10) && rng.below(10) < lossy_share {
                    continue;
                }
                let least = if may_fall { 1 } else { u64::from(tag.value()) };
                let new_tag = rng.between(least, u64::from(TAGS));
                entries.push(TcamEntry {
                    tag: TagMatch { value: tag.value(), mask: 63 },
                    in_ports: PortSet::from_iter([network.port(input)]),
                    out_ports: PortSet::from_iter([network.port(output)]),
                    new_tag: Tag::from_low_bits(u8::try_from(new_tag).unwrap_or(TAGS)),
                });
            }
        }
        sets.push(RuleSet {
            switch: network.switch_name(switch).to_owned(),
            ports: network.ports(switch),
            lossy_tag: Tag::default(),
            initial_tag: Tag::from_low_bits(1),
            initial_tags: Vec::new(),
            priorities: priorities.clone(),
            entries,
        });
    }
    sets
}

/// The tagged graph, as section V defines it: from each ingress port and tag to the next.
fn edges(network: &Network, sets: &[RuleSet]) -> Edges {
    let mut edges = Edges::new();
    for (switch, set) in network.all_switches().zip(sets) {
        for entry in &set.entries {
            for (input, output) in entry
                .in_ports
                .iter()
                .flat_map(|input| entry.out_ports.iter().map(move |output| (input, output)))
            {
                let (input, output) = (network.slot(switch, input), network.slot(switch, output));
                let far = output.and_then(|output| network.far_slot(output));
                if let (Some(input), Some(far)) = (input, far) {
                    let (from, to) = ((input, entry.tag.value), (far, entry.new_tag.value()));
                    edges.entry(from).or_default().insert(to);
                }
            }
        }
    }
    edges
}

/// Whether edges between tags that `counts` accepts close a cycle: nodes without a way on are taken
/// away until none is left to take.
fn has_cycle(edges: &Edges, counts: &dyn Fn(u8, u8) -> bool) -> bool {
    let mut left: Vec<(Node, Node)> = edges
        .iter()
        .flat_map(|(&from, to)| to.iter().map(move |&to| (from, to)))
        .filter(|(from, to)| counts(from.1, to.1))
        .collect();
    loop {
        let sources: BTreeSet<Node> = left.iter().map(|edge| edge.0).collect();
        let before = left.len();
        left.retain(|(_, to)| sources.contains(to));
        if left.len() == before {
            return before > 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_random_systems_hold_and_a_counterexample_fails() {
        let counts = count(300).unwrap();
        assert_eq!((counts.meet, counts.agreed), (counts.meet_and_free, 300), "{counts:?}");
        assert!(counts.meet > 0 && counts.cyclic > 0, "{counts:?}");
        let good = Counts { meet: 200, meet_and_free: 200, cyclic: 200, agreed: 500 };
        assert_eq!(verdict(&good, 500), Verdict::Holds);
        assert!(verdict(&Counts { meet_and_free: 199, ..good }, 500).is_failure());
        let good = Counts { meet: 200, meet_and_free: 200, cyclic: 200, agreed: 499 };
        assert!(verdict(&good, 500).is_failure());
    }

    #[test]
    fn the_search_finds_a_cycle_and_its_absence() {
        let graph = |pairs: &[(Node, Node)]| {
            let mut edges = Edges::new();
            pairs.iter().for_each(|&(from, to)| {
                edges.entry(from).or_default().insert(to);
            });
            edges
        };
        let all = |_, _| true;
        assert!(!has_cycle(&graph(&[((1, 1), (2, 1)), ((2, 1), (3, 2))]), &all));
        let cycle = graph(&[((1, 1), (2, 2)), ((2, 2), (1, 1))]);
        assert!(has_cycle(&cycle, &all));
        assert!(!has_cycle(&cycle, &|one, other| one == other));
    }
}

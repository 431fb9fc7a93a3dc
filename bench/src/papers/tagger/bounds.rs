//! Section V-C: the bounds on tags and rules.

use super::PAPER;
use super::compiled::{Case, is_whole};
use crate::row::{Row, Verdict};
use fabric::compile::{Algorithm, Compiled, tcam};
use fabric::paths::Walks;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::error::Error;
use std::ops::ControlFlow;

/// Random networks that are looked at.
const NETWORKS: usize = 20;

/// What the bound is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound {
    /// The largest tag of Algorithm 1 that a switch sees: hops of the longest path.
    tags_max: usize,
    /// Ingress ports of the shortest cycle in the dependencies of the paths; `None` without one.
    cycle: Option<usize>,
    /// Tags that Algorithm 2 uses.
    tags: usize,
}

impl Bound {
    fn of(case: &Case) -> Result<Self, Box<dyn Error>> {
        let (tags_max, cycle) = dependencies(case);
        let compiled = case.compile(Algorithm::Greedy)?;
        if !is_whole(&compiled) {
            return Err("Algorithm 2 leaves a path lossy".into());
        }
        Ok(Self { tags_max, cycle, tags: compiled.lossless_priorities })
    }

    /// ceil(T / l), where l is one less than the shortest cycle; 1 without a cycle.
    fn printed(&self) -> usize {
        self.cycle.map_or(1, |cycle| self.tags_max.div_ceil(cycle - 1))
    }
}

/// Hops of the longest path, and ingress ports of the shortest cycle that paths close: every path
/// walked, and a search from every port.
fn dependencies(case: &Case) -> (usize, Option<usize>) {
    let mut after: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut longest = 0;
    let _all_were_seen = Walks::alike(&case.network, &case.paths).visit(0, &mut |turns| {
        longest = longest.max(turns.len());
        for pair in turns.windows(2) {
            after.entry(pair[0].0).or_default().insert(pair[1].0);
        }
        ControlFlow::Continue(())
    });
    let cycle = after.keys().filter_map(|&port| back_to(port, &after)).min();
    (longest, cycle)
}

/// Steps of the shortest way from `port` back to itself.
fn back_to(port: u32, after: &BTreeMap<u32, BTreeSet<u32>>) -> Option<usize> {
    let mut seen = BTreeSet::new();
    let mut frontier = VecDeque::from([(port, 0)]);
    while let Some((at, steps)) = frontier.pop_front() {
        for &next in after.get(&at).into_iter().flatten() {
            if next == port {
                return Some(steps + 1);
            }
            if seen.insert(next) {
                frontier.push_back((next, steps + 1));
            }
        }
    }
    None
}

/// A ring of switches with a host each, and the shortest paths.
fn ring(switches: usize) -> Result<Case, Box<dyn Error>> {
    let mut text = String::from("[paths]\nkind = 'shortest-trees'\n");
    for at in 0..switches {
        let next = (at + 1) % switches;
        text += &format!(
            "[[switch]]\nname = 'S{at}'\nports = 3\n[[host]]\nname = 'H{at}'\n\
             [[link]]\nends = ['S{at}:1', 'S{next}:2']\n[[link]]\nends = ['S{at}:3', 'H{at}']\n"
        );
    }
    Case::parse(&text)
}

/// ceil(T / l) tags: false as printed. In a ring of five, paths of two links close a cycle of five
/// ports: T = 3, l = 4, and one tag is a cycle.
pub(super) fn tags() -> Result<Row, Box<dyn Error>> {
    let counterexample = Bound::of(&ring(5)?)?;
    let mut beyond = 0;
    let mut is_below_t = counterexample.tags <= counterexample.tags_max;
    for seed in 1..=NETWORKS {
        let case = Case::parse(&format!(
            "[generate]\nkind = 'jellyfish'\nswitches = 20\nports = 5\nnetwork_ports = 3\n\
             seed = {seed}\n[paths]\nkind = 'shortest-trees'\n"
        ))?;
        let bound = Bound::of(&case)?;
        beyond += usize::from(bound.tags > bound.printed());
        is_below_t &= bound.tags <= bound.tags_max;
    }
    let Bound { tags_max, tags, .. } = counterexample;
    let cycle = counterexample.cycle.unwrap_or(0);
    let printed = counterexample.printed();
    let ours = format!(
        "ring of 5: T = {tags_max}, cycle of {cycle} ports, bound {printed}, {tags} tags; beyond \
         the bound in {beyond} of {NETWORKS} Jellyfish networks, beyond T in none"
    );
    let is_refuted = (tags_max, cycle, printed, tags) == (3, 5, 1, 2);
    let verdict = Verdict::differs_if(
        is_refuted && is_below_t,
        "false as printed: paths of two links close a cycle of any length; T is a bound",
        "the ring does not refute it, or Algorithm 2 uses more than T tags",
    );
    Ok(Row::new(PAPER, "V-C: bound on tags", "ceil(T / l), no cycle of l or fewer", ours, verdict))
}

/// BCube of k levels needs k tags: all shortest paths, which correct the digits in any order. With
/// the `k` shortest loop-free paths of each pair, which can be longer, Algorithm 2 needs one more
/// in small networks; with one path for each pair, one tag suffices.
pub(super) fn bcube(levels_max: usize) -> Result<Row, Box<dyn Error>> {
    let mut texts = Vec::new();
    let mut is_it = true;
    for levels in 1..=levels_max {
        let case = Case::parse(&format!(
            "[generate]\nkind = 'bcube'\nn = 3\nk = {}\n[paths]\nkind = 'shortest'\n",
            levels - 1
        ))?;
        let [greedy, ours] = [Algorithm::Greedy, Algorithm::UpDown].map(|of| case.compile(of));
        let (greedy, ours) = (greedy?, ours?);
        let [of_greedy, of_ours] = [&greedy, &ours].map(|of| of.lossless_priorities);
        is_it &= is_whole(&greedy) && is_whole(&ours) && of_greedy == levels && of_ours <= levels;
        texts.push(format!("{levels} levels: {of_greedy} / {of_ours}"));
    }
    let ours = format!("BCube(3, k), Algorithm 2 / updown: {}", texts.join(", "));
    let verdict = Verdict::holds_if(is_it, "another number of tags than of levels");
    Ok(Row::new(PAPER, "V-C: BCube", "k levels with default routing: k tags", ours, verdict))
}

/// n (n - 1) m (m - 1) / 2 rules before compression, n m (m - 1) / 2 after it. Table IV itself has
/// 8 for switch C, where the first is 6: pairs of equal tags are rules, too.
pub(super) fn rules() -> Result<Row, Box<dyn Error>> {
    let triangle = super::walkthrough::triangle(Algorithm::Greedy)?;
    let printed = |ports: usize, tags: usize| ports * (ports - 1) * tags * (tags - 1) / 2;
    let table_iv = cells_max(&triangle);
    let cases = [
        Case::testbed(1)?,
        Case::parse(
            "[generate]\nkind = 'jellyfish'\nswitches = 100\nports = 32\nnetwork_ports = 16\n\
             [paths]\nkind = 'shortest-trees'\n",
        )?,
    ];
    let mut is_within = is_within(&triangle, 3);
    for case in &cases {
        let ports = case.network.all_switches().map(|at| case.network.ports(at)).max();
        is_within &= self::is_within(&case.compile(Algorithm::UpDown)?, ports.unwrap_or(0));
    }
    let ours = format!("Table IV: {table_iv} rules, formula {}", printed(3, 2));
    let verdict = Verdict::differs_if(
        is_within && table_iv == 8,
        "a rule that keeps its tag counts too: m (m + 1) / 2, which holds",
        "more rules than n m (m + 1) / 2",
    );
    let paper = "n (n - 1) m (m - 1) / 2; n m (m - 1) / 2 compressed";
    Ok(Row::new(PAPER, "V-C, VII-C: number of rules", paper, ours, verdict))
}

/// Rules of the switch that has the most, before compression.
fn cells_max(compiled: &Compiled) -> usize {
    let count = |switch: usize| super::walkthrough::lines(compiled, switch).len();
    (0..compiled.rules.len()).map(count).max().unwrap_or(0)
}

/// Whether entries, and cells before compression, are within the formulas with m (m + 1) / 2.
fn is_within(compiled: &Compiled, ports: usize) -> bool {
    let pairs = compiled.lossless_priorities * (compiled.lossless_priorities + 1) / 2;
    let expands = compiled
        .rules
        .iter()
        .all(|rules| tcam::expand(&rules.entries, rules.ports, rules.lossy_tag).next().is_some());
    expands && compiled.rules_max() <= ports * pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_of_five_refutes_the_bound_on_tags() {
        let bound = Bound::of(&ring(5).unwrap()).unwrap();
        assert_eq!(bound, Bound { tags_max: 3, cycle: Some(5), tags: 2 });
        assert_eq!(bound.printed(), 1);
        // Of three, every path is one link, so there is no cycle.
        let bound = Bound::of(&ring(3).unwrap()).unwrap();
        assert_eq!((bound.cycle, bound.tags), (None, 1));
    }

    #[test]
    fn the_rows_hold_or_say_why_not() {
        for row in [tags().unwrap(), rules().unwrap()] {
            assert!(matches!(row.verdict, Verdict::Differs(_)), "{row:?}");
        }
        assert_eq!(bcube(3).unwrap().verdict, Verdict::Holds);
    }
}

//! The proof of a moment in which some switches have new rules already and others do not.
//!
//! While a stage of a rollout runs, each switch goes by its rules of before or by those of after,
//! and frames that came by the old ones still wait in its queues. So every turn that either set
//! allows counts, at every switch: what has no cycle then has none in any mixture. The two sets of
//! a switch are one set with twice the tags: a tag as it is follows the rules of before, its shadow
//! those of after, and both have one priority, that is one buffer.

use super::rule_set::NetworkRules;
use super::table::Table;
use super::{Hop, find_cycle, start_state};
use crate::network::Network;
use crate::paths::{PathSet, Walks};
use crate::rules::RuleSet;
use dataplane::ids::{PortId, Tag};
use dataplane::rules::{PortSet, TagMatch, TcamEntry, linear};
use std::collections::{BTreeMap, HashMap};

/// Sets of tags that a frame can have on the way; beyond, its paths count as lossy.
const SETS_MAX: usize = 250;

/// What holds in every mixture of two sets of rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MixtureVerdict {
    /// The shortest cycle of buffers that can wait for each other; none if there is no cycle.
    pub cycle: Vec<Hop>,
    /// Expected paths, of the application class of which the most are lossy.
    pub paths: u64,
    /// Those that are lossless in every mixture, in that class.
    pub lossless_paths: u64,
}

/// Why two sets of rules cannot be compared: the switch, and the message.
pub type MixtureError = (u32, String);

/// Proves mixtures of two sets of rules, and of what lies between them.
#[derive(Debug)]
pub struct Mixtures<'a> {
    network: &'a Network,
    paths: &'a PathSet,
    /// By slot: hosts with the same number are alike to both sets, and to what both share. So all
    /// verdicts count the same paths.
    groups: Vec<u32>,
}

impl<'a> Mixtures<'a> {
    /// Of `old`, `new`, and sets of which each switch's rules are from either or from
    /// [`common_rules`].
    pub fn new(
        network: &'a Network,
        paths: &'a PathSet,
        old: &NetworkRules,
        new: &NetworkRules,
    ) -> Self {
        let tables = [old, new].map(|rules| Table::new(network, rules));
        let of = |table: &Table, slot: usize| [table.in_classes[slot], table.out_classes[slot]];
        let group = |slot: usize| {
            let [one, other] = [of(&tables[0], slot), of(&tables[1], slot)];
            u32::from_be_bytes([one[0], one[1], other[0], other[1]])
        };
        Self { network, paths, groups: (0..network.slots()).map(group).collect() }
    }

    /// Proves every mixture of the rules `before` and `after`, each switch by either, or finds a
    /// cycle.
    ///
    /// # Errors
    /// The two have tags that contradict each other, or too many.
    pub fn verify(
        &self,
        before: &NetworkRules,
        after: &NetworkRules,
    ) -> Result<MixtureVerdict, MixtureError> {
        let cycle = mixture_cycle(self.network, before, after)?;
        let mut verdict = MixtureVerdict { cycle, ..MixtureVerdict::default() };
        for class in 0..self.paths.classes() {
            let (paths, lossless_paths) = self.tally([before, after], class);
            let lossy = paths - lossless_paths;
            if class == 0 || lossy > verdict.paths - verdict.lossless_paths {
                (verdict.paths, verdict.lossless_paths) = (paths, lossless_paths);
            }
        }
        Ok(verdict)
    }

    /// Paths of a class, and how many of them are lossless whatever each switch goes by.
    fn tally(&self, rules: [&NetworkRules; 2], class: u8) -> (u64, u64) {
        let network = self.network;
        let tables = rules.map(|rules| Table::new(network, rules));
        let paths = self.paths.of_class(class);
        let walks = Walks::grouped(network, &paths, |slot| self.groups[slot as usize]);
        let start = (0..2).fold(0_u128, |set, at| {
            set | bit(&tables[at], start_state(rules[at], &tables[at], class))
        });
        let mut known = HashMap::from([(LOSSY, 0_u8)]);
        let mut sets = vec![LOSSY];
        let mut intern = |set: u128, sets: &mut Vec<u128>| {
            *known.entry(set).or_insert_with(|| {
                if sets.len() >= SETS_MAX {
                    return 0;
                }
                sets.push(set);
                u8::try_from(sets.len() - 1).unwrap_or(0)
            })
        };
        let first = intern(if start & LOSSY != 0 { LOSSY } else { start }, &mut sets);
        let turn = &mut |input: u32, output: u32, id: u8, _: u64| {
            let set = sets[usize::from(id)];
            if set & LOSSY != 0 {
                return 0;
            }
            let after = |next, table| next | after_turn(network, table, input, output, set);
            let next = tables.iter().fold(0, after);
            intern(if next & LOSSY != 0 { LOSSY } else { next }, &mut sets)
        };
        let ends = walks.tally_in_order(first, SETS_MAX, turn);
        let all = ends.iter().fold(0, |sum: u64, &paths| sum.saturating_add(paths));
        (all, all - ends[0])
    }
}

/// The shortest cycle in any mixture; empty if there is none.
fn mixture_cycle(
    network: &Network,
    before: &NetworkRules,
    after: &NetworkRules,
) -> Result<Vec<Hop>, MixtureError> {
    // Both must agree on what a tag means before they can be mixed.
    let mut priorities = before.priorities.clone();
    for (&tag, &priority) in &after.priorities {
        let known = *priorities.entry(tag).or_insert(priority);
        if known != priority {
            let message = format!(
                "tag {tag} has priority {known} before and {priority} after: while switches differ \
                 a pause would stop the wrong queue; use another tag"
            );
            return Err((0, message));
        }
    }
    if before.lossy_tag != after.lossy_tag {
        let message = format!(
            "`lossy_tag` is {} before and {} after; make them the same",
            before.lossy_tag, after.lossy_tag
        );
        return Err((0, message));
    }
    let lossy = before.lossy_tag;
    let mut free = (0..64).filter_map(Tag::new);
    let mut free = free.by_ref().filter(|tag| *tag != lossy && !priorities.contains_key(tag));
    let mut shadows = BTreeMap::new();
    for &tag in priorities.keys() {
        let Some(shadow) = free.next() else {
            let tags = priorities.len();
            return Err((
                0,
                format!("{tags} lossless tags before and after; at most 31 can change"),
            ));
        };
        shadows.insert(tag, shadow);
    }
    let pairs = before.sets.iter().zip(&after.sets);
    let start = priorities.keys().next().copied().unwrap_or_default();
    let sets = pairs.map(|(before, after)| both(before, after, start, &shadows)).collect();
    let joined = NetworkRules::new(network, sets)?;
    let mut cycle = find_cycle(network, &joined, &Table::new(network, &joined));
    for hop in &mut cycle {
        let real = shadows.iter().find(|&(_, &shadow)| shadow == hop.tag);
        hop.tag = real.map_or(hop.tag, |(&tag, _)| tag);
    }
    Ok(cycle)
}

/// The rules of a switch that goes by either set.
fn both(before: &RuleSet, after: &RuleSet, start: Tag, shadows: &BTreeMap<Tag, Tag>) -> RuleSet {
    let mut joined = before.clone();
    // Classes start somewhere; where does not matter to the graph of buffers.
    joined.initial_tags = Vec::new();
    joined.priorities.extend(&after.priorities);
    joined.initial_tag = start;
    let real = joined.priorities.clone();
    joined.priorities.extend(real.iter().map(|(tag, &priority)| (shadows[tag], priority)));
    joined.entries = exact(before, |tag| tag);
    if before != after {
        joined.entries.extend(exact(after, |tag| shadows[&tag]));
    }
    joined
}

/// The entries of a set with one tag each, under another name. An entry for a tag that the switch
/// has no queue for says nothing.
fn exact(set: &RuleSet, name: impl Fn(Tag) -> Tag) -> Vec<TcamEntry> {
    let mut entries = Vec::new();
    for &tag in set.priorities.keys() {
        for entry in set.entries.iter().filter(|entry| entry.tag.matches(tag)) {
            entries.push(TcamEntry { tag: TagMatch::exactly(name(tag)), ..*entry });
        }
    }
    entries
}

/// What a set has if a frame with it can be lossy. The 64 bits below are those of the tags.
const LOSSY: u128 = 1 << 64;

/// The bit of a table's state: that of its tag.
fn bit(table: &Table, state: u8) -> u128 {
    table.tags.get(usize::from(state)).map_or(LOSSY, |tag| 1 << tag.value())
}

/// The tags that frames with those of `set` can have after a turn.
fn after_turn(network: &Network, table: &Table, input: u32, output: u32, set: u128) -> u128 {
    (0..64).filter_map(Tag::new).filter(|tag| set & (1 << tag.value()) != 0).fold(0, |next, tag| {
        let state = table.tags.binary_search(&tag).ok().and_then(|at| u8::try_from(at).ok());
        next | state.map_or(LOSSY, |state| bit(table, table.turn(network, input, output, state)))
    })
}

/// The rules of a switch on its way from `before` to `after` that keep what both keep, and let
/// frames turn lossy where the two differ: fewer turns than either, so no new cycle.
pub fn common_rules(before: &RuleSet, after: &RuleSet) -> RuleSet {
    let mut common = before.clone();
    let mut conflicts: BTreeMap<(Tag, Vec<usize>), PortSet> = BTreeMap::new();
    let ports = || (0..before.ports).filter_map(PortId::from_index);
    let answer = |set: &RuleSet, tag: Tag, input: PortId, output: PortId| {
        let is_known = set.priorities.contains_key(&tag);
        let found = linear::lookup(&set.entries, set.lossy_tag, tag, input, output);
        if is_known { found } else { set.lossy_tag }
    };
    for &tag in before.priorities.keys() {
        for input in ports() {
            let differ = |&output: &PortId| {
                let old = answer(before, tag, input, output);
                old != before.lossy_tag && old != answer(after, tag, input, output)
            };
            let outputs: Vec<usize> = ports().filter(differ).map(PortId::index).collect();
            if !outputs.is_empty() {
                conflicts.entry((tag, outputs)).or_default().insert(input);
            }
        }
    }
    let lossy = conflicts.into_iter().map(|((tag, outputs), in_ports)| TcamEntry {
        tag: TagMatch::exactly(tag),
        in_ports,
        out_ports: outputs.into_iter().filter_map(PortId::from_index).collect(),
        new_tag: before.lossy_tag,
    });
    common.entries = lossy.chain(before.entries.iter().copied()).collect();
    common
}

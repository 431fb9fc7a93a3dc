//! All rules of a network as one compact table: what a walk over a hundred million paths reads.
//!
//! Ports of a switch that occur in the same entries are one class; a switch needs a small square of
//! classes for each tag instead of a large one of ports, and ten thousand switches stay in the
//! second-level cache.

use super::rule_set::NetworkRules;
use crate::network::Network;
use crate::network::u32_of;
use dataplane::ids::{PortId, Tag};
use dataplane::rules::{PortSet, linear};
use rayon::prelude::*;
use std::collections::HashMap;

/// Rules by class of port. States are the lossless tags in ascending order, and one more: lossy.
#[derive(Debug)]
pub(crate) struct Table {
    pub(super) tags: Vec<Tag>,
    /// By slot: its class as an in port of its switch.
    pub(super) in_classes: Vec<u8>,
    /// By slot: its class as an out port of its switch.
    pub(super) out_classes: Vec<u8>,
    /// By switch: where its answers begin, how many classes of in ports it has, and of out ports.
    switches: Vec<(u32, u16, u16)>,
    /// By state, class of in port and class of out port: the state after the turn.
    answers: Vec<u8>,
}

/// What one switch adds to the table.
struct Part {
    in_classes: Vec<u8>,
    out_classes: Vec<u8>,
    shape: (u16, u16),
    answers: Vec<u8>,
}

impl Table {
    pub(crate) fn new(network: &Network, rules: &NetworkRules) -> Self {
        let tags: Vec<Tag> = rules.priorities.keys().copied().collect();
        let parts: Vec<Part> =
            rules.sets.par_iter().map(|set| part(rules, &tags, set.ports, set)).collect();
        let mut table = Self {
            tags,
            in_classes: Vec::with_capacity(network.slots()),
            out_classes: Vec::with_capacity(network.slots()),
            switches: Vec::with_capacity(parts.len()),
            answers: Vec::new(),
        };
        for part in parts {
            table.switches.push((u32_of(table.answers.len()), part.shape.0, part.shape.1));
            table.in_classes.extend(part.in_classes);
            table.out_classes.extend(part.out_classes);
            table.answers.extend(part.answers);
        }
        table
    }

    /// The state of lossy frames.
    pub(crate) const fn lossy(&self) -> u8 {
        #[expect(clippy::cast_possible_truncation, reason = "there are 64 tags")]
        let lossy = self.tags.len() as u8;
        lossy
    }

    /// How many states there are.
    pub(super) const fn states(&self) -> usize {
        self.tags.len() + 1
    }

    /// Classes of in and of out ports of a switch.
    pub(super) fn shape(&self, switch: u32) -> (usize, usize) {
        let (_, inputs, outputs) = self.switches[switch as usize];
        (usize::from(inputs), usize::from(outputs))
    }

    /// The state after a turn between classes of ports.
    pub(super) fn answer(&self, switch: u32, state: u8, input: usize, output: usize) -> u8 {
        if state == self.lossy() {
            return state;
        }
        let (start, inputs, outputs) = self.switches[switch as usize];
        let row = usize::from(state) * usize::from(inputs) + input;
        self.answers[start as usize + row * usize::from(outputs) + output]
    }

    /// The state after a turn.
    #[inline]
    pub(crate) fn turn(&self, network: &Network, input: u32, output: u32, state: u8) -> u8 {
        let input_class = usize::from(self.in_classes[input as usize]);
        let output_class = usize::from(self.out_classes[output as usize]);
        self.answer(network.owner(input), state, input_class, output_class)
    }
}

/// The part of one switch. A tag that the switch does not know is lossy there, whatever an entry
/// says, because it has no lossless queue for it.
fn part(rules: &NetworkRules, tags: &[Tag], ports: usize, set: &crate::rules::RuleSet) -> Part {
    let class_by = |of: fn(&dataplane::rules::TcamEntry) -> &PortSet| {
        let mut known: HashMap<Vec<u64>, u8> = HashMap::new();
        let mut first = Vec::new();
        let classes: Vec<u8> = (0..ports)
            .filter_map(PortId::from_index)
            .map(|port| {
                let mut signature = vec![0_u64; set.entries.len().div_ceil(64)];
                for (at, entry) in set.entries.iter().enumerate() {
                    signature[at / 64] |= u64::from(of(entry).contains(port)) << (at % 64);
                }
                let next = u8::try_from(known.len()).unwrap_or(u8::MAX);
                *known.entry(signature).or_insert_with(|| {
                    first.push(port);
                    next
                })
            })
            .collect();
        (classes, first)
    };
    let (in_classes, inputs) = class_by(|entry| &entry.in_ports);
    let (out_classes, outputs) = class_by(|entry| &entry.out_ports);
    let lossy = u8::try_from(tags.len()).unwrap_or(u8::MAX);
    let mut answers = Vec::with_capacity(tags.len() * inputs.len() * outputs.len());
    for &tag in tags {
        for &input in &inputs {
            for &output in &outputs {
                let new_tag = linear::lookup(&set.entries, rules.lossy_tag, tag, input, output);
                let state = tags.binary_search(&new_tag).ok();
                let is_known = set.priorities.contains_key(&tag);
                let state = state.filter(|_| is_known).and_then(|state| u8::try_from(state).ok());
                answers.push(state.unwrap_or(lossy));
            }
        }
    }
    let count = |classes: &[PortId]| u16::try_from(classes.len()).unwrap_or(u16::MAX);
    let shape = (count(&inputs), count(&outputs));
    Part { in_classes, out_classes, shape, answers }
}

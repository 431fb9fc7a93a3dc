//! The slow, obvious way to prove rules, to hold the fast one against in tests: every buffer a
//! node, every pair of ports a lookup.

use dataplane::ids::Tag;
use dataplane::rules::linear;
use fabric::{Network, RuleSet};
use std::collections::BTreeMap;

/// The new tag, as the switch's own lookup has it.
pub(crate) fn answer(network: &Network, rules: &[RuleSet], i: u32, o: u32, tag: Tag) -> Tag {
    let set = &rules[network.owner(i) as usize];
    linear::lookup(&set.entries, set.lossy_tag, tag, network.port(i), network.port(o))
}

/// Whether some buffer can wait for itself: a depth-first search over (slot, priority).
pub(crate) fn has_cycle(network: &Network, rules: &[RuleSet]) -> bool {
    let slots = || (0..).take(network.slots());
    let mut edges: BTreeMap<(u32, u8), Vec<(u32, u8)>> = BTreeMap::new();
    for input in slots() {
        let set = &rules[network.owner(input) as usize];
        for (&tag, priority) in &set.priorities {
            for output in network.slots_of(network.owner(input)) {
                let new_tag = answer(network, rules, input, output, tag);
                if let (Some(far), true) = (network.far_slot(output), new_tag != set.lossy_tag) {
                    let to = (far, set.priorities[&new_tag].value());
                    edges.entry((input, priority.value())).or_default().push(to);
                }
            }
        }
    }
    let mut state = BTreeMap::new();
    edges.keys().any(|&node| closes(node, &edges, &mut state))
}

/// Depth-first search; a node in state `false` is on the way down to here.
fn closes(
    node: (u32, u8),
    edges: &BTreeMap<(u32, u8), Vec<(u32, u8)>>,
    state: &mut BTreeMap<(u32, u8), bool>,
) -> bool {
    match state.get(&node) {
        Some(&is_done) => return !is_done,
        None => state.insert(node, false),
    };
    let found =
        edges.get(&node).is_some_and(|next| next.iter().any(|&to| closes(to, edges, state)));
    state.insert(node, true);
    found
}

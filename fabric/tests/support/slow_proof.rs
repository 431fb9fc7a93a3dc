//! The slow, obvious way to prove rules, to hold the fast one against in tests: every buffer a
//! node, every pair of ports a lookup, and a library that looks for the cycle.

use dataplane::ids::Tag;
use dataplane::rules::linear;
use fabric::{Network, RuleSet};
use petgraph::algo::is_cyclic_directed;
use petgraph::graphmap::DiGraphMap;

/// The new tag, as the switch's own lookup has it.
pub(crate) fn answer(network: &Network, rules: &[RuleSet], i: u32, o: u32, tag: Tag) -> Tag {
    let set = &rules[network.owner(i) as usize];
    linear::lookup(&set.entries, set.lossy_tag, tag, network.port(i), network.port(o))
}

/// Whether some buffer can wait for itself.
pub(crate) fn has_cycle(network: &Network, rules: &[RuleSet]) -> bool {
    let slots = || (0..).take(network.slots());
    let mut waits: DiGraphMap<(u32, u8), ()> = DiGraphMap::new();
    for input in slots() {
        let set = &rules[network.owner(input) as usize];
        for (&tag, priority) in &set.priorities {
            for output in network.slots_of(network.owner(input)) {
                let new_tag = answer(network, rules, input, output, tag);
                if let (Some(far), true) = (network.far_slot(output), new_tag != set.lossy_tag) {
                    let to = (far, set.priorities[&new_tag].value());
                    waits.add_edge((input, priority.value()), to, ());
                }
            }
        }
    }
    is_cyclic_directed(&waits)
}

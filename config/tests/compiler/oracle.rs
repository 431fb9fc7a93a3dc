//! The slow way: every buffer a node, every pair of ports a lookup, every path walked.

use config::RuleSet;
use config::network::{Network, NetworkConfig};
use config::paths::{EdgePorts, PathSet};
use dataplane::ids::Tag;
use dataplane::rules::linear;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

pub(crate) fn parse(text: &str) -> NetworkConfig {
    NetworkConfig::parse(Path::new("N.toml"), text).unwrap_or_else(|error| panic!("{error}"))
}

/// A network and its paths.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) network: Network,
    pub(crate) paths: PathSet,
}

impl Case {
    pub(crate) fn new(text: &str) -> Self {
        let config = parse(text);
        let paths = PathSet::build(&config.network, &config.paths).unwrap();
        Self { network: config.network, paths }
    }

    pub(crate) fn example(name: &str) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/networks").join(name);
        let config = NetworkConfig::load(&file).unwrap_or_else(|error| panic!("{error}"));
        let paths = PathSet::build(&config.network, &config.paths).unwrap();
        Self { network: config.network, paths }
    }
}

/// The new tag, as the switch's own lookup has it.
pub(crate) fn answer(network: &Network, rules: &[RuleSet], i: u32, o: u32, tag: Tag) -> Tag {
    let set = &rules[network.owner(i) as usize];
    linear::lookup(&set.entries, set.lossy_tag, tag, network.port(i), network.port(o))
}

/// Whether some buffer can wait for itself: a depth-first search over (slot, priority).
pub(crate) fn has_cycle(network: &Network, rules: &[RuleSet]) -> bool {
    let slots = || 0..u32::try_from(network.slots()).unwrap();
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

/// Expected paths, and those that are lossless: one after the other, and that tags never fall.
/// Every host of a switch is looked at.
pub(crate) fn walk(case: &Case, rules: &[RuleSet]) -> (u64, u64) {
    let network = &case.network;
    let edges = EdgePorts::grouped(network, |slot| slot);
    let (mut count, mut lossless) = (0, 0);
    let _ = case.paths.visit(network, &edges, 0, &mut |turns| {
        count += 1;
        let mut tag = rules[0].initial_tag;
        let kept = turns.iter().all(|&(input, output)| {
            let new_tag = answer(network, rules, input, output, tag);
            let is_lossless = new_tag != rules[0].lossy_tag;
            assert!(!is_lossless || new_tag >= tag, "a tag falls");
            tag = new_tag;
            is_lossless
        });
        lossless += u64::from(kept);
        ControlFlow::Continue(())
    });
    (count, lossless)
}

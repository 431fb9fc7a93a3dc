//! Which host ports stand for all of a switch's hosts.

use crate::network::{Network, u32_of};
use std::collections::BTreeMap;

/// For each switch, one host port for each group of hosts that are alike, and the turns of paths
/// that stay within the switch.
#[derive(Debug)]
pub(super) struct EdgePorts {
    /// By switch: where its ports begin in `ports`; one past the end at last.
    starts: Vec<u32>,
    ports: Vec<u32>,
    /// By switch: where its turns begin in `local`.
    local_starts: Vec<u32>,
    /// From one host of a switch to another: one turn for each pair of groups.
    local: Vec<(u32, u32)>,
}

impl EdgePorts {
    /// One port for each value of `group` among the host ports of a switch.
    pub(super) fn grouped(network: &Network, group: impl Fn(u32) -> u32) -> Self {
        let mut edges =
            Self { starts: vec![0], ports: Vec::new(), local_starts: vec![0], local: Vec::new() };
        for switch in 0..u32_of(network.switches()) {
            let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for slot in network.host_slots_of(switch) {
                groups.entry(group(slot)).or_default().push(slot);
            }
            edges.ports.extend(groups.values().map(|ports| ports[0]));
            for (&from, inputs) in &groups {
                for (&to, outputs) in &groups {
                    if from != to {
                        edges.local.push((inputs[0], outputs[0]));
                    } else if let [one, other, ..] = inputs[..] {
                        edges.local.push((one, other));
                    }
                }
            }
            edges.starts.push(u32_of(edges.ports.len()));
            edges.local_starts.push(u32_of(edges.local.len()));
        }
        edges
    }

    /// The ports that stand for a switch's hosts; none if it has no hosts.
    pub(super) fn of(&self, switch: u32) -> &[u32] {
        let at = switch as usize;
        &self.ports[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Turns from one host of a switch to another.
    pub(super) fn local(&self, switch: u32) -> &[(u32, u32)] {
        let at = switch as usize;
        &self.local[self.local_starts[at] as usize..self.local_starts[at + 1] as usize]
    }
}

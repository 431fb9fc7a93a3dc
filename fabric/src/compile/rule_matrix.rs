//! Rules cell by cell: (slot, tag, out port) to new tag. What is not here is lossy.

use super::demand::Demand;
use super::updown::tag_of;
use crate::network::{Network, Peer};
use dataplane::ids::{PortId, Tag};
use dataplane::rules::PortSet;
use std::collections::BTreeMap;

/// Answers by slot. Tags count from 0 here; tag 0 is written as 1.
#[derive(Clone, Debug)]
pub(super) struct RuleMatrix {
    /// By slot: the answers, by tag and slot of the out port.
    rows: Vec<BTreeMap<(u8, u32), u8>>,
}

impl RuleMatrix {
    pub(super) fn new(network: &Network) -> Self {
        Self { rows: vec![BTreeMap::new(); network.slots()] }
    }

    pub(super) fn set(&mut self, input: u32, tag: u8, output: u32, new_tag: u8) {
        self.rows[input as usize].insert((tag, output), new_tag);
    }

    pub(super) fn get(&self, input: u32, tag: u8, output: u32) -> Option<u8> {
        self.rows[input as usize].get(&(tag, output)).copied()
    }

    /// Calls `look(input, tag, output, new_tag)` for each cell, in order.
    pub(super) fn for_each(&self, mut look: impl FnMut(u32, u8, u32, u8)) {
        for (input, row) in (0..).zip(&self.rows) {
            row.iter().for_each(|(&(tag, output), &new_tag)| look(input, tag, output, new_tag));
        }
    }

    /// What a switch must answer: these cells, and nothing else is lossless. What holds for the
    /// first host of a switch holds for all of them, if `hosts_alike`.
    pub(super) fn demand(
        &self,
        network: &Network,
        switch: u32,
        lossy_tag: Tag,
        hosts_alike: bool,
    ) -> Demand {
        let mut demand = Demand::new(network.ports(switch), lossy_tag);
        let hosts: Vec<u32> = network.host_slots_of(switch).collect();
        let is_host = |slot: u32| matches!(network.peer(slot), Peer::Host(_));
        let all = |slot: u32| -> Vec<u32> {
            if hosts_alike && is_host(slot) { hosts.clone() } else { vec![slot] }
        };
        for input in network.slots_of(switch) {
            for (&(tag, output), &new_tag) in &self.rows[input as usize] {
                for input in all(input) {
                    // From a host to itself there is no path.
                    let outputs = all(output).into_iter().filter(|&output| output != input);
                    let outputs: PortSet = outputs.map(|output| network.port(output)).collect();
                    let input: PortId = network.port(input);
                    demand.must(
                        tag_of(usize::from(tag)),
                        input,
                        outputs,
                        tag_of(usize::from(new_tag)),
                    );
                }
            }
        }
        demand
    }
}

//! What a scheme needs of a network: how long paths are, and whether the network is a tree.

use crate::network::{End, Network};
use dataplane::ttl_class::Parity;
use std::collections::{BTreeSet, VecDeque};

/// The links between a network's switches, without those that are down.
#[derive(Debug)]
pub struct LiveLinks<'a> {
    network: &'a Network,
    /// By slot.
    is_down: Vec<bool>,
}

impl<'a> LiveLinks<'a> {
    /// The links of `network` without those that have an end of `failed`.
    pub fn new(network: &'a Network, failed: &[End]) -> Self {
        let mut is_down = vec![false; network.slots()];
        for &end in failed {
            for end in network.links()[network.link_with(end).unwrap_or_default()].ends {
                if let End::Slot(slot) = end {
                    is_down[slot as usize] = true;
                }
            }
        }
        Self { network, is_down }
    }

    fn neighbors(&self, at: u32) -> impl Iterator<Item = u32> {
        let links = self.network.neighbors(at).filter(|&(slot, _)| !self.is_down[slot as usize]);
        links.map(|(_, far)| self.network.owner(far))
    }

    /// Links from a switch to the farthest of `to`.
    pub fn farthest(&self, from: u32, to: &BTreeSet<u32>) -> Option<usize> {
        let distances = self.distances(from);
        to.iter().map(|&to| distances[to as usize]).max()
    }

    /// Links from a switch to each; 0 if there is no path.
    fn distances(&self, from: u32) -> Vec<usize> {
        let mut distances = vec![0; self.network.switches()];
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for far in self.neighbors(at) {
                if far != from && distances[far as usize] == 0 {
                    distances[far as usize] = distances[at as usize] + 1;
                    queue.push_back(far);
                }
            }
        }
        distances
    }

    /// By switch: which TTL classes come there. On a tree every second one: those that are an even
    /// number of links from a switch with hosts see odd classes.
    ///
    /// # Errors
    /// Two switches with hosts are an odd number of links apart: two switches on the way, which are
    /// linked and see the same classes.
    pub fn parities(&self) -> Result<Vec<Parity>, [u32; 2]> {
        let network = self.network;
        let mut parity: Vec<Option<Parity>> = vec![None; network.switches()];
        let mut queue: VecDeque<u32> = VecDeque::new();
        for slot in (0..).take(network.hosts()).filter_map(|host| network.host_slot(host)) {
            let switch = network.owner(slot);
            if parity[switch as usize].replace(Parity::Odd).is_none() {
                queue.push_back(switch);
            }
        }
        while let Some(at) = queue.pop_front() {
            let here = parity[at as usize];
            let other = if here == Some(Parity::Odd) { Parity::Even } else { Parity::Odd };
            for far in self.neighbors(at) {
                match parity[far as usize] {
                    None => {
                        parity[far as usize] = Some(other);
                        queue.push_back(far);
                    }
                    known if known == here => return Err([at, far]),
                    Some(_) => {}
                }
            }
        }
        Ok(parity.into_iter().map(Option::unwrap_or_default).collect())
    }
}

//! An order of switches from what paths do: take switches off from below.
//!
//! The switch that comes last in the order is below all its neighbors, so every turn in it is a
//! raise, and it can cause none elsewhere. The least harm is done by the switch with the fewest
//! paths through it; then by the one with the fewest among turns that are left, and so on. In a
//! Clos network that takes off level after level.

use super::turns::TurnWeights;
use crate::network::Network;
use crate::network::u32_of;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The switches, the highest first.
pub(super) fn highest_first(network: &Network, weights: &TurnWeights) -> Vec<u32> {
    let switches = u32_of(network.switches());
    let mut costs: Vec<u64> =
        (0..switches).map(|switch| through(network, weights, switch)).collect();
    let mut heap: BinaryHeap<Reverse<(u64, Reverse<u32>)>> =
        (0..switches).map(|switch| Reverse((costs[switch as usize], Reverse(switch)))).collect();
    let mut is_peeled = vec![false; network.switches()];
    let mut lowest_first = Vec::with_capacity(network.switches());
    while let Some(Reverse((cost, Reverse(switch)))) = heap.pop() {
        // An entry that the heap still holds from before its cost fell.
        if is_peeled[switch as usize] || cost != costs[switch as usize] {
            continue;
        }
        is_peeled[switch as usize] = true;
        lowest_first.push(switch);
        for (_, far) in network.neighbors(switch) {
            let neighbor = network.owner(far);
            if is_peeled[neighbor as usize] {
                continue;
            }
            let others = network.neighbors(neighbor);
            let harmless: u64 = others
                .filter(|&(_, other)| !is_peeled[network.owner(other) as usize])
                .map(|(slot, _)| weights.get(network, far, slot) + weights.get(network, slot, far))
                .sum();
            let cost = &mut costs[neighbor as usize];
            *cost = cost.saturating_sub(harmless + weights.get(network, far, far));
            heap.push(Reverse((*cost, Reverse(neighbor))));
        }
    }
    lowest_first.reverse();
    lowest_first
}

/// How many paths pass through a switch.
fn through(network: &Network, weights: &TurnWeights, switch: u32) -> u64 {
    let mut sum = 0;
    for (input, _) in network.neighbors(switch) {
        for (output, _) in network.neighbors(switch) {
            sum += weights.get(network, input, output);
        }
    }
    sum
}

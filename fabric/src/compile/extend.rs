//! Orders of the links that go on from the turns that given rules keep.

use super::order::{Order, TagOrders};
use super::topology_order::AcyclicGraph;
use super::turns::TurnWeights;
use super::updown::tag_of;
use crate::network::{Network, u32_of};
use crate::rules::RuleSet;
use dataplane::rules::linear;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The turns that given rules keep close a cycle by themselves: the slots that frames come in by.
#[derive(Debug)]
pub(super) struct Cycle(pub(super) Vec<u32>);

/// How often a turn, by the slots that a frame comes in by and enters next, was missed: a path on
/// which it did not ascend was lossy.
pub(super) type Missed = BTreeMap<(u32, u32), u32>;

/// An order for each tag in which every turn ascends that the rules `old` keep in that tag. Turns
/// of the other switches ascend where they can: first those that were missed most often, then those
/// that ascend in `wanted`, and of these the ones that most paths take.
///
/// # Errors
/// There is no such order: a cycle that shows it.
pub(super) fn orders(
    network: &Network,
    wanted: &TagOrders,
    old: &[Option<&RuleSet>],
    weights: Option<&TurnWeights>,
    missed: &Missed,
) -> Result<TagOrders, Cycle> {
    let tags = old.iter().flatten().map(|rules| rules.priorities.len()).max().unwrap_or(1);
    let orders = (0..tags).map(|state| {
        let mut graph = AcyclicGraph::ordered(&first_to_last(network, wanted, state));
        for (input, far) in kept_turns(network, old, state) {
            if !graph.add_edge(input, far) {
                return Err(Cycle(graph.way(far, input)));
            }
        }
        for (input, far) in free_turns(network, wanted, old, weights, missed, state) {
            graph.add_edge(input, far);
        }
        Ok(Order::of_channels(network, |slot| graph.place(slot) + 1))
    });
    orders.collect::<Result<Vec<Order>, Cycle>>().map(TagOrders::of)
}

/// The channels in the order of a tag, by the slots they enter.
fn first_to_last(network: &Network, orders: &TagOrders, state: usize) -> Vec<u32> {
    let mut slots: Vec<u32> = (0..u32_of(network.slots())).collect();
    slots.sort_by_key(|&slot| orders.number(slot, raises(state)));
    slots
}

fn raises(state: usize) -> u8 {
    u8::try_from(state).unwrap_or(u8::MAX)
}

/// Turns of a switch from link to link: the slot in, the slot out, and the slot that it leads to.
fn turns_of(network: &Network, switch: u32) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
    let links = move || network.slots_of(switch).filter(|&slot| network.far_slot(slot).is_some());
    links().flat_map(move |input| {
        links().filter_map(move |output| Some((input, output, network.far_slot(output)?)))
    })
}

/// The turns that the rules keep in a tag.
fn kept_turns<'a>(
    network: &'a Network,
    old: &'a [Option<&RuleSet>],
    state: usize,
) -> impl Iterator<Item = (u32, u32)> + 'a {
    let tag = tag_of(state);
    let with_rules = (0..).zip(old).filter_map(|(switch, rules)| Some((switch, (*rules)?)));
    with_rules.flat_map(move |(switch, rules)| {
        turns_of(network, switch).filter_map(move |(input, output, far)| {
            let ports = (network.port(input), network.port(output));
            let new_tag = linear::lookup(&rules.entries, rules.lossy_tag, tag, ports.0, ports.1);
            (new_tag == tag).then_some((input, far))
        })
    })
}

/// The sort key of a turn: how often it was missed, whether the wanted order raises it, and how
/// many paths take it.
type Place = (Reverse<u32>, bool, Reverse<u64>);

/// The turns of switches without rules, those first that should ascend most.
fn free_turns(
    network: &Network,
    wanted: &TagOrders,
    old: &[Option<&RuleSet>],
    weights: Option<&TurnWeights>,
    missed: &Missed,
    state: usize,
) -> Vec<(u32, u32)> {
    let free = (0..u32_of(network.switches())).filter(|&switch| old[switch as usize].is_none());
    let mut turns: Vec<(Place, (u32, u32))> = free
        .flat_map(|switch| turns_of(network, switch))
        .map(|(input, output, far)| {
            let weight = weights.map_or(0, |weights| weights.get(network, input, output));
            let is_raise = wanted.is_raise(input, output, raises(state));
            let missed = missed.get(&(input, far)).copied().unwrap_or(0);
            ((Reverse(missed), is_raise, Reverse(weight)), (input, far))
        })
        .filter(|&((_, is_raise, weight), _)| !is_raise || weight.0 > 0)
        .collect();
    turns.sort_unstable();
    turns.into_iter().map(|(_, turn)| turn).collect()
}

//! Whether turns close a cycle: the shortest one, or an order in which they all ascend.

use super::order::{Order, TagOrders};
use super::turns::UsedTurns;
use super::walk_graph::ChannelTurn;
use crate::graph::Digraph;
use crate::network::Network;
use crate::network::u32_of;

/// The turns of frames from channel to channel, as a graph of the channels.
#[derive(Debug)]
pub(super) struct TurnGraph(Digraph);

impl TurnGraph {
    /// The turns that paths take in the first state.
    pub(super) fn of_used(network: &Network, used: &UsedTurns) -> Self {
        let mut turns = Vec::new();
        for slot in 0..u32_of(network.slots()) {
            let switch = network.owner(slot);
            let is_channel = network.far_slot(slot).is_some();
            for port in used.outputs(slot, 0).iter().filter(|_| is_channel) {
                let far = network.slot(switch, port).and_then(|out| network.far_slot(out));
                turns.extend(far.map(|far| (slot, far)));
            }
        }
        Self::of(network, turns)
    }

    /// Turns by the slots that a frame comes in by and enters next.
    pub(super) fn of(network: &Network, turns: impl IntoIterator<Item = ChannelTurn>) -> Self {
        let (tails, heads) = turns.into_iter().unzip();
        Self(Digraph::new(network.slots(), tails, heads))
    }

    /// An order of the channels in which every turn ascends; `None` if they close a cycle.
    pub(super) fn order(&self, network: &Network) -> Option<Order> {
        let places = self.0.topological(0..u32_of(network.slots()), |_| true)?;
        Some(Order::of_channels(network, |slot| places[slot as usize] + 1))
    }

    /// The turns of a shortest cycle; none if they close none.
    pub(super) fn shortest_cycle(&self) -> Vec<ChannelTurn> {
        let edges = self.0.shortest_cycle(|_| true);
        let ends = |&edge: &u32| (self.0.tails[edge as usize], self.0.heads[edge as usize]);
        edges.iter().map(ends).collect()
    }
}

/// From the turns that are kept in each tag to an order for each tag, in which they ascend; `None`
/// if some close a cycle.
pub(super) fn orders_of(network: &Network, kept: &[Vec<ChannelTurn>]) -> Option<TagOrders> {
    let orders =
        kept.iter().map(|kept| TurnGraph::of(network, kept.iter().copied()).order(network));
    orders.collect::<Option<Vec<Order>>>().map(TagOrders::of)
}

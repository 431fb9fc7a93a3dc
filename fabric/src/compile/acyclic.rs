//! Whether the turns that paths take close a cycle, and if not, an order in which they all ascend.

use super::order::Order;
use super::turns::UsedTurns;
use crate::graph::Digraph;
use crate::network::Network;
use crate::network::u32_of;

/// An order of the channels in which no expected path needs a raise: one priority is enough. `None`
/// if the turns close a cycle, so that two are the least.
pub(super) fn topological(network: &Network, used: &UsedTurns) -> Option<Order> {
    let (mut tails, mut heads) = (Vec::new(), Vec::new());
    for slot in 0..u32_of(network.slots()) {
        let switch = network.owner(slot);
        let is_channel = network.far_slot(slot).is_some();
        for port in used.outputs(slot, 0).iter().filter(|_| is_channel) {
            if let Some(far) = network.slot(switch, port).and_then(|out| network.far_slot(out)) {
                tails.push(slot);
                heads.push(far);
            }
        }
    }
    let graph = Digraph::new(network.slots(), tails, heads);
    let places = graph.topological(0..u32_of(network.slots()), |_| true)?;
    Some(Order::of_channels(network, |slot| places[slot as usize] + 1))
}

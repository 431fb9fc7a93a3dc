//! Whether the turns that paths take close a cycle, and if not, an order in which they all ascend.

use super::order::Order;
use super::turns::UsedTurns;
use crate::network::Network;
use crate::network::u32_of;

/// An order of the channels in which no expected path needs a raise: one priority is enough. `None`
/// if the turns close a cycle, so that two are the least.
pub(super) fn topological(network: &Network, used: &UsedTurns) -> Option<Order> {
    let slots = u32_of(network.slots());
    let next = |slot: u32| -> Vec<u32> {
        let switch = network.owner(slot);
        let outputs = used.outputs(slot, 0);
        let outputs = outputs.iter().filter_map(|port| network.slot(switch, port));
        outputs.filter_map(|output| network.far_slot(output)).collect()
    };
    let is_channel = |&slot: &u32| network.far_slot(slot).is_some();
    let mut before = vec![0_u32; network.slots()];
    for slot in (0..slots).filter(is_channel) {
        next(slot).into_iter().for_each(|far| before[far as usize] += 1);
    }
    let mut ready: Vec<u32> =
        (0..slots).filter(is_channel).filter(|&slot| before[slot as usize] == 0).collect();
    let mut numbers = vec![0_u32; network.slots()];
    let mut count = 0;
    while let Some(slot) = ready.pop() {
        count += 1;
        numbers[slot as usize] = count;
        for far in next(slot) {
            before[far as usize] -= 1;
            if before[far as usize] == 0 {
                ready.push(far);
            }
        }
    }
    let channels = (0..slots).filter(is_channel).count();
    (count as usize == channels).then(|| Order::of_channels(network, |slot| numbers[slot as usize]))
}

//! An order of the links, and what follows from it: where tags rise.
//!
//! Give every directed channel a number. A tag is kept on a turn from a channel to a higher one and
//! rises on every other turn. Then no set of turns that keep a tag closes a cycle, whatever paths
//! frames take, because numbers grow along them; and tags never fall. That is the whole proof.
//!
//! An order of the *switches* is the special case with the fewest rules: a link leads up if it
//! leads to a switch that comes earlier; all channels up come first, those that leave later
//! switches before those that leave earlier ones, then all channels down, the other way round. The
//! tag then rises on down-to-up turns and nowhere else.

use crate::network::Network;
use crate::network::u32_of;

/// An order of the channels for each tag. The last one holds for all tags from there on.
///
/// The proof needs an order for each tag, not one for all: turns that keep a tag ascend in the
/// order of that tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TagOrders(Vec<Order>);

impl TagOrders {
    /// The same order for every tag.
    pub(super) fn one(order: Order) -> Self {
        Self(vec![order])
    }

    /// These orders, by tag; one at the least.
    pub(super) fn of(orders: Vec<Order>) -> Self {
        debug_assert!(!orders.is_empty(), "a tag has an order");
        Self(orders)
    }

    /// The same with so many tags before, which all have the first order.
    pub(super) fn delayed(&self, tags: u8) -> Self {
        let before = std::iter::repeat_n(&self.0[0], usize::from(tags));
        Self(before.chain(&self.0).cloned().collect())
    }

    /// Whether a frame that comes in by `input` and goes out by `output` after so many raises must
    /// raise its tag.
    #[inline]
    pub(super) fn is_raise(&self, input: u32, output: u32, raises: u8) -> bool {
        self.of_tag(raises).is_raise(input, output)
    }

    /// The number, after so many raises, of the channel that enters by `slot`; 0 from a host.
    pub(super) fn number(&self, slot: u32, raises: u8) -> u32 {
        self.of_tag(raises).entering[slot as usize]
    }

    #[inline]
    fn of_tag(&self, raises: u8) -> &Order {
        &self.0[usize::from(raises).min(self.0.len() - 1)]
    }
}

/// A number for each channel, and with it where tags rise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// By slot: the channel that enters by it; 0 from a host.
    entering: Vec<u32>,
    /// By slot: the channel that leaves by it; the highest number to a host.
    leaving: Vec<u32>,
}

impl Order {
    /// The order in which `number(slot)`, 1 at the least, is the number of the channel that enters
    /// by `slot`.
    pub(super) fn of_channels(network: &Network, number: impl Fn(u32) -> u32) -> Self {
        let slots = 0..u32_of(network.slots());
        let entering: Vec<u32> = slots
            .clone()
            .map(|slot| network.far_slot(slot).map_or(0, |_| number(slot).max(1)))
            .collect();
        let leaving = slots
            .map(|slot| network.far_slot(slot).map_or(u32::MAX, |far| entering[far as usize]))
            .collect();
        Self { entering, leaving }
    }

    /// The order of channels that follows from an order of the switches: `ranks` by switch, each
    /// once; a link leads up if it leads to a lower rank.
    pub(super) fn of_switches(network: &Network, ranks: &[u32]) -> Self {
        let count = u32_of(ranks.len());
        Self::of_channels(network, |slot| {
            let head = ranks[network.owner(slot) as usize];
            let tail =
                network.far_slot(slot).map_or(head, |far| ranks[network.owner(far) as usize]);
            if head < tail { count - tail } else { count + 1 + tail }
        })
    }

    /// Whether a frame that comes in by `input` and goes out by `output` must raise its tag.
    #[inline]
    pub(super) fn is_raise(&self, input: u32, output: u32) -> bool {
        self.leaving[output as usize] <= self.entering[input as usize]
    }
}

/// From a list of switches, the first of them the highest, to each one's rank.
pub(super) fn ranks_of(highest_first: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; highest_first.len()];
    for (rank, &switch) in (0..).zip(highest_first) {
        ranks[switch as usize] = rank;
    }
    ranks
}

//! What the agent asks of its caller.

use super::neighbor::NeighborKey;
use alloc::vec::Vec;
use dataplane::ids::PortId;
use dataplane::wire::MacAddress;

/// A request of the agent to its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send this frame of the switch at that port.
    Send {
        /// The egress port.
        port: PortId,
        /// The whole frame without its FCS, padded to the minimum length.
        frame: Vec<u8>,
    },
    /// Frames to this neighbor can be forwarded: it is new, or its MAC address has changed.
    NeighborUp {
        /// The neighbor.
        neighbor: NeighborKey,
        /// Its MAC address. It replaces any earlier one.
        mac: MacAddress,
    },
    /// Frames to this neighbor must be punted again. It was up before.
    NeighborDown {
        /// The neighbor.
        neighbor: NeighborKey,
    },
    /// A frame that waited for its next hop enters the pipeline again, as if it had just been
    /// received.
    Release {
        /// The port that received the frame.
        port: PortId,
        /// The frame as received.
        frame: Vec<u8>,
    },
}

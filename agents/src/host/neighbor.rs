//! A neighbor as the callers of the agent see it.

use core::net::IpAddr;
use dataplane::ids::PortId;
use dataplane::wire::MacAddress;

/// A neighbor: an IP address at a port. A link-local address is unique only together with its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NeighborKey {
    /// The port of the link.
    pub port: PortId,
    /// The IP address.
    pub address: IpAddr,
}

/// Where a frame was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The station.
    pub neighbor: NeighborKey,
    /// Length of the outer header that the frame gets on the way there, in bytes; 0 without a
    /// tunnel.
    pub tunnel_bytes: u16,
}

impl From<NeighborKey> for NextHop {
    fn from(neighbor: NeighborKey) -> Self {
        Self { neighbor, tunnel_bytes: 0 }
    }
}

/// The state of a neighbor (RFC 4861, 7.3.2), with two states of our own: `Failed` and `Static`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NeighborState {
    /// A request was sent and not yet answered; frames wait.
    Incomplete,
    /// It answered within the last `reachable_ns`.
    Reachable,
    /// It was there; it is being probed, or will be soon. Frames are still forwarded to it.
    Stale,
    /// It did not answer. No request is sent for `hold_down_ns`.
    Failed,
    /// Configured.
    Static,
}

/// One row of the neighbor cache, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbor {
    /// Port and IP address.
    pub key: NeighborKey,
    /// Its MAC address, if known.
    pub mac: Option<MacAddress>,
    /// Its state.
    pub state: NeighborState,
    /// Time since it last answered or announced its MAC address. If it never did: since the first
    /// request. If it is static: since it was configured.
    pub age_ns: u64,
}

/// The neighbor cache has no free entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the neighbor table is full: it holds {neighbors_max} neighbors")]
pub struct NeighborsFull {
    /// Entries of the cache.
    pub neighbors_max: usize,
}

//! The topology of a run, for its picture.

use serde::Serialize;

/// Nodes and links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TopologyOutcome {
    /// Switches and hosts.
    pub nodes: Vec<NodeOutcome>,
    /// Links between them.
    pub links: Vec<LinkOutcome>,
}

/// A switch or a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NodeOutcome {
    /// Its name.
    pub name: String,
    /// Whether it is a host.
    pub is_host: bool,
    /// Hops to the nearest host, 0 for a host: rows of a picture.
    pub level: u32,
}

/// A link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkOutcome {
    /// Its ends: `A:3`, or a host's name.
    pub ends: [String; 2],
    /// Indices of its nodes in [`TopologyOutcome::nodes`].
    pub nodes: [usize; 2],
    /// Its rate.
    pub bits_per_second: u64,
    /// Whether it was down at the end.
    pub is_down: bool,
    /// Bytes it carried, by direction: from the first end, from the second.
    pub bytes: [u64; 2],
}

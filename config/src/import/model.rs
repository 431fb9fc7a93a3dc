//! What the files of all simulators have in common.

use dataplane::time::Speed;

/// A network with its flows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// What the nodes are called in messages: what they were read from.
    pub(super) origin: String,
    pub(super) hosts: Vec<String>,
    pub(super) switches: Vec<String>,
    pub(super) links: Vec<Link>,
    pub(super) flows: Vec<Flow>,
}

/// An end of a link, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Host(usize),
    Switch(usize),
}

/// A link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) ends: [Node; 2],
    pub(super) speed: Speed,
    /// What a bit takes from end to end.
    pub(super) delay_ps: u64,
}

/// A flow between two hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) from: usize,
    pub(super) to: usize,
    /// `None` without end.
    pub(super) size_bytes: Option<u64>,
    pub(super) start_ps: u64,
}

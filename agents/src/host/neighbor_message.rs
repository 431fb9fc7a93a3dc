//! What an ARP or neighbor discovery message says about a neighbor.

use super::counters::Outcome;
use alloc::vec::Vec;
use core::net::IpAddr;
use dataplane::wire::MacAddress;

/// The kind of message that an update came in. It decides how far the update is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateKind {
    /// The answer to our request: it proves that the neighbor receives our frames.
    Solicited,
    /// A request for one of our addresses, with the sender's own MAC address. Traffic from this
    /// neighbor is about to follow.
    Request,
    /// A message that we did not ask for and that is not addressed to us.
    Unsolicited,
}

/// The MAC address of a neighbor, as a message gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NeighborUpdate {
    pub(super) kind: UpdateKind,
    /// `None` if the message leaves it out: the known MAC address is confirmed.
    pub(super) mac: Option<MacAddress>,
    /// Whether it replaces another MAC address that is known.
    pub(super) overrides: bool,
}

/// An ARP or neighbor discovery message, checked.
#[derive(Debug)]
pub(super) struct NeighborMessage {
    /// The IP address of a neighbor, and what the message says about it.
    pub(super) update: Option<(IpAddr, NeighborUpdate)>,
    /// The reply to send, and the outcome with it.
    pub(super) reply: Option<(Vec<u8>, Outcome)>,
    /// The outcome if there is no reply and the update changes no neighbor.
    pub(super) otherwise: Outcome,
}

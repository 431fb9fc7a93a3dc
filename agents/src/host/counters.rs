//! The outcomes of punted frames, and counters of what the agent sent and learned.

use strum::{IntoStaticStr, VariantArray};

/// What became of a frame that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// An ARP request for our address: answered.
    ArpAnswered,
    /// A neighbor solicitation for our address: answered.
    SolicitationAnswered,
    /// An echo request to our address: answered.
    EchoAnswered,
    /// It is for our address, and the host's kernel, which has it by the port's TAP, answers.
    LeftToHost,
    /// It updated a neighbor that we know or sent a request for.
    NeighborHeard,
    /// Its TTL expired. The sender gets an ICMP error.
    TtlExpired,
    /// No route leads to its destination. The sender gets an ICMP error.
    NoRoute,
    /// It is longer than the MTU of the egress link, and the sender gets an ICMP error; or the echo
    /// reply to it would be longer, and the sender gets none.
    TooBig,
    /// Its next hop does not answer. The sender gets an ICMP error.
    HostUnreachable,
    /// UDP to one of our addresses, where nothing listens. The sender gets an ICMP error.
    PortUnreachable,
    /// A copy of a frame that waits on the packet path: its next hop is being resolved.
    Asked,
    /// It waits for its next hop. Not final: another outcome will follow.
    Pending,
    /// It was returned to the pipeline.
    Released,
    /// It is truncated, or has a wrong checksum or a value that its field must not have.
    Malformed,
    /// It claims one of our addresses, or another MAC address for a static neighbor.
    Spoofed,
    /// A fragment to one of our addresses; the agent does not reassemble.
    Fragment,
    /// It announces a neighbor for which we sent no request.
    Unsolicited,
    /// Its MAC or IP destination, or the target of its request, is not ours at this interface.
    NotForUs,
    /// A protocol or a message that the agent does not implement.
    Unsupported,
    /// No interface at its port, in its VLAN, or at the port of its next hop.
    NoInterface,
    /// It was punted without the next hop that its reason needs, or with one that cannot be a
    /// neighbor.
    NoNextHop,
    /// Its next hop is new, and the neighbor cache is full.
    NeighborsFull,
    /// Too many frames wait for its next hop, or too many bytes in total.
    PendingFull,
    /// The queue of outputs is full: the caller does not take them.
    OutputsFull,
    /// It waited for a next hop, and the link went down or the interface was removed.
    InterfaceGone,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The name in tables and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The counters since the agent was created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct AgentCounters {
    /// Frames handed in.
    pub frames_in: u64,
    #[cfg_attr(feature = "serde", serde(skip))]
    outcomes: [u64; Outcome::ALL.len()],
    /// ARP requests and neighbor solicitations to all nodes of a link.
    pub requests_sent: u64,
    /// ARP requests and neighbor solicitations to a known neighbor, as probes.
    pub probes_sent: u64,
    /// Announcements of our addresses (gratuitous ARP, unsolicited neighbor advertisements).
    pub announcements_sent: u64,
    /// ICMP errors sent.
    pub errors_sent: u64,
    /// ICMP errors that the rate limit suppressed.
    pub errors_limited: u64,
    /// ICMP errors not sent because the RFCs forbid one about the frame (RFC 1812, 4.3.2.7; RFC
    /// 4443, 2.4 e), or because we have no address to send it from.
    pub errors_withheld: u64,
    /// Neighbors that came up.
    pub neighbors_up: u64,
    /// Neighbors whose MAC address changed.
    pub neighbors_moved: u64,
    /// Neighbors that did not answer the first requests.
    pub neighbors_failed: u64,
    /// Neighbors that were up and stopped answering.
    pub neighbors_lost: u64,
    /// Neighbors refused because the cache was full.
    pub neighbors_refused: u64,
}

impl AgentCounters {
    /// Frames that had `outcome`.
    pub const fn frames(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Frames whose handling has ended: all that came in, less those pending now.
    pub fn frames_ended(&self) -> u64 {
        Outcome::ALL.iter().filter(|&&o| o != Outcome::Pending).map(|&o| self.frames(o)).sum()
    }

    /// Every counter with its name, the outcomes first.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let outcomes = Outcome::ALL.iter().map(|&o| (o.name(), self.frames(o)));
        outcomes.chain([
            ("frames_in", self.frames_in),
            ("requests_sent", self.requests_sent),
            ("probes_sent", self.probes_sent),
            ("announcements_sent", self.announcements_sent),
            ("errors_sent", self.errors_sent),
            ("errors_limited", self.errors_limited),
            ("errors_withheld", self.errors_withheld),
            ("neighbors_up", self.neighbors_up),
            ("neighbors_moved", self.neighbors_moved),
            ("neighbors_failed", self.neighbors_failed),
            ("neighbors_lost", self.neighbors_lost),
            ("neighbors_refused", self.neighbors_refused),
        ])
    }

    pub(super) fn count(&mut self, outcome: Outcome) {
        self.outcomes[outcome as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn every_outcome_has_a_place_and_a_name_of_its_own() {
        for (index, &outcome) in Outcome::ALL.iter().enumerate() {
            assert_eq!(outcome as usize, index);
        }
        let names: BTreeSet<_> = Outcome::ALL.iter().map(|outcome| outcome.name()).collect();
        assert_eq!(names.len(), Outcome::ALL.len());
    }
}

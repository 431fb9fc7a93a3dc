//! How punted frames ended, and what the agent sent and learned.

/// What became of a frame that was handed to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// An ARP request for our address: answered.
    ArpAnswered,
    /// A neighbor solicitation for our address: answered.
    SolicitationAnswered,
    /// An echo request to our address: answered.
    EchoAnswered,
    /// It said something about a neighbor we know or asked for.
    NeighborHeard,
    /// Its TTL ran out. The sender is told.
    TtlExpired,
    /// No route for it. The sender is told.
    NoRoute,
    /// It, or the answer to it, is longer than the MTU of the link ahead. The sender is told.
    TooBig,
    /// Its next hop does not answer. The sender is told.
    HostUnreachable,
    /// UDP to one of our addresses, where nothing listens. The sender is told.
    PortUnreachable,
    /// A copy of a frame that waits on the packet path: its next hop is being asked for.
    Asked,
    /// It waits for its next hop. Not an end: another outcome will follow.
    Pending,
    /// It went back into the pipeline.
    Released,
    /// Not what it claims to be: cut short, a wrong checksum, a value that its field must not have.
    Malformed,
    /// It claims an address that is ours, or a static neighbor's for another MAC address.
    Spoofed,
    /// A fragment to one of our addresses; the agent does not reassemble.
    Fragment,
    /// It speaks for a neighbor that nobody asked for.
    Unsolicited,
    /// Neither its MAC nor its IP destination is ours here.
    NotForUs,
    /// A protocol or a message the agent does not speak.
    Unsupported,
    /// No interface of ours at its port, in its VLAN, or at the port of its next hop.
    NoInterface,
    /// It came unresolved or too big, without a next hop or with one that cannot be a neighbor.
    NoNextHop,
    /// Its next hop is new, and the table has no room for it.
    NeighborsFull,
    /// Too much waits for its next hop, or in all, already.
    PendingFull,
    /// The caller does not take the agent's outputs.
    OutputsFull,
    /// The link or the interface where its next hop was asked for has gone.
    InterfaceGone,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 24] = [
        Self::ArpAnswered,
        Self::SolicitationAnswered,
        Self::EchoAnswered,
        Self::NeighborHeard,
        Self::TtlExpired,
        Self::NoRoute,
        Self::TooBig,
        Self::HostUnreachable,
        Self::PortUnreachable,
        Self::Asked,
        Self::Pending,
        Self::Released,
        Self::Malformed,
        Self::Spoofed,
        Self::Fragment,
        Self::Unsolicited,
        Self::NotForUs,
        Self::Unsupported,
        Self::NoInterface,
        Self::NoNextHop,
        Self::NeighborsFull,
        Self::PendingFull,
        Self::OutputsFull,
        Self::InterfaceGone,
    ];

    /// The name in tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ArpAnswered => "arp_answered",
            Self::SolicitationAnswered => "solicitation_answered",
            Self::EchoAnswered => "echo_answered",
            Self::NeighborHeard => "neighbor_heard",
            Self::TtlExpired => "ttl_expired",
            Self::NoRoute => "no_route",
            Self::TooBig => "too_big",
            Self::HostUnreachable => "host_unreachable",
            Self::PortUnreachable => "port_unreachable",
            Self::Asked => "asked",
            Self::Pending => "parked",
            Self::Released => "released",
            Self::Malformed => "malformed",
            Self::Spoofed => "spoofed",
            Self::Fragment => "fragment",
            Self::Unsolicited => "unsolicited",
            Self::NotForUs => "not_for_us",
            Self::Unsupported => "unsupported",
            Self::NoInterface => "no_interface",
            Self::NoNextHop => "no_next_hop",
            Self::NeighborsFull => "neighbors_full",
            Self::PendingFull => "parking_full",
            Self::OutputsFull => "outputs_full",
            Self::InterfaceGone => "interface_gone",
        }
    }
}

const _: () = assert!(Outcome::InterfaceGone as usize + 1 == Outcome::ALL.len());

/// What the agent has done since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentCounters {
    /// Frames handed in.
    pub frames_in: u64,
    outcomes: [u64; Outcome::ALL.len()],
    /// ARP requests and neighbor solicitations to whoever has an address.
    pub requests_sent: u64,
    /// The same to a neighbor we know, to see whether it is still there.
    pub probes_sent: u64,
    /// Our own addresses announced (gratuitous ARP, unsolicited neighbor advertisements).
    pub announcements_sent: u64,
    /// ICMP errors sent.
    pub errors_sent: u64,
    /// ICMP errors not sent because the rate limit was reached.
    pub errors_limited: u64,
    /// ICMP errors not sent because the frame allows none (RFC 1812, 4.3.2.7; RFC 4443, 2.4 e), or
    /// because we have no address to send one from.
    pub errors_withheld: u64,
    /// Neighbors that came up.
    pub neighbors_up: u64,
    /// Neighbors whose MAC address changed.
    pub neighbors_moved: u64,
    /// Neighbors that did not answer when first asked for.
    pub neighbors_failed: u64,
    /// Neighbors that were up and stopped answering.
    pub neighbors_lost: u64,
    /// Neighbors not taken because the table was full.
    pub neighbors_refused: u64,
}

impl AgentCounters {
    /// Frames that had `outcome`.
    pub const fn frames(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Frames whose handling has ended: all that came in, less those parked now.
    pub fn frames_ended(&self) -> u64 {
        Outcome::ALL.iter().filter(|&&o| o != Outcome::Pending).map(|&o| self.frames(o)).sum()
    }

    /// Every counter with its name, the outcomes first.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let outcomes = Outcome::ALL.into_iter().map(|o| (o.name(), self.frames(o)));
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
        for (index, outcome) in Outcome::ALL.into_iter().enumerate() {
            assert_eq!(outcome as usize, index);
        }
        let names: BTreeSet<_> = Outcome::ALL.map(Outcome::name).into();
        assert_eq!(names.len(), Outcome::ALL.len());
    }
}

//! The host agent: what the switch itself says on its links, as a sans-IO state machine.
//!
//! The packet path forwards; whatever it cannot finish it punts here, with the reason and the port
//! where the frame came in. The agent answers ARP, neighbor discovery and pings, tells senders why
//! their frames ended (ICMP), finds the MAC addresses of next hops, and keeps the frames that wait
//! for one. The control thread runs it, and so does an emulator: the agent may allocate, but it
//! never reads a clock, never blocks, and no input makes it panic.
//!
//! The grammar is that of quinn-proto:
//!
//! - inputs are `handle_*`, each with the time;
//! - outputs wait in a queue that [`HostAgent::poll_output`] empties, and are taken after every
//!   input, in order: a [`Output::NeighborUp`] stands before the frames it releases, so whoever
//!   installs the route before passing the frames on loses none;
//! - [`HostAgent::poll_timeout`] says when [`HostAgent::handle_timeout`] is due.
//!
//! Every frame handed in has exactly one [`Outcome`], and at all times frames in = frames of every
//! outcome but [`Outcome::Pending`] + frames parked now.
//!
//! | file | idea |
//! |---|---|
//! | `agent` | the agent: its interface, and which part handles which frame |
//! | `neighbor_manager` | what follows from neighbors coming, moving and going |
//! | `interface` | an address on a port: what is ours, what is on the link |
//! | `ethernet`, `ip` | reading and writing what stands around a message |
//! | `arp`, `ndisc` | what a message says about a neighbor, and our answers and questions |
//! | `icmp` | echo replies, errors, and when an error must not be sent |
//! | `neighbor_cache` | the cache of neighbors, for both families |
//! | `pending_frames` | frames that wait for a neighbor |
//! | `counters` | how frames ended, and what was sent |

mod agent;
mod arp;
mod counters;
mod ethernet;
mod icmp;
mod interface;
mod ip;
mod ndisc;
mod neighbor_cache;
mod neighbor_manager;
mod pending_frames;
#[cfg(test)]
mod tests;

pub use agent::HostAgent;
pub use counters::{AgentCounters, Outcome};
pub use interface::Interface;
pub use neighbor_cache::{Neighbor, NeighborKey, NeighborState, NeighborsFull};

use alloc::vec::Vec;
use dataplane::ids::PortId;
use dataplane::wire::MacAddress;

/// What the agent wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send this frame of ours at that port.
    Send {
        /// Where it leaves.
        port: PortId,
        /// The whole frame without its FCS, padded to the shortest allowed.
        frame: Vec<u8>,
    },
    /// Frames to this neighbor can go: new, or its MAC address has changed.
    NeighborUp {
        /// Who.
        neighbor: NeighborKey,
        /// Its MAC address, in place of any earlier one.
        mac: MacAddress,
    },
    /// Frames to this neighbor, up until now, must be punted again.
    NeighborDown {
        /// Who.
        neighbor: NeighborKey,
    },
    /// A frame that had waited for its next hop enters the pipeline again, as if just received.
    Release {
        /// The port where it had come in.
        port: PortId,
        /// The frame, as it had come in.
        frame: Vec<u8>,
    },
}

/// The agent's times and limits. The defaults are what a switch runs with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSettings {
    /// Neighbors in the table. What is learned beyond that is refused, never put in the place of
    /// another; at most a quarter may be unresolved, so that a scan leaves room for who is there.
    pub neighbors_max: usize,
    /// How long an answer is waited for before the question is repeated.
    pub retry_ns: u64,
    /// Questions to an unknown neighbor before it counts as unreachable, and probes to a known one
    /// before it is removed. Taken as 1 if 0.
    pub tries: u8,
    /// How long an unreachable neighbor is not asked for again.
    pub hold_down_ns: u64,
    /// How long an answer proves that a neighbor is there (RFC 4861, REACHABLE). Then: a probe.
    pub reachable_ns: u64,
    /// How long the word of a neighbor that was not asked is taken before it is probed.
    pub first_probe_ns: u64,
    /// Frames that may wait for one neighbor.
    pub pending_frames_max: usize,
    /// Bytes of all frames that wait.
    pub pending_bytes_max: usize,
    /// ICMP errors that each interface sends, in any second on average and at once.
    pub icmp_errors_per_second: u32,
}

impl Default for AgentSettings {
    fn default() -> Self {
        const SECOND_NS: u64 = 1_000_000_000;
        Self {
            neighbors_max: 4_096,
            retry_ns: SECOND_NS,
            tries: 3,
            hold_down_ns: 5 * SECOND_NS,
            reachable_ns: 60 * SECOND_NS,
            first_probe_ns: 5 * SECOND_NS,
            pending_frames_max: 64,
            pending_bytes_max: 4 << 20,
            icmp_errors_per_second: 100,
        }
    }
}

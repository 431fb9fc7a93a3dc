//! The switch as an IP host on its own links: ARP, neighbor discovery and ICMP, as a sans-IO state
//! machine.
//!
//! The packet path forwards frames. A frame that it cannot finish it punts to this agent, with the
//! reason and the ingress port. The agent answers ARP, neighbor discovery and echo requests, sends
//! ICMP errors, resolves the MAC addresses of next hops, and keeps the frames that wait for one.
//! The control thread drives it. The agent may allocate; it reads no clock, does not block, and
//! panics on no input.
//!
//! The interface follows quinn-proto:
//!
//! - inputs are methods named `handle_*`, each with the time;
//! - outputs wait in a queue. The caller takes them with [`HostAgent::poll_output`] after every
//!   input, in order. An [`Output::NeighborUp`] precedes the frames that it releases, so a caller
//!   that installs the route before it passes the frames on loses none;
//! - [`HostAgent::poll_timeout`] returns when [`HostAgent::handle_timeout`] is due.
//!
//! Every frame handed in has exactly one [`Outcome`]. At all times frames in = frames of every
//! outcome except [`Outcome::Pending`] + frames pending now.
//!
//! Each file imports only from files below it in this table.
//!
//! | file | content |
//! |---|---|
//! | `agent` | the agent: its interface, and which part handles which frame |
//! | `neighbor_manager` | resolution of next hops; neighbors that appear, move and go |
//! | `arp`, `ndisc` | reads ARP and neighbor discovery messages; writes replies and requests |
//! | `io` | what all parts share: interfaces, queue of outputs, counters, ICMP errors |
//! | `neighbor_cache` | the states of all neighbors, for both address families |
//! | `neighbor_message` | what an ARP or neighbor discovery message says about a neighbor |
//! | `pending_frames` | frames that wait for a neighbor's MAC address |
//! | `icmp` | echo replies, errors, and when an error must not be sent |
//! | `ip` | reads and writes IPv4 and IPv6 headers |
//! | `ethernet` | reads and writes Ethernet headers with VLAN tags |
//! | `interface` | an address on a port: which addresses are ours, which are on the link |
//! | `output` | what the agent asks of its caller |
//! | `neighbor`, `settings`, `counters` | public types |

mod agent;
mod arp;
mod counters;
mod ethernet;
mod icmp;
mod interface;
mod io;
mod ip;
mod ndisc;
mod neighbor;
mod neighbor_cache;
mod neighbor_manager;
mod neighbor_message;
mod output;
mod pending_frames;
mod settings;
#[cfg(test)]
mod tests;

pub use agent::HostAgent;
pub use counters::{AgentCounters, Outcome};
pub use interface::Interface;
pub use neighbor::{Neighbor, NeighborKey, NeighborState, NeighborsFull, NextHop};
pub use output::Output;
pub use settings::AgentSettings;

//! Routes from a routing daemon: the server of FRR's Forwarding Plane Manager protocol (FPM), as
//! zebra's module `dplane_fpm_nl` speaks it.
//!
//! zebra connects by TCP and sends netlink messages, each in a small frame. There is no answer that
//! it waits for and no end of its list: after each connection it sends next hops and then all
//! routes again, and goes on with changes. A frame may hold the removal of a route and its
//! successor (FRR before 10.0); nothing is compiled between the two.
//!
//! | file | idea |
//! |---|---|
//! | `frame` | from bytes to frames |
//! | `netlink` | from a frame to messages |
//! | `next_hops` | next hops by their numbers, and the groups of the table |
//! | `state` | what messages change in the routing table; stale routes |
//! | `waiting` | routes whose next hops come later |
//! | `read_back` | what a restarted zebra loses of its own routes |
//! | `ports` | from the kernel's interface numbers to ports |
//! | `acknowledgements` | routes that are in use, told to zebra |
//! | `session`, `server` | the sockets |
//! | `fuzzed` | a session without a socket |
//!
//! All but the last read no clock and no socket.

mod acknowledgements;
mod frame;
mod fuzzed;
mod netlink;
mod next_hops;
mod ports;
mod read_back;
mod server;
mod session;
mod state;
#[cfg(test)]
mod tests;
mod waiting;

pub use fuzzed::feed;
#[cfg(feature = "dpdk")]
pub(crate) use ports::{NamedPorts, PortIndexes};
#[cfg(feature = "dpdk")]
pub(crate) use server::FpmError;
pub(crate) use server::FpmServer;
pub(crate) use session::Epochs;

//! sFlow version 5: what the workers sample, the counters of ports and dropped frames, sent to
//! collectors by UDP.
//!
//! | file | idea |
//! |---|---|
//! | `xdr` | values to octets |
//! | `structures` | the structures of sFlow |
//! | `datagram` | samples put together |
//! | `reasons` | what sFlow calls causes of drops |
//! | `agent` | from samples to datagrams: numbers, sums, the rate of dropped frames |
//! | `counters` | from the statistics of a port to the counters of IF-MIB |
//! | `exporter` | the thread that reads the workers' rings, and the sockets |

mod agent;
mod counters;
mod datagram;
mod exporter;
mod reasons;
mod structures;
#[cfg(test)]
mod tests;
mod xdr;

pub(crate) use counters::of_port;
pub(crate) use exporter::{Exporter, Session, Sockets, SocketsError};

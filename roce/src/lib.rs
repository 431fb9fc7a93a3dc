//! A RoCEv2 endpoint without a device: packets in, packets out, time as an argument.
//!
//! The same endpoint runs behind a raw socket or a DPDK port (`knotless roce`) and in the hosts of
//! the emulator. It uses integers only, so that a run repeats to the bit on every machine.
//!
//! [`Endpoint`] is what a driver holds. [`wire`] reads and writes packets, [`congestion`] says how
//! fast a queue pair may send, [`memory`] and [`work`] are what an application deals with.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

pub mod congestion;
mod counters;
mod endpoint;
pub mod memory;
mod pacer;
pub mod psn;
mod queue_pair;
mod schedule;
mod settings;
pub mod time;
pub mod wire;
pub mod work;

pub use counters::Counters;
pub use endpoint::{Departure, Endpoint, Head};
pub use settings::{EndpointSettings, Peer, QueuePairSettings, Recovery};

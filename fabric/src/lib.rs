//! What follows for a whole network, from its topology and the paths that must be lossless.
//!
//! [`Network`] is the topology and [`generate`](network::generate) builds known ones. [`PathSet`]
//! holds paths. [`compile`] finds each switch's rules ([`RuleSet`]), [`verify`] proves rules of any
//! origin free of deadlock, and [`plan`] orders a change of routes. [`feasibility`] says what a
//! scheme needs of a network.
//!
//! Nothing here reads a file or knows a device; `config` reads the files.
#![forbid(unsafe_code)]

pub mod compile;
pub mod feasibility;
mod graph;
mod length;
pub mod network;
pub mod paths;
pub mod plan;
mod rules;
pub mod verify;

#[cfg(test)]
extern crate self as fabric;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;

pub use length::Length;
pub use network::Network;
pub use paths::PathSet;
pub use rules::RuleSet;

//! Many switches on virtual time in one process, repeatable to the bit.
//!
//! Every switch is a real [`Worker`](dataplane::worker::Worker) of `dataplane`, on a device whose
//! ports are emulated wires. It parses, routes, queues, drops and pauses as it does on DPDK ports,
//! and cannot tell the difference. Hosts send flows as RoCE NICs do, and check what they receive.
//!
//! ```
//! use dataplane::ids::{Priority, Tag};
//! use netsim::{FlowSpec, LinkSpec, NetworkBuilder, SwitchSpec};
//!
//! // Two hosts overload a third.
//! let mut builder = NetworkBuilder::new(1);
//! let tag = Tag::from_low_bits(1);
//! builder.lossless(tag, Priority::from_low_bits(3));
//! let switch = builder.switch("S", SwitchSpec::default());
//! let hosts = ["a", "b", "c"].map(|name| builder.host(name));
//! for (number, host) in (1..).zip(hosts) {
//!     builder.link(switch.port(number), host, LinkSpec::new(10, 10));
//! }
//! let flows = [0, 1].map(|from| builder.flow(FlowSpec::new(hosts[from], hosts[2], tag)));
//! let mut network = builder.build()?;
//!
//! network.run_until(1_000_000_000);
//! network.check()?;
//! network.drain(1_000_000_000)?;
//! network.check()?;
//! assert_eq!(flows.map(|flow| network.flow(flow).missing_frames()), [0, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! From the inside out: [`event`](crate::Picoseconds) and timers are time; frames, links and
//! devices are the wires; switches, sources, sinks and hosts are the nodes; the network turns them;
//! checkers watch.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

mod bipartition;
mod builder;
mod capture;
pub mod checker;
mod device;
mod event;
#[cfg(test)]
mod event_driven_tests;
mod fault_schedule;
mod flow;
mod frame;
mod go_back_n;
mod host_node;
pub mod huge_pages;
mod link;
mod links;
mod lldp_node;
mod network;
pub mod outcome;
pub mod report;
mod routing;
pub mod scenario;
mod sink;
mod source;
mod switch_node;
mod switch_spec;
mod tags;
mod timer;
mod topology;
mod trace;
mod tx_queue;

pub use builder::{BuildError, NetworkBuilder};
pub use event::Picoseconds;
pub use fault_schedule::Action;
pub use flow::{FlowCounters, FlowId, FlowSpec, Pace};
pub use host_node::HostCounters;
pub use link::{LinkSpec, PfcFault};
pub use network::Network;
pub use routing::{RouteKind, Way};
pub use sink::Drain;
pub use switch_spec::SwitchSpec;
pub use topology::{End, HostId, SwitchId};

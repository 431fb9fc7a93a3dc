//! Many switches on virtual time in one process, repeatable to the bit.
//!
//! Every switch is a real [`Worker`](dataplane::worker::Worker) of `dataplane`, on a device whose
//! ports are emulated wires. It parses, routes, queues, drops and pauses exactly as on DPDK ports.
//! Hosts send flows as RoCE NICs do, and check what they receive.
//!
//! ```
//! use dataplane::ids::{Priority, Tag};
//! use netsim::builder::NetworkBuilder;
//! use netsim::flow::FlowSpec;
//! use netsim::link::LinkSpec;
//! use netsim::switch_spec::SwitchSpec;
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
//! From the bottom up: [`event`], `event_queue` and `timer` are time; `frame`, [`link`], `links`
//! and `device` are the wires; `switch_node`, `source`, [`sink`] and [`host_node`] are the nodes;
//! [`network`], `part` and `run` turn them, `threads` in several threads; [`checker`] checks them;
//! [`reconfiguration`] changes their routes as a controller does. [`recording`] is what happened at
//! a switch's ports, and [`replay`] compares two switches by it.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

mod bipartition;
pub mod build_error;
pub mod builder;
mod capture;
pub mod checker;
mod deal;
mod device;
pub mod event;
#[cfg(test)]
mod event_driven_tests;
mod event_queue;
pub mod fault_schedule;
mod faults;
pub mod flow;
mod frame;
mod go_back_n;
pub mod host_node;
pub mod host_pauses;
pub mod huge_pages;
pub mod interval;
pub mod link;
mod links;
mod lldp_node;
mod load;
mod meeting;
pub mod network;
pub mod outcome;
mod part;
mod partition;
mod rdma;
pub mod reconfiguration;
pub mod recording;
pub mod replay;
pub mod report;
pub mod routing;
mod run;
pub mod scenario;
pub mod sink;
mod source;
mod switch_node;
pub mod switch_spec;
mod tags;
mod threads;
#[cfg(test)]
mod threads_tests;
mod timer;
pub mod topology;
mod trace;
mod tx_queue;

//! The program `knotless` as a library: ports and cores around the dataplane, the control thread,
//! and what the command line does.
#![deny(unsafe_code)]
// Without DPDK there is no `run`, and only the tests use the control thread and the worker loop.
#![cfg_attr(not(feature = "dpdk"), allow(dead_code))]

pub mod apply;
pub mod bounces;
pub mod campaign;
#[cfg(feature = "dpdk")]
pub mod capture;
pub mod check;
pub mod compare;
pub mod control;
pub mod cpu;
pub mod ctl;
#[cfg(feature = "dpdk")]
#[allow(unsafe_code)]
pub mod dpdk;
mod drain_filter;
pub mod export;
pub mod fleet;
#[cfg(feature = "dpdk")]
mod fleet_agent;
mod flight_recorder;
pub mod fpm;
pub mod generate;
pub mod headroom;
pub mod histograms;
mod host_taps;
pub mod import;
mod instance_lock;
mod log;
mod lossless_report;
mod metrics;
mod named_thread;
pub mod network;
pub mod old_names;
pub mod output;
pub mod plan;
pub mod platform;
mod ports;
#[cfg(feature = "dpdk")]
mod record;
mod replace_file;
#[cfg(feature = "dpdk")]
pub mod replay;
pub mod roce;
mod rtnetlink;
#[cfg(feature = "dpdk")]
pub mod run;
mod security;
mod service_manager;
mod sflow;
mod side_files;
pub mod simulate;
mod stop_flag;
#[allow(unsafe_code)]
mod tap_queue;
pub mod top;
pub mod trace;
pub mod traffic;
mod unix_socket;
pub mod usage;
pub mod watch;
pub mod why;
mod worker_loop;

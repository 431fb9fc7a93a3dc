//! The safe layer over DPDK: the only unsafe code outside `dpdk-sys`.
//!
//! Order of use: [`eal::Eal::init`] once; [`mempool::Pool::new`] for frames and, apart, for control
//! frames; [`port::Port::open`] for each device; then on each worker thread
//! [`lcore::register_thread`] and a [`device::DpdkDevice`] over the queues of its ports.
//!
//! Everything keeps what it needs alive (a port its pool, a pool the EAL), so values may be dropped
//! in any order; see [`mempool::Pool`] for what happens to a pool whose frames outlive it.

pub mod clock;
pub mod device;
pub mod device_args;
mod device_events;
mod device_lock;
pub mod eal;
pub mod error;
mod failure;
pub mod flow_control;
mod interrupt_thread;
pub mod lcore;
mod link;
mod log;
pub mod mbuf;
mod memif;
pub mod memory;
pub mod mempool;
mod netlink;
pub(crate) mod nic_notes;
mod owners;
pub mod pacer;
mod packet_socket;
pub(crate) mod pci;
pub mod port;
mod port_options;
mod probe;
mod rss;
pub mod rx_backlog;
pub mod rx_queue;
mod setup;
mod tap;
mod tsc;

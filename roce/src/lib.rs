//! A RoCEv2 endpoint without a device: packets in, packets out, time as an argument.
//!
//! The same endpoint runs behind a raw socket or a DPDK port (`knotless roce`) and in the hosts of
//! the emulator. It uses integers only, so that a run repeats to the bit on every machine.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

pub mod congestion;
pub mod time;

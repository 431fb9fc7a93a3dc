//! Control-plane protocols of a switch, sans-IO: bytes in, bytes out, time as an argument.
//!
//! [`host`] is the switch as an IP host on its own links: ARP, neighbor discovery and ICMP.
//! [`lldp`] is IEEE 802.1AB, with the levels that a Clos network learns by it.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "tests write small numbers down"
    )
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod host;
pub mod lldp;

//! The switch without a device: bytes in, bytes out, time as an argument.
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

pub mod agent;
mod alone;
mod backpressure;
mod books;
mod bridge;
pub mod buffer;
mod by_parts;
pub mod classify;
pub mod counters;
pub mod device;
mod doors;
mod exchange;
mod fates;
pub mod fib;
pub mod frame;
#[cfg(feature = "gfc")]
pub mod gentle;
#[cfg(not(feature = "gfc"))]
#[path = "gentle_absent.rs"]
pub mod gentle;
mod handoff;
pub mod hops;
pub mod ids;
mod ingress;
pub mod l2;
mod lane;
mod limiter;
pub mod limits;
pub mod links;
pub mod lldp;
mod pending;
pub mod pfc;
mod plain;
mod port;
pub mod probe;
mod published;
pub mod queue;
mod recipe;
pub mod report;
mod rewrite;
mod route;
pub mod rules;
pub mod settings;
mod settle;
mod slots;
pub mod snapshot;
mod staging;
mod takeover;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
pub mod wire;
pub mod worker;

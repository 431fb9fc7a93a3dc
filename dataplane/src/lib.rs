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

mod accounting;
mod backpressure;
pub mod buffer;
pub mod capture;
pub mod control_rings;
pub mod counters;
pub mod device;
pub mod driver;
mod event_driven;
pub mod fib;
pub mod frame;
mod frame_sums;
#[cfg(feature = "gfc")]
pub mod gfc;
#[cfg(not(feature = "gfc"))]
#[path = "gfc_stub.rs"]
pub mod gfc;
mod handoff;
pub mod host_class;
pub mod ids;
pub mod l2;
pub mod limiter;
pub mod limits;
mod padded_atomic;
pub mod pfc;
pub mod pipeline;
mod port;
mod port_mask;
pub mod probe;
pub mod punt;
pub mod qos_map;
pub mod queue;
pub mod report;
pub mod rules;
pub mod rx_queues;
pub mod sampling;
pub mod settings;
pub mod share;
pub mod snapshot;
pub mod tag_changes;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
pub mod ttl_class;
pub mod tunnel;
pub mod turns;
mod unresolved;
pub mod wire;
pub mod worker;

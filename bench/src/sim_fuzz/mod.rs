//! `make sim-fuzz`: networks, routes, traffic and faults drawn from a seed, and judged by all
//! checkers.
//!
//! [`draw`] makes the scenario of a seed. [`judge`] runs it under every scheme and lists what is
//! wrong. Plain PFC may deadlock, and must do so for some seed; no other scheme may.

mod draw;
mod faults;
mod judge;
mod topology;
mod traffic;

pub use draw::draw;
pub use judge::{Judged, Run, SCHEMES, judge};

//! `make hunt`: networks, routes, traffic and faults drawn from a seed, and judged by all checkers.
//!
//! [`draw`] makes the scenario of a seed, [`judge`] runs it under every scheme and says what is
//! wrong. Plain PFC may deadlock, and must be found to somewhere; no other scheme ever may.

mod draw;
mod faults;
mod judge;
mod topology;
mod traffic;

pub use draw::draw;
pub use judge::{HUNTED, Judged, Run, judge};

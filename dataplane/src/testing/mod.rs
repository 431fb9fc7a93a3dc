//! A whole switch in plain memory, for tests and benches of whoever builds on the core.

pub mod bursts;
mod captured;
mod counters;
mod device;
pub mod drivers;
pub mod random_switch;
mod rig;
mod sampled;
mod script;
pub mod stages;
pub mod wire;
mod wires;

pub use device::{TestDevice, TestFrame, TestPort};
pub use rig::{Rig, RigBuilder, tag_of};
pub use script::Script;
pub use wires::{Sent, WireDevice};

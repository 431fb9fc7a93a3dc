//! A whole switch in plain memory, for tests and benches of whoever builds on the core.

mod device;
mod rig;
pub mod stages;
pub mod wire;

pub use device::{TestDevice, TestFrame, TestPort};
pub use rig::{Rig, RigBuilder};

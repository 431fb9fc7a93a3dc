//! What the benches share: repeatable random input, how they end, and the designs that lost.
//!
//! Every bench checks the answers that it times: a fast wrong answer is worth nothing.

pub mod bit_vector;
pub mod clock;
pub mod line_switch;
pub mod loop_device;
pub mod memory;
pub mod reconfiguration;
pub mod rules;
pub mod shard;
pub mod shared_rows;
pub mod sim_fuzz;
pub mod stats;
pub mod table;
mod verdict;
pub mod watched_device;

pub use verdict::verdict;

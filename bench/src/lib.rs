//! What the benches share: repeatable random input, and the designs that lost.
//!
//! Every bench checks the answers that it times: a fast wrong answer is worth nothing.

pub mod bit_vector;
mod dice;
pub mod hunt;
pub mod line_switch;
pub mod loop_device;
pub mod memory;
pub mod rules;
pub mod shared_rows;
pub mod table;

pub use dice::Dice;

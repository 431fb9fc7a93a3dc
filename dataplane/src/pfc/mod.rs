//! Priority flow control (IEEE 802.1Q): [`generator`] makes the PFC frames sent upstream,
//! [`receiver`] applies the PFC frames received from downstream, [`watchdog`] acts on pauses that
//! last too long.

pub mod generator;
pub mod receiver;
pub mod watchdog;

//! The same switch, frames and faults under both drivers. Promised: polling and event-driven
//! workers send, punt and count the same, frame by frame.

pub use dataplane::testing::drivers::run;

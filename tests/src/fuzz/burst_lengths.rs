//! The same switch, frames and faults in bursts of different lengths. Promised: N bursts of one
//! frame have the result of one burst of N frames.

pub use dataplane::testing::bursts::run;

//! The mean of what several seeds gave, and how sure it is: as campaigns have it.

pub use netsim::interval::{Interval, SEEDS_MIN};

//! Time, as the endpoint counts it.

/// Picoseconds since a moment that the driver chooses. A frame of 64 bytes takes 1,280 ps at 400
/// Gb/s, so nanoseconds would be too coarse for pacing. 64 bits last 213 days.
pub type Picoseconds = u64;

/// Picoseconds in a nanosecond.
pub(crate) const PS_PER_NS: u64 = 1_000;
/// Picoseconds in a microsecond, the unit of most parameters of congestion control.
pub const PS_PER_US: u64 = 1_000_000;

/// Later than any event.
pub const NEVER: Picoseconds = u64::MAX;

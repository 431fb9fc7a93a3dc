//! Stages that the core keeps to itself, for benches that time them one by one.

use crate::pipeline::class::Class;
use crate::pipeline::fast_path;
use crate::snapshot::PortTables;

/// Class and destination of a plain frame, as a routed port's burst examines it: parse and classify
/// in one go. `None` for a frame that goes through the general stages.
#[inline(always)]
pub fn examine(port: &PortTables, frame: &[u8], frame_bytes_max: usize) -> Option<(Class, u32)> {
    fast_path::classify(&port.fast_path, frame, frame.len(), frame_bytes_max)
}

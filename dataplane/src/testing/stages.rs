//! Stages that the core keeps to itself, for benches that time them one by one.

use crate::fib::{Fib, Leaf};
use crate::pipeline::class::Class;
use crate::pipeline::fast_path;
use crate::pipeline::lanes::{LANES, routes};
use crate::snapshot::{PortTables, Snapshot};
use wide::u32x8;

/// Class and destination of a plain frame, as a routed port's burst examines it: parse and classify
/// in one go. `None` for a frame that goes through the general stages.
#[inline(always)]
pub fn examine(port: &PortTables, frame: &[u8], frame_bytes_max: usize) -> Option<(Class, u32)> {
    fast_path::classify(&port.fast_path, frame, frame.len(), frame_bytes_max)
}

/// The leaf of each of eight IPv4 destinations, as the fast path looks them up.
#[inline(always)]
pub fn look_up(snapshot: &Snapshot, destinations: [u32; LANES]) -> [Leaf; LANES] {
    look_up_in(&snapshot.fib, destinations)
}

/// As [`look_up`], in a table of its own.
#[inline(always)]
pub fn look_up_in(fib: &Fib, destinations: [u32; LANES]) -> [Leaf; LANES] {
    let leaves = routes::look_up(fib.v4_trie(), [destinations.into()], u32x8::MAX).to_array();
    leaves.map(|bits| Leaf::from_bits(bits).unwrap_or(Leaf::NO_ROUTE))
}

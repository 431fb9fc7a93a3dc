//! Every fixed limit of the core in one place, and the proofs that they fit each other.

/// Priorities (PFC classes) of IEEE 802.1Q: 0 to 7.
pub const PRIORITIES: usize = 8;
/// Ports of one switch. Rule tables are dense in (tag, in, out), which bounds them.
pub const PORTS_MAX: usize = 256;
/// Tag values: a tag travels in the six bits of the DSCP.
pub const TAGS: usize = 64;
/// Frames handled together in one pass. Large enough to hide a cache miss behind the next frame's
/// work, small enough that a burst's metadata stays in the first-level cache.
pub const BURST_MAX: usize = 64;
/// Worker cores of one switch.
pub const WORKERS_MAX: usize = 16;
/// The shortest frame on a wire, without its FCS.
pub const FRAME_BYTES_MIN: usize = 60;
/// The longest frame the switch carries (jumbo with two VLAN tags), without its FCS.
pub const FRAME_BYTES_MAX: usize = 9_728;
/// Preamble, start delimiter, FCS and inter-frame gap: what a frame costs on the wire beyond its
/// bytes.
pub const WIRE_OVERHEAD_BYTES: usize = 24;
/// Members of one ECMP group.
pub const ECMP_MAX: usize = 64;

const _: () = assert!(PORTS_MAX * PRIORITIES <= u16::MAX as usize, "a VIQ index is 16 bits");
const _: () = assert!(FRAME_BYTES_MAX <= u16::MAX as usize, "a frame's length is kept in 16 bits");
const _: () = assert!(BURST_MAX <= 64, "a burst's verdicts are 64-bit masks");

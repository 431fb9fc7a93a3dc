//! All fixed limits of the core, and compile-time checks that they are consistent.

/// Priorities (PFC classes) of IEEE 802.1Q: 0 to 7.
pub const PRIORITIES: usize = 8;
/// Ports of one switch. Rule tables are dense in (tag, in, out), which limits this number.
pub const PORTS_MAX: usize = 256;
/// Tag values: the six bits of the DSCP carry a tag.
pub const TAGS: usize = 64;
/// Frames processed together in one pass. Large enough to hide a cache miss behind the work on the
/// next frame; small enough that a burst's metadata stays in the L1 cache.
pub const BURST_MAX: usize = 96;
/// A bit for each frame of a burst: bit i for frame i.
pub(crate) type BurstBits = u128;
/// A bit for each of the first `frames` frames of a burst.
pub(crate) const fn burst_bits(frames: usize) -> BurstBits {
    if frames >= BURST_MAX { BurstBits::MAX } else { !(BurstBits::MAX << frames) }
}
/// The indexes of the frames whose bits are set, the lowest first.
pub(crate) fn frames_of(mut bits: BurstBits) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let at = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (at < BURST_MAX).then_some(at)
    })
}

/// Worker cores of one switch.
pub const WORKERS_MAX: usize = 16;
/// The shortest frame on a link, without its FCS.
pub const FRAME_BYTES_MIN: usize = 60;
/// The longest frame that the switch forwards (jumbo with two VLAN tags), without its FCS.
pub const FRAME_BYTES_MAX: usize = 9_728;
/// Preamble, start delimiter, FCS and inter-frame gap: the bytes on the wire beyond those of the
/// frame.
pub const WIRE_OVERHEAD_BYTES: usize = 24;
/// Members of one ECMP group.
pub const ECMP_MAX: usize = 64;
/// Frames of a worker that may wait for the control thread. Few, because they occupy data-path
/// buffers.
pub const PUNT_FRAMES: usize = 512;

const _: () = assert!(PORTS_MAX * PRIORITIES <= u16::MAX as usize, "a VIQ index is 16 bits");
const _: () = assert!(FRAME_BYTES_MAX <= u16::MAX as usize, "a frame's length is kept in 16 bits");
const _: () = assert!(BURST_MAX <= BurstBits::BITS as usize, "a burst's verdicts are masks");

//! The frame and the burst. The core handles them without knowledge of the memory behind them.

use crate::limits::BURST_MAX;
use arrayvec::ArrayVec;
use core::fmt::Debug;

/// One Ethernet frame, without its FCS. The owner of this value owns the frame's buffer.
///
/// Dropping a frame returns its buffer to the pool from which it came. A frame may have several
/// segments. The core reads and writes only the first one, which contains every header that the
/// core parses: [`Frame::head`] is the whole frame or at least its first [`HEAD_BYTES`] bytes.
pub trait Frame: Sized + Debug {
    /// The first segment.
    fn head(&self) -> &[u8];
    /// The first segment, for rewriting.
    fn head_mut(&mut self) -> &mut [u8];
    /// Length of the whole frame in bytes, all segments together.
    fn len(&self) -> usize;
    /// Prepends space for `bytes` bytes. Returns false, and changes nothing, if there is none.
    fn grow_front(&mut self, bytes: usize) -> bool;
    /// Removes `bytes` from the front. Returns false, and changes nothing, if the first segment is
    /// shorter.
    fn shrink_front(&mut self, bytes: usize) -> bool;
    /// Prefetches the metadata that the device keeps for the frame, and that another core used
    /// last. The default does nothing.
    #[inline(always)]
    fn prefetch_bookkeeping(&self) {}
    /// Whether the frame has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The least that [`Frame::head`] contains of a longer frame: Ethernet, two VLAN tags, IPv6 or IPv4
/// with all options, and the L4 ports.
pub const HEAD_BYTES: usize = 128;

/// Up to [`BURST_MAX`] frames that are processed together.
pub type Burst<F> = ArrayVec<F, BURST_MAX>;

/// The length of a frame that is no longer than
/// [`FRAME_BYTES_MAX`](crate::limits::FRAME_BYTES_MAX), or that will be dropped because it is.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "what is longer is dropped, and counted as it is"
)]
pub(crate) fn length_bytes<F: Frame>(frame: &F) -> u16 {
    frame.len() as u16
}

//! The frame and the burst: what the core handles without knowing whose memory it is.

use crate::limits::BURST_MAX;
use arrayvec::ArrayVec;

/// One Ethernet frame, without its FCS, in a buffer that belongs to whoever holds this value.
///
/// Dropping a frame returns its buffer to where it came from. A frame may live in several pieces;
/// the core only reads and writes the first one, which holds every header the core understands:
/// [`Frame::head`] is the whole frame or at least its first [`HEAD_BYTES`] bytes.
pub trait Frame: Sized {
    /// The first contiguous piece.
    fn head(&self) -> &[u8];
    /// The first contiguous piece, to be rewritten.
    fn head_mut(&mut self) -> &mut [u8];
    /// Length of the whole frame in bytes, all pieces together.
    fn len(&self) -> usize;
    /// Makes room for `bytes` in front; false (and no change) if there is none.
    fn grow_front(&mut self, bytes: usize) -> bool;
    /// Takes `bytes` off the front; false (and no change) if the first piece is shorter.
    fn shrink_front(&mut self, bytes: usize) -> bool;
    /// Asks the CPU to fetch the start of the headers; does nothing by default.
    #[inline(always)]
    fn prefetch(&self) {}
    /// Asks the CPU to fetch what the frame's owner keeps of it, which another core had last; does
    /// nothing by default.
    #[inline(always)]
    fn prefetch_bookkeeping(&self) {}
    /// Whether the frame has no bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The least a [`Frame::head`] shows of a longer frame: Ethernet, two VLAN tags, IPv6 or IPv4 with
/// all options, and the ports behind it.
pub const HEAD_BYTES: usize = 128;

/// Up to [`BURST_MAX`] frames that are handled together.
pub type Burst<F> = ArrayVec<F, BURST_MAX>;

/// The length of a frame that is no longer than
/// [`FRAME_BYTES_MAX`](crate::limits::FRAME_BYTES_MAX), or is about to be dropped for being so.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "what is longer is dropped, and counted as it is"
)]
pub(crate) fn length_bytes<F: Frame>(frame: &F) -> u16 {
    frame.len() as u16
}

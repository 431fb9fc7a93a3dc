//! The metadata of a queued frame.

use crate::buffer::ViqId;
use crate::frame::{Frame, length_bytes};
use crate::ids::{PortId, Priority};
use crate::time::Instant;

/// Metadata of a queued frame. Everything else is in the frame. The fields of
/// [`Self::run_key`] are together, in the order of their bits, so that it is one load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FrameMeta {
    /// Offset of the IP header, which ECN marks; 0 if there is none.
    pub l3: u8,
    /// Egress priority; above its three bits, a mark if a capture follows the frame.
    pub priority: u8,
    /// The virtual ingress queue (VIQ) that the frame is charged to.
    pub viq: ViqId,
    /// Low 32 bits of the arrival time in nanoseconds.
    pub arrived_ns: u32,
    /// Index of the egress port.
    pub out: u16,
    /// Length in bytes at egress.
    pub bytes: u16,
}

impl FrameMeta {
    /// The metadata of no frame.
    pub(crate) const NONE: Self =
        Self { viq: ViqId::NONE, bytes: 0, arrived_ns: 0, out: 0, priority: 0, l3: 0 };

    /// Marks, "none" included: as many as there are values above the priority.
    pub(crate) const MARKS: u8 = 1 << (u8::BITS - Self::MARK_SHIFT);
    const MARK_SHIFT: u32 = 3;

    /// The mark of a frame that a capture follows; 0 for none. Frames with different marks are of
    /// different [runs](Self::run_key).
    #[inline(always)]
    pub(crate) const fn mark(&self) -> u8 {
        self.priority >> Self::MARK_SHIFT
    }

    /// Sets the mark.
    pub(crate) const fn set_mark(&mut self, mark: u8) {
        self.priority = self.priority & 7 | mark << Self::MARK_SHIFT;
    }

    /// `frame`, with this metadata and its own length.
    #[inline(always)]
    pub(crate) fn queued<F: Frame>(self, frame: F) -> QueuedFrame<F> {
        QueuedFrame { meta: Self { bytes: length_bytes(&frame), ..self }, frame }
    }

    /// The index of the ingress port; for the switch's own frames, an index that no port has.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a VIQ's index has 16 bits")]
    pub(super) const fn ingress(&self) -> u16 {
        self.viq.port_index() as u16
    }

    /// Whether `other` is the same but for the length.
    #[inline(always)]
    pub(crate) const fn is_of_run(&self, other: &Self) -> bool {
        self.run_key() == other.run_key() && self.out == other.out
    }

    /// The bit of the egress priority.
    #[inline(always)]
    pub(crate) const fn priority_bit(&self) -> u8 {
        1 << (self.priority & 7)
    }

    /// The fields that frames of one run have in common besides the egress port, as one word.
    #[inline(always)]
    pub(crate) const fn run_key(&self) -> u64 {
        (self.arrived_ns as u64) << 32
            | (self.viq.bits() as u64) << 16
            | (self.priority as u64) << 8
            | self.l3 as u64
    }

    /// The metadata of one of the switch's own frames, which is charged to no VIQ.
    pub fn own<F: Frame>(frame: &F, out: PortId, priority: Priority, now: Instant) -> Self {
        Self {
            viq: ViqId::NONE,
            bytes: u16::try_from(frame.len()).unwrap_or(u16::MAX),
            arrived_ns: low_32_bits(now),
            out: u16::try_from(out.index()).unwrap_or(u16::MAX),
            priority: priority.value(),
            l3: 0,
        }
    }
}

/// The low 32 bits of a time in nanoseconds: enough for waits below four seconds.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the high bits are meant to go")]
pub const fn low_32_bits(time: Instant) -> u32 {
    time.ns as u32
}

/// A frame and its metadata.
#[derive(Debug)]
pub struct QueuedFrame<F> {
    /// The frame.
    pub frame: F,
    /// Its metadata.
    pub meta: FrameMeta,
}

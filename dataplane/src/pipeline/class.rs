//! The class of a frame: its tag, its ingress priority, and whether it is lossless.

use crate::ids::{Priority, Tag};

/// The result of classification. It is packed so that the stages pass it in a register. Separate
/// small fields would be written one by one and read as a whole, which defeats the CPU's
/// store-to-load forwarding and causes a stall.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Class(u32);

impl Class {
    /// A frame with `tag` in `priority`; `lossless` if the tag is lossless, `remark` if the frame
    /// carries a different marking.
    pub const fn new(tag: Tag, priority: Priority, lossless: bool, remark: bool) -> Self {
        Self(
            tag.value() as u32
                | (priority.value() as u32) << 8
                | (lossless as u32) << 16
                | (remark as u32) << 24,
        )
    }

    /// Placeholder for an unknown class; no frame has it.
    pub(crate) const UNKNOWN: Self = Self(u32::MAX);

    /// The ingress tag.
    #[inline(always)]
    pub const fn tag(self) -> Tag {
        Tag::from_low_bits((self.0 & 63) as u8)
    }

    /// The ingress priority, which selects the VIQ.
    #[inline(always)]
    pub const fn priority(self) -> Priority {
        Priority::from_low_bits((self.0 >> 8 & 7) as u8)
    }

    /// Whether the tag is lossless.
    #[inline(always)]
    pub const fn is_lossless(self) -> bool {
        self.0 >> 16 & 1 == 1
    }

    /// Whether a marking of the frame disagrees with the tag and must be rewritten.
    #[inline(always)]
    pub const fn must_remark(self) -> bool {
        self.0 >> 24 & 1 == 1
    }

    /// Whether the frame may leave in a priority other than its ingress priority, or with another
    /// marking, even though its tag stays.
    #[inline(always)]
    pub(crate) const fn may_change(self) -> bool {
        self.0 >> 24 != 0
    }

    /// The same class, of which some port's [`QosMap`](crate::qos_map::QosMap) has another queue.
    pub(crate) const fn with_other_queue(self) -> Self {
        Self(self.0 | 1 << 25)
    }

    /// The same class in another priority.
    #[inline(always)]
    pub(crate) const fn with_priority(self, priority: Priority) -> Self {
        Self(self.0 & !0xFF00 | (priority.value() as u32) << 8)
    }

    /// The same class, to be re-marked or not.
    pub(crate) const fn with_remark(self, remark: bool) -> Self {
        Self(self.0 & !(1 << 24) | (remark as u32) << 24)
    }

    /// The class with this packed value, which [`Self::bits`] returned.
    #[inline(always)]
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The packed value.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }
}

impl core::fmt::Debug for Class {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Class")
            .field("tag", &self.tag())
            .field("priority", &self.priority())
            .field("is_lossless", &self.is_lossless())
            .field("must_remark", &self.must_remark())
            .field("may_change", &self.may_change())
            .finish()
    }
}

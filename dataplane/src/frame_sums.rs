//! The sums of frames that are counted, charged and released together: the one accumulator of the
//! packet path, of an outcome group and of a run alike.

/// Frames, their bytes at egress, and what they cost in the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameSums {
    pub(crate) frames: u32,
    pub(crate) bytes: u32,
    pub(crate) cost_bytes: u32,
}

impl FrameSums {
    /// The sums of one frame, which costs at least `cell_bytes`.
    #[inline(always)]
    pub(crate) fn of_one(bytes: u16, cell_bytes: u32) -> Self {
        let bytes = u32::from(bytes);
        Self { frames: 1, bytes, cost_bytes: bytes.max(cell_bytes) }
    }

    /// Adds other frames.
    #[inline(always)]
    pub(crate) const fn add(&mut self, other: Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.cost_bytes += other.cost_bytes;
    }

    /// Removes frames that were added before.
    pub(crate) const fn remove(&mut self, other: Self) {
        self.frames -= other.frames;
        self.bytes -= other.bytes;
        self.cost_bytes -= other.cost_bytes;
    }
}

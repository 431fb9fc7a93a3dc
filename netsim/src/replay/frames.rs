//! Where the frames of a replay come from.

use crate::frame::{Pool, SimFrame};
use dataplane::frame::Frame;
use std::fmt::Debug;

/// Makes the frames of a replay.
pub trait FrameMaker: Debug {
    /// Their type.
    type Frame: Frame;

    /// A frame of `frame_bytes` that begins with `head`; what follows nobody reads. `None` if there
    /// is no buffer.
    fn make(&mut self, head: &[u8], frame_bytes: usize) -> Option<Self::Frame>;

    /// Frees a frame's buffer.
    fn free(&mut self, _frame: Self::Frame) {}
}

/// The emulator's frames.
#[derive(Debug, Default)]
pub(super) struct SimFrames(Pool);

impl FrameMaker for SimFrames {
    type Frame = SimFrame;

    fn make(&mut self, head: &[u8], frame_bytes: usize) -> Option<SimFrame> {
        Some(self.0.take(head, u16::try_from(frame_bytes).unwrap_or(u16::MAX)))
    }

    fn free(&mut self, frame: SimFrame) {
        self.0.give(frame);
    }
}

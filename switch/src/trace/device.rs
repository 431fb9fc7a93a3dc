//! Frames and ports in memory, for the worker that a frame is traced with.

use dataplane::device::Device;
use dataplane::frame::{Burst, Frame};
use dataplane::ids::PortId;
use dataplane::time::Instant;
use std::collections::VecDeque;

/// Room in front of a frame, as an mbuf has it.
const FRONT_BYTES: usize = 64;

/// A frame of which the headers exist.
#[derive(Clone, Debug)]
pub(super) struct MemoryFrame {
    buffer: Vec<u8>,
    start: usize,
    frame_bytes: usize,
}

impl MemoryFrame {
    /// A frame of `frame_bytes` that begins with `head`.
    pub(super) fn new(head: &[u8], frame_bytes: usize) -> Self {
        let mut buffer = vec![0; FRONT_BYTES];
        buffer.extend_from_slice(head);
        Self { buffer, start: FRONT_BYTES, frame_bytes: frame_bytes.max(head.len()) }
    }
}

impl Frame for MemoryFrame {
    fn head(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    fn head_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..]
    }

    fn len(&self) -> usize {
        self.frame_bytes
    }

    fn grow_front(&mut self, bytes: usize) -> bool {
        let fits = self.start >= bytes;
        if fits {
            self.start -= bytes;
            self.frame_bytes += bytes;
        }
        fits
    }

    fn shrink_front(&mut self, bytes: usize) -> bool {
        let fits = self.buffer.len() - self.start >= bytes;
        if fits {
            self.start += bytes;
            self.frame_bytes -= bytes;
        }
        fits
    }
}

/// Ports that take whatever they are given, at once.
#[derive(Debug, Default)]
pub(super) struct MemoryDevice {
    /// Frames that arrive, in order.
    pub(super) arriving: VecDeque<(PortId, MemoryFrame)>,
    /// Frames that left, in order.
    pub(super) sent: Vec<(PortId, MemoryFrame)>,
}

impl Device for MemoryDevice {
    type Frame = MemoryFrame;

    fn rx_burst(&mut self, port: PortId, frames_max: usize, into: &mut Burst<MemoryFrame>) {
        if frames_max > 0
            && !into.is_full()
            && self.arriving.front().is_some_and(|(at, _)| *at == port)
            && let Some((_, frame)) = self.arriving.pop_front()
        {
            into.push(frame);
        }
    }

    fn tx_room_bytes(&mut self, _port: PortId, _now: Instant) -> u32 {
        u32::MAX
    }

    fn tx_burst(&mut self, port: PortId, from: &mut Burst<MemoryFrame>, _now: Instant) {
        self.sent.extend(from.drain(..).map(|frame| (port, frame)));
    }

    fn make_control(&mut self, bytes: &[u8]) -> Option<MemoryFrame> {
        Some(MemoryFrame::new(bytes, bytes.len()))
    }

    fn copy(&mut self, frame: &MemoryFrame) -> Option<MemoryFrame> {
        Some(frame.clone())
    }

    fn rx_backlog_frames(&mut self, _port: PortId) -> Option<u32> {
        None
    }
}

//! Frames and devices in plain memory, for tests and benches of whoever builds on the core.

use crate::device::Device;
use crate::frame::{Burst, Frame};
use crate::ids::PortId;
use crate::limits::BURST_MAX;
use crate::time::Instant;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// Room in front of a test frame, as an mbuf has it.
const FRONT_BYTES: usize = 64;

/// A frame in a `Vec`.
#[derive(Clone, PartialEq, Eq)]
pub struct TestFrame {
    buffer: Vec<u8>,
    start: usize,
}

impl core::fmt::Debug for TestFrame {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_fmt(format_args!("{:02x?}", self.head()))
    }
}

impl TestFrame {
    /// A frame of `bytes`.
    pub fn new(bytes: &[u8]) -> Self {
        let mut buffer = vec![0; FRONT_BYTES];
        buffer.extend_from_slice(bytes);
        Self { buffer, start: FRONT_BYTES }
    }
}

impl Frame for TestFrame {
    fn head(&self) -> &[u8] {
        &self.buffer[self.start..]
    }
    fn head_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..]
    }
    fn len(&self) -> usize {
        self.buffer.len() - self.start
    }
    fn grow_front(&mut self, bytes: usize) -> bool {
        let enough = self.start >= bytes;
        if enough {
            self.start -= bytes;
        }
        enough
    }
    fn shrink_front(&mut self, bytes: usize) -> bool {
        let enough = self.len() >= bytes;
        if enough {
            self.start += bytes;
        }
        enough
    }
}

/// One port of a [`TestDevice`].
#[derive(Clone, Debug, Default)]
pub struct TestPort {
    /// What the port will receive, in order.
    pub arriving: VecDeque<TestFrame>,
    /// What it was handed, in order.
    pub sent: Vec<TestFrame>,
    /// Frames it still takes; `None` is no limit.
    pub takes_frames: Option<usize>,
    /// Bytes it has room for; `None` is no limit.
    pub room_bytes: Option<u32>,
    /// Frames it says it takes in one call; `None` is no limit.
    pub room_frames: Option<usize>,
    /// What it says of its receive backlog.
    pub backlog_frames: Option<u32>,
}

/// Ports in memory.
#[derive(Clone, Debug, Default)]
pub struct TestDevice {
    /// By port index.
    pub ports: Vec<TestPort>,
    /// Copies it can still make.
    pub copies_left: usize,
    /// Control frames it can still make.
    pub control_left: usize,
    /// Whether it has a queue at the ports of other workers.
    pub sends_for_others: bool,
    /// Whether it is a wire without a ring, from which everything is received at once.
    pub has_no_rx_ring: bool,
}

impl TestDevice {
    /// A device of `ports` ports that can make as many copies and control frames as anybody wants.
    pub fn new(ports: usize) -> Self {
        Self {
            ports: vec![TestPort::default(); ports],
            copies_left: usize::MAX,
            control_left: usize::MAX,
            sends_for_others: false,
            has_no_rx_ring: false,
        }
    }

    /// Lets `bytes` arrive on `port`.
    pub fn arrive(&mut self, port: PortId, bytes: &[u8]) {
        self.ports[port.index()].arriving.push_back(TestFrame::new(bytes));
    }
}

impl Device for TestDevice {
    type Frame = TestFrame;

    fn has_tx_queue(&self, _port: PortId) -> bool {
        self.sends_for_others
    }

    fn has_rx_ring(&self, _port: PortId) -> bool {
        !self.has_no_rx_ring
    }

    fn rx_burst(&mut self, port: PortId, frames_max: usize, into: &mut Burst<TestFrame>) {
        let arriving = &mut self.ports[port.index()].arriving;
        let room = (BURST_MAX - into.len()).min(arriving.len()).min(frames_max);
        into.extend(arriving.drain(..room));
    }

    fn tx_room_bytes(&mut self, port: PortId, _now: Instant) -> u32 {
        self.ports[port.index()].room_bytes.unwrap_or(u32::MAX)
    }

    fn tx_free_frames(&self, port: PortId) -> usize {
        self.ports[port.index()].room_frames.unwrap_or(usize::MAX)
    }

    fn tx_burst(&mut self, port: PortId, from: &mut Burst<TestFrame>, _now: Instant) {
        let port = &mut self.ports[port.index()];
        let count = port.takes_frames.unwrap_or(usize::MAX).min(from.len());
        if let Some(left) = &mut port.takes_frames {
            *left -= count;
        }
        port.sent.extend(from.drain(..count));
    }

    fn make_control(&mut self, bytes: &[u8]) -> Option<TestFrame> {
        self.control_left = self.control_left.checked_sub(1)?;
        Some(TestFrame::new(bytes))
    }

    fn copy(&mut self, frame: &TestFrame) -> Option<TestFrame> {
        self.copies_left = self.copies_left.checked_sub(1)?;
        Some(frame.clone())
    }

    fn rx_backlog_frames(&mut self, port: PortId) -> Option<u32> {
        self.ports[port.index()].backlog_frames
    }
}

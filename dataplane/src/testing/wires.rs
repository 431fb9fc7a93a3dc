//! Ports that are wires without a ring, as an emulator has them: a wire takes one data frame when
//! it is free, and tells when it is free again. PFC frames pass at any time.

use super::TestFrame;
use crate::device::Device;
use crate::frame::{Burst, Frame};
use crate::ids::PortId;
use crate::limits::FRAME_BYTES_MAX;
use crate::time::Instant;
use crate::wire::parse::{Kind, parse};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// A frame on a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When its first bit left.
    pub at: Instant,
    /// Where it left.
    pub port: PortId,
    /// The frame.
    pub frame: TestFrame,
}

/// One wire.
#[derive(Clone, Debug)]
struct Wire {
    free_at: Instant,
    /// Whether the worker will be told when the wire is free.
    is_awaited: bool,
    arrived: VecDeque<TestFrame>,
}

/// Wires of 10 Gb/s.
#[derive(Clone, Debug)]
pub struct WireDevice {
    wires: Vec<Wire>,
    /// What was sent, in order.
    pub sent: Vec<Sent>,
    /// Copies that can still be made.
    pub copies_left: usize,
}

/// How long a frame occupies a wire of 10 Gb/s, with preamble, FCS and gap.
const fn frame_ns(bytes: usize) -> u64 {
    (bytes as u64 + 24) * 8 / 10
}

impl WireDevice {
    /// A device of `ports` free wires.
    pub fn new(ports: usize) -> Self {
        let wire = Wire { free_at: Instant::ZERO, is_awaited: false, arrived: VecDeque::new() };
        Self { wires: vec![wire; ports], sent: Vec::new(), copies_left: usize::MAX }
    }

    /// A frame has arrived whole at `port`.
    pub fn arrive(&mut self, port: PortId, frame: TestFrame) {
        self.wires[port.index()].arrived.push_back(frame);
    }

    /// Whether frames wait to be received.
    pub fn has_arrivals(&self) -> bool {
        self.wires.iter().any(|wire| !wire.arrived.is_empty())
    }

    /// When the next wire is free that a worker waits for.
    pub fn next_free_at(&self) -> Option<Instant> {
        self.wires.iter().filter(|wire| wire.is_awaited).map(|wire| wire.free_at).min()
    }

    /// Takes the ports whose wires a worker waits for and that are free at `now`, in order.
    pub fn take_free(&mut self, now: Instant) -> Vec<PortId> {
        let mut free = Vec::new();
        for (index, wire) in self.wires.iter_mut().enumerate() {
            if wire.is_awaited && wire.free_at <= now {
                wire.is_awaited = false;
                free.extend(PortId::from_index(index));
            }
        }
        free
    }
}

impl Device for WireDevice {
    type Frame = TestFrame;

    fn notify_tx_ready(&mut self, port: PortId) -> bool {
        self.wires[port.index()].is_awaited = true;
        true
    }

    fn has_rx_ring(&self, _port: PortId) -> bool {
        false
    }

    fn rx_burst(&mut self, port: PortId, frames_max: usize, into: &mut Burst<TestFrame>) {
        let arrived = &mut self.wires[port.index()].arrived;
        let frames = into.remaining_capacity().min(arrived.len()).min(frames_max);
        into.extend(arrived.drain(..frames));
    }

    fn tx_room_bytes(&mut self, port: PortId, now: Instant) -> u32 {
        let is_free = self.wires[port.index()].free_at <= now;
        #[expect(clippy::cast_possible_truncation, reason = "asserted in limits to fit 16 bits")]
        if is_free { FRAME_BYTES_MAX as u32 } else { 0 }
    }

    fn tx_free_frames(&self, _port: PortId) -> usize {
        1
    }

    fn tx_burst(&mut self, port: PortId, from: &mut Burst<TestFrame>, now: Instant) {
        while let Some(frame) = from.first() {
            let is_control = parse(frame.head(), frame.len()).kind == Kind::MacControl;
            let wire = &mut self.wires[port.index()];
            if !is_control && wire.free_at > now {
                return;
            }
            if !is_control {
                wire.free_at = now + frame_ns(frame.len());
            }
            let frame = from.remove(0);
            self.sent.push(Sent { at: now, port, frame });
        }
    }

    fn make_control(&mut self, bytes: &[u8]) -> Option<TestFrame> {
        Some(TestFrame::new(bytes))
    }

    fn copy(&mut self, frame: &TestFrame) -> Option<TestFrame> {
        self.copies_left = self.copies_left.checked_sub(1)?;
        Some(frame.clone())
    }

    fn rx_backlog_frames(&mut self, _port: PortId) -> Option<u32> {
        None
    }
}

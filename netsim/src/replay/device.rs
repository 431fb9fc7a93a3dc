//! The device of a replay: it gives the worker what the recorded device gave, and takes as many
//! frames as that one took. Which frames these are is the worker's choice, and what is compared.

use super::frames::FrameMaker;
use super::turns::RecordedTurn;
use crate::recording::{Origin, RecordedFrame, SNAP_BYTES};
use dataplane::device::Device;
use dataplane::frame::{Burst, Frame};
use dataplane::ids::PortId;
use dataplane::limits::FRAME_BYTES_MAX;
use dataplane::time::Instant;
use dataplane::wire::ethernet;
use std::collections::VecDeque;

/// See the module's head.
#[derive(Debug)]
pub(super) struct ReplayDevice<M: FrameMaker> {
    maker: M,
    origin: Origin,
    ports: Vec<ReplayPort<M::Frame>>,
    /// What the worker sent since it was last asked for.
    sent: Vec<(PortId, RecordedFrame)>,
}

#[derive(Debug)]
struct ReplayPort<F> {
    /// Frames in its receive ring.
    arrived: VecDeque<F>,
    /// Data frames that it takes in this turn.
    takes_frames: usize,
    /// What it says about its receive ring, if it ever said anything.
    backlog_frames: Option<u32>,
}

impl<M: FrameMaker> ReplayDevice<M> {
    /// A device with so many ports, which makes frames with `maker`.
    pub(super) fn new(maker: M, origin: Origin, ports: usize) -> Self {
        let port =
            |_| ReplayPort { arrived: VecDeque::new(), takes_frames: 0, backlog_frames: None };
        Self { maker, origin, ports: (0..ports).map(port).collect(), sent: Vec::new() }
    }

    /// A frame that is as it was recorded; `None` if there is no buffer.
    pub(super) fn make(&mut self, frame: &RecordedFrame) -> Option<M::Frame> {
        self.maker.make(&frame.head, frame.frame_bytes)
    }

    /// `frame` waits in the receive ring of `port`.
    pub(super) fn arrive(&mut self, port: PortId, frame: M::Frame) {
        self.ports[port.index()].arrived.push_back(frame);
    }

    /// Frames that the worker has left in receive rings.
    pub(super) fn waiting_frames(&self) -> usize {
        self.ports.iter().map(|port| port.arrived.len()).sum()
    }

    /// Begins `turn`, but for the frames that arrive.
    pub(super) fn begin(&mut self, turn: &RecordedTurn<'_>) {
        self.ports.iter_mut().for_each(|port| port.takes_frames = 0);
        for (port, frame) in &turn.sent {
            self.ports[port.index()].takes_frames += usize::from(!is_mac_control(&frame.head));
        }
        for &(port, frames) in &turn.backlogs {
            self.ports[port.index()].backlog_frames = Some(frames);
        }
    }

    /// Ports that take data frames in this turn.
    pub(super) fn taking_ports(&self) -> impl Iterator<Item = PortId> {
        let ports = (0..).map_while(PortId::from_index).zip(&self.ports);
        ports.filter(|(_, port)| port.takes_frames > 0).map(|(id, _)| id)
    }

    /// Takes what was sent since the last call, in order.
    pub(super) fn take_sent(&mut self, mut take: impl FnMut(PortId, RecordedFrame)) {
        self.sent.drain(..).for_each(|(port, frame)| take(port, frame));
    }

    /// Frees the buffer of a frame.
    pub(super) fn free(&mut self, frame: M::Frame) {
        self.maker.free(frame);
    }

    fn takes(&mut self, port: PortId, frame: &M::Frame) -> bool {
        if is_mac_control(frame.head()) {
            return true;
        }
        let takes_frames = &mut self.ports[port.index()].takes_frames;
        let takes = *takes_frames > 0;
        *takes_frames = takes_frames.saturating_sub(1);
        takes
    }

    fn send(&mut self, port: PortId, frame: M::Frame) {
        let head = frame.head();
        let head = head[..head.len().min(SNAP_BYTES)].to_vec();
        self.sent.push((port, RecordedFrame { head, frame_bytes: frame.len() }));
        self.maker.free(frame);
    }
}

/// Whether this is a MAC control frame. Ports take these whatever they take of data: the emulator's
/// wait for their wire in the device.
pub(super) fn is_mac_control(head: &[u8]) -> bool {
    head.get(12..14) == Some(&ethernet::MAC_CONTROL.to_be_bytes())
}

impl<M: FrameMaker> Device for ReplayDevice<M> {
    type Frame = M::Frame;

    fn notify_tx_ready(&mut self, _port: PortId) -> bool {
        self.origin == Origin::Emulator
    }

    fn has_rx_ring(&self, _port: PortId) -> bool {
        self.origin == Origin::Devices
    }

    fn rx_burst(&mut self, port: PortId, frames_max: usize, into: &mut Burst<M::Frame>) {
        let arrived = &mut self.ports[port.index()].arrived;
        let count = arrived.len().min(frames_max).min(into.remaining_capacity());
        into.extend(arrived.drain(..count));
    }

    /// As the devices answer: virtual ones take whatever comes, an emulated wire one frame while it
    /// is free.
    #[expect(clippy::cast_possible_truncation, reason = "asserted in limits to fit 16 bits")]
    fn tx_room_bytes(&mut self, port: PortId, _now: Instant) -> u32 {
        match self.origin {
            Origin::Devices => u32::MAX,
            Origin::Emulator if self.ports[port.index()].takes_frames > 0 => FRAME_BYTES_MAX as u32,
            Origin::Emulator => 0,
        }
    }

    fn tx_free_frames(&self, _port: PortId) -> usize {
        match self.origin {
            Origin::Devices => usize::MAX,
            Origin::Emulator => 1,
        }
    }

    fn tx_one(&mut self, port: PortId, frame: M::Frame, _now: Instant) -> Result<(), M::Frame> {
        if !self.takes(port, &frame) {
            return Err(frame);
        }
        self.send(port, frame);
        Ok(())
    }

    fn tx_burst(&mut self, port: PortId, from: &mut Burst<M::Frame>, now: Instant) {
        while let Some(frame) = from.pop_at(0) {
            if let Err(frame) = self.tx_one(port, frame, now) {
                from.insert(0, frame);
                return;
            }
        }
    }

    fn make_control(&mut self, bytes: &[u8]) -> Option<M::Frame> {
        self.maker.make(bytes, bytes.len())
    }

    fn copy(&mut self, frame: &M::Frame) -> Option<M::Frame> {
        self.maker.make(frame.head(), frame.len())
    }

    fn rx_backlog_frames(&mut self, port: PortId) -> Option<u32> {
        self.ports[port.index()].backlog_frames
    }
}

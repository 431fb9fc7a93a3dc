//! Backpressure at the receive ring: a worker receives from a port only as many frames as its VIQs
//! (virtual ingress queues) can hold, and leaves the rest in the device's ring.
//!
//! Headroom holds the frames that arrive between XOFF and the end of transmission by the peer, if
//! the worker and the peer react in time. More frames arrive if the worker lost its core, if the
//! peer ignores PFC, or if a pause expired without a refresh. Frames in the ring are not lost; the
//! device counts frames that do not fit into the ring (`rx_missed`). The class of a frame is known
//! only after reception, so the fullest lossless VIQ of the port sets the limit for all classes.
//! XOFF was sent before: a VIQ that uses headroom is over its threshold.
//!
//! A flooded frame is charged once for each copy. If not all copies fit, the worker keeps the frame
//! and the rest of its burst here, in order, until frames have left.

use crate::device::Device;
use crate::driver::Driver;
use crate::frame::{Burst, Frame};
use crate::ids::Priority;
use crate::limits::BURST_MAX;
use crate::pipeline::arrival::Arrival;
use crate::pipeline::outcome::{FrameOutcome, Verdict};
use crate::port::Port;
use crate::snapshot::Snapshot;
use crate::wire::parse::{Kind, parse};
use crate::worker::Core;

/// Frames of a receive queue in one turn while frames wait at ports of the worker, and where a
/// worker has many queues. A burst costs as much beside its frames as 11 frames, so longer ones are
/// cheaper; but frames that wait need the caches too.
pub(crate) const SHORT_BURST_FRAMES: u32 = 64;

/// Frames that a worker receives in one turn from all its queues together, if no queue gets less
/// than [`SHORT_BURST_FRAMES`]. A PAUSE frame is obeyed within two turns.
const TURN_FRAMES: usize = 512;

/// Turns without waiting frames after which bursts may be longer. Where pauses come and go, frames
/// wait again soon.
const CALM_TURNS: u32 = 256;

/// Frames that a worker of `queues` receive queues receives from each in one turn, at most.
#[expect(clippy::cast_possible_truncation, reason = "at most BURST_MAX")]
fn rx_burst_frames(queues: usize) -> u32 {
    ((TURN_FRAMES / queues.max(1)).min(BURST_MAX) as u32).max(SHORT_BURST_FRAMES)
}

impl<D: Device, V: Driver> Core<D, V> {
    /// Decides how many frames the next turn receives from each queue.
    #[inline(always)]
    pub(crate) fn set_rx_burst_frames(&mut self) {
        let is_any_waiting = self.ports.iter().any(Port::has_queued);
        self.calm_turns = if is_any_waiting { 0 } else { self.calm_turns.saturating_add(1) };
        self.rx_burst_frames = if self.calm_turns < CALM_TURNS {
            SHORT_BURST_FRAMES
        } else {
            rx_burst_frames(self.inputs.len())
        };
    }

    /// Receives a burst of the port at `slot` if its VIQs have room. Returns whether any frame was
    /// processed.
    #[inline(always)]
    pub(crate) fn receive_burst_of(&mut self, snapshot: &Snapshot, slot: usize) -> bool {
        if !self.deferred[slot].is_empty() {
            return self.receive_deferred(snapshot, slot);
        }
        let frames_max = self.rx_frames_max(slot);
        if frames_max == 0 {
            return false;
        }
        let queue = self.ports[slot].id;
        self.device.rx_burst(queue, frames_max, &mut self.rx);
        if self.rx.is_empty() {
            return false;
        }
        let arrival = Arrival { slot, is_new: true, is_matched: false };
        if self.accounting.is_observed() {
            self.receive_captured(snapshot, arrival, true);
        } else {
            self.receive(snapshot, arrival);
        }
        true
    }

    /// Number of frames of the port at `slot` that fit, whatever their class and length.
    #[inline(always)]
    fn rx_frames_max(&self, slot: usize) -> usize {
        let port = &self.ports[slot];
        if !self.device.has_rx_ring(port.id) {
            return BURST_MAX;
        }
        let burst_frames = self.rx_burst_frames;
        if port.lossless_bits == 0 {
            return burst_frames as usize;
        }
        let buffer = &self.accounting.buffer;
        let left_bytes = buffer.headroom_left_bytes(port.id, port.lossless_bits);
        let frame_bytes = buffer.cost_bytes(u32::from(self.tx_frame_bytes_max[port.id.index()]));
        // The common case needs no division.
        if left_bytes >= frame_bytes.saturating_mul(burst_frames) {
            return burst_frames as usize;
        }
        let room_bytes = buffer.room_bytes(port.id, port.lossless_bits, frame_bytes);
        (room_bytes / frame_bytes).min(burst_frames) as usize
    }

    /// Whether `copies` copies of a frame of `bytes` may be charged to the VIQ of `class` at the
    /// port at `slot` now. If the VIQ is empty they may, since waiting would not free more room.
    pub(crate) fn has_room_for_copies(
        &self,
        slot: usize,
        class: Priority,
        copies: usize,
        bytes: u16,
    ) -> bool {
        let port = &self.ports[slot];
        if port.lossless_bits & class.bit() == 0 || !self.device.has_rx_ring(port.id) {
            return true;
        }
        let buffer = &self.accounting.buffer;
        let cost_bytes = u64::from(buffer.cost_bytes(u32::from(bytes))) * copies as u64;
        cost_bytes <= u64::from(buffer.headroom_left_bytes(port.id, class.bit()))
            || buffer.viq_of(port.id, class).bytes() == 0
    }

    /// Defers `frames`, the rest of a burst, until there is room. The MAC control frames of the
    /// burst have been processed; those among `frames` are consumed.
    #[cold]
    pub(crate) fn defer(&mut self, frames: impl Iterator<Item = D::Frame>, slot: usize) {
        for frame in frames {
            if parse(frame.head(), frame.len()).kind == Kind::MacControl {
                let frame_outcome = FrameOutcome::ends(Verdict::Consume, None, 0);
                self.dispatch_frame(frame, &frame_outcome, slot);
            } else {
                self.deferred[slot].push(frame);
            }
        }
    }

    #[cold]
    fn receive_deferred(&mut self, snapshot: &Snapshot, slot: usize) -> bool {
        self.rx = core::mem::take(&mut self.deferred[slot]);
        let before = self.rx.len();
        let arrival = Arrival { slot, is_new: true, is_matched: false };
        if self.accounting.is_observed() {
            self.receive_captured(snapshot, arrival, false);
        } else {
            self.receive_burst(snapshot, arrival);
        }
        self.deferred[slot].len() < before
    }

    /// Number of deferred frames, of all ports.
    pub(crate) fn deferred_frames(&self) -> u64 {
        self.deferred.iter().map(Burst::len).sum::<usize>() as u64
    }
}

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
use crate::snapshot::Snapshot;
use crate::wire::parse::{Kind, parse};
use crate::worker::Core;

/// [`BURST_MAX`] as `u32`.
#[expect(clippy::cast_possible_truncation, reason = "64")]
const BURST_FRAMES: u32 = BURST_MAX as u32;

impl<D: Device, V: Driver> Core<D, V> {
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
        if port.lossless_bits == 0 || !self.device.has_rx_ring(port.id) {
            return BURST_MAX;
        }
        let buffer = &self.accounting.buffer;
        let left_bytes = buffer.headroom_left_bytes(port.id, port.lossless_bits);
        let frame_bytes = buffer.cost_bytes(u32::from(self.tx_frame_bytes_max[port.id.index()]));
        // The common case needs no division.
        if left_bytes >= frame_bytes.saturating_mul(BURST_FRAMES) {
            return BURST_MAX;
        }
        let room_bytes = buffer.room_bytes(port.id, port.lossless_bits, frame_bytes);
        ((room_bytes / frame_bytes) as usize).min(BURST_MAX)
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

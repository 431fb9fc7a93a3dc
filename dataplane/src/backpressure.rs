//! Backpressure at the receive ring: a worker takes from a port no more frames than their VIQs can
//! hold, and leaves the rest to the device.
//!
//! Headroom holds what comes in between XOFF and silence, if the worker and the peer are on time. A
//! worker that lost its core, a peer that ignores PFC, or a pause that ran out unrefreshed brings
//! more. What is left in the ring is not lost while the ring has room; what the ring cannot keep
//! the device counts (`rx_missed`). Which class a frame is in shows only when it has been received,
//! so the fullest lossless VIQ of the port decides for all of them. XOFF was told before: a VIQ
//! that uses headroom is over its threshold.
//!
//! A flooded frame is charged once for each copy. If not all of them fit, it and what came behind
//! it wait here, in order, until something has left.

use crate::device::Device;
use crate::frame::{Burst, Frame};
use crate::ids::Priority;
use crate::lane::{Lane, Verdict};
use crate::limits::BURST_MAX;
use crate::probe::Probe;
use crate::snapshot::Snapshot;
use crate::time::Instant;
use crate::wire::parse::{Kind, parse};
use crate::worker::Core;

/// A burst, to be multiplied with bytes.
#[expect(clippy::cast_possible_truncation, reason = "64")]
const BURST_FRAMES: u32 = BURST_MAX as u32;

impl<D: Device, P: Probe> Core<D, P> {
    /// Receives a burst of the port at `slot`, if its VIQs have room for one; whether any frame was
    /// taken on.
    #[inline(always)]
    pub(crate) fn receive_burst_of(
        &mut self,
        snapshot: &Snapshot,
        slot: usize,
        now: Instant,
    ) -> bool {
        if !self.kept[slot].is_empty() {
            return self.receive_kept(snapshot, slot, now);
        }
        let frames_max = self.rx_frames_max(slot);
        if frames_max == 0 {
            return false;
        }
        self.device.rx_burst(self.own_ports[slot], frames_max, &mut self.rx);
        if self.rx.is_empty() {
            return false;
        }
        self.receive(snapshot, slot, now);
        true
    }

    /// Frames of the port at `slot` that certainly fit, whatever their class and length.
    #[inline(always)]
    fn rx_frames_max(&self, slot: usize) -> usize {
        let port = &self.ports[slot];
        if port.lossless_bits == 0 || !self.device.has_rx_ring(port.id) {
            return BURST_MAX;
        }
        let buffer = &self.books.buffer;
        let left_bytes = buffer.headroom_left_bytes(port.id, port.lossless_bits);
        let frame_bytes = buffer.cost_bytes(u32::from(self.tx_frame_bytes_max[port.id.index()]));
        // Without a division where there is plenty, which is nearly always.
        if left_bytes >= frame_bytes.saturating_mul(BURST_FRAMES) {
            return BURST_MAX;
        }
        let room_bytes = buffer.room_bytes(port.id, port.lossless_bits, frame_bytes);
        ((room_bytes / frame_bytes) as usize).min(BURST_MAX)
    }

    /// Whether `copies` copies of a frame of `bytes` may be charged to the VIQ of `class` at the
    /// port at `slot` now. Those of an empty VIQ may: waiting would not help them.
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
        let buffer = &self.books.buffer;
        let cost_bytes = u64::from(buffer.cost_bytes(u32::from(bytes))) * copies as u64;
        cost_bytes <= u64::from(buffer.headroom_left_bytes(port.id, class.bit()))
            || buffer.viq_of(port.id, class).bytes() == 0
    }

    /// Keeps `frames`, the rest of a burst whose MAC control frames have been obeyed.
    #[cold]
    pub(crate) fn keep(
        &mut self,
        frames: impl Iterator<Item = D::Frame>,
        slot: usize,
        now: Instant,
    ) {
        for frame in frames {
            if parse(frame.head(), frame.len()).kind == Kind::MacControl {
                let lane = Lane::ends(Verdict::Consume, None, 0);
                self.settle_lane(frame, &lane, slot, now);
            } else {
                self.kept[slot].push(frame);
            }
        }
    }

    #[cold]
    fn receive_kept(&mut self, snapshot: &Snapshot, slot: usize, now: Instant) -> bool {
        self.rx = core::mem::take(&mut self.kept[slot]);
        let before = self.rx.len();
        self.receive_burst(snapshot, slot, now);
        self.kept[slot].len() < before
    }

    /// Frames that are kept, of all ports.
    pub(crate) fn kept_frames(&self) -> u64 {
        self.kept.iter().map(Burst::len).sum::<usize>() as u64
    }
}

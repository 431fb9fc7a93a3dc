//! What the core needs from the ports it drives, and nothing more.

use crate::frame::{Burst, Frame};
use crate::ids::PortId;
use crate::time::Instant;

/// The ports that one worker owns, and ways to send at ports of others. No call blocks.
///
/// A DPDK port implements it on real rings, `netsim` on virtual links; the core cannot tell.
pub trait Device {
    /// The frames of these ports.
    type Frame: Frame;

    /// Whether this device can also [send](Self::tx_burst) at `port`, which belongs to another
    /// worker: by a transmit queue of its own, whose frames leave at once.
    fn sends_for_owner_of(&self, _port: PortId) -> bool {
        false
    }

    /// Frames wait at `port` that only want room. Whether the worker is [told][take_room] when
    /// there is some; if not, it must try again.
    ///
    /// [take_room]: crate::worker::Worker::take_room
    #[inline(always)]
    fn wait_for_room(&mut self, _port: PortId) -> bool {
        false
    }

    /// Whether frames that are not received stay in a ring of the device, to be received later. An
    /// emulated wire has none: what arrives there is received or lost.
    #[inline(always)]
    fn has_rx_ring(&self, _port: PortId) -> bool {
        true
    }

    /// Appends received frames of `port` to `into`, as many as there are and fit, and no more than
    /// `frames_max`.
    fn rx_burst(&mut self, port: PortId, frames_max: usize, into: &mut Burst<Self::Frame>);

    /// Bytes that `port` may be handed now, so that no more than the port's cap waits in a queue
    /// where a pause cannot reach it. `u32::MAX` where the device hands on at once.
    fn tx_room_bytes(&mut self, port: PortId, now: Instant) -> u32;

    /// Frames that `port` takes in one call, where it takes fewer than a burst: an emulated wire
    /// has no ring, so it takes one. The scheduler charges a frame when it picks it, and must not
    /// pick what would only come back.
    #[inline(always)]
    fn tx_room_frames(&self, _port: PortId) -> usize {
        usize::MAX
    }

    /// Takes frames from the front of `from`, in order, until the device is full; what it did not
    /// take stays. A frame taken counts as having left the switch.
    fn tx_burst(&mut self, port: PortId, from: &mut Burst<Self::Frame>, now: Instant);

    /// [`Self::tx_burst`] of one frame; gives it back if the device is full.
    ///
    /// # Errors
    /// The frame that was not taken.
    #[inline]
    fn tx_alone(
        &mut self,
        port: PortId,
        frame: Self::Frame,
        now: Instant,
    ) -> Result<(), Self::Frame> {
        let mut burst = Burst::new();
        burst.push(frame);
        self.tx_burst(port, &mut burst, now);
        burst.pop().map_or(Ok(()), Err)
    }

    /// A new frame holding `bytes`, from a reserve that data cannot use up; `None` if even that is
    /// empty, and the caller tries again in its next turn.
    fn make_control(&mut self, bytes: &[u8]) -> Option<Self::Frame>;

    /// A copy of a data frame, for flooding; `None` if there is no buffer left.
    fn copy(&mut self, frame: &Self::Frame) -> Option<Self::Frame>;

    /// Returns the buffers of `frames`, all at once.
    fn recycle(&mut self, frames: &mut Burst<Self::Frame>) {
        frames.clear();
    }

    /// Frames that wait in the device's receive ring, `None` where it cannot tell.
    fn rx_backlog_frames(&mut self, port: PortId) -> Option<u32>;
}

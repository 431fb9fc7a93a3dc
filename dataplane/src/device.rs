//! The interface between the core and the ports that it drives.

use crate::frame::{Burst, Frame};
use crate::ids::PortId;
use crate::time::Instant;

/// A command of the control thread that changes what a port receives or sends.
#[derive(Debug)]
pub enum PortCommand<'a, F> {
    /// It sends a frame of its own here.
    Send(&'a F),
    /// The link is up, or it is down.
    Link(bool),
}

/// The ports that one worker owns, and its transmit queues at ports of other workers. No call
/// blocks.
///
/// DPDK ports implement it on NIC rings, `netsim` on emulated links.
pub trait Device {
    /// The frame type of these ports.
    type Frame: Frame;

    /// Whether this device can also [transmit](Self::tx_burst) at `port`, which belongs to another
    /// worker: through a transmit queue of its own, whose frames leave at once.
    fn has_tx_queue(&self, _port: PortId) -> bool {
        false
    }

    /// The frames queued at `port` wait only for room. Returns whether the caller will
    /// [notify][on_tx_ready] the worker when there is some; if not, the worker must try again.
    ///
    /// [on_tx_ready]: crate::worker::Worker::on_tx_ready
    #[inline(always)]
    fn notify_tx_ready(&mut self, _port: PortId) -> bool {
        false
    }

    /// Whether frames that are not received stay in a ring of the device, to be received later. An
    /// emulated link has no ring: a frame that arrives there is received or lost.
    #[inline(always)]
    fn has_rx_ring(&self, _port: PortId) -> bool {
        true
    }

    /// Appends received frames of `port` to `into`: as many as are there and fit, at most
    /// `frames_max`. Their headers should be in the cache, or on the way to it.
    fn rx_burst(&mut self, port: PortId, frames_max: usize, into: &mut Burst<Self::Frame>);

    /// Bytes that `port` accepts now, so that at most the port's cap is queued in the device, where
    /// a pause has no effect. `u32::MAX` for a device that does not queue.
    fn tx_room_bytes(&mut self, port: PortId, now: Instant) -> u32;

    /// Frames that `port` accepts in one call, if fewer than a burst: an emulated link has no ring,
    /// so it accepts one. The scheduler charges a frame when it picks it, so it must not pick a
    /// frame that the device would refuse.
    #[inline(always)]
    fn tx_free_frames(&self, _port: PortId) -> usize {
        usize::MAX
    }

    /// Takes frames from the front of `from`, in order, until the device is full; the others stay.
    /// A frame that is taken counts as sent. None is longer than the port's `frame_bytes_max` and
    /// two VLAN tags: the core drops longer ones before it charges them.
    fn tx_burst(&mut self, port: PortId, from: &mut Burst<Self::Frame>, now: Instant);

    /// [`Self::tx_burst`] for one frame; returns it if the device is full.
    ///
    /// # Errors
    /// The frame that was not taken.
    #[inline]
    fn tx_one(
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

    /// A new frame that contains `bytes`, from a reserve that data cannot use up. `None` if the
    /// reserve is empty; the caller then tries again in its next turn.
    fn make_control(&mut self, bytes: &[u8]) -> Option<Self::Frame>;

    /// A copy of a data frame, for flooding; `None` if there is no buffer left.
    fn copy(&mut self, frame: &Self::Frame) -> Option<Self::Frame>;

    /// Returns the buffers of `frames`, in bulk.
    fn recycle(&mut self, frames: &mut Burst<Self::Frame>) {
        frames.clear();
    }

    /// The worker carries out a command of the control thread at `port`. Only a device that records
    /// wants to know.
    fn commanded(&mut self, _port: PortId, _command: PortCommand<'_, Self::Frame>) {}

    /// Frames queued in the device's receive ring; `None` if the device does not know.
    fn rx_backlog_frames(&mut self, port: PortId) -> Option<u32>;
}

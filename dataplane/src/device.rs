//! What the core needs from the ports it drives, and nothing more.

use crate::frame::{Burst, Frame};
use crate::ids::PortId;
use crate::time::Instant;
use arrayvec::ArrayVec;

/// A few ports.
pub type Stirred = ArrayVec<PortId, STIRRED_MAX>;

/// Beyond so many it is as well to look at all.
pub const STIRRED_MAX: usize = 8;

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

    /// Ports at which frames have come, or room for frames that a port
    /// [waits](Self::wait_for_room) with, since last asked. `None` if all of its ports are to be
    /// looked at: it cannot tell, or they are many, or the control thread has sent the worker a
    /// command, for which a worker that looks at some ports only does not look by itself.
    #[inline(always)]
    fn stirred(&mut self) -> Option<Stirred> {
        None
    }

    /// Frames wait at `port` that only want room. Whether the device will [name](Self::stirred) the
    /// port when there is some; if not, it must be tried again.
    #[inline(always)]
    fn wait_for_room(&mut self, _port: PortId) -> bool {
        false
    }

    /// Appends received frames of `port` to `into`, as many as there are and fit.
    fn rx_burst(&mut self, port: PortId, into: &mut Burst<Self::Frame>);

    /// The frame that has come at `port`, if it is the only one there: a worker with little to do
    /// takes it without a burst around it. A device whose frames come in bursts need not.
    #[inline(always)]
    fn rx_alone(&mut self, _port: PortId) -> Option<Self::Frame> {
        None
    }

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

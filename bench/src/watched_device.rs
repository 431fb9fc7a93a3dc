//! A [`LoopDevice`] at which a bench watches what comes and goes.

use crate::loop_device::{LoopDevice, LoopFrame};
use dataplane::device::Device;
use dataplane::frame::{Burst, Frame};
use dataplane::ids::{PortId, Priority};
use dataplane::time::Instant;
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;

/// What a bench does at the two ends of a worker.
pub trait Watch {
    /// Whether the worker also sends at ports of other workers.
    const HAS_TX_QUEUES: bool;

    /// Receives at `queue`, from `device` or by itself; see [`Device::rx_burst`].
    fn rx_burst(
        &mut self,
        device: &mut LoopDevice,
        queue: PortId,
        frames_max: usize,
        into: &mut Burst<LoopFrame>,
    );

    /// Sends at `port` by `device`; see [`Device::tx_burst`].
    fn tx_burst(
        &mut self,
        device: &mut LoopDevice,
        port: PortId,
        from: &mut Burst<LoopFrame>,
        now: Instant,
    );
}

/// `device` under `watch`.
#[derive(Debug)]
pub struct Watched<W> {
    /// The device.
    pub device: LoopDevice,
    /// Who watches it.
    pub watch: W,
}

impl<W: Watch> Device for Watched<W> {
    type Frame = LoopFrame;

    fn has_tx_queue(&self, _port: PortId) -> bool {
        W::HAS_TX_QUEUES
    }

    fn rx_burst(&mut self, queue: PortId, frames_max: usize, into: &mut Burst<LoopFrame>) {
        self.watch.rx_burst(&mut self.device, queue, frames_max, into);
    }

    fn tx_room_bytes(&mut self, port: PortId, now: Instant) -> u32 {
        self.device.tx_room_bytes(port, now)
    }

    fn tx_burst(&mut self, port: PortId, from: &mut Burst<LoopFrame>, now: Instant) {
        self.watch.tx_burst(&mut self.device, port, from, now);
    }

    fn make_control(&mut self, bytes: &[u8]) -> Option<LoopFrame> {
        self.device.make_control(bytes)
    }

    fn copy(&mut self, frame: &LoopFrame) -> Option<LoopFrame> {
        self.device.copy(frame)
    }

    fn recycle(&mut self, frames: &mut Burst<LoopFrame>) {
        self.device.recycle(frames);
    }

    fn rx_backlog_frames(&mut self, port: PortId) -> Option<u32> {
        self.device.rx_backlog_frames(port)
    }
}

/// What a worker hands to a device at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Nothing.
    Nothing,
    /// Data frames.
    Data,
    /// A PFC frame, which pauses or resumes the priority that was asked for.
    Pfc {
        /// Whether it pauses.
        is_xoff: bool,
    },
}

impl Sent {
    /// What `from` is; of a PFC frame, what it says of `priority`.
    pub fn of(from: &Burst<LoopFrame>, priority: Priority) -> Self {
        match from.first().map(Frame::head) {
            // A PFC frame of the switch: its times begin at octet 18.
            Some(&[_, _, _, _, _, _, _, _, _, _, _, _, 0x88, 0x08, ref pfc @ ..]) => {
                let time = priority.index() * 2 + 4;
                Self::Pfc { is_xoff: pfc[time..time + 2] != [0, 0] }
            }
            Some(_) => Self::Data,
            None => Self::Nothing,
        }
    }
}

/// A PFC frame that gives `priority` so many quanta; `None` if `device` has no buffer left.
pub fn pfc_frame(device: &mut LoopDevice, priority: Priority, quanta: u16) -> Option<LoopFrame> {
    let pfc = Pfc::default().with(priority, quanta).to_frame(MacAddress::default());
    device.make_control(&pfc)
}

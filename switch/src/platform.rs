//! What the program needs of the devices: implemented by DPDK, and by devices in memory for tests.

use dataplane::device::Device;
use dataplane::frame::Frame;
use dataplane::ids::PortId;
use dataplane::time::Instant;
use derive_more::AddAssign;
use serde::{Deserialize, Serialize};

/// The control thread's view: frames and links.
pub(crate) trait Platform {
    /// The frames of the ports.
    type Frame: Frame;

    /// What the devices run on, with its version; empty if it has none.
    fn version(&self) -> String {
        String::new()
    }

    /// The time, of the same clock as the workers'.
    fn now(&self) -> Instant;

    /// A frame that holds `bytes`; `None` if no buffer is left.
    fn frame(&self, bytes: &[u8]) -> Option<Self::Frame>;

    /// Appends all bytes of `frame` to `into`.
    fn read(&self, frame: &Self::Frame, into: &mut Vec<u8>);

    /// Whether the link of `port` is up.
    fn is_link_up(&self, port: PortId) -> bool;

    /// Whether `port` has a peer that can be paused, and keeps its frames while the link is down.
    /// A file has none.
    fn has_peer(&self, _port: PortId) -> bool {
        false
    }

    /// Takes the links of all ports up, or down where the device can. What is sent to a link that
    /// is down is not lost: its sender keeps it.
    fn set_links(&self, _up: bool) {}

    /// The same for the link of `port` alone. Whether the device can.
    fn set_link(&self, _port: PortId, _up: bool) -> bool {
        false
    }

    /// Why `port` is down for good, as text, if it is.
    fn fault(&self, _port: PortId) -> Option<&'static str> {
        None
    }

    /// Whether software PFC works at `port`, as text, if that is known better now than when the
    /// port was opened.
    fn flow_control(&self, _port: PortId) -> Option<String> {
        None
    }

    /// The counters of the device behind `port`.
    fn device_counters(&self, port: PortId) -> DeviceCounters;

    /// Buffers of frames.
    fn buffers(&self) -> FrameBuffers;
}

/// A worker's view: the core's device, and its losses.
pub(crate) trait PortDevice: Device {
    /// The frames lost between the wire and the core at `port`.
    fn losses(&self, port: PortId) -> DeviceLosses;

    /// A turn begins at `now`.
    #[inline(always)]
    fn begin_turn(&mut self, _now: Instant) {}

    /// Gives up the ports whose devices were removed. It receives and sends nothing there from now
    /// on.
    fn release_removed(&mut self) {}
}

/// The counters of a device since it was opened. Frames that a NIC loses before the switch receives
/// them are counted only here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Frames received.
    pub rx_frames: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Frames sent.
    pub tx_frames: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Frames lost because the receive ring was full: the cores did not keep up.
    pub rx_missed_frames: u64,
    /// Corrupt frames received.
    pub rx_error_frames: u64,
    /// Times that no buffer was left for the receive ring.
    pub rx_no_buffer: u64,
    /// Frames that could not be sent.
    pub tx_error_frames: u64,
}

impl DeviceCounters {
    /// The counters of lost frames, by name.
    pub const fn losses(&self) -> [(&'static str, u64); 4] {
        [
            ("rx_missed_frames", self.rx_missed_frames),
            ("rx_error_frames", self.rx_error_frames),
            ("rx_no_buffer", self.rx_no_buffer),
            ("tx_error_frames", self.tx_error_frames),
        ]
    }
}

/// Frames that ended between a device and the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, AddAssign)]
pub struct DeviceLosses {
    /// Received in segments, the first too short to parse, and no buffer left to join them.
    pub rx_unreadable_frames: u64,
    /// In several segments, for a device that cannot send these, and no buffer left to join them.
    pub tx_segmented_frames: u64,
    /// Data that arrived after the switch was told to stop.
    pub rx_after_stop_frames: u64,
    /// Lossless frames received here that were still queued when the switch stopped.
    #[serde(default)]
    pub lossless_held_at_stop_frames: u64,
}

impl DeviceLosses {
    /// The counters of frames lost while the switch runs, by name.
    pub const fn losses(&self) -> [(&'static str, u64); 3] {
        [
            ("rx_unreadable_frames", self.rx_unreadable_frames),
            ("tx_segmented_frames", self.tx_segmented_frames),
            ("rx_after_stop_frames", self.rx_after_stop_frames),
        ]
    }
}

/// Buffers of frames, all allocated at start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameBuffers {
    /// Buffers for received frames.
    pub data_total: u64,
    /// Of those, the ones that hold a frame or wait in a receive ring for one.
    pub data_in_use: u64,
    /// Buffers kept for flow control, which data cannot use up.
    pub control_total: u64,
    /// Of those, the ones in use.
    pub control_in_use: u64,
}

/// The properties of an open port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PortFacts {
    /// The device's driver, such as `net_tap`.
    pub driver: String,
    /// Whether software PFC works, as text.
    pub flow_control: String,
    /// Whether the driver reports the receive backlog.
    pub tells_rx_backlog: bool,
    /// On what receive backlog the switch pauses, as text.
    pub rx_backlog: String,
}

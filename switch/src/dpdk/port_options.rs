//! How a port is opened, and its properties once it is open.

use super::flow_control::FlowControl;
use super::rx_backlog::BacklogSource;
use super::rx_queue::RxLosses;

/// Ethernet header and two VLAN tags: what a frame may be longer than the MTU.
pub(crate) const L2_OVERHEAD_BYTES: u16 = 14 + 2 * 4;

/// How a port is to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortOptions {
    /// The longest payload of a frame; a frame may have [`L2_OVERHEAD_BYTES`] more.
    pub mtu_bytes: u16,
    /// Receive descriptors: frames that the NIC buffers while the cores are busy. Each holds a
    /// buffer of the pool.
    pub rx_descriptors: u16,
    /// Transmit descriptors. Sent frames stay in the ring until it needs the place, so each may
    /// hold a buffer of the pool (and of the pool of control frames).
    pub tx_descriptors: u16,
    /// Receive queues.
    pub rx_queues: u16,
    /// Transmit queues that there is use for. A device that cannot have as many gets one.
    pub tx_queues: u16,
    /// Frames that a tap's own queue is to keep while the cores are busy (`txqueuelen`); `None`
    /// leaves it as it is. Other devices have descriptors or arguments of their own for it.
    pub rx_queue_frames: Option<u32>,
}

impl Default for PortOptions {
    fn default() -> Self {
        Self {
            mtu_bytes: 1_500,
            rx_descriptors: 512,
            tx_descriptors: 512,
            rx_queues: 1,
            tx_queues: 1,
            rx_queue_frames: None,
        }
    }
}

/// The properties of an open port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// DPDK's number for it.
    pub id: u16,
    /// The device string that it was opened with.
    pub device: String,
    /// Its driver, such as `net_tap`.
    pub driver: String,
    /// Whether the device is virtual.
    pub is_virtual: bool,
    /// Its own MAC address.
    pub mac: [u8; 6],
    /// The longest payload, as set.
    pub mtu_bytes: u16,
    /// Receive descriptors, as the device took them.
    pub rx_descriptors: u16,
    /// Transmit descriptors, as the device took them.
    pub tx_descriptors: u16,
    /// Receive queues.
    pub rx_queues: u16,
    /// Whether the device spreads flows over its receive queues by their hash.
    pub spreads_flows: bool,
    /// Transmit queues.
    pub tx_queues: u16,
    /// Where the switch reads how many frames wait in the receive queue, on which it pauses.
    pub rx_backlog: BacklogSource,
    /// Whether it sends a frame that is in several pieces.
    pub sends_segments: bool,
    /// Frames that the device holds before it loses one; `None` where all wait, as those of a
    /// capture file do.
    pub rx_queue_frames: Option<u32>,
    /// What counts the frames that its full receive queue lost.
    pub rx_losses: RxLosses,
    /// Buffers of the pool that it allocated when it was started.
    pub rx_buffers: u32,
    /// Whether software PFC works on it, as far as was known when it was started; see
    /// [`Port::flow_control`](super::port::Port::flow_control).
    pub flow_control: FlowControl,
}

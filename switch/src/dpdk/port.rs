//! A device opened as a port: one receive queue, a transmit queue or more, promiscuous, started.

use super::device_args::DeviceArgs;
use super::eal::Eal;
use super::error::DpdkError;
use super::flow_control::{self, FlowControl, FlowControlWatch};
use super::link::{self, DeviceCounters, Link};
use super::mempool::Pool;
use super::packet_socket::PacketSocket;
use super::probe::{OpenDevice, lock_devices};
use super::rx_queue::RxLosses;
use super::tap::TapLink;
use std::sync::{Arc, Mutex, PoisonError};

/// Ethernet header and two VLAN tags: what a frame may be longer than the MTU.
pub const L2_OVERHEAD_BYTES: u16 = 14 + 2 * 4;

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
            tx_queues: 1,
            rx_queue_frames: None,
        }
    }
}

/// What an open port is.
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
    /// Transmit queues.
    pub tx_queues: u16,
    /// Whether it can tell how many frames wait in its receive ring. Where it cannot, the switch
    /// cannot pause on a backlog and may lose frames in the ring when its cores are too slow.
    pub tells_rx_backlog: bool,
    /// Whether it sends a frame that is in several pieces.
    pub sends_segments: bool,
    /// Frames that the device keeps while nobody receives from it, before it loses one; `None`
    /// where all wait, as those of a capture do.
    pub rx_queue_frames: Option<u32>,
    /// Who tells of frames that its full queue lost.
    pub rx_losses: RxLosses,
    /// Buffers of the pool that it took for itself when it was started.
    pub rx_buffers: u32,
    /// Whether software PFC works on it, as far as was known when it was started; see
    /// [`Port::flow_control`].
    pub flow_control: FlowControl,
}

/// An open port, for whoever watches it. Its frames go through its [`PortQueues`].
#[derive(Debug)]
pub struct Port {
    device: OpenDevice,
    info: PortInfo,
    flow_control: Mutex<FlowControlWatch>,
    packet_socket: Option<PacketSocket>,
    _pool: Arc<Pool>,
    _eal: Arc<Eal>,
}

/// The right to receive from a port, and to send by its first transmit queue: there is one, and one
/// thread has it.
#[derive(Debug)]
pub struct PortQueues {
    port: Arc<Port>,
    /// Further transmit queues that nobody has yet.
    spare: Vec<TxQueue>,
}

/// The right to send by one further transmit queue of a port: there is one for each.
#[derive(Debug)]
pub struct TxQueue {
    port: Arc<Port>,
    number: u16,
}

impl PortQueues {
    fn new(port: Arc<Port>) -> Self {
        let spare =
            (1..port.info.tx_queues).map(|number| TxQueue { port: Arc::clone(&port), number });
        Self { spare: spare.collect(), port }
    }

    /// The port.
    pub const fn port(&self) -> &Arc<Port> {
        &self.port
    }

    /// A transmit queue for another thread, while there are any.
    pub fn take_spare(&mut self) -> Option<TxQueue> {
        self.spare.pop()
    }
}

impl TxQueue {
    /// The port.
    pub const fn port(&self) -> &Arc<Port> {
        &self.port
    }

    /// Which of its transmit queues.
    pub const fn number(&self) -> u16 {
        self.number
    }
}

impl Port {
    /// Opens, configures and starts the device named by `device` (`net_tap0,iface=kt0`,
    /// `0000:01:00.0`), receiving into `pool`. The port is closed when both values are gone.
    ///
    /// # Errors
    /// [`DpdkError::Device`] if there is no such device or it cannot do what is asked.
    pub fn open(
        eal: &Arc<Eal>,
        device: &str,
        options: &PortOptions,
        pool: &Arc<Pool>,
    ) -> Result<(Arc<Self>, PortQueues), DpdkError> {
        let args = DeviceArgs::parse(device)?;
        let mut open = lock_devices();
        let mut device = OpenDevice::probe(eal, &args, options, &mut open)?;
        let info = match device.set_up(&args, pool, options) {
            Ok(info) => info,
            Err(error) => {
                device.close(&mut open);
                return Err(error);
            }
        };
        let port = Arc::new(Self {
            flow_control: Mutex::new(FlowControlWatch::new(info.flow_control.clone())),
            packet_socket: PacketSocket::of(&args),
            device,
            info,
            _pool: Arc::clone(pool),
            _eal: Arc::clone(eal),
        });
        Ok((Arc::clone(&port), PortQueues::new(port)))
    }

    /// What it is.
    pub const fn info(&self) -> &PortInfo {
        &self.info
    }

    /// Its link now. A tap's is that of its interface, in whatever network namespace.
    pub fn link(&self) -> Link {
        match self.device.tap() {
            Some(tap) => Link { up: tap.link() == TapLink::Up, speed: None },
            None => link::link(self.device.id()),
        }
    }

    /// Whether its interface was deleted under it: it never comes up again.
    pub fn is_deleted(&self) -> bool {
        self.device.tap().is_some_and(|tap| tap.link() == TapLink::Deleted)
    }

    /// Its own counters now, and what the kernel counts for it.
    pub fn counters(&self) -> DeviceCounters {
        let mut counters = link::counters(self.device.id());
        let by_tap = self.device.tap().map_or(0, |tap| tap.rx_missed_frames());
        let by_socket = self.packet_socket.as_ref().map_or(0, PacketSocket::dropped_frames);
        counters.rx_missed_frames += by_tap + by_socket;
        counters
    }

    /// Whether software PFC works on it, as of the last [`Self::watch_flow_control`].
    pub fn flow_control(&self) -> FlowControl {
        self.flow_control.lock().unwrap_or_else(PoisonError::into_inner).now().clone()
    }

    /// To be called with every look at the link: reads the NIC's flow control again where a link
    /// that came up may have changed it. Returns what is to be said instead of what was.
    pub fn watch_flow_control(&self, link: Link) -> Option<FlowControl> {
        let mut watch = self.flow_control.lock().unwrap_or_else(PoisonError::into_inner);
        watch.poll(link.up, || flow_control::verify(self.device.id()))
    }
}

impl Drop for Port {
    /// Closes the device; only then do its pool and the EAL go.
    fn drop(&mut self) {
        self.packet_socket = None;
        self.device.close(&mut lock_devices());
    }
}

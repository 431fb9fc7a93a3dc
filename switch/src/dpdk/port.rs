//! An open device: one or more receive queues, one or more transmit queues, promiscuous, started.

use super::device_args::DeviceArgs;
use super::eal::Eal;
use super::error::DpdkError;
use super::flow_control::{self, FlowControl, FlowControlWatch};
use super::link;
use super::mempool::Pool;
use super::packet_socket::PacketSocket;
use super::probe::{OpenDevice, lock_devices};
use super::tap::TapLink;
use crate::platform::DeviceCounters;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) use super::port_options::L2_OVERHEAD_BYTES;
pub use super::port_options::{PortInfo, PortOptions};

/// Drivers whose devices have no peer.
const WITHOUT_PEER: [&str; 3] = ["net_pcap", "net_null", "net_ring"];

/// An open port, for monitoring. Its frames go through its [`PortQueues`].
#[derive(Debug)]
pub struct Port {
    device: OpenDevice,
    info: PortInfo,
    flow_control: Mutex<FlowControlWatch>,
    /// The counters when they were last read. Those of a device that is gone stay as they were.
    counters: Mutex<DeviceCounters>,
    /// Set once, by the thread that closes the device.
    is_closed: AtomicBool,
    packet_socket: Option<PacketSocket>,
    _pool: Arc<Pool>,
    _eal: Arc<Eal>,
}

/// The right to receive by a port's first receive queue, and to send by its first transmit queue:
/// there is one, used by one thread.
#[derive(Debug)]
pub struct PortQueues {
    port: Arc<Port>,
    /// Further receive queues that are not assigned yet.
    further: Vec<RxQueue>,
    /// Further transmit queues that are not assigned yet.
    spare: Vec<TxQueue>,
}

/// The right to send by one further transmit queue of a port: there is one for each.
#[derive(Debug)]
pub struct TxQueue {
    port: Arc<Port>,
    number: u16,
}

/// The right to receive by one further receive queue of a port: there is one for each.
#[derive(Debug)]
pub struct RxQueue {
    port: Arc<Port>,
    number: u16,
}

impl PortQueues {
    fn new(port: Arc<Port>) -> Self {
        let further =
            (1..port.info.rx_queues).map(|number| RxQueue { port: Arc::clone(&port), number });
        let spare =
            (1..port.info.tx_queues).map(|number| TxQueue { port: Arc::clone(&port), number });
        Self { further: further.collect(), spare: spare.collect(), port }
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

impl PortQueues {
    /// The further receive queues, in the order of their numbers, for the workers that poll them.
    pub fn take_further(&mut self) -> Vec<RxQueue> {
        std::mem::take(&mut self.further)
    }
}

impl RxQueue {
    /// The port.
    pub const fn port(&self) -> &Arc<Port> {
        &self.port
    }

    /// Which of its receive queues.
    pub const fn number(&self) -> u16 {
        self.number
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
            counters: Mutex::default(),
            is_closed: AtomicBool::new(false),
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

    /// Whether its link is up. A tap's is that of its interface, in whatever network namespace.
    pub fn is_up(&self) -> bool {
        if self.is_removed() {
            return false;
        }
        match (self.device.tap(), &self.packet_socket) {
            (Some(tap), _) => tap.link() == TapLink::Up,
            (None, Some(socket)) => socket.is_link_up(),
            (None, None) => link::is_up(self.device.id()),
        }
    }

    /// Whether frames come from outside of this process, and not from a file.
    pub(crate) fn has_peer(&self) -> bool {
        !WITHOUT_PEER.contains(&self.info.driver.as_str())
    }

    /// Whether it is a tap.
    pub(crate) fn is_tap(&self) -> bool {
        self.device.tap().is_some()
    }

    /// Takes its link up or down, if the device can: a tap's by its carrier, which its interface
    /// loses in whatever network namespace it is; that of `net_af_packet` by its interface, unless
    /// the host itself uses that. Whether it can.
    pub(crate) fn set_link(&self, up: bool) -> bool {
        if self.is_removed() {
            return false;
        }
        match (self.device.tap(), &self.packet_socket) {
            (Some(tap), _) => tap.set_carrier(up),
            (None, Some(socket)) => socket.set_interface(up),
            (None, None) => !self.device.is_virtual() && link::set(self.device.id(), up),
        }
    }

    /// Whether its interface was deleted under it: it never comes up again.
    pub fn is_deleted(&self) -> bool {
        self.device.tap().is_some_and(|tap| tap.link() == TapLink::Deleted)
    }

    /// Why the interface of a tap cannot be watched, if it cannot and this was not asked since.
    pub(crate) fn take_watch_fault(&self) -> Option<String> {
        self.device.tap()?.take_fault()
    }

    /// Whether it is a NIC that was unplugged: it never comes up again.
    pub(crate) fn is_removed(&self) -> bool {
        self.device.is_removed()
    }

    /// Closes the device of a port that was removed, if nothing but `this` uses it any more.
    /// Whether it is closed now.
    pub(crate) fn close_removed(this: &Arc<Self>) -> bool {
        if !this.is_removed() || Arc::strong_count(this) != 1 {
            return false;
        }
        // What other threads did with the device before they gave it up comes before this.
        fence(Ordering::Acquire);
        this.close();
        true
    }

    fn close(&self) {
        if !self.is_closed.swap(true, Ordering::Relaxed) {
            self.device.close(&mut lock_devices());
        }
    }

    /// Its own counters now, and what the kernel counts for it.
    pub fn counters(&self) -> DeviceCounters {
        let mut last = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_removed() {
            *last = self.read_counters();
        }
        *last
    }

    fn read_counters(&self) -> DeviceCounters {
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

    /// Called at every poll of the link: reads the NIC's flow control again when a link that came
    /// up may have changed it. Returns the new state if it changed.
    pub(crate) fn watch_flow_control(&self, is_up: bool) -> Option<FlowControl> {
        let mut watch = self.flow_control.lock().unwrap_or_else(PoisonError::into_inner);
        watch.poll(is_up, || flow_control::verify(self.device.id()))
    }
}

impl Drop for Port {
    /// Closes the device; only then do its pool and the EAL go.
    fn drop(&mut self) {
        self.packet_socket = None;
        self.close();
    }
}

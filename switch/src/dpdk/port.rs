//! A device opened as a port: one receive queue, a transmit queue or more, promiscuous, started.

use super::device_args::{Bus, DeviceArgs};
use super::eal::Eal;
use super::error::{DpdkError, c_string, errno_text};
use super::flow_control::FlowControl;
use super::link::{self, DeviceCounters, Link};
use super::log;
use super::mempool::Pool;
use super::setup::Setup;
use dpdk_sys::{rte_dev_iterator, rte_eth_dev_info};
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
}

impl Default for PortOptions {
    fn default() -> Self {
        Self { mtu_bytes: 1_500, rx_descriptors: 512, tx_descriptors: 512, tx_queues: 1 }
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
    /// Whether software PFC works on it.
    pub flow_control: FlowControl,
}

/// An open port, for whoever watches it. Its frames go through its [`PortQueues`].
#[derive(Debug)]
pub struct Port {
    device: OpenDevice,
    info: PortInfo,
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
        let device = OpenDevice::probe(eal, &args, &mut open)?;
        let info = match device.set_up(&args, pool, options) {
            Ok(info) => info,
            Err(error) => {
                device.close(&mut open);
                return Err(error);
            }
        };
        let (_pool, _eal) = (Arc::clone(pool), Arc::clone(eal));
        let port = Arc::new(Self { device, info, _pool, _eal });
        Ok((Arc::clone(&port), PortQueues::new(port)))
    }

    /// What it is.
    pub const fn info(&self) -> &PortInfo {
        &self.info
    }

    /// Its link now.
    pub fn link(&self) -> Link {
        link::link(self.device.id)
    }

    /// Its own counters now.
    pub fn counters(&self) -> DeviceCounters {
        link::counters(self.device.id)
    }
}

impl Drop for Port {
    /// Closes the device; only then do its pool and the EAL go.
    fn drop(&mut self) {
        self.device.close(&mut lock_devices());
    }
}

/// The error for `args`: what is wrong from `errno` and the log, what would be right from the
/// driver.
pub(super) fn failure(args: &DeviceArgs, doing: &str, errno: i32) -> DpdkError {
    let (text, logged) = (errno_text(errno), log::take());
    let cause =
        if logged.is_empty() { format!("{doing}: {text}") } else { format!("{doing}: {logged}") };
    refusal(args, &cause)
}

fn refusal(args: &DeviceArgs, cause: &str) -> DpdkError {
    DpdkError::Device {
        device: args.text().to_owned(),
        cause: cause.to_owned(),
        right: args.what_would_be_right().to_owned(),
    }
}

/// DPDK ports that are open: an id is given to one [`OpenDevice`] only. DPDK plugs and unplugs
/// devices without locks of its own, so whoever does holds this.
static OPEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

fn lock_devices() -> MutexGuard<'static, BTreeSet<u16>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device that DPDK knows and that is ours until [`Self::close`].
#[derive(Debug)]
struct OpenDevice {
    id: u16,
    is_virtual: bool,
}

impl OpenDevice {
    fn probe(eal: &Eal, args: &DeviceArgs, open: &mut BTreeSet<u16>) -> Result<Self, DpdkError> {
        log::forget();
        let name = c_string(args.name())?;
        match args.bus() {
            Bus::Pci(address) if !eal.pci().contains(&address) => {
                return Err(refusal(args, "DPDK was not started with this PCI device"));
            }
            // The EAL probed it when it started.
            Bus::Pci(_) => {}
            Bus::Virtual => {
                let text = c_string(args.text())?;
                // SAFETY: the EAL is initialised; the text is NUL-terminated and copied by DPDK.
                let status = unsafe { dpdk_sys::rte_dev_probe(text.as_ptr()) };
                if status != 0 {
                    return Err(failure(args, "cannot be opened", status));
                }
            }
        }
        let id = first_port(&name).ok_or_else(|| refusal(args, "no such device"))?;
        if !open.insert(id) {
            return Err(refusal(args, "it is already open"));
        }
        Ok(Self { id, is_virtual: args.bus() == Bus::Virtual })
    }

    fn set_up(
        &self,
        args: &DeviceArgs,
        pool: &Pool,
        options: &PortOptions,
    ) -> Result<PortInfo, DpdkError> {
        let facts =
            self.facts().map_err(|errno| failure(args, "does not describe itself", errno))?;
        Setup { args, id: self.id, facts, pool, options }.run()
    }

    fn facts(&self) -> Result<rte_eth_dev_info, i32> {
        let mut facts = MaybeUninit::<rte_eth_dev_info>::zeroed();
        // SAFETY: `facts` is a valid place to write to.
        match unsafe { dpdk_sys::rte_eth_dev_info_get(self.id, facts.as_mut_ptr()) } {
            // SAFETY: DPDK filled it in, from zeros, and zeros are a value of all its fields.
            0 => Ok(unsafe { facts.assume_init() }),
            errno => Err(errno),
        }
    }

    /// Stops and closes the device, and unplugs a virtual one, so that its name is free again.
    /// Nobody may use the port any more.
    fn close(&self, open: &mut BTreeSet<u16>) {
        let facts = self.facts();
        // SAFETY: the port exists until it is closed. Stopping one that never started does nothing.
        unsafe { dpdk_sys::rte_eth_dev_stop(self.id) };
        // SAFETY: as above; the port is stopped.
        unsafe { dpdk_sys::rte_eth_dev_close(self.id) };
        if let (true, Ok(facts)) = (self.is_virtual, facts) {
            // SAFETY: the device was probed and not removed since; its port is closed.
            unsafe { dpdk_sys::rte_dev_remove(facts.device) };
        }
        open.remove(&self.id);
    }
}

/// The (first) port of the device with this name.
fn first_port(name: &CStr) -> Option<u16> {
    let mut iterator = MaybeUninit::<rte_dev_iterator>::zeroed();
    // SAFETY: `iterator` is a valid place to write to; the name is NUL-terminated.
    if unsafe { dpdk_sys::rte_eth_iterator_init(iterator.as_mut_ptr(), name.as_ptr()) } != 0 {
        return None;
    }
    // SAFETY: initialised by the call above.
    let id = unsafe { dpdk_sys::rte_eth_iterator_next(iterator.as_mut_ptr()) };
    // SAFETY: as above; cleaning up twice does nothing.
    unsafe { dpdk_sys::rte_eth_iterator_cleanup(iterator.as_mut_ptr()) };
    (u32::from(id) < dpdk_sys::RTE_MAX_ETHPORTS).then_some(id)
}

//! Configures and starts a probed device.

use super::device_args::{Bus, DeviceArgs};
use super::error::DpdkError;
use super::failure::failure;
use super::flow_control;
use super::log;
use super::mempool::Pool;
use super::port_options::{L2_OVERHEAD_BYTES, PortInfo, PortOptions};
use super::rss::SymmetricKey;
use super::rx_backlog::BacklogSource;
use super::rx_queue::{RxLosses, RxQueueFacts};
use dpdk_sys::{
    SHIM_RTE_ETH_DEV_INTR_RMV, SHIM_RTE_ETH_RX_OFFLOAD_SCATTER as SCATTER,
    SHIM_RTE_ETH_TX_OFFLOAD_MULTI_SEGS as MULTI_SEGS, rte_eth_conf, rte_eth_dev_info,
    rte_ether_addr,
};
use std::ffi::CStr;
use std::mem::MaybeUninit;

const FCS_BYTES: u32 = 4;

/// One device, its capabilities, and the requested options.
pub(super) struct Setup<'a> {
    pub(super) args: &'a DeviceArgs,
    pub(super) id: u16,
    pub(super) facts: rte_eth_dev_info,
    pub(super) pool: &'a Pool,
    pub(super) options: &'a PortOptions,
    /// What the tap keeps, if it is one.
    pub(super) tap_queue_frames: Option<u32>,
}

/// Virtual devices that send a chain of buffers without saying so in their capabilities.
const SENDS_SEGMENTS_SILENTLY: [&str; 3] = ["net_null", "net_pcap", "net_ring"];

/// Virtual devices that name a largest frame but chain buffers for as long a frame as comes.
const LIMIT_IS_NOMINAL: [&str; 1] = ["net_memif"];

/// Virtual devices that may have more transmit than receive queues, each of which hands frames on
/// at once. (`net_tap` and `net_af_packet` want as many of both; how many a `net_memif` has, its
/// peer decides.)
const HAS_FREE_TX_QUEUES: [&str; 2] = ["net_null", "net_pcap"];

/// Virtual devices that have a transmit queue with each receive queue.
const HAS_PAIRS_OF_QUEUES: [&str; 2] = ["net_tap", "net_af_packet"];

/// `net_tap` fills a chain of as many buffers as it has descriptors for each read, and holds them
/// all, while the kernel queues hundreds of frames behind it anyway.
const TAP_RX_DESCRIPTORS_MAX: u16 = 64;

impl Setup<'_> {
    pub(super) fn run(&self) -> Result<PortInfo, DpdkError> {
        log::forget();
        let driver = self.driver();
        let mtu_set_bytes = self.check_mtu(&driver)?;
        let sends_segments = self.facts.tx_offload_capa & MULTI_SEGS != 0
            || SENDS_SEGMENTS_SILENTLY.contains(&driver.as_str());
        let in_pieces = self.frame_bytes_max() > u32::from(self.pool.data_room_bytes());
        if in_pieces {
            self.check_pieces(sends_segments)?;
        }
        self.check_rx_queues(&driver)?;
        let tx_queues = self.tx_queues(&driver);
        let spreads_flows = self.configure(in_pieces, mtu_set_bytes, tx_queues)?;
        self.set_mtu(mtu_set_bytes)?;
        let in_use_before = self.pool.in_use();
        let (rx_descriptors, tx_descriptors) = self.set_up_queues(&driver, tx_queues)?;
        // SAFETY: the port is configured and all its queues are set up.
        self.expect("cannot be started", unsafe { dpdk_sys::rte_eth_dev_start(self.id) })?;
        self.enable_promiscuous()?;
        let is_virtual = self.args.bus() == Bus::Virtual;
        let queue = RxQueueFacts {
            args: self.args,
            driver: &driver,
            rx_descriptors,
            tap_queue_frames: self.tap_queue_frames,
        };
        let rx_losses = RxLosses::of(&driver, self.args);
        // SAFETY: the port is started and has a queue 0.
        let count = unsafe { dpdk_sys::shim_rte_eth_rx_queue_count(self.id, 0) };
        let driver_reports_backlog = count >= 0;
        Ok(PortInfo {
            rx_queue_frames: queue.frames(),
            rx_losses,
            rx_buffers: self.pool.in_use().saturating_sub(in_use_before),
            id: self.id,
            device: self.args.text().to_owned(),
            driver,
            is_virtual,
            mac: self.mac()?,
            mtu_bytes: self.options.mtu_bytes,
            rx_descriptors,
            tx_descriptors,
            rx_queues: self.options.rx_queues,
            spreads_flows,
            tx_queues,
            rx_backlog: BacklogSource::of(driver_reports_backlog, rx_losses),
            sends_segments,
            flow_control: flow_control::take_over(self.id, is_virtual),
        })
    }

    /// The longest frame that may be in a buffer, with the FCS that some NICs leave there for a
    /// while.
    fn frame_bytes_max(&self) -> u32 {
        u32::from(self.options.mtu_bytes) + u32::from(L2_OVERHEAD_BYTES) + FCS_BYTES
    }

    fn driver(&self) -> String {
        if self.facts.driver_name.is_null() {
            return String::new();
        }
        // SAFETY: not null, so it is the driver's static, NUL-terminated name.
        unsafe { CStr::from_ptr(self.facts.driver_name) }.to_string_lossy().into_owned()
    }

    /// Frames longer than a buffer need a device that receives and sends them in pieces.
    fn check_pieces(&self, sends_segments: bool) -> Result<(), DpdkError> {
        // A virtual device that has no scatter flag chains buffers as a matter of course.
        let receives = self.args.bus() == Bus::Virtual || self.facts.rx_offload_capa & SCATTER != 0;
        if receives && sends_segments {
            return Ok(());
        }
        Err(DpdkError::Device {
            device: self.args.text().to_owned(),
            cause: format!(
                "an MTU of {} bytes needs frames in several buffers of {} bytes, which it cannot {}",
                self.options.mtu_bytes,
                self.pool.data_room_bytes(),
                if receives { "send" } else { "receive" },
            ),
            advice: format!("give the pool buffers of {} bytes", self.frame_bytes_max()),
        })
    }

    /// The MTU to configure: the requested one, if the device supports it.
    fn check_mtu(&self, driver: &str) -> Result<u16, DpdkError> {
        let max_bytes = mtu_max(&self.facts);
        if self.options.mtu_bytes <= max_bytes {
            return Ok(self.options.mtu_bytes);
        }
        if LIMIT_IS_NOMINAL.contains(&driver) {
            return Ok(max_bytes);
        }
        Err(DpdkError::Device {
            device: self.args.text().to_owned(),
            cause: format!("it does not take an MTU of {} bytes", self.options.mtu_bytes),
            advice: format!("{driver} takes up to {max_bytes} bytes"),
        })
    }

    fn check_rx_queues(&self, driver: &str) -> Result<(), DpdkError> {
        let (wanted, most) = (self.options.rx_queues, self.facts.max_rx_queues);
        if wanted <= most {
            return Ok(());
        }
        Err(DpdkError::Device {
            device: self.args.text().to_owned(),
            cause: format!("it does not take {wanted} receive queues"),
            advice: format!("{driver} takes up to {most} with these arguments"),
        })
    }

    /// The requested number, or one. A tap has as many of both.
    fn tx_queues(&self, driver: &str) -> u16 {
        if HAS_PAIRS_OF_QUEUES.contains(&driver) {
            return self.options.rx_queues;
        }
        let wanted = self.options.tx_queues;
        let is_nic = self.args.bus() != Bus::Virtual;
        let is_free = is_nic || HAS_FREE_TX_QUEUES.contains(&driver);
        if is_free && wanted <= self.facts.max_tx_queues { wanted.max(1) } else { 1 }
    }

    /// Configures the device; whether it spreads flows over its receive queues.
    fn configure(
        &self,
        in_pieces: bool,
        mtu_bytes: u16,
        tx_queues: u16,
    ) -> Result<bool, DpdkError> {
        // SAFETY: the struct is plain integers and pointers, for which all zeros is a value; DPDK
        // takes zeros for "nothing special".
        let mut conf: rte_eth_conf = unsafe { MaybeUninit::zeroed().assume_init() };
        conf.rxmode.mtu = u32::from(mtu_bytes);
        if in_pieces {
            conf.rxmode.offloads = self.facts.rx_offload_capa & SCATTER;
            conf.txmode.offloads = self.facts.tx_offload_capa & MULTI_SEGS;
        }
        // No interrupt for link changes: with one, DPDK reports what it last heard of, and where
        // the interrupt is lost (e1000e), that is a link which is up for ever.
        conf.intr_conf.set_rmv(u32::from(self.device_flags() & SHIM_RTE_ETH_DEV_INTR_RMV != 0));
        let rx_queues = self.options.rx_queues;
        let mut key = SymmetricKey::new();
        let spreads_flows = rx_queues > 1 && key.spread(&self.facts, &mut conf);
        // SAFETY: `conf` and the key that it points to are valid, and DPDK copies both.
        let status = unsafe {
            dpdk_sys::rte_eth_dev_configure(self.id, rx_queues, tx_queues, &raw const conf)
        };
        self.expect("cannot be configured", status)?;
        Ok(spreads_flows)
    }

    /// What the device reports by interrupts, among other things.
    fn device_flags(&self) -> u32 {
        if self.facts.dev_flags.is_null() {
            return 0;
        }
        // SAFETY: not null, so it points to the flags of the device, which is open.
        unsafe { *self.facts.dev_flags }
    }

    /// Drivers without an MTU setting have no limit of their own, beyond what configuring checked.
    fn set_mtu(&self, mtu_bytes: u16) -> Result<(), DpdkError> {
        // SAFETY: the port is configured.
        let status = unsafe { dpdk_sys::rte_eth_dev_set_mtu(self.id, mtu_bytes) };
        self.tolerate_unsupported("refuses the MTU", status)
    }

    fn set_up_queues(&self, driver: &str, tx_queues: u16) -> Result<(u16, u16), DpdkError> {
        let (mut rx, mut tx) = (self.options.rx_descriptors, self.options.tx_descriptors);
        if driver == "net_tap" {
            rx = rx.min(TAP_RX_DESCRIPTORS_MAX);
        }
        // SAFETY: both are valid places to read and write.
        let status = unsafe {
            dpdk_sys::rte_eth_dev_adjust_nb_rx_tx_desc(self.id, &raw mut rx, &raw mut tx)
        };
        self.expect("refuses the number of descriptors", status)?;
        let (any, pool) = (dpdk_sys::SOCKET_ID_ANY.cast_unsigned(), self.pool.as_raw());
        for queue in 0..self.options.rx_queues {
            // SAFETY: the port is configured with `rx_queues` receive queues; the pool outlives the
            // port, whose value holds it; a null configuration asks for the driver's default.
            let status = unsafe {
                dpdk_sys::rte_eth_rx_queue_setup(self.id, queue, rx, any, std::ptr::null(), pool)
            };
            self.expect("cannot receive", status)?;
        }
        for queue in 0..tx_queues {
            // SAFETY: the port is configured with `tx_queues` transmit queues; null as above.
            let status = unsafe {
                dpdk_sys::rte_eth_tx_queue_setup(self.id, queue, tx, any, std::ptr::null())
            };
            self.expect("cannot send", status)?;
        }
        Ok((rx, tx))
    }

    /// A switch receives frames to all addresses. Devices without the setting do so anyway.
    fn enable_promiscuous(&self) -> Result<(), DpdkError> {
        // SAFETY: the port is started.
        let status = unsafe { dpdk_sys::rte_eth_promiscuous_enable(self.id) };
        self.tolerate_unsupported("does not receive all addresses", status)
    }

    fn mac(&self) -> Result<[u8; 6], DpdkError> {
        let mut mac = rte_ether_addr { addr_bytes: [0; 6] };
        // SAFETY: `mac` is a valid place to write to.
        let status = unsafe { dpdk_sys::rte_eth_macaddr_get(self.id, &raw mut mac) };
        self.expect("has no MAC address", status)?;
        Ok(mac.addr_bytes)
    }

    fn expect(&self, doing: &str, status: i32) -> Result<(), DpdkError> {
        if status != 0 {
            return Err(failure(self.args, doing, status));
        }
        // What a step grumbles about and gets over is not the cause of a later one's failure.
        log::forget();
        Ok(())
    }

    fn tolerate_unsupported(&self, doing: &str, status: i32) -> Result<(), DpdkError> {
        const ENOTSUP: i32 = 95;
        if status == -ENOTSUP { Ok(()) } else { self.expect(doing, status) }
    }
}

/// The largest MTU that DPDK will let this device have, by its own reckoning: drivers give the
/// longest frame, and some the largest MTU too, whose difference is then their overhead.
fn mtu_max(facts: &rte_eth_dev_info) -> u16 {
    const ETHERNET_OVERHEAD_BYTES: u32 = 14 + FCS_BYTES;
    let (frame_max, mtu_max) = (facts.max_rx_pktlen, facts.max_mtu);
    let overhead = match frame_max.checked_sub(u32::from(mtu_max)) {
        Some(more) if more > 0 && mtu_max != u16::MAX => more,
        _ => ETHERNET_OVERHEAD_BYTES,
    };
    let by_frame = u16::try_from(frame_max.saturating_sub(overhead)).unwrap_or(u16::MAX);
    by_frame.min(mtu_max)
}

//! What a device says about itself while it runs: its link and its own counters.

use dataplane::time::Speed;
use dpdk_sys::{rte_eth_link, rte_eth_stats};
use std::mem::MaybeUninit;

/// A port's link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Whether frames can pass.
    pub up: bool,
    /// Its speed, where the device knows. Virtual devices claim 10 Gb/s, which means nothing.
    pub speed: Option<Speed>,
}

/// A device's own counters. What a NIC loses before the switch sees it shows up only here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Frames received broken.
    pub rx_error_frames: u64,
    /// Times that no buffer could be allocated for the receive ring.
    pub rx_no_buffer: u64,
    /// Frames that could not be sent.
    pub tx_error_frames: u64,
}

/// The link of DPDK port `id`, without waiting for a negotiation.
pub(super) fn link(id: u16) -> Link {
    let mut raw = MaybeUninit::<rte_eth_link>::zeroed();
    // SAFETY: `raw` is a valid place to write to; a bad id is an error, not undefined.
    if unsafe { dpdk_sys::rte_eth_link_get_nowait(id, raw.as_mut_ptr()) } != 0 {
        return Link::default();
    }
    // SAFETY: plain integers, all initialized: zeroed, then filled in.
    let raw = unsafe { raw.assume_init() };
    let known = raw.link_speed != 0 && raw.link_speed != dpdk_sys::SHIM_RTE_ETH_SPEED_NUM_UNKNOWN;
    let speed = known.then(|| Speed::from_bps(u64::from(raw.link_speed) * 1_000_000));
    Link { up: raw.link_status() == 1, speed }
}

/// The counters of DPDK port `id`; all 0 where the driver keeps none.
pub(super) fn counters(id: u16) -> DeviceCounters {
    let mut raw = MaybeUninit::<rte_eth_stats>::zeroed();
    // SAFETY: `raw` is a valid place to write to; a bad id is an error, not undefined.
    if unsafe { dpdk_sys::rte_eth_stats_get(id, raw.as_mut_ptr()) } != 0 {
        return DeviceCounters::default();
    }
    // SAFETY: plain integers, all initialized: zeroed, then filled in.
    let raw = unsafe { raw.assume_init() };
    DeviceCounters {
        rx_frames: raw.ipackets,
        rx_bytes: raw.ibytes,
        tx_frames: raw.opackets,
        tx_bytes: raw.obytes,
        rx_missed_frames: raw.imissed,
        rx_error_frames: raw.ierrors,
        rx_no_buffer: raw.rx_nombuf,
        tx_error_frames: raw.oerrors,
    }
}

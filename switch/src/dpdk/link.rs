//! The link and the counters of a device.

use crate::platform::DeviceCounters;
use dpdk_sys::rte_eth_stats;
use std::mem::MaybeUninit;

/// Whether the link of DPDK port `id` is up, without waiting for a negotiation.
pub(super) fn is_up(id: u16) -> bool {
    // SAFETY: a bad id is an error, not undefined.
    unsafe { dpdk_sys::shim_link_is_up(id) == 1 }
}

/// Takes the link of DPDK port `id` up or down. Whether its driver can.
pub(super) fn set(id: u16, up: bool) -> bool {
    let status = if up {
        // SAFETY: a bad id is an error, not undefined.
        unsafe { dpdk_sys::rte_eth_dev_set_link_up(id) }
    } else {
        // SAFETY: as above.
        unsafe { dpdk_sys::rte_eth_dev_set_link_down(id) }
    };
    status == 0
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

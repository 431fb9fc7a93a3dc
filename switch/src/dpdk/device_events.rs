//! What DPDK reports of devices on its interrupt thread: that one goes.
//!
//! A NIC that is unplugged goes in one of two ways. A device of vfio-pci stays until the switch has
//! released it: the kernel asks for it, and DPDK calls back. A device of a uio driver is gone at
//! once, and its registers with it: DPDK maps memory in their place, so that whoever touches them
//! does not end the process.

use super::device_args::PciAddress;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// Devices that DPDK has reported as gone.
#[derive(Debug)]
struct Gone {
    /// Names of PCI devices.
    devices: BTreeSet<String>,
    /// Ports, as their drivers say (`RTE_ETH_EVENT_INTR_RMV`).
    ports: BTreeSet<u16>,
}

static GONE: Mutex<Gone> = Mutex::new(Gone { devices: BTreeSet::new(), ports: BTreeSet::new() });

fn gone<T>(access: impl FnOnce(&mut Gone) -> T) -> T {
    access(&mut GONE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Has DPDK report from now on. Called once, with PCI devices only. What DPDK refuses is tolerated:
/// [`Removal`] then knows by sysfs.
pub(super) fn watch() {
    // SAFETY: the EAL is initialized; a null name stands for all devices, and the function is
    // callable on any thread for the rest of the process.
    unsafe {
        dpdk_sys::rte_dev_event_callback_register(std::ptr::null(), Some(on_device), null_mut())
    };
    // SAFETY: takes nothing. From here DPDK handles SIGBUS at the registers of a NIC that is gone.
    unsafe { dpdk_sys::rte_dev_hotplug_handle_enable() };
    // SAFETY: takes nothing; DPDK listens to the kernel on its interrupt thread.
    unsafe { dpdk_sys::rte_dev_event_monitor_start() };
    let event = dpdk_sys::RTE_ETH_EVENT_INTR_RMV;
    // SAFETY: as the first one.
    unsafe { dpdk_sys::rte_eth_dev_callback_register(ALL_PORTS, event, Some(on_port), null_mut()) };
}

/// `RTE_ETH_ALL`.
#[expect(clippy::cast_possible_truncation, reason = "ports are counted in 16 bits")]
const ALL_PORTS: u16 = dpdk_sys::RTE_MAX_ETHPORTS as u16;

unsafe extern "C" fn on_device(
    name: *const c_char,
    event: dpdk_sys::rte_dev_event_type,
    _unused: *mut c_void,
) {
    if event == dpdk_sys::RTE_DEV_EVENT_REMOVE && !name.is_null() {
        // SAFETY: DPDK passes the NUL-terminated name of a device, valid during the call.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        gone(|gone| gone.devices.insert(name));
    }
}

unsafe extern "C" fn on_port(
    port: u16,
    event: dpdk_sys::rte_eth_event_type,
    _unused: *mut c_void,
    _answer: *mut c_void,
) -> c_int {
    if event == dpdk_sys::RTE_ETH_EVENT_INTR_RMV {
        gone(|gone| gone.ports.insert(port));
    }
    0
}

/// Knows whether the device of one port is gone.
#[derive(Debug)]
pub(super) struct Removal {
    port: u16,
    name: String,
    /// Its entry in sysfs.
    entry: PathBuf,
}

impl Removal {
    /// Of the NIC at `address`, which DPDK has as `port`.
    pub(super) fn new(sys: &Path, address: PciAddress, port: u16) -> Self {
        let name = address.to_string();
        gone(|gone| gone.ports.remove(&port));
        Self { port, entry: sys.join("bus/pci/devices").join(&name), name }
    }

    /// Whether it is gone, or about to go and waits for the switch to release it.
    pub(super) fn has_happened(&self) -> bool {
        gone(|gone| gone.ports.contains(&self.port) || gone.devices.contains(&self.name))
            || !self.entry.exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const PORT: u16 = 7;

    fn removal(sys: &Path, name: &str) -> Removal {
        let entry = sys.join("bus/pci/devices").join(name);
        fs::create_dir_all(entry).unwrap();
        Removal::new(sys, name.parse().unwrap(), PORT)
    }

    #[test]
    fn a_nic_is_gone_by_its_entry_its_device_or_its_driver() {
        let sys = tempfile::tempdir().unwrap();
        let by_entry = removal(sys.path(), "0000:0a:00.0");
        let by_device = removal(sys.path(), "0000:0b:00.0");
        assert!(!by_entry.has_happened() && !by_device.has_happened());
        fs::remove_dir(sys.path().join("bus/pci/devices/0000:0a:00.0")).unwrap();
        assert!(by_entry.has_happened() && !by_device.has_happened());

        for (event, is_gone) in
            [(dpdk_sys::RTE_DEV_EVENT_ADD, false), (dpdk_sys::RTE_DEV_EVENT_REMOVE, true)]
        {
            // SAFETY: a NUL-terminated name.
            unsafe { on_device(c"0000:0b:00.0".as_ptr(), event, null_mut()) };
            assert_eq!(by_device.has_happened(), is_gone);
        }

        let by_driver = removal(sys.path(), "0000:0c:00.0");
        assert!(!by_driver.has_happened());
        // SAFETY: it uses no pointer.
        unsafe { on_port(PORT, dpdk_sys::RTE_ETH_EVENT_INTR_RMV, null_mut(), null_mut()) };
        assert!(by_driver.has_happened());
        assert!(
            !removal(sys.path(), "0000:0d:00.0").has_happened(),
            "the next device of the number"
        );
    }
}

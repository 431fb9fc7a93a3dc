//! Probes a device into a DPDK port, and removes it again.

use super::device_args::{Bus, DeviceArgs};
use super::device_events::Removal;
use super::device_lock::{DeviceLock, DeviceLockError};
use super::eal::Eal;
use super::error::{DpdkError, c_string};
use super::failure::{failure, refusal};
use super::interrupt_thread;
use super::log;
use super::mempool::Pool;
use super::port_options::{PortInfo, PortOptions};
use super::setup::Setup;
use super::tap::Tap;
use dpdk_sys::{rte_dev_iterator, rte_eth_dev_info};
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

fn lock_failure(args: &DeviceArgs, error: &DeviceLockError) -> DpdkError {
    let advice = error.advice();
    refusal(args, &error.to_string(), advice.as_deref().unwrap_or_else(|| args.advice()))
}

/// DPDK ports that are open: an id is given to one [`OpenDevice`] only. DPDK plugs and unplugs
/// devices without a lock of its own, so this lock is held meanwhile.
static OPEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

pub(super) fn lock_devices() -> MutexGuard<'static, BTreeSet<u16>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A probed device, used by this switch alone until [`Self::close`].
#[derive(Debug)]
pub(super) struct OpenDevice {
    id: u16,
    is_virtual: bool,
    is_memif: bool,
    lock: DeviceLock,
    /// Of a NIC.
    removal: Option<Removal>,
}

impl OpenDevice {
    pub(super) fn probe(
        eal: &Eal,
        args: &DeviceArgs,
        options: &PortOptions,
        open: &mut BTreeSet<u16>,
    ) -> Result<Self, DpdkError> {
        let name = c_string(args.name())?;
        let text = c_string(args.text())?;
        if first_port(&name).is_some_and(|id| open.contains(&id)) {
            let advice = "give each port a device of its own";
            return Err(refusal(args, "another port of this switch has it open", advice));
        }
        let lock = DeviceLock::acquire(args, options.rx_queue_frames);
        let lock = lock.map_err(|error| lock_failure(args, &error))?;
        log::forget();
        match args.bus() {
            // The EAL probed it when it started.
            Bus::Pci(address) if first_port(&name).is_none() => {
                return Err(eal.pci_failure(args, address));
            }
            Bus::Pci(_) => {}
            Bus::Virtual => {
                let text = match lock.tap() {
                    Some(tap) => c_string(&args.text_with("iface", tap.name()))?,
                    None => text,
                };
                // SAFETY: the EAL is initialized; the text is NUL-terminated and copied by DPDK.
                let status = unsafe { dpdk_sys::rte_dev_probe(text.as_ptr()) };
                if status != 0 {
                    return Err(failure(args, "cannot be opened", status));
                }
            }
        }
        let no_port = || refusal(args, "its driver made no port", args.advice());
        let id = first_port(&name).ok_or_else(no_port)?;
        open.insert(id);
        Ok(Self {
            id,
            is_virtual: args.bus() == Bus::Virtual,
            is_memif: args.is_of("net_memif"),
            lock,
            removal: match args.bus() {
                Bus::Pci(address) => Some(Removal::new(Path::new("/sys"), address, id)),
                Bus::Virtual => None,
            },
        })
    }

    /// DPDK's number for its port.
    pub(super) const fn id(&self) -> u16 {
        self.id
    }

    /// Whether the device was unplugged.
    pub(super) fn is_removed(&self) -> bool {
        self.removal.as_ref().is_some_and(Removal::has_happened)
    }

    /// Whether it is a vdev.
    pub(super) const fn is_virtual(&self) -> bool {
        self.is_virtual
    }

    /// The tap, if it is one.
    pub(super) const fn tap(&self) -> Option<&Tap> {
        self.lock.tap()
    }

    pub(super) fn set_up(
        &mut self,
        args: &DeviceArgs,
        pool: &Pool,
        options: &PortOptions,
    ) -> Result<PortInfo, DpdkError> {
        let facts =
            self.facts().map_err(|errno| failure(args, "does not describe itself", errno))?;
        let tap_queue_frames = self.tap().map(Tap::rx_queue_frames);
        let info = Setup { args, id: self.id, facts, pool, options, tap_queue_frames }.run()?;
        self.lock.started().map_err(|error| lock_failure(args, &error))?;
        Ok(info)
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

    /// Stops and closes the device, and unplugs a virtual one, so that its name is free again, and
    /// one that was removed, so that the kernel can let it go. The port must not be used
    /// afterwards.
    pub(super) fn close(&self, open: &mut BTreeSet<u16>) {
        let facts = self.facts();
        if self.is_memif {
            // It handles its peer's disconnect on the interrupt thread, without a lock over the
            // queues that closing frees.
            interrupt_thread::run(|| self.stop_and_close());
        } else {
            self.stop_and_close();
        }
        if let (true, Ok(facts)) = (self.is_virtual || self.is_removed(), facts) {
            // SAFETY: the device was probed and not removed since; its port is closed.
            unsafe { dpdk_sys::rte_dev_remove(facts.device) };
        }
        open.remove(&self.id);
    }

    fn stop_and_close(&self) {
        // SAFETY: the port exists until it is closed. Stopping one that never started does nothing.
        unsafe { dpdk_sys::rte_eth_dev_stop(self.id) };
        // SAFETY: as above; the port is stopped.
        unsafe { dpdk_sys::rte_eth_dev_close(self.id) };
    }
}

/// The (first) port of the device with this name.
fn first_port(name: &CStr) -> Option<u16> {
    let mut iterator = MaybeUninit::<rte_dev_iterator>::zeroed();
    // SAFETY: `iterator` is a valid place to write to; the name is NUL-terminated.
    if unsafe { dpdk_sys::rte_eth_iterator_init(iterator.as_mut_ptr(), name.as_ptr()) } != 0 {
        return None;
    }
    // SAFETY: initialized by the call above.
    let id = unsafe { dpdk_sys::rte_eth_iterator_next(iterator.as_mut_ptr()) };
    // SAFETY: as above; cleaning up twice does nothing.
    unsafe { dpdk_sys::rte_eth_iterator_cleanup(iterator.as_mut_ptr()) };
    (u32::from(id) < dpdk_sys::RTE_MAX_ETHPORTS).then_some(id)
}

//! DPDK's environment (EAL): initialized once, and there until the process ends.
//!
//! It is never cleaned up. That would unmap memory that DPDK's interrupt thread reads as long as it
//! runs, which is to the end of the process: drivers leave interrupt sources behind, such as
//! `net_memif` the listener of its socket. The kernel takes everything back.

use super::device_args::{DeviceArgs, PciAddress};
use super::device_events;
use super::device_lock;
use super::error::{DpdkError, c_string, last_errno_text};
use super::failure::refusal;
use super::log;
use super::memory::{Memory, MemoryInUse, free_hugepages_mb};
use super::pci;
use super::tsc::{self, TscReading};
use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

/// The options of the EAL.
#[derive(Clone, Debug)]
pub struct EalOptions {
    /// Memory for all pools and queues; see
    /// [`Pool::memory_bytes`](super::mempool::Pool::memory_bytes).
    pub memory: Memory,
    /// The PCI devices that the EAL may touch. Empty: the PCI bus is not even scanned.
    pub pci: Vec<PciAddress>,
    /// CPUs of the calling thread, which becomes the EAL's main lcore; empty: as they are now.
    pub main_cpus: Vec<usize>,
    /// Whether DPDK makes its telemetry socket.
    pub telemetry: bool,
    /// Print DPDK's whole log to stderr instead of keeping only its errors.
    pub verbose: bool,
}

impl EalOptions {
    /// Only virtual devices, quiet, the calling thread left where it is.
    pub const fn new(memory: Memory) -> Self {
        Self { memory, pci: Vec::new(), main_cpus: Vec::new(), telemetry: false, verbose: false }
    }
}

/// The running EAL. Pools, ports and registered threads hold a reference to it.
#[derive(Debug)]
pub struct Eal {
    memory: MemoryInUse,
    pci: Vec<PciAddress>,
    /// The log of their probing.
    pci_log: Vec<String>,
    /// Their locks: no other switch uses them.
    _pci_locks: Vec<File>,
    main_thread: ThreadId,
    tsc_hz: u64,
}

/// The name of the telemetry socket, in DPDK's runtime directory.
const TELEMETRY_SOCKET: &str = "dpdk_telemetry.v2";

/// DPDK can be initialized once, whether it worked or not.
static INITIALIZED: AtomicBool = AtomicBool::new(false);

impl Eal {
    /// Starts DPDK with the calling thread as main lcore. Drivers are loaded from the plugin
    /// directory of the installed libdpdk.
    ///
    /// # Errors
    /// [`DpdkError::AlreadyInitialized`] the second time; [`DpdkError::Hugepages`], or
    /// [`DpdkError::Device`] if another switch drives one of the NICs, before anything is touched;
    /// [`DpdkError::Init`] with DPDK's own words.
    pub fn init(options: &EalOptions) -> Result<Arc<Self>, DpdkError> {
        let memory = options.memory.choose(free_hugepages_mb())?;
        let arguments = arguments(options, memory);
        let arguments =
            arguments.iter().map(|text| c_string(text)).collect::<Result<Vec<CString>, _>>()?;
        let locks = lock_nics(&options.pci)?;
        if INITIALIZED.swap(true, Ordering::SeqCst) {
            return Err(DpdkError::AlreadyInitialized);
        }
        if !options.verbose {
            log::capture_errors();
        }
        let before = TscReading::now();
        let started = run_init(arguments);
        // The EAL makes a directory even where it shares nothing. Only an empty one is removed.
        let _in_use = std::fs::remove_dir(runtime_directory());
        started?;
        if !options.pci.is_empty() {
            device_events::watch();
        }
        Ok(Arc::new(Self {
            memory,
            pci: options.pci.clone(),
            pci_log: log::take_lines(),
            _pci_locks: locks,
            main_thread: thread::current().id(),
            tsc_hz: tsc::measure_hz(before),
        }))
    }

    /// The memory in use.
    pub const fn memory(&self) -> MemoryInUse {
        self.memory
    }

    /// The error for a PCI device without a port.
    pub(super) fn pci_failure(&self, args: &DeviceArgs, address: PciAddress) -> DpdkError {
        if !self.pci.contains(&address) {
            let cause = "DPDK was not started with this PCI device";
            return refusal(args, cause, args.advice());
        }
        let memory_is_plain = !matches!(self.memory, MemoryInUse::Hugepages { .. });
        let found = pci::Entry::new(Path::new("/sys"), address).diagnose(memory_is_plain);
        let logged = pci::lines_about(&self.pci_log, address);
        let cause =
            if logged.is_empty() { found.cause } else { format!("{} ({logged})", found.cause) };
        refusal(args, &cause, &found.advice)
    }

    /// DPDK's telemetry socket, if there is one.
    pub(crate) fn telemetry_socket(&self) -> Option<PathBuf> {
        Some(runtime_directory().join(TELEMETRY_SOCKET)).filter(|path| path.exists())
    }

    /// Removes the telemetry socket and the directory that DPDK made for it, which DPDK leaves
    /// behind.
    pub(crate) fn remove_telemetry_socket(&self) {
        if let Some(path) = self.telemetry_socket() {
            let _gone_already = std::fs::remove_file(path);
            let _in_use = std::fs::remove_dir(runtime_directory());
        }
    }

    /// Ticks of the TSC in a second.
    pub(crate) const fn tsc_hz(&self) -> u64 {
        self.tsc_hz
    }

    /// Whether the calling thread is the one that started the EAL.
    pub(super) fn on_main_thread(&self) -> bool {
        thread::current().id() == self.main_thread
    }
}

/// The version of the libdpdk in use, such as `DPDK 22.11.8`.
pub(crate) fn version() -> String {
    // SAFETY: takes nothing and returns a static.
    let text = unsafe { dpdk_sys::rte_version() };
    // SAFETY: a static, NUL-terminated text that does not change.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_string_lossy().into_owned()
}

fn lock_nics(addresses: &[PciAddress]) -> Result<Vec<File>, DpdkError> {
    let mut locks = Vec::new();
    for &address in addresses {
        let lock = device_lock::lock_nic(Path::new("/sys"), address).map_err(|error| {
            DpdkError::Device {
                device: address.to_string(),
                cause: error.to_string(),
                advice: error.advice().unwrap_or_default(),
            }
        })?;
        locks.extend(lock);
    }
    Ok(locks)
}

/// The EAL's command line. Its first word names the program in DPDK's messages.
fn arguments(options: &EalOptions, memory: MemoryInUse) -> Vec<String> {
    let mut arguments = vec![
        "knotless".to_owned(),
        format!("--file-prefix=knotless-{}", std::process::id()),
        format!("--lcores=0@({})", comma_separated(&main_cpus(options))),
    ];
    arguments.extend(memory.eal_arguments());
    if !options.telemetry {
        arguments.push("--no-telemetry".to_owned());
    }
    if options.pci.is_empty() {
        arguments.push("--no-pci".to_owned());
    }
    for address in &options.pci {
        arguments.extend(["-a".to_owned(), address.to_string()]);
    }
    arguments
}

/// The requested CPUs, else those of the thread's affinity: the EAL binds the thread to the list it
/// is given, and every thread created later would inherit an unrequested binding.
fn main_cpus(options: &EalOptions) -> Vec<usize> {
    if !options.main_cpus.is_empty() {
        return options.main_cpus.clone();
    }
    let allowed = core_affinity::get_core_ids().unwrap_or_default();
    let cpus: Vec<usize> = allowed.into_iter().map(|core| core.id).collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

fn comma_separated(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

fn run_init(arguments: Vec<CString>) -> Result<(), DpdkError> {
    // DPDK keeps pointers into its command line (for instance of `-a`), so it must live on.
    let mut pointers: Vec<*mut c_char> = arguments.into_iter().map(CString::into_raw).collect();
    let count = c_int::try_from(pointers.len()).expect("a handful of arguments");
    pointers.push(std::ptr::null_mut());
    let pointers = pointers.leak();
    log::forget();
    // SAFETY: argc and argv as main() has them, NUL-terminated, valid for the rest of the process;
    // INITIALIZED let only one caller through.
    let parsed = unsafe { dpdk_sys::rte_eal_init(count, pointers.as_mut_ptr()) };
    if parsed < 0 {
        let (errno, logged) = (last_errno_text(), log::take());
        let cause = if logged.is_empty() { errno } else { format!("{logged} ({errno})") };
        return Err(DpdkError::Init { cause });
    }
    Ok(())
}

fn runtime_directory() -> PathBuf {
    // SAFETY: takes nothing and returns a static.
    let path = unsafe { dpdk_sys::rte_eal_get_runtime_dir() };
    // SAFETY: a static buffer that holds a NUL-terminated path, empty before the EAL has made one.
    let path = unsafe { CStr::from_ptr(path) };
    PathBuf::from(OsStr::from_bytes(path.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pci_bus_is_untouched_unless_devices_are_named() {
        let mut options = EalOptions::new(Memory::Plain { mb: 64 });
        options.main_cpus = vec![1, 3];
        let memory = options.memory.choose(0).unwrap();
        let words = arguments(&options, memory);
        assert!(words.contains(&"--no-pci".to_owned()), "{words:?}");
        assert!(words.contains(&"--lcores=0@(1,3)".to_owned()), "{words:?}");
        let last = ["64", "--no-telemetry", "--no-pci"].map(str::to_owned);
        assert!(words.ends_with(&last), "{words:?}");

        options.pci = vec!["0000:01:00.0".parse().unwrap(), "0000:01:00.1".parse().unwrap()];
        let words = arguments(&options, memory);
        assert!(!words.contains(&"--no-pci".to_owned()), "{words:?}");
        assert_eq!(words[words.len() - 4..], ["-a", "0000:01:00.0", "-a", "0000:01:00.1"]);
    }

    #[test]
    fn the_telemetry_socket_is_made_only_if_wanted() {
        let mut options = EalOptions::new(Memory::Plain { mb: 64 });
        let memory = options.memory.choose(0).unwrap();
        let without = "--no-telemetry".to_owned();
        assert!(arguments(&options, memory).contains(&without));
        options.telemetry = true;
        assert!(!arguments(&options, memory).contains(&without));
    }

    #[test]
    fn hugepages_and_plain_memory_exclude_each_other() {
        let options = EalOptions::new(Memory::Auto { mb: 64 });
        for (free_mb, with, without) in
            [(64, "--in-memory", "--no-huge"), (63, "--no-huge", "--in-memory")]
        {
            let words = arguments(&options, options.memory.choose(free_mb).unwrap());
            assert!(words.iter().any(|word| word == with), "{words:?}");
            assert!(!words.iter().any(|word| word == without), "{words:?}");
        }
    }
}

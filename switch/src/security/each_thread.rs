//! Capabilities of all threads. The kernel keeps them by thread, and `capset`(2) is for the calling
//! thread alone; of the threads here DPDK and its drivers made some. So each of them is sent a
//! signal, whose handler makes the calls. What each thread has in the end is read from `/proc`.

use super::SecurityError;
use super::capability_set::CapabilitySet;
use nix::libc::{self, c_int, c_long};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::{Pid, gettid};
use std::fs;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The threads that keep what the ports need, beside the calling one: those that look after an
/// interface of the kernel.
const KEEPING_THREADS: [&str; 2] = ["tap-watch", crate::host_taps::THREAD];
/// How long a thread may take to handle the signal.
const PATIENCE: Duration = Duration::from_secs(5);
/// The signal. Nothing here uses it for its own purpose, and who ignores it loses nothing.
const SIGNAL: Signal = Signal::SIGURG;

/// What the handler is to leave to its thread. One thread at a time is sent the signal.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// `struct __user_cap_header_struct`, for the calling thread.
#[repr(C)]
struct Header {
    version: u32,
    thread: c_int,
}

/// `struct __user_cap_data_struct`: 32 capabilities.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Data {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

impl Header {
    /// `_LINUX_CAPABILITY_VERSION_3`
    const CALLING_THREAD: Self = Self { version: 0x2008_0522, thread: 0 };
}

/// The two halves of a set, as the kernel takes it.
const fn halves(set: CapabilitySet) -> [u32; 2] {
    [(set.0 & 0xFFFF_FFFF) as u32, (set.0 >> 32) as u32]
}

const fn whole(halves: [u32; 2]) -> CapabilitySet {
    CapabilitySet(halves[0] as u64 | (halves[1] as u64) << 32)
}

/// Leaves `kept` to the calling thread and to those that look after interfaces, as far as they had
/// it, and nothing to all others. Returns what the calling thread has left.
///
/// # Errors
/// A thread keeps more.
pub(super) fn limit(kept: CapabilitySet) -> Result<CapabilitySet, SecurityError> {
    let own = gettid();
    let action =
        SigAction::new(SigHandler::Handler(on_signal), SaFlags::SA_RESTART, SigSet::empty());
    let failed = |error: nix::Error| SecurityError::Proc(error.into());
    // SAFETY: the handler makes system calls only and keeps errno, so it may run anywhere.
    let before = unsafe { sigaction(SIGNAL, &action) }.map_err(failed)?;
    let limited = limit_all(own, kept);
    // SAFETY: as it was.
    unsafe { sigaction(SIGNAL, &before) }.map_err(failed)?;
    limited?;
    permitted(own).map_err(SecurityError::Proc)
}

/// Threads may start meanwhile; they have what the thread has that starts them. So all are looked
/// at again until none has more than it may.
fn limit_all(own: Pid, kept: CapabilitySet) -> Result<(), SecurityError> {
    let until = Instant::now() + PATIENCE;
    loop {
        let mut all_limited = true;
        for thread in threads().map_err(SecurityError::Proc)? {
            // A thread that has ended has nothing.
            let Ok(has) = permitted(thread) else { continue };
            let name = name(thread);
            let keeps = thread == own || KEEPING_THREADS.contains(&name.as_str());
            let left = if keeps { kept } else { CapabilitySet::default() };
            if has.without(left) == CapabilitySet::default() {
                continue;
            }
            all_limited = false;
            send(thread, left).map_err(|error| SecurityError::Capabilities {
                thread: name.clone(),
                number: thread.as_raw(),
                error,
            })?;
            while permitted(thread).is_ok_and(|has| has.without(left) != CapabilitySet::default()) {
                if Instant::now() > until {
                    let error = io::Error::from(io::ErrorKind::TimedOut);
                    let number = thread.as_raw();
                    return Err(SecurityError::Capabilities { thread: name, number, error });
                }
                sleep(Duration::from_micros(100));
            }
        }
        if all_limited {
            return Ok(());
        }
    }
}

fn threads() -> io::Result<Vec<Pid>> {
    let tasks = fs::read_dir("/proc/self/task")?;
    let numbers = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
    Ok(numbers.map(Pid::from_raw).collect())
}

fn name(thread: Pid) -> String {
    let name = fs::read_to_string(format!("/proc/self/task/{thread}/comm"));
    name.map(|name| name.trim().to_owned()).unwrap_or_default()
}

/// What a thread has, effective or not.
fn permitted(thread: Pid) -> io::Result<CapabilitySet> {
    let status = fs::read_to_string(format!("/proc/self/task/{thread}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("CapPrm:"));
    let set = line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    set.map(CapabilitySet).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// Has `thread` give up all but `left`.
fn send(thread: Pid, left: CapabilitySet) -> io::Result<()> {
    LEFT.store(left.0, Ordering::SeqCst);
    let process = c_long::from(std::process::id());
    // SAFETY: a system call that takes three numbers.
    let status = unsafe {
        libc::syscall(libc::SYS_tgkill, process, c_long::from(thread.as_raw()), SIGNAL as c_long)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

extern "C" fn on_signal(_: c_int) {
    // SAFETY: every thread has an errno.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: it is this thread's, so nothing else writes it.
    let before = unsafe { *errno };
    empty_bounding_set();
    // The thread that sent the signal reads in /proc what came of it.
    let _seen_there = leave(CapabilitySet(LEFT.load(Ordering::SeqCst)));
    // SAFETY: as above.
    unsafe { *errno = before };
}

/// Empties the set of what a program that is executed could have. Without `CAP_SETPCAP`, which
/// cannot be had where nothing can be given up, the kernel refuses.
fn empty_bounding_set() {
    for capability in 0..64 {
        // SAFETY: a system call that takes numbers.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
}

/// Leaves `left` to the calling thread, as far as it has it.
pub(super) fn leave(left: CapabilitySet) -> io::Result<()> {
    let data = get()?;
    let permitted = whole(data.map(|half| half.permitted)).and(left);
    let [low, high] = halves(permitted);
    let half = |set| Data { effective: set, permitted: set, inheritable: 0 };
    set([half(low), half(high)])
}

/// What is effective in the calling thread.
pub(super) fn effective() -> io::Result<CapabilitySet> {
    Ok(whole(get()?.map(|half| half.effective)))
}

/// Makes `wanted`, of what is permitted, effective in the calling thread.
pub(super) fn set_effective(wanted: CapabilitySet) -> io::Result<()> {
    let mut data = get()?;
    for (half, effective) in data.iter_mut().zip(halves(wanted)) {
        half.effective = effective;
    }
    set(data)
}

fn get() -> io::Result<[Data; 2]> {
    let (header, mut data) = (Header::CALLING_THREAD, [Data::default(); 2]);
    // SAFETY: a header, and room for the two sets of its version.
    let status = unsafe { libc::syscall(libc::SYS_capget, &raw const header, data.as_mut_ptr()) };
    if status == 0 { Ok(data) } else { Err(io::Error::last_os_error()) }
}

fn set(data: [Data; 2]) -> io::Result<()> {
    let header = Header::CALLING_THREAD;
    // SAFETY: a header, and the two sets of its version.
    let status = unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

//! A thread that polls a tap's interface: its link and the frames that its queue lost, in whatever
//! network namespace it is.
//!
//! rtnetlink waits for the kernel's global lock of all interfaces, which may be held for long, so
//! neither the control thread nor a worker calls it.

use super::super::netlink::{Interface, Rtnetlink};
use crate::named_thread;
use crate::tap_queue::Queue;
use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use nix::libc;
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Poll interval of a tap. With the control thread's own 100 ms a change reaches the worker within
/// 200 ms.
const POLL: Duration = Duration::from_millis(50);
/// Polls that may fail one after the other before that is a fault: 2 s. A tap that is moved or
/// renamed between the requests of a poll fails one or two.
const FAILED_POLLS_MAX: u32 = 40;

/// The link of a tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::dpdk) enum TapLink {
    /// The interface is not set up.
    Down,
    /// The interface is set up.
    Up,
    /// The interface was deleted; it does not come back.
    Deleted,
}

/// The state as of the last poll.
#[derive(Debug)]
struct TapState {
    link: AtomicU8,
    dropped_frames: AtomicU64,
    /// Whether the carrier was changed since the last poll. Held from a look at the interface until
    /// the state says what was seen.
    is_changed: Mutex<bool>,
    /// Why polls fail, until somebody takes it.
    fault: Mutex<Option<String>>,
}

/// The thread, which ends with this value.
#[derive(Debug)]
pub(super) struct TapMonitor {
    state: Arc<TapState>,
    queue: Arc<Queue>,
    /// The state of the thread before it starts.
    poller: Option<TapPoller>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl TapMonitor {
    /// A monitor that has not started.
    pub(super) fn new(poller: TapPoller) -> Self {
        let state = Arc::new(TapState {
            link: AtomicU8::new(TapLink::Down as u8),
            dropped_frames: AtomicU64::new(0),
            is_changed: Mutex::default(),
            fault: Mutex::default(),
        });
        let queue = Arc::clone(&poller.queue);
        Self { state, queue, poller: Some(poller), stop: None, thread: None }
    }

    /// Polls once, then starts the thread.
    pub(super) fn start(&mut self) -> io::Result<()> {
        let Some(mut poller) = self.poller.take() else { return Ok(()) };
        poller.poll_once(&self.state);
        let (stop, stopped) = bounded(0);
        let state = Arc::clone(&self.state);
        let work = move || poller.run(&state, &stopped);
        self.thread = Some(named_thread::spawn("tap-watch", work)?);
        self.stop = Some(stop);
        Ok(())
    }

    pub(super) fn link(&self) -> TapLink {
        match self.state.link.load(Ordering::Relaxed) {
            0 => TapLink::Down,
            1 => TapLink::Up,
            _ => TapLink::Deleted,
        }
    }

    /// Takes the carrier of the interface up or down. The link is the same at once, so that nobody
    /// who reads it takes the start of the switch for a change. Whether the kernel can.
    pub(super) fn set_carrier(&self, up: bool) -> bool {
        let mut is_changed = self.state.is_changed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_set = self.queue.set_carrier(up).is_ok();
        if is_set {
            let link = if up { TapLink::Up } else { TapLink::Down };
            self.state.link.store(link as u8, Ordering::Relaxed);
            *is_changed = true;
        }
        is_set
    }

    /// Why the interface cannot be polled, if it cannot and this was not asked since. Its link
    /// stays as it was.
    pub(super) fn take_fault(&self) -> Option<String> {
        self.state.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(super) fn dropped_frames(&self) -> u64 {
        self.state.dropped_frames.load(Ordering::Relaxed)
    }
}

impl Drop for TapMonitor {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// The state of the thread.
#[derive(Debug)]
pub(super) struct TapPoller {
    queue: Arc<Queue>,
    rtnetlink: Rtnetlink,
    /// The namespace of `rtnetlink`.
    home: u64,
    last: Sample,
    dropped_frames: u64,
    failed_polls: FailedPolls,
}

/// Polls that have failed since the last one that did not.
#[derive(Debug, Default)]
struct FailedPolls(u32);

impl FailedPolls {
    /// Counts one more. Returns the fault that this is, once if many fail.
    fn count(&mut self, error: &io::Error) -> Option<String> {
        self.0 = self.0.saturating_add(1);
        (self.0 == FAILED_POLLS_MAX).then(|| error.to_string())
    }
}

/// A sample of the interface.
#[derive(Clone, Copy, Debug)]
struct Sample {
    is_running: bool,
    /// The inode of its namespace; 0 where the kernel does not report it.
    namespace: u64,
    tx_dropped_frames: u64,
}

impl Sample {
    /// Frames that a full queue lost between two samples. An interface that is down, or that is
    /// moving to another namespace, drops what the kernel itself would send there, such as
    /// multicast reports: that is not a loss of the queue.
    fn lost_since(&self, before: &Self) -> u64 {
        let was_up = before.is_running && self.is_running && before.namespace == self.namespace;
        let dropped_frames = self.tx_dropped_frames.saturating_sub(before.tx_dropped_frames);
        if was_up { dropped_frames } else { 0 }
    }
}

impl TapPoller {
    /// Polls the tap of `queue` through `rtnetlink`, of the calling thread's namespace.
    pub(super) fn new(queue: Queue, rtnetlink: Rtnetlink) -> io::Result<Self> {
        let home = inode(&File::open("/proc/thread-self/ns/net")?)?;
        let last = Sample { is_running: false, namespace: home, tx_dropped_frames: 0 };
        Ok(Self {
            queue: Arc::new(queue),
            rtnetlink,
            home,
            last,
            dropped_frames: 0,
            failed_polls: FailedPolls::default(),
        })
    }

    fn run(mut self, state: &TapState, stopped: &Receiver<()>) {
        while stopped.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
            self.poll_once(state);
        }
    }

    fn poll_once(&mut self, state: &TapState) {
        let mut is_changed = state.is_changed.lock().unwrap_or_else(PoisonError::into_inner);
        match self.sample() {
            Ok(sample) => {
                // What senders offered meanwhile was refused, and is still theirs.
                self.failed_polls = FailedPolls::default();
                self.last.is_running &= !mem::take(&mut *is_changed);
                let link = if sample.is_running { TapLink::Up } else { TapLink::Down };
                self.dropped_frames += sample.lost_since(&self.last);
                self.last = sample;
                state.link.store(link as u8, Ordering::Relaxed);
                state.dropped_frames.store(self.dropped_frames, Ordering::Relaxed);
            }
            Err(error) if error.raw_os_error() == Some(libc::EBADFD) => {
                state.link.store(TapLink::Deleted as u8, Ordering::Relaxed);
            }
            // The last state stays.
            Err(error) => {
                if let Some(fault) = self.failed_polls.count(&error) {
                    *state.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
                }
            }
        }
    }

    fn sample(&self) -> io::Result<Sample> {
        let name = self.queue.name()?;
        let (interface, namespace) = match self.queue.namespace() {
            Ok(file) => {
                let namespace = inode(&file)?;
                let is_home = namespace == self.home;
                let nsid = if is_home { None } else { Some(self.rtnetlink.nsid(file.as_fd())?) };
                (self.rtnetlink.interface(&name, nsid)?, namespace)
            }
            Err(error) if is_unsupported(&error) => (self.interface_at_home(&name)?, 0),
            Err(error) => return Err(error),
        };
        let Interface { is_running, tx_dropped_frames, .. } = interface;
        Ok(Sample { is_running, namespace, tx_dropped_frames })
    }

    /// Before Linux 5.11 the kernel does not report where a tap is. One that has left this
    /// namespace is assumed to be up.
    fn interface_at_home(&self, name: &str) -> io::Result<Interface> {
        match self.rtnetlink.interface(name, None) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
                Ok(Interface { is_running: true, ..Interface::default() })
            }
            found => found,
        }
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL))
}

/// The inode of a namespace.
fn inode(namespace: &impl AsFd) -> io::Result<u64> {
    Ok(File::from(namespace.as_fd().try_clone_to_owned()?).metadata()?.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_that_go_on_failing_are_one_fault() {
        let mut failed = FailedPolls::default();
        let error = io::Error::from_raw_os_error(libc::EPERM);
        let faults: Vec<_> = (0..1000).map(|_| failed.count(&error)).collect();
        let told: Vec<_> = (1..).zip(&faults).filter(|(_, fault)| fault.is_some()).collect();
        let text = "Operation not permitted (os error 1)".to_owned();
        assert_eq!(told, [(FAILED_POLLS_MAX, &Some(text))]);
    }

    #[test]
    fn only_an_interface_that_stays_up_where_it_is_loses_frames() {
        let sample = |is_running, namespace, tx_dropped_frames| Sample {
            is_running,
            namespace,
            tx_dropped_frames,
        };
        let lost = |before: Sample, now: Sample| now.lost_since(&before);
        assert_eq!(lost(sample(true, 1, 5), sample(true, 1, 12)), 7);
        assert_eq!(lost(sample(false, 1, 5), sample(true, 1, 12)), 0, "it came up");
        assert_eq!(lost(sample(true, 1, 5), sample(false, 1, 12)), 0, "it went down");
        assert_eq!(lost(sample(true, 1, 5), sample(true, 2, 12)), 0, "it moved");
        assert_eq!(lost(sample(true, 1, 12), sample(true, 1, 0)), 0, "it counts from 0 again");
    }
}

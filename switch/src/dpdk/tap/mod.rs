//! The kernel's end of a `net_tap` port: the tap, its queue, and its link in whatever network
//! namespace the interface is.
//!
//! DPDK's driver attaches to any existing tap of the given name, also to another switch's, and
//! reads its link by name in the network namespace where it was started. So the switch creates the
//! tap itself, exclusively, before the driver attaches to it, and keeps a queue of it open that
//! receives no frames: through that queue the kernel reports where the interface is, under any
//! name.
//!
//! No lock file is needed. The kernel reports which process has a tap open, until the process ends.
//! A tap that was moved to another namespace leaves its name free here.

mod monitor;

use super::netlink::{Interface, Rtnetlink, Tun};
use super::owners::Owners;
use crate::tap_queue::Queue;
pub(super) use monitor::TapLink;
use monitor::{TapMonitor, TapPoller};
use std::io;

/// The name of a tap that has none in its device string: the kernel counts.
pub(super) const NAME_DEFAULT: &str = "dtap%d";

/// A tap that is this process's alone. It is deleted when this and DPDK's device are gone, unless
/// it is persistent.
#[derive(Debug)]
pub(super) struct Tap {
    name: String,
    rx_queue_frames: u32,
    monitor: TapMonitor,
}

/// Why a tap cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum TapError {
    #[error("the tap {name} is in use by {owners}")]
    InUse { name: String, owners: Owners },
    #[error("the interface {name} exists and is no tap{}", kind_text(kind.as_deref()))]
    NoTap { name: String, kind: Option<String> },
    #[error("the tap {0} was made for one queue only")]
    OneQueue(String),
    #[error("the tap {name} cannot be {doing}: {error}")]
    System { name: String, doing: &'static str, error: io::Error },
}

fn kind_text(kind: Option<&str>) -> String {
    kind.map(|kind| format!(" but of kind {kind}")).unwrap_or_default()
}

impl TapError {
    /// The advice, where it is more specific than the driver's general one.
    pub(super) fn advice(&self) -> Option<String> {
        match self {
            Self::InUse { .. } => {
                Some("name another interface in iface=, or stop that process".to_owned())
            }
            Self::NoTap { .. } => Some("name another interface in iface=".to_owned()),
            Self::OneQueue(name) => Some(format!(
                "name another interface in iface=, or make it with `ip tuntap add dev {name} mode \
                 tap multi_queue`"
            )),
            Self::System { .. } => None,
        }
    }
}

impl Tap {
    /// Makes the tap `name`, or takes it if it is persistent and nobody has it open, and has it
    /// keep `rx_queue_frames` frames if that is given. Nothing that is another process's is
    /// touched.
    pub(super) fn acquire(name: &str, rx_queue_frames: Option<u32>) -> Result<Self, TapError> {
        let failed = |doing| {
            let name = name.to_owned();
            move |error| TapError::System { name, doing, error }
        };
        let rtnetlink = Rtnetlink::open().map_err(failed("watched"))?;
        let queue = match Queue::create(name) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                take_persistent(&rtnetlink, name)?
            }
            made => made.map_err(failed("made"))?,
        };
        let name = queue.name().map_err(failed("watched"))?;
        if let Some(frames) = rx_queue_frames {
            rtnetlink
                .set_tx_queue_frames(&name, frames)
                .map_err(failed("given a queue of that many frames (txqueuelen)"))?;
        }
        let interface = rtnetlink.interface(&name, None).map_err(failed("watched"))?;
        let poller = TapPoller::new(queue, rtnetlink);
        let monitor = TapMonitor::new(poller.map_err(failed("watched"))?);
        Ok(Self { name, rx_queue_frames: interface.tx_queue_frames, monitor })
    }

    /// Starts to monitor its link and losses. Called when the device is started, which sets the
    /// interface up.
    pub(super) fn monitor(&mut self) -> Result<(), TapError> {
        let failed = |error| TapError::System { name: self.name.clone(), doing: "watched", error };
        self.monitor.start().map_err(failed)
    }

    /// Its name when it was made.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Frames that it holds before it loses one.
    pub(super) const fn rx_queue_frames(&self) -> u32 {
        self.rx_queue_frames
    }

    /// Its link, at most 50 ms ago.
    pub(super) fn link(&self) -> TapLink {
        self.monitor.link()
    }

    /// Why its interface cannot be watched, if it cannot and this was not asked since.
    pub(super) fn take_fault(&self) -> Option<String> {
        self.monitor.take_fault()
    }

    /// Takes its carrier up or down. Older kernels cannot; there nothing happens, and this is
    /// false.
    pub(super) fn set_carrier(&self, up: bool) -> bool {
        self.monitor.set_carrier(up)
    }

    /// Frames that its full queue lost since it was opened, at most 50 ms ago. Not what the kernel
    /// dropped while the interface was down.
    pub(super) fn rx_missed_frames(&self) -> u64 {
        self.monitor.dropped_frames()
    }
}

/// A tap that exists may be taken if it stays without a process and there is none.
fn take_persistent(rtnetlink: &Rtnetlink, name: &str) -> Result<Queue, TapError> {
    let failed = |error| TapError::System { name: name.to_owned(), doing: "opened", error };
    let in_use = || TapError::InUse { name: name.to_owned(), owners: Owners::of_tun(name) };
    let Interface { kind, tun, .. } = rtnetlink.interface(name, None).map_err(failed)?;
    if kind.as_deref() != Some("tun") || !tun.is_tap {
        return Err(TapError::NoTap { name: name.to_owned(), kind });
    }
    match tun {
        Tun { is_persistent: false, .. } | Tun { open_queues: 1.., .. } => return Err(in_use()),
        // Of such a tap the kernel does not count the queues, but it cannot be taken either way.
        Tun { has_multi_queue: false, .. } => return Err(TapError::OneQueue(name.to_owned())),
        Tun { .. } => {}
    }
    let queue = Queue::open(name).map_err(failed)?;
    // Another process may have checked at the same time: then both fail.
    match rtnetlink.interface(name, None).map_err(failed)?.tun.open_queues {
        1 => Ok(queue),
        _ => Err(in_use()),
    }
}

//! What `top` shows of a switch: rates, counters and gauges of the interval between two samples.

use crate::control::stats::{BufferStats, FrameTotals, LldpPortStats, Wait};
use crate::histograms::Distribution;
use crate::platform::FrameBuffers;
use dataplane::limits::PRIORITIES;

/// A rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rate {
    /// Frames a second.
    pub(super) frames: f64,
    /// Bits a second, of frames without FCS.
    pub(super) bits: f64,
}

/// A counter: its value, and the increase between the two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) total: u64,
    pub(super) new: u64,
}

/// A counter with its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) name: String,
    pub(super) count: Count,
    /// Whether lossless frames are among them.
    pub(super) is_lossless: bool,
}

/// Pauses of one class in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Pauses {
    /// Whether it is paused now.
    pub(super) xoff: bool,
    /// How often it went from running to paused.
    pub(super) times: Count,
    /// Share of the interval in which it was paused, 0 to 1.
    pub(super) share: f64,
    /// How long it has been paused since start.
    pub(super) paused_ns: u64,
}

/// One class of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ClassView {
    pub(super) lossless: bool,
    pub(super) rx: Rate,
    pub(super) tx: Rate,
    pub(super) viq_bytes: u64,
    pub(super) viq_peak_bytes: u64,
    pub(super) veq_bytes: u64,
    pub(super) veq_peak_bytes: u64,
    pub(super) headroom_bytes: u64,
    pub(super) headroom_peak_bytes: u64,
    pub(super) headroom_size_bytes: u64,
    /// Pauses that we sent upstream.
    pub(super) sent: Pauses,
    /// Pauses that the peer sent us.
    pub(super) received: Pauses,
    /// Lossless frames lost.
    pub(super) lossless_drops: Count,
    /// Whether nothing happened in the interval and nothing is queued.
    pub(super) quiet: bool,
}

/// One port.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PortView {
    pub(super) number: usize,
    pub(super) name: String,
    /// `up`, `down` (no link) or `off` (out of service).
    pub(super) state: &'static str,
    pub(super) speed_bps: u64,
    /// All classes, and frames received without one.
    pub(super) rx: Rate,
    pub(super) tx: Rate,
    /// Frames dropped, all causes.
    pub(super) dropped: Count,
    /// Lossless frames that were not delivered, what the device lost included.
    pub(super) lossless_drops: Count,
    /// By cause; those that never occurred are left out. Causes of lossless losses come first.
    pub(super) drops: Vec<Cause>,
    /// Frames lost outside the frame balance: in the device.
    pub(super) losses: Vec<Cause>,
    /// Flow control received and not obeyed.
    pub(super) pfc_ignored: Vec<Cause>,
    /// By priority.
    pub(super) classes: [ClassView; PRIORITIES],
    /// Its queues that hold frames which the peer has paused.
    pub(super) waits: Vec<Wait>,
    /// Orientation, neighbor and conditions by LLDP.
    pub(super) lldp: Option<LldpPortStats>,
}

/// One worker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct WorkerView {
    pub(super) number: usize,
    pub(super) core: Option<usize>,
    /// Share of the time spent in turns in which something moved, 0 to 1.
    pub(super) busy: f64,
    /// The longest polling gap since start.
    pub(super) poll_gap_ns: u64,
    /// Commands given up.
    pub(super) commands_lost: u64,
}

/// A switch between two samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct View {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) pid: u32,
    pub(super) epoch: u64,
    /// The level: links between the switch and the hosts, if learned and known.
    pub(super) level: Option<u8>,
    pub(super) uptime_ns: u64,
    /// Time between the two samples.
    pub(super) interval_ns: u64,
    /// Whether the earlier sample is the start of the switch.
    pub(super) since_start: bool,
    pub(super) rx: Rate,
    pub(super) tx: Rate,
    /// Frames dropped, all ports.
    pub(super) dropped: Count,
    /// Dropped a second.
    pub(super) dropped_rate: f64,
    /// Lossless frames lost, all ports.
    pub(super) lossless_drops: Count,
    pub(super) totals: FrameTotals,
    pub(super) buffer: BufferStats,
    pub(super) mbufs: FrameBuffers,
    pub(super) latency_ns: Distribution,
    pub(super) workers: Vec<WorkerView>,
    pub(super) ports: Vec<PortView>,
}

impl PortView {
    /// Share of pauses, all classes and both directions together.
    pub(super) fn paused(&self) -> f64 {
        self.classes.iter().map(|class| class.sent.share + class.received.share).sum()
    }
}

//! What a switch is told once, at start. What can change under a running switch is a
//! [`Snapshot`](crate::snapshot::Snapshot).

use crate::gentle::{Form, Slope};
use crate::ids::{Priority, WorkerId};
use crate::limits::PRIORITIES;
use crate::pfc::watchdog::WatchdogSettings;
use crate::time::Speed;
use crate::wire::MacAddress;
use alloc::string::String;
use alloc::vec::Vec;

/// Everything fixed at start. Built and checked by `config`; the core trusts it.
#[derive(Clone, Debug)]
pub struct SwitchSettings {
    /// The ports; a port's index is its [`PortId`](crate::ids::PortId).
    pub ports: Vec<PortSettings>,
    /// The shared buffer.
    pub buffer: BufferSettings,
    /// How a port chooses among its priorities.
    pub scheduler: SchedulerSettings,
    /// ECN marking, for each egress priority; `None` never marks.
    pub ecn: [Option<EcnSettings>; PRIORITIES],
    /// The MAC table of each worker.
    pub mac_table: MacTableSettings,
    /// Salt of the flow hash and seed of the ECN dice: two switches with different seeds spread
    /// the same flows differently.
    pub seed: u64,
}

/// One port, as fixed at start.
#[derive(Clone, Debug)]
pub struct PortSettings {
    /// The name people read in tables.
    pub name: String,
    /// Source address of PFC frames and of routed frames sent here.
    pub mac: MacAddress,
    /// Rate of the wire: how long a quantum lasts, and the pace if `paced`.
    pub speed: Speed,
    /// Whether the switch itself holds the port to `speed` (a device with no wire of its own).
    pub paced: bool,
    /// The longest frame sent, Ethernet header included, VLAN tags and FCS not.
    pub frame_bytes_max: u16,
    /// The worker that owns the port, both directions.
    pub worker: WorkerId,
    /// The lossless VIQs of this port, by priority: `Some` means PFC is sent and obeyed for that
    /// priority here. A priority that is `None` is lossy on this port.
    pub lossless: [Option<ViqSettings>; PRIORITIES],
    /// By priority of a VIQ: the priority in which upstream keeps what it sends there, and which a
    /// pause therefore names. Its own, but where frames change class with every hop.
    pub upstream: [Priority; PRIORITIES],
    /// How the port's peer sets rates, if it does (gentle flow control).
    pub gentle: Option<GentleSettings>,
    /// What watches over the peer's pauses, if anything.
    pub watchdog: Option<WatchdogSettings>,
    /// Receive-ring backlog, in frames, above which the port's lossless priorities are paused.
    pub rx_backlog_xoff_frames: u32,
}

impl PortSettings {
    /// Bit vector of the priorities that PFC protects on this port.
    pub fn lossless_bits(&self) -> u8 {
        (0..PRIORITIES).filter(|&p| self.lossless[p].is_some()).fold(0, |bits, p| bits | 1 << p)
    }
}

impl ViqSettings {
    /// Bytes above which XOFF is due while `free_bytes` of the shared pool are free.
    #[inline(always)]
    pub fn limit_bytes(&self, free_bytes: u64) -> u64 {
        match self.threshold {
            Threshold::Static { xoff_bytes } => u64::from(xoff_bytes),
            Threshold::Dynamic { alpha_log2 } => {
                let shift = u32::from(alpha_log2.unsigned_abs());
                let share = if alpha_log2 < 0 { free_bytes >> shift } else { free_bytes << shift };
                u64::from(self.reserved_bytes) + share
            }
        }
    }
}

impl SwitchSettings {
    /// Whether a VIQ's threshold moves with what others hold.
    pub fn has_dynamic_thresholds(&self) -> bool {
        let viqs = self.ports.iter().flat_map(|port| port.lossless.iter().flatten());
        viqs.into_iter().any(|viq| matches!(viq.threshold, Threshold::Dynamic { .. }))
    }

    /// Whether some port tells its upstream rates.
    pub fn tells_rates(&self) -> bool {
        self.ports.iter().any(|port| port.gentle.is_some())
    }
}

/// Gentle flow control of one port, both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GentleSettings {
    /// How rates are said.
    pub form: Form,
    /// How much of its rate a class may make up for after a late poll.
    pub catch_up_ns: u64,
    /// They are said at even intervals, and not when they change.
    pub period_ns: Option<u64>,
}

/// Thresholds of one lossless VIQ (SONiC: the profile of a priority group), in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViqSettings {
    /// Bytes set aside for this VIQ alone, used first (SONiC `size`).
    pub reserved_bytes: u32,
    /// When XOFF is due.
    pub threshold: Threshold,
    /// XON is due once the VIQ is this far below the threshold: at least 2 MTU of hysteresis.
    pub xon_offset_bytes: u32,
    /// Room for what still arrives after XOFF was sent.
    pub headroom_bytes: u32,
    /// How upstream is slowed down before that, if it is (gentle flow control).
    pub slope: Option<Slope>,
}

/// The fill of a VIQ above which its headroom is used and XOFF is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// At `xoff_bytes` in the VIQ, its reserve included.
    Static {
        /// The threshold.
        xoff_bytes: u32,
    },
    /// At the reserve plus `2^alpha_log2` times what is free in the shared pool (SONiC
    /// `dynamic_th`).
    Dynamic {
        /// SONiC's `dynamic_th`: -3 is alpha 1/8.
        alpha_log2: i8,
    },
}

/// The shared buffer. What is not reserve, headroom or lossy is the lossless shared pool.
#[derive(Clone, Debug)]
pub struct BufferSettings {
    /// Everything the buffer holds.
    pub size_bytes: u64,
    /// What a frame costs at the least: a buffer holds one frame however short it is.
    pub cell_bytes: u16,
    /// What all lossy frames together may hold.
    pub lossy_bytes: u64,
    /// What one lossy VEQ may hold before it drops at its tail.
    pub lossy_queue_bytes: u32,
    /// Frames that can be in the switch at once; `size_bytes` is used up before they are.
    pub frames_max: usize,
}

/// How a port chooses among priorities that have frames and are not paused.
#[derive(Clone, Debug)]
pub struct SchedulerSettings {
    /// Strict priorities, served first, the highest first; the others share by deficit round robin.
    pub strict_bits: u8,
    /// Bytes a round for each priority that is not strict: at least one.
    pub quantum_bytes: [u32; PRIORITIES],
    /// Whether a queue serves ingress ports in turn, instead of frames as they came.
    pub fair: bool,
}

/// ECN marking by the depth of the VEQ a frame leaves: never below `kmin_bytes`, always above
/// `kmax_bytes`, and with a probability that rises linearly to `pmax` between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EcnSettings {
    /// Below this, no frame is marked.
    pub kmin_bytes: u32,
    /// Above this, every frame is marked.
    pub kmax_bytes: u32,
    /// Probability at `kmax_bytes`, in units of 1/65,536 (65,536 is certainty).
    pub pmax_q16: u32,
}

/// The table of learnt addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacTableSettings {
    /// Entries; at this number nothing new is learnt, and frames to what is unknown flood.
    pub entries_max: usize,
    /// How long an address stays after its last frame.
    pub age_ns: u64,
}

//! The settings that are fixed at start. The tables that can change while the switch runs are a
//! [`Snapshot`](crate::snapshot::Snapshot).

use crate::gfc::{Form, RateMap};
use crate::host_class::HostRates;
use crate::ids::{Priority, WorkerId};
use crate::limits::{BURST_MAX, PRIORITIES};
use crate::pfc::watchdog::WatchdogSettings;
use crate::queue::shaper::PeakRate;
use crate::time::Speed;
use crate::wire::MacAddress;
use alloc::string::String;
use alloc::vec::Vec;

/// Bytes that the receive queues of a port can admit beyond a limit of all of them together, if one
/// frame costs at most `frame_bytes`.
///
/// A worker knows what its own queue holds, and of each other queue what it held at the end of the
/// turn before: a burst less at the most. So the last one to admit is right about all that came
/// before its own turn, and each other queue adds one burst at the most.
pub const fn stale_bytes(queues: u32, frame_bytes: u32) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "96")]
    let burst_frames = BURST_MAX as u32;
    queues.saturating_sub(1).saturating_mul(burst_frames).saturating_mul(frame_bytes)
}

/// Two VLAN tags.
const FRAME_TAGS_BYTES: u32 = 8;

/// All settings fixed at start. `config` builds and validates them; the core does not check again.
#[derive(Clone, Debug)]
pub struct SwitchSettings {
    /// The ports; a port's index is its [`PortId`](crate::ids::PortId).
    pub ports: Vec<PortSettings>,
    /// The shared buffer.
    pub buffer: BufferSettings,
    /// How a port chooses among its priorities.
    pub scheduler: SchedulerSettings,
    /// ECN marking, for each egress priority; `None` never marks.
    pub ecn: [Option<DepthCurve>; PRIORITIES],
    /// WRED: early drops of lossy frames, for each egress priority; `None` never drops early.
    pub wred: [Option<DepthCurve>; PRIORITIES],
    /// Whether all frames of lossless priorities are discarded, and no pause is obeyed (SONiC's big
    /// red switch).
    pub big_red_switch: bool,
    /// The MAC table of each worker.
    pub mac_table: MacTableSettings,
    /// In-band telemetry, if packets get it.
    pub telemetry: Option<TelemetrySettings>,
    /// Salt of the flow hash, and seed of the random numbers of ECN and WRED. Two switches with
    /// different seeds distribute the same flows differently.
    pub seed: u64,
    /// Rates of frames for the control thread, at each receive queue and of each class, where the
    /// host has TAPs. `None`: only LLDP is policed.
    pub host_rates: Option<HostRates>,
}

/// One port, as fixed at start.
#[derive(Clone, Debug)]
pub struct PortSettings {
    /// The name shown to operators.
    pub name: String,
    /// Source address of PFC frames and of routed frames that leave here.
    pub mac: MacAddress,
    /// Link speed: determines the length of a quantum, and the pace if `paced`.
    pub speed: Speed,
    /// Whether the switch itself limits the port to `speed` (a device without a physical link).
    pub paced: bool,
    /// The longest frame sent, with Ethernet header, without VLAN tags and FCS.
    pub frame_bytes_max: u16,
    /// The worker that owns the port: it sends, and polls the first receive queue.
    pub worker: WorkerId,
    /// The workers that poll the further receive queues, if there are any.
    pub further_queues: Vec<WorkerId>,
    /// The lossless VIQs (virtual ingress queues; SONiC: priority groups) of this port, by
    /// priority. `Some`: PFC is sent and applied for that priority here. `None`: the priority is
    /// lossy on this port.
    pub lossless: [Option<ViqSettings>; PRIORITIES],
    /// By priority of a VIQ: the priority of its frames upstream, which a pause therefore names.
    /// The same priority, unless TTL classes are in use.
    pub upstream: [Priority; PRIORITIES],
    /// The one priority in which the host at this port sends its lossless frames and pauses those
    /// that it receives, whatever their priorities here. Then every pause names it, and one that is
    /// received for it holds all lossless priorities. `None`: the peer's priorities are ours.
    pub host_priority: Option<Priority>,
    /// The peak rate of each queue, if it has one.
    pub peak_rates: [Option<PeakRate>; PRIORITIES],
    /// How the port's peer sets rates, if it does (gentle flow control, GFC).
    pub gfc: Option<GfcSettings>,
    /// The PFC watchdog, if there is one.
    pub watchdog: Option<WatchdogSettings>,
    /// Frames in the receive ring above which the port's lossless priorities are paused.
    pub rx_backlog_xoff_frames: u32,
}

impl PortSettings {
    /// Bit vector of the priorities that PFC protects on this port.
    pub fn lossless_bits(&self) -> u8 {
        (0..PRIORITIES).filter(|&p| self.lossless[p].is_some()).fold(0, |bits, p| bits | 1 << p)
    }

    /// The longest frame that the port sends, two VLAN tags included, without FCS.
    pub(crate) fn longest_bytes(&self) -> u32 {
        u32::from(self.frame_bytes_max) + FRAME_TAGS_BYTES
    }

    /// Receive queues.
    pub fn rx_queues(&self) -> u32 {
        u32::try_from(self.further_queues.len()).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Bytes that only one of the port's VIQs may use, of all of them, beside their headroom: the
    /// reserve, and what several receive queues admit beyond the headroom ([`stale_bytes`]).
    pub fn reserved_bytes(&self) -> u64 {
        let stale = u64::from(stale_bytes(self.rx_queues(), self.longest_bytes()));
        let viqs = self.lossless.iter().flatten();
        viqs.map(|viq| u64::from(viq.reserved_bytes) + stale).sum()
    }

    /// The headroom of all of the port's VIQs.
    pub fn headroom_bytes(&self) -> u64 {
        self.lossless.iter().flatten().map(|viq| u64::from(viq.headroom_bytes)).sum()
    }
}

impl ViqSettings {
    /// The settings of one of `parts` parts of the VIQ: each has its share of the reserve, and
    /// everything else holds for all parts together.
    pub(crate) fn part_of(self, parts: usize) -> Self {
        let parts = u32::try_from(parts).unwrap_or(u32::MAX).max(1);
        Self { reserved_bytes: self.reserved_bytes / parts, ..self }
    }

    /// Bytes above which XOFF is due while `free_bytes` of the shared pool are free.
    #[inline(always)]
    pub fn limit_bytes(&self, free_bytes: u64) -> u64 {
        match self.threshold {
            Threshold::Static { xoff_bytes } => u64::from(xoff_bytes),
            Threshold::Dynamic { alpha_log2, .. } => {
                u64::from(self.reserved_bytes) + share_bytes(free_bytes, alpha_log2)
            }
        }
    }

    /// The most bytes with which XON is due while XOFF is due above `limit_bytes`: max(xon, limit -
    /// xon_offset), as in SONiC. A dynamic threshold can fall below the offset, and below `xon`. So
    /// a VIQ within its reserve still resumes, as otherwise it never would; and none resumes above
    /// the threshold, as it would be paused again at once.
    #[inline(always)]
    pub fn xon_limit_bytes(&self, limit_bytes: u64) -> u64 {
        let offset_bytes = u64::from(self.xon_offset_bytes);
        let reserved_bytes = u64::from(self.reserved_bytes);
        let least_bytes = match self.threshold {
            Threshold::Static { .. } => 0,
            Threshold::Dynamic { xon_bytes, .. } => u64::from(xon_bytes).min(limit_bytes),
        };
        limit_bytes
            .saturating_sub(offset_bytes)
            .max(reserved_bytes.saturating_sub(offset_bytes))
            .max(least_bytes)
    }
}

/// Bytes that lossless VIQs do not share: reserves, and their headroom, of which the pool of
/// headroom, if there is one, is all that can be used.
#[expect(single_use_lifetimes, reason = "an elided one is not stable in `impl Trait`")]
pub fn set_aside_bytes<'a>(
    ports: impl Iterator<Item = &'a PortSettings>,
    headroom_pool_bytes: Option<u64>,
) -> u64 {
    let (reserved_bytes, headroom_bytes) =
        ports.fold((0_u64, 0_u64), |(reserved, headroom), port| {
            let reserved = reserved.saturating_add(port.reserved_bytes());
            (reserved, headroom.saturating_add(port.headroom_bytes()))
        });
    reserved_bytes.saturating_add(headroom_pool_bytes.unwrap_or(headroom_bytes))
}

impl SwitchSettings {
    /// All headroom that can be in use at once.
    pub fn headroom_bytes(&self) -> u64 {
        let all: u64 = self.ports.iter().map(PortSettings::headroom_bytes).sum();
        self.buffer.headroom_pool_bytes.unwrap_or(all)
    }

    /// Whether any VIQ's threshold depends on what other VIQs use.
    pub(crate) fn has_dynamic_thresholds(&self) -> bool {
        let viqs = self.ports.iter().flat_map(|port| port.lossless.iter().flatten());
        viqs.into_iter().any(|viq| matches!(viq.threshold, Threshold::Dynamic { .. }))
    }

    /// Whether any port sends rates upstream.
    pub(crate) fn sends_rates(&self) -> bool {
        self.ports.iter().any(|port| port.gfc.is_some())
    }
}

/// Gentle flow control (GFC) of one port, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GfcSettings {
    /// The encoding of rates.
    pub form: Form,
    /// How much of its rate a class may catch up on after a late poll, in nanoseconds.
    pub catch_up_ns: u64,
    /// If set, rates are sent at this interval, and not when they change.
    pub period_ns: Option<u64>,
}

/// Thresholds of one lossless VIQ (SONiC: the profile of a priority group), in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViqSettings {
    /// Bytes reserved for this VIQ alone, used first (SONiC `size`).
    pub reserved_bytes: u32,
    /// When XOFF is due.
    pub threshold: Threshold,
    /// XON is due once the VIQ is this far below the threshold: at least 2 MTU of hysteresis. See
    /// [`Self::xon_limit_bytes`].
    pub xon_offset_bytes: u32,
    /// Buffer for the frames that still arrive after XOFF was sent.
    pub headroom_bytes: u32,
    /// How upstream is slowed down before XOFF, if it is (gentle flow control).
    pub rate_map: Option<RateMap>,
}

/// `2^alpha_log2` times `free_bytes`.
#[inline(always)]
pub(crate) const fn share_bytes(free_bytes: u64, alpha_log2: i8) -> u64 {
    let shift = alpha_log2.unsigned_abs();
    if alpha_log2 < 0 { free_bytes >> shift } else { free_bytes << shift }
}

/// The fill of a VIQ above which its headroom is used and XOFF is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// At `xoff_bytes` in the VIQ, its reserve included.
    Static {
        /// The threshold.
        xoff_bytes: u32,
    },
    /// At the reserve plus `2^alpha_log2` times the free bytes of the shared pool (SONiC
    /// `dynamic_th`).
    Dynamic {
        /// SONiC's `dynamic_th`: -3 is alpha 1/8.
        alpha_log2: i8,
        /// XON is due at so many bytes, even if that is less than the offset below the threshold
        /// (SONiC's `xon`).
        xon_bytes: u32,
    },
}

impl Threshold {
    /// A dynamic threshold without a least XON.
    pub const fn dynamic(alpha_log2: i8) -> Self {
        Self::Dynamic { alpha_log2, xon_bytes: 0 }
    }
}

/// The shared buffer. What is not reserve, headroom or lossy is the shared lossless pool.
#[derive(Clone, Debug)]
pub struct BufferSettings {
    /// Size of the whole buffer.
    pub size_bytes: u64,
    /// The least cost of a frame: a buffer holds one frame, however short.
    pub cell_bytes: u16,
    /// Limit of all lossy frames together.
    pub lossy_bytes: u64,
    /// Limit of one lossy VEQ (virtual egress queue), beyond which it drops new frames.
    pub lossy_queue_bytes: u32,
    /// If set, the limit is at most `2^lossy_queue_alpha_log2` times what lossy traffic leaves of
    /// `lossy_bytes` (SONiC's `dynamic_th` of a queue).
    pub lossy_queue_alpha_log2: Option<i8>,
    /// Frames that can be in the switch at once. `size_bytes` is used up before this limit.
    pub frames_max: usize,
    /// The shared lossless pool in partitions: bytes by priority. `None`: one pool for all.
    pub partition_bytes: Option<[u64; PRIORITIES]>,
    /// The headroom that all lossless VIQs share (SONiC: shared headroom pool). A VIQ still uses no
    /// more than its own `headroom_bytes`. `None`: each has all of those to itself.
    pub headroom_pool_bytes: Option<u64>,
}

/// How a port chooses among priorities that have frames and are not paused.
#[derive(Clone, Debug)]
pub struct SchedulerSettings {
    /// Strict priorities, served first, the highest first. The others share by deficit round robin.
    pub strict_bits: u8,
    /// Bytes per round for each priority that is not strict; at least one.
    pub quantum_bytes: [u32; PRIORITIES],
    /// Whether a queue serves ingress ports in turn, instead of frames in order of arrival.
    pub fair: bool,
}

/// A probability by the depth of a VEQ: 0 up to `kmin_bytes`, 1 above `kmax_bytes`; between them it
/// rises linearly to `pmax`. ECN marks by the depth of the VEQ that a frame leaves, WRED drops by
/// that of the VEQ which it would join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepthCurve {
    /// Up to this, the probability is 0.
    pub kmin_bytes: u32,
    /// Above this, it is 1.
    pub kmax_bytes: u32,
    /// Probability at `kmax_bytes`, in units of 1/65,536 (65,536 is 1).
    pub pmax_q16: u32,
}

/// In-band telemetry of packets that have room for it ([`telemetry`](crate::wire::telemetry)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// The number by which paths tell this switch from others, 12 bits.
    pub switch: u16,
}

/// The table of learned MAC addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacTableSettings {
    /// Maximum number of entries. A full table learns no addresses, and frames to unknown addresses
    /// are flooded.
    pub entries_max: usize,
    /// How long an address stays after its last frame.
    pub age_ns: u64,
    /// How long an address must have been silent on its port before it may move to another. 0: it
    /// moves at once.
    pub hold_ns: u64,
}

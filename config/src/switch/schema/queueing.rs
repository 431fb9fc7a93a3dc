//! How frames are queued, paused, marked and sent: the buffer, the lossless priorities, GFC, the
//! watchdog, the scheduler, peak rates and ECN.

use super::Field;
use crate::fields::{Duration, PriorityField, Size, TrafficRate};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// `[buffer]`: the shared buffer.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct BufferTable {
    /// Everything the buffer holds. Default `"12MB"`, or twice what reserves and headrooms take,
    /// where that is more.
    pub(in crate::switch) size: Field<Size>,
    /// What a frame costs at the least: 64 to 2048 bytes. A smaller cell lets the buffer hold more
    /// short frames and needs more memory, 2,432 bytes for each cell of `size`. Default 256.
    pub(in crate::switch) cell: Field<Size>,
    /// What all lossy frames together may hold. Default a quarter of `size`, and all of it if
    /// nothing is lossless.
    pub(in crate::switch) lossy: Field<Size>,
    /// What one lossy queue of a port may hold. Default `"512KB"`, or `lossy` if that is less; with
    /// `lossy_queue_dynamic_th` `lossy`.
    pub(in crate::switch) lossy_queue: Field<Size>,
    /// A lossy queue may hold `2^lossy_queue_dynamic_th` times what lossy frames leave of `lossy`
    /// (SONiC's `dynamic_th` of a queue), and never more than `lossy_queue`; -8 to 8. Default:
    /// `lossy_queue` alone.
    pub(in crate::switch) lossy_queue_dynamic_th: Field<i64>,
    /// Headroom that the lossless priorities of all ports share (SONiC: shared headroom pool); each
    /// still uses no more than its own `headroom`. When the pool is used up, frames that were sent
    /// before a pause took effect are lost. Default: each has its own in full.
    pub(in crate::switch) headroom_pool: Field<Size>,
    /// Instead of `headroom_pool`: by how much all headroom together exceeds it; 1 to the number of
    /// ports.
    pub(in crate::switch) over_subscribe_ratio: Field<u64>,
}

/// `[headroom]`: what the default headroom adds to IEEE 802.3's for software at both ends.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct HeadroomTable {
    /// The longest time between two polls of a port. Default `"20us"`; behind a device of the
    /// kernel (`net_tap`, `net_af_packet`, `net_af_xdp`), where both ends share the machine's
    /// cores, `"10ms"`. `knotless top` shows the real one.
    pub(in crate::switch) poll: Field<Duration>,
    /// The same of the neighbor's switch. Default: as `poll`. `"0us"` if all neighbors are NICs
    /// or hardware switches.
    pub(in crate::switch) peer_poll: Field<Duration>,
    /// Bytes the neighbor can no longer hold back when it sees a pause. Default: as the port's own
    /// `tx_byte_limit`. 0 if all neighbors are NICs or hardware switches.
    pub(in crate::switch) peer_tx_byte_limit: Field<Size>,
    /// How long a peer takes to stop after it has the pause, in hardware. Default: as long as IEEE
    /// 802.3 allows at the port's speed, 0.6 to 3.1 us. Some chips take up to 5 us.
    pub(in crate::switch) response: Field<Duration>,
}

/// `[[lossless]]`: one lossless priority, on every port with `pfc` or on those that it names. Where
/// two tables have the same priority, the one that names a port is the port's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct LosslessTable {
    /// 0 to 7.
    pub(in crate::switch) priority: Spanned<PriorityField>,
    /// Names or numbers of the ports. Default: every port with `pfc` that no other table names for
    /// this priority.
    pub(in crate::switch) ports: Field<Vec<Spanned<String>>>,
    /// Bytes set aside for each port, used first. Default and least: two and one of the port's
    /// longest frames.
    pub(in crate::switch) size: Field<Size>,
    /// Static threshold: XOFF is due at this many bytes, `size` included. Excludes `dynamic_th`.
    pub(in crate::switch) static_th: Field<Size>,
    /// Dynamic threshold: XOFF is due at `size` plus `2^dynamic_th` times what is free in the
    /// shared pool; -8 to 8. Default 0, unless `static_th` is given.
    pub(in crate::switch) dynamic_th: Field<i64>,
    /// XON is due at or below this, if it is above what `xon_offset` gives: at max(`xon`, threshold
    /// - `xon_offset`), and never above a dynamic threshold. Default: `xon_offset` alone.
    pub(in crate::switch) xon: Field<Size>,
    /// XON is due this far below the threshold. Default and least: two of the port's longest
    /// frames.
    pub(in crate::switch) xon_offset: Field<Size>,
    /// Bytes for what arrives after XOFF. Default: computed for each port, see
    /// [`headroom`](crate::headroom).
    pub(in crate::switch) headroom: Field<Size>,
}

/// `[gfc]`: upstream is slowed down before it must be stopped. Needs a `static_th` for each
/// lossless priority, and neighbors that know it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct GfcTable {
    /// Where a lossless queue begins to slow its upstream down (`B1`). Default: as late as the
    /// bound allows, 2 C tau and the slack below `static_th`. The slack is the longest frame, a
    /// byte for each sender, and what a neighbor may catch up on after a late poll.
    pub(in crate::switch) b1: Field<Size>,
    /// How many senders may share an egress port, over all switches of a path: 1 to 4096. A queue
    /// then drains at least at this part of its port's speed. Default: the ports with lossless
    /// priorities. The shared pool must hold a queue of `static_th` for each sender, up to the
    /// number of ports.
    pub(in crate::switch) senders: Field<u64>,
}

/// `[watchdog]`: what is done about a peer that pauses without end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct WatchdogTable {
    /// A pause without a break of this length is a storm: 1 ms to 5 s. Default `"200ms"`.
    pub(in crate::switch) detection_time: Field<Duration>,
    /// So long without being paused, and it is over: 1 ms to 60 s. Default `"400ms"`.
    pub(in crate::switch) restoration_time: Field<Duration>,
    /// `"drop"` (default), `"forward"` or `"alert"`.
    pub(in crate::switch) action: Field<String>,
    /// Whether all frames of lossless priorities are dropped at all ports, and no pause is obeyed
    /// (SONiC's `BIG_RED_SWITCH`): the last resort of a fabric that stands still. Default false.
    #[serde(default)]
    pub(in crate::switch) big_red_switch: bool,
}

/// `[scheduler]`: deficit round robin, with strict priorities ahead of it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct SchedulerTable {
    /// Bytes a round for a weight of 1. Default: the longest frame of any port.
    pub(in crate::switch) quantum: Field<Size>,
    /// Weight of each priority, 1 to 255: `{ 0 = 1, 3 = 4 }`. Default 1 each.
    #[serde(default)]
    pub(in crate::switch) weights: BTreeMap<String, Spanned<u64>>,
    /// Whether a queue serves ingress ports in turn, byte for byte, instead of frames in the order
    /// in which they came. Default true: else a sender that ignores PFC takes what those who obey
    /// it leave. `[gfc]` needs it, as a cycle of queues that serve frames as they come slows itself
    /// down ever more.
    pub(in crate::switch) fair: Option<bool>,
    /// Priorities served before all others, the highest first.
    #[serde(default)]
    pub(in crate::switch) strict: Vec<Spanned<PriorityField>>,
}

/// `[[shaper]]`: the peak rate of one queue, on every port or on those that it names. Where two
/// tables have the same priority, the one that names a port is the port's. A lossy queue beyond its
/// rate fills and drops; a lossless one fills and pauses upstream.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct ShaperTable {
    /// 0 to 7: the egress priority, which is the queue.
    pub(in crate::switch) priority: Spanned<PriorityField>,
    /// Names or numbers of the ports. Default: every port that no other table names for this
    /// priority.
    pub(in crate::switch) ports: Field<Vec<Spanned<String>>>,
    /// The most that the queue sends: bits of frames per second, FCS included, preamble and gap
    /// not (SONiC's `pir`, times eight). `"200M"`, `"1.5G"`, from 8 to 1.6T.
    pub(in crate::switch) peak_rate: Spanned<TrafficRate>,
    /// Bytes that an idle queue may send at once (SONiC's `pbs`), and by which late polls may be
    /// made up for; less than the port's longest frame counts as one frame. Default: two of the
    /// port's longest frames, and what the rate sends in 200 us, or in 10 ms behind a device of
    /// the kernel.
    pub(in crate::switch) peak_burst: Field<Size>,
}

/// `[[ecn]]`: marking of one priority by the depth of its egress queue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct EcnTable {
    /// 0 to 7.
    pub(in crate::switch) priority: Spanned<PriorityField>,
    /// Below this nothing is marked.
    pub(in crate::switch) kmin: Spanned<Size>,
    /// Above this everything is marked.
    pub(in crate::switch) kmax: Spanned<Size>,
    /// Probability at `kmax`, above 0 and up to 1. Default 0.05.
    pub(in crate::switch) pmax: Field<f64>,
}

/// `[[wred]]`: early drops of one lossy priority by the depth of the egress queue that a frame
/// would join, so that TCP's senders slow down one by one before the queue is full. What `[[ecn]]`
/// marks is not dropped; lossless frames and the switch's own never are.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct WredTable {
    /// 0 to 7.
    pub(in crate::switch) priority: Spanned<PriorityField>,
    /// Up to this nothing is dropped early.
    pub(in crate::switch) kmin: Spanned<Size>,
    /// Above this everything is dropped.
    pub(in crate::switch) kmax: Spanned<Size>,
    /// Probability at `kmax`, above 0 and up to 1. Default 0.05.
    pub(in crate::switch) pmax: Field<f64>,
}

/// `[inband_telemetry]`: switches write into packets what the queues are that they leave (INT).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::switch) struct InbandTelemetryTable {
    /// The number by which paths tell this switch from others, 0 to 4095. Default: from the
    /// switch's name.
    pub(in crate::switch) switch: Field<i64>,
}

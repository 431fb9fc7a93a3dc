//! Watermarks: the most that queues and pools have held since they were cleared.
//!
//! A worker reports peaks since its last report, and begins new ones. This file keeps the most of
//! all reports, three times: since the start, which the statistics show as `*_peak_bytes`, and
//! since two kinds of watermarks were cleared, as SONiC has them.

use super::stats::Stats;
use dataplane::limits::PRIORITIES;
use dataplane::report::QueueGauges;
use serde::{Deserialize, Serialize};

/// Which watermarks: each kind is cleared by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WatermarkKind {
    /// Those that an operator clears to look at what comes next.
    #[default]
    User,
    /// Those that are meant to stay.
    Persistent,
}

/// Watermarks of a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Watermarks {
    /// What lossless priority groups share: the sum over workers.
    pub ingress_lossless_pool: LosslessPoolWatermarks,
    /// Lossy traffic: the sum over workers.
    pub ingress_lossy_pool: PoolWatermarks,
    /// In the order of ports and priorities: each that has held anything.
    pub queues: Vec<QueueWatermarks>,
}

/// Watermarks of a pool, in bytes, by SONiC's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PoolWatermarks {
    /// Bytes of the pool.
    #[serde(rename = "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES")]
    pub bytes: u64,
}

/// Those of the pool of lossless traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LosslessPoolWatermarks {
    /// Bytes of the pool.
    #[serde(rename = "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES")]
    pub bytes: u64,
    /// Bytes of headroom, which may be a pool, too.
    #[serde(rename = "SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES")]
    pub headroom_bytes: u64,
}

/// Watermarks of one port and priority, in bytes, by SONiC's names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueWatermarks {
    /// The port's name.
    pub port: String,
    /// The priority: priority group and queue.
    pub priority: usize,
    /// What frames received here held of the shared pool.
    #[serde(rename = "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES")]
    pub group_shared_bytes: u32,
    /// What they held of their headroom.
    #[serde(rename = "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES")]
    pub group_headroom_bytes: u32,
    /// What waited to leave here.
    #[serde(rename = "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES")]
    pub queue_bytes: u32,
}

/// All that is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct WatermarkStore {
    since_start: Peaks,
    /// By [`WatermarkKind`].
    kinds: [Peaks; 2],
}

/// The peaks of a switch since some moment.
#[derive(Clone, Debug, Default)]
struct Peaks {
    shared_bytes: u64,
    headroom_bytes: u64,
    lossy_bytes: u64,
    /// In the order of ports and priorities.
    queues: Vec<QueuePeaks>,
}

/// The peaks of one port and priority.
#[derive(Clone, Copy, Debug, Default)]
struct QueuePeaks {
    viq_bytes: u32,
    shared_bytes: u32,
    headroom_bytes: u32,
    veq_bytes: u32,
}

impl QueuePeaks {
    fn raise(&mut self, gauges: &QueueGauges) {
        self.viq_bytes = self.viq_bytes.max(gauges.viq_peak_bytes);
        self.shared_bytes = self.shared_bytes.max(gauges.shared_peak_bytes);
        self.headroom_bytes = self.headroom_bytes.max(gauges.headroom_peak_bytes);
        self.veq_bytes = self.veq_bytes.max(gauges.veq_peak_bytes);
    }
}

impl Peaks {
    /// Raises them to the peaks of `stats`.
    fn raise(&mut self, stats: &Stats) {
        self.shared_bytes = self.shared_bytes.max(stats.buffer.shared_peak_bytes);
        self.headroom_bytes = self.headroom_bytes.max(stats.buffer.headroom_peak_bytes);
        self.lossy_bytes = self.lossy_bytes.max(stats.buffer.lossy_peak_bytes);
        self.queues.resize_with(stats.ports.len() * PRIORITIES, QueuePeaks::default);
        let gauges = stats.ports.iter().flat_map(|port| &port.queues);
        self.queues.iter_mut().zip(gauges).for_each(|(peaks, gauges)| peaks.raise(gauges));
    }
}

impl WatermarkStore {
    /// Adds the peaks of `stats`, which are of reports that were not added before.
    pub(super) fn add(&mut self, stats: &Stats) {
        let all = self.kinds.iter_mut().chain([&mut self.since_start]);
        all.for_each(|peaks| peaks.raise(stats));
    }

    /// Makes the peaks of `stats` those since the start.
    pub(super) fn show(&self, stats: &mut Stats) {
        let mut peaks = self.since_start.clone();
        peaks.raise(stats);
        stats.buffer.shared_peak_bytes = peaks.shared_bytes;
        stats.buffer.headroom_peak_bytes = peaks.headroom_bytes;
        stats.buffer.lossy_peak_bytes = peaks.lossy_bytes;
        let gauges = stats.ports.iter_mut().flat_map(|port| &mut port.queues);
        for (gauges, peaks) in gauges.zip(&peaks.queues) {
            gauges.viq_peak_bytes = peaks.viq_bytes;
            gauges.shared_peak_bytes = peaks.shared_bytes;
            gauges.headroom_peak_bytes = peaks.headroom_bytes;
            gauges.veq_peak_bytes = peaks.veq_bytes;
        }
    }

    /// The watermarks of `kind`; `stats` says what the ports are.
    pub(super) fn read(&self, kind: WatermarkKind, stats: &Stats) -> Watermarks {
        let peaks = &self.kinds[kind as usize];
        let places = stats.ports.iter().flat_map(|port| (0..PRIORITIES).map(move |p| (port, p)));
        let rows = places.zip(&peaks.queues).map(|((port, priority), peaks)| QueueWatermarks {
            port: port.name.clone(),
            priority,
            group_shared_bytes: peaks.shared_bytes,
            group_headroom_bytes: peaks.headroom_bytes,
            queue_bytes: peaks.veq_bytes,
        });
        let is_used = |row: &QueueWatermarks| {
            row.group_shared_bytes | row.group_headroom_bytes | row.queue_bytes != 0
        };
        Watermarks {
            ingress_lossless_pool: LosslessPoolWatermarks {
                bytes: peaks.shared_bytes,
                headroom_bytes: peaks.headroom_bytes,
            },
            ingress_lossy_pool: PoolWatermarks { bytes: peaks.lossy_bytes },
            queues: rows.filter(is_used).collect(),
        }
    }

    /// Clears the watermarks of `kind`: they begin again at the next report.
    pub(super) fn clear(&mut self, kind: WatermarkKind) {
        self.kinds[kind as usize] = Peaks::default();
    }
}

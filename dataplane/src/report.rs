//! A worker's state at one instant between two turns. So its frame balance is exact.

use crate::buffer::{Pool, ViqId};
use crate::counters::{PortCounters, Totals};
use crate::host_class::HostCounters;
use crate::ids::PortId;
use crate::limits::PRIORITIES;
use crate::queue::veq::FrameMeta;
use crate::tag_changes::TagChangeCount;
use crate::time::Instant;
use alloc::vec::Vec;

/// VIQs that are listed for a queue that may not send. One queue rarely has frames of more ports.
const ORIGINS_MAX: usize = 8;
/// Frames of such a queue that are examined. A report is made between two turns and must not delay
/// the next.
const NOTES_MAX: usize = 1_024;

/// The VIQs (virtual ingress queues) to which the frames of a queue are charged. If the queue may
/// not send, these are the VIQs that it blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    viqs: [Option<ViqId>; ORIGINS_MAX],
    /// Whether there may be others: too many VIQs, or too many frames to examine.
    pub has_more: bool,
}

impl Origins {
    /// The VIQs of frames with this metadata.
    pub(crate) fn of(
        metas: impl Iterator<Item = FrameMeta>,
        port_of: impl Fn(ViqId) -> PortId,
    ) -> Self {
        let mut origins = Self::default();
        for (looked_at, meta) in metas.enumerate() {
            if looked_at == NOTES_MAX {
                origins.has_more = true;
                break;
            }
            // The switch's own frames are charged to no VIQ.
            if meta.viq != ViqId::NONE {
                origins.add(ViqId::new(port_of(meta.viq), meta.viq.priority()));
            }
        }
        origins
    }

    fn add(&mut self, viq: ViqId) {
        let place = self.viqs.iter_mut().find(|place| place.is_none_or(|known| known == viq));
        match place {
            Some(place) => *place = Some(viq),
            None => self.has_more = true,
        }
    }

    /// The VIQs, in the order of their first frames in the queue.
    pub fn viqs(&self) -> impl Iterator<Item = ViqId> {
        self.viqs.into_iter().flatten()
    }
}

/// Gauges of one port and priority, in bytes unless stated otherwise. VEQ: virtual egress queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct QueueGauges {
    /// Bytes in the buffer that were received on this port in this priority.
    pub viq_bytes: u32,
    /// The peak of `viq_bytes`.
    pub viq_peak_bytes: u32,
    /// The peak of what the VIQ held of the shared pool, without its reserve and its headroom
    /// (SONiC: shared watermark of a priority group). Of a lossy VIQ, the peak of `viq_bytes`.
    // The control thread tells it as a watermark.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub shared_peak_bytes: u32,
    /// Headroom in use.
    pub headroom_bytes: u32,
    /// The peak of headroom in use.
    pub headroom_peak_bytes: u32,
    /// Size of the headroom.
    pub headroom_size_bytes: u32,
    /// Bytes queued for transmission on this port in this priority.
    pub veq_bytes: u32,
    /// The peak of `veq_bytes`.
    pub veq_peak_bytes: u32,
    /// Frames queued for transmission.
    pub veq_frames: u32,
    /// Whether PFC protects this priority.
    pub lossless: bool,
    /// Whether the peer has paused this priority.
    pub rx_paused: bool,
    /// Whether the peer is paused in this priority.
    pub tx_paused: bool,
    /// For how many nanoseconds the peer has paused this priority without a break; 0 if it has not.
    pub rx_paused_for_ns: u64,
    /// How long the current pause by the peer has lasted, or how long the last one lasted, in
    /// nanoseconds.
    pub rx_recent_pause_ns: u64,
    /// Whether the peer limits this port to a rate below its speed.
    pub rx_slowed: bool,
    /// Whether frames wait here because the queue has used up its own peak rate.
    pub peak_limited: bool,
    /// Whether the watchdog has detected a storm.
    pub stormed: bool,
    /// For how many nanoseconds the peer has been paused in this priority without a break; 0 if it
    /// is not.
    pub tx_paused_for_ns: u64,
    /// The VIQs of the frames that are queued here and may not leave.
    // Names ports of other workers too; the control thread tells them as waits.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub origins: Origins,
}

/// One port's counters and gauges.
#[derive(Clone, Debug)]
pub struct PortReport {
    /// The port.
    pub port: PortId,
    /// Whether the worker owns the port. If not, this is what the worker sent there through its own
    /// transmit queue; add it to what the owner counts.
    pub is_owner: bool,
    /// Whether this is what a worker received by a further receive queue of the port; add it, too.
    pub is_rx_queue: bool,
    /// Whether its link is up.
    pub up: bool,
    /// Counters since start. Current pauses are counted up to now.
    pub counters: PortCounters,
    /// By priority.
    pub queues: [QueueGauges; PRIORITIES],
    /// What the worker's MAC table has of the port.
    pub mac: MacPortCounts,
    /// Frames for the control thread, by class, where they are policed.
    pub host: HostCounters,
}

/// What a worker's MAC table has of one port, and what the worker learned by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MacPortCounts {
    /// Addresses that are on the port, whoever learned them.
    pub addresses: u32,
    /// Times that a frame of the port had an address that was on another port.
    pub moves: u64,
    /// Frames of the port whose new address was not learned: the port has its share of the table,
    /// or the table is full.
    pub refused_frames: u64,
    /// Frames of the port with an address that stayed on another port: it is static there, or was
    /// heard there within the hold time.
    pub held_frames: u64,
}

/// One worker's report.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// When it was written.
    pub at: Instant,
    /// The epoch of the snapshot in use.
    pub epoch: u64,
    /// Turns since start.
    pub turns: u64,
    /// Turns in which any work was done.
    pub busy_turns: u64,
    /// The frame balance.
    pub totals: Totals,
    /// The shared buffer, as this worker's VIQs use it.
    pub pool: Pool,
    /// Addresses in the MAC table.
    pub mac_entries: usize,
    /// Lossless frames that wait for their next hop.
    pub pending_frames: u64,
    /// Frames whose tag the rules changed, since start: the counters that are not zero, by tag and
    /// new tag.
    pub tag_changes: Vec<TagChangeCount>,
    /// The worker's ports, then those of other workers at which it may transmit.
    pub ports: Vec<PortReport>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{PortId, Priority};

    fn meta(port: usize, priority: u8) -> FrameMeta {
        let port = PortId::from_index(port).unwrap();
        FrameMeta { viq: ViqId::new(port, Priority::from_low_bits(priority)), ..FrameMeta::NONE }
    }

    /// Every receive queue is that of the port with its number.
    fn of(metas: core::slice::Iter<'_, FrameMeta>) -> Origins {
        Origins::of(metas.copied(), |viq| PortId::from_index(viq.port_index()).unwrap())
    }

    #[test]
    fn each_origin_is_told_once_in_the_order_of_its_first_frame() {
        let metas = [meta(7, 3), FrameMeta::NONE, meta(2, 3), meta(7, 3), meta(7, 4)];
        let origins = of(metas.iter());
        let viqs: Vec<ViqId> = origins.viqs().collect();
        assert_eq!(viqs, [metas[0].viq, metas[2].viq, metas[4].viq]);
        assert!(!origins.has_more);
        assert_eq!(of([].iter()), Origins::default());
    }

    #[test]
    fn what_is_left_out_is_said() {
        let metas: Vec<FrameMeta> = (0..=ORIGINS_MAX).map(|port| meta(port, 3)).collect();
        let all = of(metas[..ORIGINS_MAX].iter());
        assert_eq!((all.viqs().count(), all.has_more), (ORIGINS_MAX, false));
        let more = of(metas.iter());
        assert_eq!((more.viqs().count(), more.has_more), (ORIGINS_MAX, true));

        let long = [meta(1, 3)].repeat(NOTES_MAX);
        assert!(!of(long.iter()).has_more);
        let longer = [long, alloc::vec![meta(1, 3)]].concat();
        assert!(of(longer.iter()).has_more);
    }
}

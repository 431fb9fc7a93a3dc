//! A worker's state at one instant, between two turns: so its books balance to the frame.

use crate::counters::{PortCounters, Totals};
use crate::ids::PortId;
use crate::limits::PRIORITIES;
use crate::time::Instant;
use alloc::vec::Vec;

/// Gauges of one port and priority, in bytes unless they say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueGauges {
    /// Bytes in the buffer that came in here in this priority.
    pub viq_bytes: u32,
    /// The most there were.
    pub viq_peak_bytes: u32,
    /// Headroom in use.
    pub headroom_bytes: u32,
    /// The most headroom that was used.
    pub headroom_peak_bytes: u32,
    /// Bytes waiting to leave here in this priority.
    pub veq_bytes: u32,
    /// The most there were.
    pub veq_peak_bytes: u32,
    /// Frames waiting to leave.
    pub veq_frames: u32,
    /// Whether PFC protects it.
    pub lossless: bool,
    /// Whether the peer has paused us.
    pub rx_paused: bool,
    /// Whether we have paused the peer.
    pub tx_paused: bool,
}

/// One port's counters and gauges.
#[derive(Clone, Debug)]
pub struct PortReport {
    /// Which port.
    pub port: PortId,
    /// Whether the worker owns it; if not, this is what it sent there by itself, to be added to
    /// what the owner counts.
    pub is_owner: bool,
    /// Whether its link is up.
    pub up: bool,
    /// Counters since start; pauses that are running are counted up to now.
    pub counters: PortCounters,
    /// By priority.
    pub queues: [QueueGauges; PRIORITIES],
}

/// One worker's report.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// When it was written.
    pub at: Instant,
    /// The snapshot in use.
    pub epoch: u64,
    /// Turns taken since start.
    pub turns: u64,
    /// Turns in which something moved.
    pub busy_turns: u64,
    /// The balance.
    pub totals: Totals,
    /// Bytes of the lossless pool in use by this worker's VIQs.
    pub shared_bytes: u64,
    /// The most there were.
    pub shared_peak_bytes: u64,
    /// Size of the lossless pool, of all workers.
    pub shared_size_bytes: u64,
    /// Lossy bytes in use by this worker's VIQs.
    pub lossy_bytes: u64,
    /// The most there were.
    pub lossy_peak_bytes: u64,
    /// Addresses in the MAC table.
    pub mac_entries: usize,
    /// The worker's ports, then those of others that it sends at.
    pub ports: Vec<PortReport>,
}

//! What RoCE flows and collectives came to.

use crate::event::Picoseconds;
use serde::Serialize;

/// All queue pairs of all hosts together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RoceOutcome {
    /// Packets of all kinds that endpoints sent.
    pub sent_packets: u64,
    /// Packets sent again.
    pub retransmitted_packets: u64,
    /// Sequence NAKs sent.
    pub naks: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Requests that ended with an error.
    pub failures: u64,
    /// Data packets that arrived with Congestion Experienced.
    pub ecn_marked_packets: u64,
    /// Congestion notification packets sent, and those that arrived.
    pub cnps_sent: u64,
    /// Those that arrived.
    pub cnps_received: u64,
    /// How long hosts with endpoints stood paused in a priority, of their time, in millionths.
    pub paused_millionths: u64,
    /// Jain's index of the flows' goodput, in thousandths; 1,000 for equal ones.
    pub fairness_permille: Option<u64>,
    /// The flows that have ended, and how much longer than on an idle network they took, in
    /// thousandths: the median.
    pub slowdown_p50_permille: Option<u64>,
    /// The same: 99 % of them took less.
    pub slowdown_p99_permille: Option<u64>,
}

/// One collective.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CollectiveOutcome {
    /// Its name.
    pub name: String,
    /// What it does.
    pub kind: String,
    /// How many ranks it has.
    pub ranks: usize,
    /// Bytes that each rank holds, or hands on.
    pub bytes: u64,
    /// So often.
    pub rounds: u32,
    /// When it began.
    pub start_ps: Picoseconds,
    /// When the first rank had received everything.
    pub first_finished_ps: Option<Picoseconds>,
    /// When all had.
    pub finished_ps: Option<Picoseconds>,
    /// Ranks that had.
    pub finished_ranks: usize,
    /// Bytes of a rank over the time of a round, bits a second: the algorithm's bandwidth.
    pub algorithm_bps: Option<u64>,
    /// What each link of a rank carried for it, bits a second: the bus bandwidth.
    pub bus_bps: Option<u64>,
}

/// The messages of all collectives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MessagesOutcome {
    /// Messages that were acknowledged.
    pub count: u64,
    /// How much longer than on an idle path they took, in thousandths: the median.
    pub slowdown_p50_permille: u64,
    /// The same: 99 % of them took less.
    pub slowdown_p99_permille: u64,
    /// The longest, in thousandths, to two digits.
    pub slowdown_max_permille: u64,
}

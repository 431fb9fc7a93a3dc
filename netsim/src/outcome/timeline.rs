//! The timeline of a run: what moved, what waited and who was paused, by steps.

use crate::event::Picoseconds;
use serde::Serialize;

/// Samples at even steps, and pauses to the picosecond.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// Time between two samples. Sample n covers the time up to (n + 1) steps.
    pub step_ps: Picoseconds,
    /// Bytes that arrived in each step, by flow in the order of
    /// [`Outcome::flows`](super::Outcome::flows); at most the first 64 flows.
    pub flow_bytes: Vec<Vec<u64>>,
    /// Bytes that all flows together brought to hosts in each step.
    pub all_bytes: Vec<u64>,
    /// The queues that held most, most first; at most 32.
    pub queues: Vec<QueueSeries>,
    /// Pauses, longest in all first; at most 64 rows.
    pub pauses: Vec<PauseSpans>,
}

/// The depth of one ingress queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueSeries {
    /// The port by which its frames came in: `A:3`.
    pub port: String,
    /// Its priority.
    pub priority: u8,
    /// Bytes at the end of each step.
    pub bytes: Vec<u64>,
    /// Bytes above which it sends XOFF, as of the end of each step; empty if lossy.
    pub xoff_bytes: Vec<u64>,
}

/// When a sender was paused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PauseSpans {
    /// Who could not send: a switch's port, `A:3`, or a host.
    pub sender: String,
    /// Who sent the pause: the port or the host at the other end.
    pub by: String,
    /// Which priority.
    pub priority: u8,
    /// From when to when; the last one may go on to the end of the run.
    pub spans_ps: Vec<(Picoseconds, Picoseconds)>,
}

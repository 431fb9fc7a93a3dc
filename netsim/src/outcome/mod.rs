//! The outcome of a simulation: verdicts, flows, drops, and the timeline.
//!
//! All figures are whole picoseconds, bytes and frames. Names are those of the scenario: a port is
//! `A:3`, a wire leads from one end to another.

mod roce;
mod timeline;
mod topology;

pub use roce::{CollectiveOutcome, MessagesOutcome, RoceOutcome};
pub use timeline::{PauseSpans, QueueSeries, Timeline};
pub use topology::{LinkOutcome, NodeOutcome, TopologyOutcome};

use crate::event::Picoseconds;
use serde::Serialize;

/// The results of a simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The scenario's name.
    pub name: String,
    /// What the scenario says it shows.
    pub about: String,
    /// The scheme: `pfc`, `tagger`, `ttl` and so on.
    pub scheme: String,
    /// The seed of all random choices.
    pub seed: u64,
    /// How long the sources sent.
    pub duration_ps: Picoseconds,
    /// When the last frame had left the network after the sources stopped; `None` if frames stayed.
    pub drained_ps: Option<Picoseconds>,
    /// Frames in the network at the end: stuck, if it did not drain.
    pub frames_stuck: u64,
    /// The deadlock, if there was one.
    pub deadlock: Option<DeadlockOutcome>,
    /// Violations, in words; empty in a sound run.
    pub violations: Vec<String>,
    /// Frames of lossless classes that were not delivered, whatever the cause.
    pub lossless_drops: u64,
    /// The same by cause; all causes that occurred.
    pub lossless_drops_by_cause: Vec<DropOutcome>,
    /// Those for which a switch had no headroom, or a host no room: violations, unless PFC fails.
    pub headroom_overruns: u64,
    /// Lossy frames dropped for want of room.
    pub lossy_drops: u64,
    /// Frames dropped, by the counter that names the reason; all reasons that occurred.
    pub drops: Vec<DropOutcome>,
    /// Lossless frames that a watchdog discarded.
    pub watchdog_drops: u64,
    /// Storms that watchdogs found.
    pub storms: u64,
    /// Lossless frames whose tag the rules changed, by switch, tag and new tag.
    pub tag_changes: Vec<TagChangeOutcome>,
    /// Priorities that lossless frames use.
    pub lossless_priorities: usize,
    /// What the switch that reserves most sets aside for lossless frames: reserves and headrooms.
    pub reserved_bytes: u64,
    /// Of the PFC frames, those that only set rates.
    pub rate_frames: u64,
    /// PFC frames that switches and hosts sent.
    pub pfc_frames: u64,
    /// Time that switches' and hosts' priorities stood paused, all together.
    pub paused_ps: Picoseconds,
    /// Arrivals of data frames at switches.
    pub packet_hops: u64,
    /// The flows, in the scenario's order; generated ones after the listed ones.
    pub flows: Vec<FlowOutcome>,
    /// All RoCE endpoints together; `None` without any.
    pub roce: Option<RoceOutcome>,
    /// The collectives, in the scenario's order.
    pub collectives: Vec<CollectiveOutcome>,
    /// Their messages; `None` without any.
    pub messages: Option<MessagesOutcome>,
    /// The timeline.
    pub timeline: Timeline,
    /// The topology.
    pub topology: TopologyOutcome,
    /// The hash of every arrival: two runs with one hash were the same.
    pub trace_hash: String,
}

/// A cycle of queues of which none can ever move again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeadlockOutcome {
    /// When the cycle closed: its last pause took effect.
    pub closed_ps: Picoseconds,
    /// The cycle, each place waiting for the next, the last for the first.
    pub cycle: Vec<CycleHop>,
}

/// A hop of the cycle: frames that came in at one port cannot leave by another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CycleHop {
    /// The switch.
    pub switch: String,
    /// The port by which the frames came in, counted from 1.
    pub input: usize,
    /// The priority of the VIQ, which keeps the hop before paused.
    pub input_priority: u8,
    /// The port by which they are to leave, counted from 1.
    pub output: usize,
    /// The priority of the VEQ, which the next hop keeps paused.
    pub output_priority: u8,
    /// Bytes that wait from here to there.
    pub bytes: u64,
}

/// Frames dropped for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DropOutcome {
    /// The counter's name.
    pub reason: String,
    /// How many.
    pub frames: u64,
}

/// Frames whose tag a switch's rules changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TagChangeOutcome {
    /// The switch.
    pub switch: String,
    /// The tag before.
    pub tag: u8,
    /// The tag after; `None` if it is lossy.
    pub new_tag: Option<u8>,
    /// How many.
    pub frames: u64,
}

/// One flow, from its first frame to the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowOutcome {
    /// Its name.
    pub name: String,
    /// The sending host.
    pub from: String,
    /// The receiving host.
    pub to: String,
    /// When its first frame was due.
    pub start_ps: Picoseconds,
    /// When its last byte had arrived, if it is a flow of some size and did.
    pub finished_ps: Option<Picoseconds>,
    /// Of a RoCE flow, the time that it would take on an idle network; 0 of one without end.
    pub ideal_ps: Option<Picoseconds>,
    /// Bytes it had to carry; `None` without an end.
    pub size_bytes: Option<u64>,
    /// Frames put on the sender's wire, those sent again included.
    pub sent_frames: u64,
    /// Frames that arrived.
    pub received_frames: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Of a RoCE flow, frames that arrived with Congestion Experienced.
    pub marked_frames: u64,
    /// Bytes that arrived in the last quarter of the sending time: the rate in the end.
    pub late_bytes: u64,
    /// Frames that were lost, or are still in the network.
    pub missing_frames: u64,
}

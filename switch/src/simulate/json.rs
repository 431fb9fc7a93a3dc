//! The result as one JSON object.

use netsim::outcome::{CollectiveOutcome, CycleHop, DropOutcome, FlowOutcome, Outcome};
use serde_json::{Map, Value, json};

const PS_PER_US: f64 = 1e6;

/// Picoseconds in microseconds.
fn us(ps: u64) -> f64 {
    ps as f64 / PS_PER_US
}

/// Bytes in a time, as gigabits per second.
pub(super) fn gbps(bytes: u64, ps: u64) -> f64 {
    if ps == 0 { 0.0 } else { bytes as f64 * 8_000.0 / ps as f64 }
}

pub(super) fn object(outcome: &Outcome, surprises: &[String]) -> Value {
    let cycle = outcome
        .deadlock
        .as_ref()
        .map(|deadlock| deadlock.cycle.iter().map(hop).collect::<Vec<_>>());
    json!({
        "name": outcome.name,
        "scheme": outcome.scheme,
        "seed": outcome.seed,
        "duration_us": us(outcome.duration_ps),
        "deadlock": {
            "detected": outcome.deadlock.is_some(),
            "time_us": outcome.deadlock.as_ref().map(|deadlock| us(deadlock.closed_ps)),
            "cycle": cycle.unwrap_or_default(),
        },
        "drained_us": outcome.drained_ps.map(us),
        "frames_stuck": outcome.frames_stuck,
        "lossless_drops": outcome.lossless_drops,
        "lossless_drops_by_cause": by_cause(&outcome.lossless_drops_by_cause),
        "headroom_overruns": outcome.headroom_overruns,
        "lossy_drops": outcome.lossy_drops,
        "drops": by_cause(&outcome.drops),
        "pfc_frames": outcome.pfc_frames,
        "paused_us": us(outcome.paused_ps),
        "packet_hops": outcome.packet_hops,
        "flows": outcome.flows.iter().map(|one| flow(outcome, one)).collect::<Vec<_>>(),
        "roce": outcome.roce,
        "collectives": outcome.collectives.iter().map(collective).collect::<Vec<_>>(),
        "messages": outcome.messages,
        "violations": outcome.violations,
        "unexpected": surprises,
        "trace_hash": outcome.trace_hash,
    })
}

fn by_cause(drops: &[DropOutcome]) -> Map<String, Value> {
    drops.iter().map(|drop| (drop.reason.clone(), json!(drop.frames))).collect()
}

fn hop(hop: &CycleHop) -> Value {
    json!({
        "switch": hop.switch,
        "in": hop.input,
        "in_priority": hop.input_priority,
        "out": hop.output,
        "out_priority": hop.output_priority,
        "bytes": hop.bytes,
    })
}

fn collective(collective: &CollectiveOutcome) -> Value {
    json!({
        "name": collective.name,
        "kind": collective.kind,
        "ranks": collective.ranks,
        "bytes": collective.bytes,
        "rounds": collective.rounds,
        "start_us": us(collective.start_ps),
        "first_finished_us": collective.first_finished_ps.map(us),
        "finished_us": collective.finished_ps.map(us),
        "finished_ranks": collective.finished_ranks,
        "algorithm_gbps": collective.algorithm_bps.map(|bps| bps as f64 / 1e9),
        "bus_gbps": collective.bus_bps.map(|bps| bps as f64 / 1e9),
    })
}

fn flow(outcome: &Outcome, flow: &FlowOutcome) -> Value {
    let ends_ps = flow.finished_ps.unwrap_or(outcome.duration_ps);
    json!({
        "name": flow.name,
        "from": flow.from,
        "to": flow.to,
        "gbps": gbps(flow.received_bytes, ends_ps.saturating_sub(flow.start_ps)),
        "late_gbps": gbps(flow.late_bytes, outcome.duration_ps / 4),
        "start_us": us(flow.start_ps),
        "finished_us": flow.finished_ps.map(us),
        "ideal_us": flow.ideal_ps.filter(|&ps| ps > 0).map(us),
        "size_bytes": flow.size_bytes,
        "sent_frames": flow.sent_frames,
        "received_frames": flow.received_frames,
        "marked_frames": flow.marked_frames,
        "missing_frames": flow.missing_frames,
    })
}

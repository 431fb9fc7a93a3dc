//! The result as text.

use super::json::gbps;
use crate::ctl::tables::{numbers, text};
use netsim::outcome::{DeadlockOutcome, Outcome};

/// Flows that are listed one by one; of more only the sum is of use.
const FLOWS_SHOWN: usize = 24;

pub(super) fn table(outcome: &Outcome, surprises: &[String]) -> String {
    let mut parts = vec![format!(
        "{}, scheme {}, seed {}, {}",
        outcome.name,
        outcome.scheme,
        outcome.seed,
        time(outcome.duration_ps)
    )];
    parts.push(verdict(outcome));
    parts.push(flows(outcome));
    parts.push(collectives(outcome));
    parts.push(sums(outcome));
    let lines = |name: &str, lines: &[String]| {
        lines.iter().map(|line| format!("{name}: {line}")).collect::<Vec<_>>().join("\n")
    };
    parts.push(lines("does not hold", &outcome.violations));
    parts.push(lines("not as expected", surprises));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn verdict(outcome: &Outcome) -> String {
    let after = |drained_ps: u64| time(drained_ps.saturating_sub(outcome.duration_ps));
    match (&outcome.deadlock, outcome.drained_ps) {
        (Some(deadlock), drained) => {
            let stuck = match drained {
                Some(_) => "it came loose later".to_owned(),
                None => format!("{} frames never leave", outcome.frames_stuck),
            };
            format!("DEADLOCK at {}: {stuck}\n{}", time(deadlock.closed_ps), cycle(deadlock))
        }
        (None, Some(drained_ps)) => {
            format!("no deadlock; empty {} after the sources stopped", after(drained_ps))
        }
        (None, None) => format!(
            "no deadlock, but {} frames never leave: a host pauses them for ever",
            outcome.frames_stuck
        ),
    }
}

fn cycle(deadlock: &DeadlockOutcome) -> String {
    let line = |hop: &netsim::outcome::CycleHop| {
        format!(
            "  {}: {} B from port {} (priority {}) wait at port {} (priority {})",
            hop.switch, hop.bytes, hop.input, hop.input_priority, hop.output, hop.output_priority
        )
    };
    let mut lines: Vec<String> = deadlock.cycle.iter().map(line).collect();
    let first = deadlock.cycle.first().map_or("", |hop| hop.switch.as_str());
    lines.push(format!("  which waits for {first}"));
    lines.join("\n")
}

fn flows(outcome: &Outcome) -> String {
    let mut table =
        numbers(["flow", "Gb/s", "last quarter", "sent", "received", "missing", "finished"], 1);
    for flow in outcome.flows.iter().take(FLOWS_SHOWN) {
        let ends_ps = flow.finished_ps.unwrap_or(outcome.duration_ps);
        table.add_row([
            flow.name.clone(),
            format!("{:.2}", gbps(flow.received_bytes, ends_ps.saturating_sub(flow.start_ps))),
            format!("{:.2}", gbps(flow.late_bytes, outcome.duration_ps / 4)),
            flow.sent_frames.to_string(),
            flow.received_frames.to_string(),
            flow.missing_frames.to_string(),
            flow.finished_ps.map_or_else(|| "-".to_owned(), time),
        ]);
    }
    let more = outcome.flows.len().saturating_sub(FLOWS_SHOWN);
    let more = if more == 0 { String::new() } else { format!("\n.. and {more} more") };
    format!("{}{more}", text(&table))
}

/// Empty without any.
fn collectives(outcome: &Outcome) -> String {
    if outcome.collectives.is_empty() {
        return String::new();
    }
    let names = ["collective", "kind", "ranks", "finished", "algorithm, Gb/s", "bus, Gb/s"];
    let mut table = numbers(names, 2);
    let gbps = |bps: Option<u64>| {
        bps.map_or_else(|| "-".to_owned(), |bps| format!("{:.2}", bps as f64 / 1e9))
    };
    for it in &outcome.collectives {
        let unfinished = || format!("{} ranks", it.finished_ranks);
        table.add_row([
            it.name.clone(),
            it.kind.clone(),
            it.ranks.to_string(),
            it.finished_ps.map_or_else(unfinished, time),
            gbps(it.algorithm_bps),
            gbps(it.bus_bps),
        ]);
    }
    text(&table)
}

fn sums(outcome: &Outcome) -> String {
    let mut table = numbers(["", ""], 1);
    let bytes: u64 = outcome.flows.iter().map(|flow| flow.received_bytes).sum();
    let mut row = |name: &str, value: String| {
        table.add_row([name.to_owned(), value]);
    };
    row("all flows, Gb/s", format!("{:.2}", gbps(bytes, outcome.duration_ps)));
    let sent: u64 = outcome.flows.iter().map(|flow| flow.sent_frames).sum();
    row("frames sent", sent.to_string());
    row("lossless drops", outcome.lossless_drops.to_string());
    for drop in &outcome.lossless_drops_by_cause {
        row(&format!("lossless drops: {}", drop.reason), drop.frames.to_string());
    }
    for drop in &outcome.drops {
        row(&format!("dropped: {}", drop.reason), drop.frames.to_string());
    }
    row("PFC frames", outcome.pfc_frames.to_string());
    row("paused, all senders", time(outcome.paused_ps));
    row("packet-hops", outcome.packet_hops.to_string());
    if let Some(roce) = &outcome.roce {
        let thousandth = |value: u64| format!("{:.2}", value as f64 / 1e3);
        row("RoCE packets marked (CE)", roce.ecn_marked_packets.to_string());
        row("CNPs received", roce.cnps_received.to_string());
        row("RoCE packets sent again", roce.retransmitted_packets.to_string());
        row("RoCE hosts paused, %", format!("{:.3}", roce.paused_millionths as f64 / 1e4));
        let figures = [
            ("fairness of RoCE flows (Jain)", roce.fairness_permille),
            ("slowdown of RoCE flows, p50", roce.slowdown_p50_permille),
            ("slowdown of RoCE flows, p99", roce.slowdown_p99_permille),
            (
                "slowdown of messages, p50",
                outcome.messages.as_ref().map(|it| it.slowdown_p50_permille),
            ),
            (
                "slowdown of messages, p99",
                outcome.messages.as_ref().map(|it| it.slowdown_p99_permille),
            ),
        ];
        for (name, value) in figures {
            if let Some(value) = value {
                row(name, thousandth(value));
            }
        }
    }
    row("trace", outcome.trace_hash.clone());
    text(&table).trim_start_matches('\n').to_owned()
}

/// A time in the unit that suits it.
fn time(ps: u64) -> String {
    let ps = ps as f64;
    if ps < 1e6 {
        format!("{:.1} ns", ps / 1e3)
    } else if ps < 1e9 {
        format!("{:.2} us", ps / 1e6)
    } else if ps < 1e12 {
        format!("{:.3} ms", ps / 1e9)
    } else {
        format!("{:.3} s", ps / 1e12)
    }
}

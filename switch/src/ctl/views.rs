//! The output of each `ctl` command.

use super::tables::{balance, by_priority, device_losses, drops, numbers, speed, sum, table, text};
use crate::control::protocol::{MacRow, RouteRow, Rules};
use crate::control::stats::{PortStats, Stats};
use crate::histograms::Distribution;
use dataplane::report::QueueGauges;
use serde_json::{Value, json};

/// An object with `part` of each port.
pub(super) fn by_port(stats: &Stats, part: impl Fn(&PortStats) -> Value) -> Value {
    let ports = stats.ports.iter().map(|port| {
        let mut value = part(port);
        value["number"] = json!(port.number);
        value["name"] = json!(port.name);
        value
    });
    json!({ "ports": ports.collect::<Vec<_>>() })
}

pub(super) fn stats(stats: &Stats) -> String {
    let mut ports = numbers(
        [
            "port",
            "state",
            "rx frames",
            "tx frames",
            "dropped",
            "lossless drops",
            "pfc sent",
            "pfc rcvd",
        ],
        2,
    );
    for port in &stats.ports {
        ports.add_row([
            port.name.clone(),
            state(port).to_owned(),
            (sum(&port.rx_frames) + port.rx_unclassified_frames).to_string(),
            sum(&port.tx_frames).to_string(),
            port.dropped().to_string(),
            port.lossless_dropped().to_string(),
            port.pfc.tx_frames.to_string(),
            port.pfc.rx_frames.to_string(),
        ]);
    }
    let (buffer, mbufs) = (&stats.buffer, &stats.mbufs);
    let lines = [
        format!(
            "{}: process {}, up {}, tables {}",
            stats.name,
            stats.pid,
            duration(stats.uptime_ns),
            stats.epoch
        ),
        text(&ports),
        format!(
            "buffer: {} of {} shared bytes (peak {}), {} of {} lossy (peak {})",
            buffer.shared_bytes,
            buffer.shared_size_bytes,
            buffer.shared_peak_bytes,
            buffer.lossy_bytes,
            buffer.lossy_size_bytes,
            buffer.lossy_peak_bytes
        ),
        format!("mbufs: {} of {} in use", mbufs.data_in_use, mbufs.data_total),
        workers(stats),
        balance(stats),
    ];
    lines.join("\n")
}

fn state(port: &PortStats) -> &'static str {
    match (port.in_service, port.link) {
        (false, _) => "out of service",
        (true, false) => "down",
        (true, true) => "up",
    }
}

fn workers(stats: &Stats) -> String {
    let mut workers = numbers(["worker", "cpu", "turns", "busy", "held", "imbalance"], 0);
    for worker in &stats.workers {
        workers.add_row([
            worker.number.to_string(),
            worker.core.map_or_else(|| "-".to_owned(), |core| core.to_string()),
            worker.turns.to_string(),
            worker.busy_turns.to_string(),
            worker.totals.held.to_string(),
            worker.totals.imbalance.to_string(),
        ]);
    }
    text(&workers)
}

pub(super) fn ports(stats: &Stats) -> String {
    let headings = ["port", "name", "state", "speed", "mode", "mtu", "worker", "mac", "device"];
    let mut ports = table(headings);
    for port in &stats.ports {
        let pace = if port.paced { " paced" } else { "" };
        ports.add_row([
            port.number.to_string(),
            port.name.clone(),
            state(port).to_owned(),
            format!("{}{pace}", speed(port.speed_bps)),
            port.mode.clone(),
            port.mtu.to_string(),
            port.worker.to_string(),
            port.mac.clone(),
            port.device.clone(),
        ]);
    }
    let mut lines = vec![text(&ports)];
    for port in &stats.ports {
        let backlog = if port.tells_rx_backlog { "watched" } else { "not reported by the driver" };
        let (name, flow_control) = (&port.name, &port.flow_control);
        lines.push(format!("port {name}: {flow_control}; receive backlog {backlog}"));
    }
    lines.join("\n")
}

/// The counters of a port that are not zero, by name.
fn moved(port: &PortStats) -> Vec<(&'static str, String)> {
    let by_priorities = [
        ("rx_frames", &port.rx_frames),
        ("rx_bytes", &port.rx_bytes),
        ("tx_frames", &port.tx_frames),
        ("tx_bytes", &port.tx_bytes),
        ("lossless_drops", &port.lossless_drops),
        ("ecn_marked_frames", &port.ecn_marked_frames),
    ];
    let ones = [
        ("rx_unclassified_frames", port.rx_unclassified_frames),
        ("punted_frames", port.punted_frames),
        ("injected_frames", port.injected_frames),
        ("copied_frames", port.copied_frames),
        ("remarked_frames", port.remarked_frames),
        ("raised_frames", port.raised_frames),
        ("demoted_frames", port.demoted_frames),
    ];
    let arrays = by_priorities.into_iter().filter(|(_, values)| sum(values) > 0);
    let arrays = arrays.map(|(name, values)| (name, by_priority(values)));
    let ones = ones.into_iter().filter(|&(_, value)| value > 0);
    let ones = ones.map(|(name, value)| (name, value.to_string()));
    let dropped = (port.dropped() > 0).then(|| ("drops", drops(port)));
    let lost = device_losses(port);
    let lost = lost.into_iter().map(|(name, value)| (name, format!("{value} in the device")));
    arrays.chain(ones).chain(dropped).chain(lost).collect()
}

pub(super) fn counters(stats: &Stats) -> String {
    let mut rows = table(["port", "counter", "value (priority:value)"]);
    for port in &stats.ports {
        for (name, value) in moved(port) {
            rows.add_row([port.name.clone(), name.to_owned(), value]);
        }
    }
    for (outcome, frames) in &stats.agent.outcomes {
        rows.add_row(["-".to_owned(), format!("agent.{outcome}"), frames.to_string()]);
    }
    format!("{}\n{}", text(&rows), balance(stats))
}

pub(super) fn counters_json(stats: &Stats) -> Value {
    json!({ "totals": stats.totals, "ports": stats.ports, "agent": stats.agent })
}

pub(super) fn pfc(stats: &Stats) -> String {
    let headings = [
        "port",
        "priority",
        "pausing peer",
        "XOFF sent",
        "XON sent",
        "pause time sent",
        "paused by peer",
        "XOFF rcvd",
        "XON rcvd",
        "pause time rcvd",
        "last pause rcvd",
        "rate sent",
        "rate rcvd",
        "storms",
        "ignored",
    ];
    let mut rows = numbers(headings, 1);
    for port in &stats.ports {
        let pfc = &port.pfc;
        for (priority, queue) in port.queues.iter().enumerate() {
            let moved = [
                &pfc.tx_xoff,
                &pfc.tx_xon,
                &pfc.tx_slowed,
                &pfc.rx_xoff,
                &pfc.rx_xon,
                &pfc.rx_slowed,
                &pfc.rx_ignored,
            ];
            if !queue.lossless && moved.iter().all(|values| values[priority] == 0) {
                continue;
            }
            rows.add_row([
                port.name.clone(),
                priority.to_string(),
                yes(queue.tx_paused),
                pfc.tx_xoff[priority].to_string(),
                pfc.tx_xon[priority].to_string(),
                duration(pfc.tx_paused_ns[priority]),
                yes(queue.rx_paused),
                pfc.rx_xoff[priority].to_string(),
                pfc.rx_xon[priority].to_string(),
                duration(pfc.rx_paused_ns[priority]),
                duration(queue.rx_recent_pause_ns),
                pfc.tx_slowed[priority].to_string(),
                pfc.rx_slowed[priority].to_string(),
                storms(pfc.storms[priority], queue.stormed),
                pfc.rx_ignored[priority].to_string(),
            ]);
        }
    }
    text(&rows)
}

/// The number of PFC storms detected, and whether one is active.
fn storms(count: u64, is_stormed: bool) -> String {
    if is_stormed { format!("{count}, active") } else { count.to_string() }
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

pub(super) fn queues(stats: &Stats) -> String {
    let headings = [
        "port",
        "priority",
        "class",
        "viq",
        "viq peak",
        "headroom",
        "headroom peak",
        "headroom size",
        "veq",
        "veq peak",
        "veq frames",
    ];
    let mut rows = numbers(headings, 3);
    for port in &stats.ports {
        for (priority, queue) in port.queues.iter().enumerate() {
            if queue.lossless || is_used(queue) {
                rows.add_row([
                    port.name.clone(),
                    priority.to_string(),
                    if queue.lossless { "lossless" } else { "lossy" }.to_owned(),
                    queue.viq_bytes.to_string(),
                    queue.viq_peak_bytes.to_string(),
                    queue.headroom_bytes.to_string(),
                    queue.headroom_peak_bytes.to_string(),
                    queue.headroom_size_bytes.to_string(),
                    queue.veq_bytes.to_string(),
                    queue.veq_peak_bytes.to_string(),
                    queue.veq_frames.to_string(),
                ]);
            }
        }
    }
    text(&rows)
}

const fn is_used(queue: &QueueGauges) -> bool {
    queue.viq_peak_bytes > 0 || queue.veq_peak_bytes > 0
}

pub(super) fn latency(stats: &Stats) -> String {
    let mut rows = numbers(["", "count", "mean", "50 %", "99 %", "99.9 %", "max"], 1);
    let time = |name: &str, of: &Distribution| {
        let mean = format!("{:.2} us", of.mean / 1_000.0);
        let rest = [of.p50, of.p99, of.p999, of.max].map(micros);
        let [p50, p99, p999, max] = rest;
        [name.to_owned(), of.count.to_string(), mean, p50, p99, p999, max]
    };
    rows.add_row(time("frame latency", &stats.latency_ns));
    for worker in &stats.workers {
        rows.add_row(time(&format!("turn of worker {}", worker.number), &worker.turn_ns));
    }
    let bursts = &stats.burst_frames;
    rows.add_row([
        "frames a burst".to_owned(),
        bursts.count.to_string(),
        format!("{:.1}", bursts.mean),
        bursts.p50.to_string(),
        bursts.p99.to_string(),
        bursts.p999.to_string(),
        bursts.max.to_string(),
    ]);
    let mut lines = vec![text(&rows)];
    for worker in &stats.workers {
        lines.push(format!(
            "worker {}: longest polling gap {} ([headroom] poll must cover it)",
            worker.number,
            micros(worker.poll_gap_ns_max)
        ));
    }
    lines.join("\n")
}

pub(super) fn latency_json(stats: &Stats) -> Value {
    let workers = stats.workers.iter().map(|worker| {
        json!({
            "number": worker.number,
            "turn_ns": worker.turn_ns,
            "poll_gap_ns_max": worker.poll_gap_ns_max,
        })
    });
    json!({
        "latency_ns": stats.latency_ns,
        "burst_frames": stats.burst_frames,
        "workers": workers.collect::<Vec<_>>(),
    })
}

fn micros(ns: u64) -> String {
    format!("{}.{:02} us", ns / 1_000, ns % 1_000 / 10)
}

/// A time in a suitable unit.
pub(super) fn duration(ns: u64) -> String {
    match ns {
        0 => "0".to_owned(),
        1..10_000_000 => micros(ns),
        10_000_000..10_000_000_000 => format!("{} ms", ns / 1_000_000),
        _ => format!("{} s", ns / 1_000_000_000),
    }
}

pub(super) fn mac_table(rows: &[MacRow]) -> String {
    let mut table = table(["vlan", "mac", "port"]);
    for row in rows {
        table.add_row([row.vlan.to_string(), row.mac.clone(), row.port.clone()]);
    }
    text(&table)
}

pub(super) fn routes(rows: &[RouteRow]) -> String {
    let mut table = table(["prefix", "kind", "via", "resolved"]);
    for row in rows {
        let resolved = match row.kind.as_str() {
            "via" => format!("{} of {}", row.resolved, row.via.len()),
            _ => "-".to_owned(),
        };
        table.add_row([row.prefix.clone(), row.kind.clone(), row.via.join(" "), resolved]);
    }
    text(&table)
}

pub(super) fn rules(rules: &Rules) -> String {
    let file = rules.file.as_ref().map(|file| file.display().to_string());
    let tags: Vec<String> =
        rules.tags.iter().map(|row| format!("{} (priority {})", row.tag, row.priority)).collect();
    let mut lines = vec![
        format!("file: {}", file.unwrap_or_else(|| "none; tags never change".to_owned())),
        format!(
            "lossless tags: {}",
            if tags.is_empty() { "none".to_owned() } else { tags.join(", ") }
        ),
        format!("initial tag: {}; lossy tag: {}", rules.initial_tag, rules.lossy_tag),
    ];
    if !rules.entries.is_empty() {
        let mut table = table(["", "tag", "in", "out", "new tag"]);
        for (number, row) in rules.entries.iter().enumerate() {
            let tag = if row.mask == 63 {
                row.tag.to_string()
            } else {
                format!("{}/{}", row.tag, row.mask)
            };
            let ports =
                |ports: &[usize]| ports.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            let (input, output) = (ports(&row.input), ports(&row.output));
            table.add_row([(number + 1).to_string(), tag, input, output, row.new_tag.to_string()]);
        }
        lines.push(text(&table));
        lines.push(format!("anything else: lossy (tag {})", rules.lossy_tag));
    }
    lines.join("\n")
}

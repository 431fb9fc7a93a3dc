//! The output of each `ctl` command.

use super::tables::{
    Rows, balance, by_priority, device_losses, drops, numbers, rx_frames, speed, sum, table, text,
};
use crate::control::protocol::{MacRow, RouteRow, Rules};
use crate::control::stats::{PortStats, Stats};
use crate::histograms::Distribution;
use dataplane::limits::PRIORITIES;
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
    let ports = Rows(&stats.ports, 2).table([
        ("port", |port| port.name.clone()),
        ("state", |port| state(port).to_owned()),
        ("rx frames", |port| rx_frames(port).to_string()),
        ("tx frames", |port| sum(&port.tx_frames).to_string()),
        ("dropped", |port| port.dropped().to_string()),
        ("lossless drops", |port| port.lossless_dropped().to_string()),
        ("pfc sent", |port| port.pfc.tx_frames.to_string()),
        ("pfc rcvd", |port| port.pfc.rx_frames.to_string()),
    ]);
    let (buffer, mbufs) = (&stats.buffer, &stats.mbufs);
    let lines = [
        format!(
            "{}: process {}, up {}, table version {}",
            stats.name,
            stats.pid,
            duration(stats.uptime_ns),
            stats.epoch
        ),
        fleet(stats),
        fpm(stats),
        sflow(stats),
        ports,
        format!(
            "buffer: {} of {} shared bytes (peak {}), {} of {} headroom (peak {}), {} of {} lossy (peak {})",
            buffer.shared_bytes,
            buffer.shared_size_bytes,
            buffer.shared_peak_bytes,
            buffer.headroom_bytes,
            buffer.headroom_size_bytes,
            buffer.headroom_peak_bytes,
            buffer.lossy_bytes,
            buffer.lossy_size_bytes,
            buffer.lossy_peak_bytes
        ),
        format!("mbufs: {} of {} in use", mbufs.data_in_use, mbufs.data_total),
        workers(stats),
        balance(stats),
    ];
    lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Where the fleet's agent stands; empty without one.
fn fleet(stats: &Stats) -> String {
    let Some(fleet) = &stats.fleet else { return String::new() };
    let revision = |revision: Option<u64>| {
        revision.map_or_else(|| "rules of no revision".to_owned(), |it| format!("revision {it}"))
    };
    let mut line = format!("fleet {}: {}", fleet.network, revision(fleet.revision));
    if fleet.wanted != fleet.revision && fleet.wanted.is_some() {
        line += &format!(", {} is wanted", revision(fleet.wanted));
    }
    if !fleet.connected {
        line += "; the store is lost, and the switch goes on as it is";
    }
    if let Some(error) = &fleet.error {
        line += &format!("; {error}");
    }
    line
}

/// Whether a routing daemon is connected; empty if none may be.
fn fpm(stats: &Stats) -> String {
    let Some(fpm) = &stats.fpm else { return String::new() };
    let session = match &fpm.peer {
        Some(peer) => format!("{peer} is connected"),
        None => "nobody is connected".to_owned(),
    };
    let mut line = format!("fpm at {}: {session}; {} routes", fpm.address, fpm.routes);
    if fpm.stale_routes > 0 {
        line += &format!(", {} of them stale", fpm.stale_routes);
    }
    for (cause, count) in fpm.refused.iter().filter(|(_, count)| **count > 0) {
        line += &format!(", {count} refused ({cause})");
    }
    line
}

/// What sFlow has sent; empty if nothing is sampled.
fn sflow(stats: &Stats) -> String {
    let Some(sflow) = &stats.sflow else { return String::new() };
    let counters = &sflow.counters;
    let rates = &sflow.sample_rates;
    let rate = match rates.iter().filter(|rate| **rate > 0).collect::<Vec<_>>()[..] {
        [] => "no frames".to_owned(),
        [rate, ref others @ ..] if others.iter().all(|other| *other == rate) => {
            format!("1 frame in {rate}")
        }
        _ => "frames at a rate of each port".to_owned(),
    };
    let polling = match sflow.polling_ns {
        0 => "never".to_owned(),
        ns => format!("every {} s", ns / 1_000_000_000),
    };
    let limit = sflow.drop_monitor_limit;
    let mut line = format!(
        "sflow {} to {}: {rate}, counters {polling}, {limit} drops a second at most\n\
         sflow sent: {} flow samples, {} counter samples, {} drops; {} drops above the limit",
        sflow.agent,
        sflow.collectors.join(", "),
        counters.flow_samples,
        counters.counter_samples,
        counters.drop_samples,
        counters.suppressed_drops,
    );
    let missed = counters.missed_samples + counters.missed_drops;
    if missed > 0 {
        line += &format!(", {missed} found a ring full");
    }
    if counters.lost_datagrams > 0 {
        line += &format!(", {} datagrams not sent", counters.lost_datagrams);
    }
    line
}

fn state(port: &PortStats) -> &'static str {
    match (port.in_service, port.link) {
        (false, _) => "out of service",
        (true, false) => "down",
        (true, true) => "up",
    }
}

fn workers(stats: &Stats) -> String {
    Rows(&stats.workers, 0).table([
        ("worker", |worker| worker.number.to_string()),
        ("cpu", |worker| worker.core.map_or_else(|| "-".to_owned(), |core| core.to_string())),
        ("turns", |worker| worker.turns.to_string()),
        ("busy", |worker| worker.busy_turns.to_string()),
        ("held", |worker| worker.totals.held.to_string()),
        ("imbalance", |worker| worker.totals.imbalance.to_string()),
    ])
}

pub(super) fn ports(stats: &Stats) -> String {
    let ports = Rows(&stats.ports, usize::MAX).table([
        ("port", |port| port.number.to_string()),
        ("name", |port| port.name.clone()),
        ("state", |port| state(port).to_owned()),
        ("speed", |port| speed(port.speed_bps) + if port.paced { " paced" } else { "" }),
        ("mode", |port| port.mode.clone()),
        ("mtu", |port| port.mtu.to_string()),
        ("worker", |port| port.worker.to_string()),
        ("mac", |port| port.mac.clone()),
        ("device", |port| port.device.clone()),
    ]);
    let mut lines = vec![ports];
    for port in &stats.ports {
        let (name, flow_control, backlog) = (&port.name, &port.flow_control, &port.rx_backlog);
        lines.push(match &port.fault {
            Some(fault) => format!("port {name}: down, {fault}; a restart is needed"),
            None => format!("port {name}: {flow_control}; {backlog}"),
        });
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
        ("peak_rate_used_up", &port.peak_rate_used_up),
    ];
    let ones = [
        ("rx_unclassified_frames", port.rx_unclassified_frames),
        ("punted_frames", port.punted_frames),
        ("injected_frames", port.injected_frames),
        ("copied_frames", port.copied_frames),
        ("telemetry_frames", port.telemetry_frames),
        ("telemetry_full_frames", port.telemetry_full_frames),
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
    let is_used = |&(port, priority): &(&PortStats, usize)| {
        let pfc = &port.pfc;
        let sent = [&pfc.tx_xoff, &pfc.tx_xon, &pfc.tx_slowed];
        let received = [&pfc.rx_xoff, &pfc.rx_xon, &pfc.rx_slowed, &pfc.rx_ignored];
        let moved = sent.into_iter().chain(received).any(|values| values[priority] != 0);
        port.queues[priority].lossless || moved
    };
    Rows(by_queue(stats).filter(is_used), 1).table([
        ("port", |(port, _)| port.name.clone()),
        ("priority", |(_, priority)| priority.to_string()),
        ("pausing peer", |&(port, p)| yes(port.queues[p].tx_paused)),
        ("XOFF sent", |&(port, p)| port.pfc.tx_xoff[p].to_string()),
        ("XON sent", |&(port, p)| port.pfc.tx_xon[p].to_string()),
        ("pause time sent", |&(port, p)| duration(port.pfc.tx_paused_ns[p])),
        ("paused by peer", |&(port, p)| yes(port.queues[p].rx_paused)),
        ("XOFF rcvd", |&(port, p)| port.pfc.rx_xoff[p].to_string()),
        ("XON rcvd", |&(port, p)| port.pfc.rx_xon[p].to_string()),
        ("pause time rcvd", |&(port, p)| duration(port.pfc.rx_paused_ns[p])),
        ("last pause rcvd", |&(port, p)| duration(port.queues[p].rx_recent_pause_ns)),
        ("GFC rates sent", |&(port, p)| port.pfc.tx_slowed[p].to_string()),
        ("GFC rates rcvd", |&(port, p)| port.pfc.rx_slowed[p].to_string()),
        ("storms", |&(port, p)| storms(port.pfc.storms[p], port.queues[p].stormed)),
        ("not obeyed", |&(port, p)| port.pfc.rx_ignored[p].to_string()),
    ])
}

/// Each port with each priority.
fn by_queue(stats: &Stats) -> impl Iterator<Item = (&PortStats, usize)> {
    stats.ports.iter().flat_map(|port| (0..PRIORITIES).map(move |priority| (port, priority)))
}

/// The number of PFC storms detected, and whether one is active.
fn storms(count: u64, is_stormed: bool) -> String {
    if is_stormed { format!("{count}, active") } else { count.to_string() }
}

fn yes(is: bool) -> String {
    if is { "yes" } else { "no" }.to_owned()
}

pub(super) fn queues(stats: &Stats) -> String {
    let queues = by_queue(stats).map(|(port, p)| (port, p, &port.queues[p]));
    let is_used = |it: &QueueGauges| it.lossless || it.viq_peak_bytes > 0 || it.veq_peak_bytes > 0;
    Rows(queues.filter(|(.., it)| is_used(it)), 3).table([
        ("port", |(port, ..)| port.name.clone()),
        ("priority", |(_, priority, _)| priority.to_string()),
        ("class", |(.., it)| if it.lossless { "lossless" } else { "lossy" }.to_owned()),
        ("viq", |(.., it)| it.viq_bytes.to_string()),
        ("viq peak", |(.., it)| it.viq_peak_bytes.to_string()),
        ("headroom", |(.., it)| it.headroom_bytes.to_string()),
        ("headroom peak", |(.., it)| it.headroom_peak_bytes.to_string()),
        ("headroom size", |(.., it)| it.headroom_size_bytes.to_string()),
        ("veq", |(.., it)| it.veq_bytes.to_string()),
        ("veq peak", |(.., it)| it.veq_peak_bytes.to_string()),
        ("veq frames", |(.., it)| it.veq_frames.to_string()),
    ])
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
    Rows(rows, usize::MAX).table([
        ("vlan", |row| row.vlan.to_string()),
        ("mac", |row| row.mac.clone()),
        ("port", |row| row.port.clone()),
        ("kind", |row| if row.is_static { "static" } else { "learned" }.to_owned()),
    ])
}

pub(super) fn routes(rows: &[RouteRow]) -> String {
    Rows(rows, usize::MAX).table([
        ("prefix", |row| row.prefix.clone()),
        ("origin", |row| row.origin.clone()),
        ("kind", |row| row.kind.clone()),
        ("via", |row| row.via.join(" ")),
        ("resolved", |row| match row.kind.as_str() {
            "via" => format!("{} of {}", row.resolved, row.via.len()),
            _ => "-".to_owned(),
        }),
    ])
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
    if !rules.initial_tags.is_empty() {
        let tags: Vec<String> = rules.initial_tags.iter().map(u8::to_string).collect();
        lines.push(format!("initial tags of the application classes: {}", tags.join(", ")));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_down_for_good_says_why() {
        let port = |name: &str, fault: Option<&str>| PortStats {
            name: name.to_owned(),
            flow_control: "software PFC works here".to_owned(),
            fault: fault.map(str::to_owned),
            ..PortStats::default()
        };
        let ports = vec![port("p1", None), port("p2", Some("its device was removed"))];
        let shown = super::ports(&Stats { ports, ..Stats::default() });
        let lines: Vec<&str> = shown.lines().rev().take(2).collect();
        assert_eq!(lines[0], "port p2: down, its device was removed; a restart is needed");
        assert!(lines[1].starts_with("port p1: software PFC works here"), "{shown}");
    }
}

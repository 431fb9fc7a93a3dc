//! A trace as text: one stage a line, or a few.

use super::reply::{
    Admission, Bridge, Classify, Forward, NextHopRow, Parse, Queue, Rewrite, RuleFound, Stage,
    Trace,
};
use crate::why::remedy;

/// The trace, line by line.
pub(super) fn text(trace: &Trace) -> String {
    let Trace { switch, epoch, port, stages, end } = trace;
    let mut lines = vec![format!("switch {switch}, tables {epoch}, in by {port}")];
    for stage in stages {
        let (name, text) = stage_text(stage);
        for (at, line) in text.lines().enumerate() {
            lines.push(format!("  {:<10} {line}", if at == 0 { name } else { "" }));
        }
    }
    let mut verdict = match end.verdict.as_str() {
        "sent" => {
            let sent = end.sent.iter().map(|it| format!("{} ({} bytes)", it.port, it.frame_bytes));
            format!("sent by {}", sent.collect::<Vec<_>>().join(", "))
        }
        "waits" => "waits for its next hop, whose MAC address is asked for".to_owned(),
        "punted" => format!("given to the control thread: {}", end.punted.join(", ")),
        "consumed" => "consumed by the port: MAC control".to_owned(),
        _ => String::new(),
    };
    for drop in &end.dropped {
        let comma = if verdict.is_empty() { "" } else { "; " };
        verdict += &format!("{comma}dropped at {}: {}", drop.port, drop.cause);
        if let Some(remedy) = remedy(&drop.cause) {
            verdict += &format!(" ({remedy})");
        }
    }
    lines.push(format!("verdict: {verdict}"));
    lines.extend(end.now.iter().map(|line| format!("now: {line}")));
    lines.join("\n")
}

fn stage_text(stage: &Stage) -> (&'static str, String) {
    match stage {
        Stage::Parse(it) => ("parse", parse(it)),
        Stage::Classify(it) => ("classify", classify(it)),
        Stage::Forward(it) => ("forward", forward(it)),
        Stage::Bridge(it) => ("forward", bridge(it)),
        Stage::Rules(it) => ("rules", rules(it)),
        Stage::Rewrite(it) => ("rewrite", rewrite(it)),
        Stage::Admission(it) => ("admission", admission(it)),
        Stage::Queue(it) => ("queue", queue(it)),
    }
}

fn parse(it: &Parse) -> String {
    let mut parts = vec![format!("{}, {} bytes", it.kind, it.frame_bytes)];
    if let Some((vlan, pcp)) = it.vlan.zip(it.pcp) {
        parts.push(format!("VLAN {vlan} PCP {pcp}"));
    }
    if let Some((source, destination)) = it.source.zip(it.destination) {
        let port =
            |port: Option<u16>| port.map_or_else(String::new, |port| format!(" port {port}"));
        let (from, to) = (port(it.source_port), port(it.destination_port));
        parts.push(format!("{source}{from} to {destination}{to}"));
    }
    let number = |name: &str, value: Option<u8>| value.map(|value| format!("{name} {value}"));
    parts.extend(number("protocol", it.protocol));
    parts.extend(number("DSCP", it.dscp));
    parts.extend(number("TTL", it.ttl));
    parts.join(", ")
}

fn classify(it: &Classify) -> String {
    let class = if it.lossless { "lossless" } else { "lossy" };
    format!("by {}: tag {}, priority {}, {class}\n{}", it.by, it.tag, it.priority, it.because)
}

fn forward(it: &Forward) -> String {
    let prefix = it.prefix.as_deref().unwrap_or("no prefix matches");
    let buckets: usize = it.next_hops.iter().map(|hop| hop.buckets).sum();
    let mut lines = vec![match it.hash.zip(it.bucket) {
        Some((hash, bucket)) => {
            format!(
                "{prefix}: the flow's hash {hash:#010x} falls into bucket {bucket} of {buckets}"
            )
        }
        None => prefix.to_owned(),
    }];
    for (at, hop) in it.next_hops.iter().enumerate() {
        let mark = if at == it.taken { ">" } else { " " };
        let share =
            if it.hash.is_some() { format!(" ({} buckets)", hop.buckets) } else { String::new() };
        lines.push(format!("{mark} {}{share}", next_hop(hop)));
    }
    lines.join("\n")
}

fn next_hop(hop: &NextHopRow) -> String {
    let port = hop.port.as_deref().unwrap_or_default();
    let address = hop.address.map_or_else(String::new, |address| format!("{address} "));
    match (hop.kind.as_str(), &hop.mac) {
        ("forward", Some(mac)) => format!("{address}at {port}, MAC address {mac}"),
        ("resolve", _) => format!("{address}at {port}, MAC address unknown"),
        ("tunnel", _) => format!("into the tunnel to {address}").trim_end().to_owned(),
        ("local", _) => "an address of the switch itself".to_owned(),
        ("discard", _) => "to be discarded".to_owned(),
        _ => "no route".to_owned(),
    }
}

fn bridge(it: &Bridge) -> String {
    let Some(vlan) = it.vlan else {
        return "the port does not take this VLAN".to_owned();
    };
    match &it.port {
        Some(port) => format!("VLAN {vlan}: {} is on {port}", it.mac),
        None => format!("VLAN {vlan}: {} is on no port that is known: flooded", it.mac),
    }
}

fn rules(it: &RuleFound) -> String {
    let change = if it.tag == it.new_tag {
        format!("tag {} stays", it.tag)
    } else {
        format!("tag {} becomes {}", it.tag, it.new_tag)
    };
    let class = if it.lossless { "lossless" } else { "lossy" };
    format!("to {}: {change}, {class}, priority {}: {}", it.out, it.priority, it.because)
}

fn rewrite(it: &Rewrite) -> String {
    if it.before == it.after {
        return format!("to {}: nothing changes", it.out);
    }
    format!("to {}:\nbefore {}\nafter  {}", it.out, it.before, it.after)
}

fn admission(it: &Admission) -> String {
    let Admission { port, priority, cost_bytes, .. } = it;
    let now = it.viq_bytes.map_or_else(String::new, |bytes| format!(", holds {bytes} bytes now"));
    let mut text = format!("VIQ {port} priority {priority}{now}; the frame costs {cost_bytes}");
    if !it.lossless {
        return text + "; lossy";
    }
    text += &match (it.threshold_bytes, it.dynamic_th) {
        (Some(bytes), None) => format!("; XOFF above {bytes}"),
        (Some(bytes), Some(_)) => format!("; XOFF above {bytes} as the buffer is now"),
        (None, dynamic_th) => format!("; dynamic_th {}", dynamic_th.unwrap_or_default()),
    };
    text += &format!("; headroom {}", it.headroom_size_bytes);
    text += &it.headroom_bytes.map_or_else(String::new, |bytes| format!(", {bytes} in use"));
    if it.paused == Some(true) {
        text += "; the port pauses its peer";
    }
    text
}

fn queue(it: &Queue) -> String {
    let mut text = format!("VEQ {} priority {}", it.port, it.priority);
    if let Some((frames, bytes)) = it.veq_frames.zip(it.veq_bytes) {
        text += &format!(", holds {frames} frames, {bytes} bytes now");
    }
    match it.paused_for_ns {
        Some(0) => text += "; not paused",
        Some(ns) => text += &format!("; paused by the peer for {} ms", ns / 1_000_000),
        None => {}
    }
    text
}

//! Summary of a SWITCH.toml: ports, headrooms, division of the buffer, memory.

use super::{Summary, classes};
use crate::ctl::tables::{numbers, speed, table, text};
use crate::lossless_report;
use config::SwitchConfig;
use config::switch::{Device, Hugepages, Lldp};
use config::units::show_size;
use dataplane::limits::PRIORITIES;
use dataplane::settings::{Threshold, ViqSettings};
use dataplane::snapshot::PortMode;
use serde_json::{Value, json};

/// How the shared buffer is divided, in bytes.
struct Division {
    reserved: u64,
    headroom: u64,
    lossy: u64,
    shared: u64,
}

/// The lossless queues of a switch: port, priority, thresholds.
fn viqs(config: &SwitchConfig) -> impl Iterator<Item = (&str, usize, ViqSettings)> {
    config.settings.ports.iter().flat_map(|port| {
        (0..PRIORITIES).filter_map(|p| Some((port.name.as_str(), p, port.lossless[p]?)))
    })
}

fn division(config: &SwitchConfig) -> Division {
    let buffer = &config.settings.buffer;
    let reserved = viqs(config).map(|(_, _, viq)| u64::from(viq.reserved_bytes)).sum();
    let headroom = config.settings.headroom_bytes();
    let lossy = buffer.lossy_bytes;
    let shared = buffer.size_bytes.saturating_sub(reserved + headroom + lossy);
    Division { reserved, headroom, lossy, shared }
}

/// The summary of `config`.
pub(super) fn summary(config: &SwitchConfig) -> Summary {
    let warnings = config.warnings.clone();
    let promises = config.ports.iter().filter_map(|port| port.promise.as_ref());
    let breaks_promise = promises.into_iter().any(|promise| promise.broken.is_some());
    Summary { text: as_text(config), json: as_json(config), warnings, breaks_promise }
}

fn as_text(config: &SwitchConfig) -> String {
    let division = division(config);
    let (workers, memory) = (&config.workers, &config.memory);
    let rules = config.rules.as_ref().map(|rules| rules.entries.len());
    let mut lines = vec![
        format!(
            "switch {}: {} ports, {} worker{}, {} static routes, {}",
            config.name,
            config.ports.len(),
            workers.count,
            if workers.count == 1 { "" } else { "s" },
            config.routes.len(),
            rules.map_or_else(|| "no rules".to_owned(), |entries| format!("{entries} rules"))
        ),
        ports(config),
    ];
    lines.extend(classes::lines(config));
    lines.extend(queues(config));
    lines.push(format!(
        "buffer: {} = {} reserved + {} headroom + {} lossy + {} shared",
        show_size(config.settings.buffer.size_bytes),
        show_size(division.reserved),
        show_size(division.headroom),
        show_size(division.lossy),
        show_size(division.shared)
    ));
    lines.extend(lossless_report::headroom_line(&config.settings));
    lines.extend(lossless_report::lines(config));
    lines.extend(lossless_report::gap_line(config, lossless_report::measure_gap()));
    lines.extend(config.lldp.as_ref().map(lldp));
    lines.push(format!(
        "memory: {} MB, {}, for {} frame buffers",
        memory.size_bytes >> 20,
        pages(memory.hugepages),
        memory.mbufs
    ));
    lines.join("\n")
}

/// The LLDP settings.
fn lldp(lldp: &Lldp) -> String {
    let settings = &lldp.settings;
    let text = format!("lldp: every {} s, holds for {} s", settings.interval_s, settings.ttl_s());
    let Some(bounces) = lldp.bounces else { return text };
    let level = settings.level.map_or_else(|| "learned".to_owned(), |level| level.to_string());
    format!("{text}; level {level}, rules of its own for {bounces} bounces")
}

const fn pages(hugepages: Hugepages) -> &'static str {
    match hugepages {
        Hugepages::Auto => "from hugepages if there are enough",
        Hugepages::Always => "from hugepages",
        Hugepages::Never => "from plain pages",
    }
}

fn ports(config: &SwitchConfig) -> String {
    let mut rows = table(["port", "name", "device", "speed", "mode", "mtu", "worker", "mac"]);
    for (port, settings) in config.ports.iter().zip(&config.settings.ports) {
        let (Device::Virtual(device) | Device::Pci(device)) = &port.device;
        let pace = if settings.paced { " paced" } else { "" };
        rows.add_row([
            port.id.to_string(),
            port.name.clone(),
            device.clone(),
            format!("{}{pace}", speed(settings.speed.bps())),
            mode(&port.mode).to_owned(),
            port.mtu.to_string(),
            settings.worker.0.to_string(),
            settings.mac.to_string(),
        ]);
    }
    text(&rows)
}

const fn mode(mode: &PortMode) -> &'static str {
    match mode {
        PortMode::Routed { .. } => "routed",
        PortMode::Bridged(_) => "bridged",
    }
}

/// The lossless queues, if there are any.
fn queues(config: &SwitchConfig) -> Option<String> {
    let mut rows =
        numbers(["port", "priority", "reserved", "threshold", "xon_offset", "headroom"], 1);
    for (port, priority, viq) in viqs(config) {
        let threshold = match viq.threshold {
            Threshold::Static { xoff_bytes } => show_size(u64::from(xoff_bytes)),
            Threshold::Dynamic { alpha_log2, .. } => format!("2^{alpha_log2} x free"),
        };
        rows.add_row([
            port.to_owned(),
            priority.to_string(),
            show_size(u64::from(viq.reserved_bytes)),
            threshold,
            show_size(u64::from(viq.xon_offset_bytes)),
            show_size(u64::from(viq.headroom_bytes)),
        ]);
    }
    (!rows.is_empty()).then(|| text(&rows))
}

fn as_json(config: &SwitchConfig) -> Value {
    let division = division(config);
    let ports = config.ports.iter().zip(&config.settings.ports).map(|(port, settings)| {
        let (Device::Virtual(device) | Device::Pci(device)) = &port.device;
        let lossless = settings.lossless.iter().enumerate();
        let lossless = lossless.filter_map(|(priority, viq)| Some(queue_json(priority, (*viq)?)));
        json!({
            "number": port.id.number(),
            "name": port.name,
            "device": device,
            "speed_bps": settings.speed.bps(),
            "paced": settings.paced,
            "mode": mode(&port.mode),
            "mtu": port.mtu,
            "worker": settings.worker.0,
            "mac": settings.mac.to_string(),
            "trust": classes::trust_json(&port.trust),
            "qos_map": classes::qos_map_json(port.qos_map.as_deref(), &config.tag_map),
            "shaper": classes::peak_rates_json(settings),
            "watchdog": classes::watchdog_json(settings.watchdog),
            "lossless": lossless.collect::<Vec<_>>(),
            "promise": port.promise.as_ref().map(|promise| json!({
                "holds": promise.broken.is_none(),
                "poll_gap_ns": promise.poll_gap_ns,
                "peer_gap_ns": promise.peer_gap_ns,
                "why_not": promise.broken,
            })),
        })
    });
    json!({
        "ok": true,
        "kind": "switch",
        "name": config.name,
        "ports": ports.collect::<Vec<_>>(),
        "priorities": classes::priorities_json(config),
        "workers": config.workers.count,
        "routes": config.routes.len(),
        "rules": config.rules.as_ref().map(|rules| rules.entries.len()),
        "buffer": {
            "size_bytes": config.settings.buffer.size_bytes,
            "reserved_bytes": division.reserved,
            "headroom_bytes": division.headroom,
            "headroom_is_shared": config.settings.buffer.headroom_pool_bytes.is_some(),
            "lossy_bytes": division.lossy,
            "shared_bytes": division.shared,
        },
        "memory_bytes": config.memory.size_bytes,
        "mbufs": config.memory.mbufs,
        "warnings": config.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn queue_json(priority: usize, viq: ViqSettings) -> Value {
    let mut queue = json!({
        "priority": priority,
        "reserved_bytes": viq.reserved_bytes,
        "xon_offset_bytes": viq.xon_offset_bytes,
        "headroom_bytes": viq.headroom_bytes,
    });
    match viq.threshold {
        Threshold::Static { xoff_bytes } => queue["xoff_bytes"] = json!(xoff_bytes),
        Threshold::Dynamic { alpha_log2, xon_bytes } => {
            queue["dynamic_th"] = json!(alpha_log2);
            queue["xon_bytes"] = json!(xon_bytes);
        }
    }
    queue
}

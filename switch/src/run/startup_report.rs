//! What a switch prints when it starts.

use super::RunArgs;
use super::dpdk_platform::DpdkPlatform;
use crate::ctl::tables::{speed, table, text};
use crate::dpdk::nic_notes::pfc_note;
use crate::fpm::FpmServer;
use crate::log::{self, Event, Level};
use crate::lossless_report;
use crate::metrics::MetricsListener;
use crate::output;
use config::SwitchConfig;
use config::switch::{Device, PortConfig};
use dataplane::settings::PortSettings;
use dataplane::snapshot::PortMode;

/// Prints a line on stdout, or on stderr with `--json`.
pub(super) fn print_line(arguments: &RunArgs, text: &str) {
    if arguments.json {
        log::info("start", text);
    } else {
        output::print(text);
    }
}

/// Prints the ports and the properties of each.
pub(super) fn ports(arguments: &RunArgs, config: &SwitchConfig, dpdk_platform: &DpdkPlatform) {
    let mut rows = table(["port", "name", "device", "speed", "mode", "worker", "lossless", "mac"]);
    for (port, settings) in config.ports.iter().zip(&config.settings.ports) {
        rows.add_row(row(port, settings));
    }
    print_line(arguments, &text(&rows));
    for (port, info) in config.ports.iter().zip(dpdk_platform.infos()) {
        let queue = match info.rx_queue_frames {
            Some(frames) => format!("its receive queue holds {frames} frames"),
            None => "its receive queue is unbounded".to_owned(),
        };
        let (name, flow_control, losses) = (&port.name, &info.flow_control, info.rx_losses);
        let backlog = info.rx_backlog;
        let queue = match (info.rx_queues, info.spreads_flows) {
            (1, _) => queue,
            (count, true) => format!("it spreads flows over {count} receive queues; {queue} each"),
            (count, false) => {
                format!(
                    "{count} receive queues, and what is in which the device decides; {queue} each"
                )
            }
        };
        print_line(
            arguments,
            &format!("port {name}: {flow_control}; {backlog}; {queue}; {losses}"),
        );
    }
    for line in lossless_report::lines(config) {
        print_line(arguments, &line);
    }
    for (port, info) in config.ports.iter().zip(dpdk_platform.infos()) {
        let note = port.promise.as_ref().and_then(|_| pfc_note(&info.driver));
        if let Some(note) = note {
            Event::of_port(Level::Info, "nic", &port.name, &format!(": {note}")).log();
        }
    }
    if let Some(line) = one_sender(config, dpdk_platform) {
        print_line(arguments, &line);
    }
    print_line(arguments, &format!("memory: {}", dpdk_platform.memory()));
    let missing = dpdk_platform.missing_frames(config);
    if missing > 0 {
        let oversized = dpdk_platform.oversized_ports().map(|(name, buffers, descriptors)| {
            format!("; port {name} holds {buffers} with {descriptors} receive descriptors")
        });
        let text = format!(
            "the data pool is {missing} buffers short of the shared buffer, because devices hold \
             buffers{}; lossless frames can be lost",
            oversized.collect::<String>()
        );
        log::warning("memory", text);
    }
}

/// Which ports have one transmit queue although there are several workers, and why.
fn one_sender(config: &SwitchConfig, dpdk_platform: &DpdkPlatform) -> Option<String> {
    let ports = config.ports.iter().zip(dpdk_platform.infos());
    let ports = ports.filter(|(_, info)| !info.is_virtual && info.tx_queues == 1);
    let names: Vec<&str> = ports.map(|(port, _)| port.name.as_str()).collect();
    if config.workers.count < 2 || names.is_empty() {
        return None;
    }
    Some(format!(
        "port{} {}: sent at by one worker each, by one transmit queue: it keeps flows in order and \
         the ring at `tx_byte_limit`; other workers hand their frames to it",
        if names.len() == 1 { "" } else { "s" },
        names.join(", ")
    ))
}

/// Prints what listens beside the control socket.
pub(super) fn services(
    arguments: &RunArgs,
    dpdk_platform: &DpdkPlatform,
    metrics: Option<&MetricsListener>,
    fpm: Option<&FpmServer>,
) {
    if let Some(fpm) = fpm {
        print_line(arguments, &format!("fpm: {}, for zebra", fpm.address()));
    }
    if let Some(listener) = metrics {
        print_line(arguments, &format!("metrics: {listener}"));
    }
    if let Some(path) = dpdk_platform.telemetry_socket() {
        let path = path.display();
        print_line(arguments, &format!("DPDK's telemetry: unix socket {path}, for its user"));
    }
}

/// Prints that the switch runs.
pub(super) fn running(arguments: &RunArgs, config: &SwitchConfig) {
    print_line(arguments, &format!("{} runs: {}; Ctrl-C ends it", config.name, summary(config)));
}

/// What runs, in a few words.
pub(super) fn summary(config: &SwitchConfig) -> String {
    let workers = config.workers.count;
    format!(
        "{} ports, {workers} worker{}, control socket {}",
        config.ports.len(),
        if workers == 1 { "" } else { "s" },
        config.socket.display()
    )
}

fn row(port: &PortConfig, settings: &PortSettings) -> [String; 8] {
    let (Device::Virtual(device) | Device::Pci(device)) = &port.device;
    let mode = match &port.mode {
        PortMode::Routed { vlan } => {
            let addresses = port.addresses.iter().map(ToString::to_string);
            let vlan = vlan.map(|vlan| format!("vlan {vlan}"));
            addresses.chain(vlan).collect::<Vec<_>>().join(" ")
        }
        PortMode::Bridged(_) => "bridged".to_owned(),
    };
    let lossless: Vec<String> = (0..settings.lossless.len())
        .filter(|&priority| settings.lossless[priority].is_some())
        .map(|priority| priority.to_string())
        .collect();
    let pace = if settings.paced { " paced" } else { "" };
    [
        port.id.to_string(),
        port.name.clone(),
        device.clone(),
        format!("{}{pace}", speed(settings.speed.bps())),
        mode,
        settings.worker.0.to_string(),
        if lossless.is_empty() { "-".to_owned() } else { lossless.join(",") },
        settings.mac.to_string(),
    ]
}

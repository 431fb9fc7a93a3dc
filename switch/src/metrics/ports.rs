//! The families with the label `port`.

use super::page::{Page, Value};
use crate::control::stats::{ByPriority, PortStats, Stats, loss_cause};
use dataplane::counters::DropReason;
use dataplane::limits::PRIORITIES;
use std::collections::BTreeSet;
use std::fmt;

/// The priorities as values of a label.
pub(super) const PRIORITY: [&str; PRIORITIES] = ["0", "1", "2", "3", "4", "5", "6", "7"];

/// Name, help, and what the family shows of a port.
type Family<T> = (&'static str, &'static str, fn(&PortStats) -> T);

const BY_PRIORITY: [Family<ByPriority>; 18] = [
    ("rx_frames", "Data frames received", |p| p.rx_frames),
    ("rx_bytes", "Bytes of data frames received", |p| p.rx_bytes),
    ("tx_frames", "Data frames sent", |p| p.tx_frames),
    ("tx_bytes", "Bytes of data frames sent", |p| p.tx_bytes),
    ("lossless_drops", "Lossless frames not delivered", |p| p.lossless_drops),
    ("ecn_marked_frames", "Frames marked congestion experienced", |p| p.ecn_marked_frames),
    ("peak_rate_used_up", "Times that a queue had used up its own peak rate and burst", |p| {
        p.peak_rate_used_up
    }),
    ("pfc_tx_xoff", "PFC frames sent that pause", |p| p.pfc.tx_xoff),
    ("pfc_tx_xon", "PFC frames sent that resume", |p| p.pfc.tx_xon),
    ("pfc_rx_xoff", "PFC frames received that pause", |p| p.pfc.rx_xoff),
    ("pfc_rx_xon", "PFC frames received that resume", |p| p.pfc.rx_xon),
    ("pfc_tx_slowed", "PFC frames sent that set a rate", |p| p.pfc.tx_slowed),
    ("pfc_rx_slowed", "PFC frames received that set a rate", |p| p.pfc.rx_slowed),
    ("pfc_rx_ignored", "PFC frames received for a lossy priority", |p| p.pfc.rx_ignored),
    ("pfc_storms", "PFC storms that the watchdog detected", |p| p.pfc.storms),
    ("pfc_restored", "PFC storms that ended", |p| p.pfc.restored),
    ("pfc_tx_pauses", "Transitions of the peer from running to paused by this port", |p| {
        p.pfc.tx_pauses
    }),
    ("pfc_rx_pauses", "Transitions of this port from running to paused by the peer", |p| {
        p.pfc.rx_pauses
    }),
];

const TIMES_BY_PRIORITY: [Family<ByPriority>; 2] = [
    ("pfc_tx_paused_seconds", "Time for which this port paused the peer", |p| p.pfc.tx_paused_ns),
    ("pfc_rx_paused_seconds", "Time for which the peer paused this priority", |p| {
        p.pfc.rx_paused_ns
    }),
];

const COUNTERS: [Family<u64>; 30] = [
    ("mac_moves", "Times that a MAC address of another port came in", |p| p.mac_moves),
    ("mac_refused_frames", "Frames whose new MAC address was not learned", |p| {
        p.mac_refused_frames
    }),
    ("mac_held_frames", "Frames whose MAC address stayed on another port", |p| p.mac_held_frames),
    ("neighbors_refused", "Neighbors that were not added", |p| p.neighbors_refused),
    ("rx_unclassified_frames", "Frames received without a priority", |p| p.rx_unclassified_frames),
    ("punted_frames", "Frames punted to the control thread", |p| p.punted_frames),
    ("injected_frames", "Frames that the control thread sent or returned", |p| p.injected_frames),
    ("copied_frames", "Copies made to flood a frame or to resolve its next hop", |p| {
        p.copied_frames
    }),
    ("telemetry_frames", "Frames into which in-band telemetry was written", |p| p.telemetry_frames),
    ("telemetry_full_frames", "Frames without room for more in-band telemetry", |p| {
        p.telemetry_full_frames
    }),
    ("remarked_frames", "Frames re-marked on arrival", |p| p.remarked_frames),
    ("raised_frames", "Frames whose tag a rule raised", |p| p.raised_frames),
    ("demoted_frames", "Frames that the rules made lossy", |p| p.demoted_frames),
    ("pfc_rx_frames", "PFC frames received", |p| p.pfc.rx_frames),
    ("pfc_tx_frames", "PFC frames sent", |p| p.pfc.tx_frames),
    ("pfc_rx_link_pause_frames", "Link PAUSE frames received", |p| p.pfc.rx_link_pause_frames),
    ("pfc_rx_unknown_frames", "MAC control frames with another opcode or address", |p| {
        p.pfc.rx_unknown_frames
    }),
    ("pfc_rx_truncated_frames", "Truncated MAC control frames received", |p| {
        p.pfc.rx_truncated_frames
    }),
    ("device_rx_frames", "Frames that the device received", |p| p.device_counters.rx_frames),
    ("device_rx_bytes", "Bytes that the device received", |p| p.device_counters.rx_bytes),
    ("device_tx_frames", "Frames that the device sent", |p| p.device_counters.tx_frames),
    ("device_tx_bytes", "Bytes that the device sent", |p| p.device_counters.tx_bytes),
    ("device_rx_missed_frames", "Frames lost because the receive ring was full", |p| {
        p.device_counters.rx_missed_frames
    }),
    ("device_rx_error_frames", "Corrupt frames received", |p| p.device_counters.rx_error_frames),
    ("device_rx_no_buffer", "Times that no buffer was left for the receive ring", |p| {
        p.device_counters.rx_no_buffer
    }),
    ("device_tx_error_frames", "Frames that could not be sent", |p| {
        p.device_counters.tx_error_frames
    }),
    ("device_rx_unreadable_frames", "Frames in segments that no buffer could join", |p| {
        p.device_losses.rx_unreadable_frames
    }),
    ("device_tx_segmented_frames", "Frames in segments that the device cannot send", |p| {
        p.device_losses.tx_segmented_frames
    }),
    ("device_rx_after_stop_frames", "Data frames that arrived after the stop", |p| {
        p.device_losses.rx_after_stop_frames
    }),
    ("device_lossless_held_at_stop_frames", "Lossless frames still queued at the stop", |p| {
        p.device_losses.lossless_held_at_stop_frames
    }),
];

const GAUGES: [Family<u64>; 11] = [
    ("mac_addresses", "MAC addresses that are on the port", |p| p.mac_addresses),
    ("neighbors", "Neighbors behind the port", |p| p.neighbors),
    ("up", "Whether the port forwards frames", |p| u64::from(p.up)),
    ("link_up", "Whether the link of the device is up", |p| u64::from(p.link)),
    ("in_service", "Whether the operator has the port in service", |p| u64::from(p.in_service)),
    ("fault", "Whether the port is down for good", |p| u64::from(p.fault.is_some())),
    ("trusted", "Whether lossless tags on arriving frames are believed", |p| u64::from(p.trusted)),
    ("paced", "Whether the switch holds the port to its speed", |p| u64::from(p.paced)),
    ("rx_backlog_known", "Whether the driver reports the receive backlog", |p| {
        u64::from(p.tells_rx_backlog)
    }),
    ("mtu_bytes", "The longest packet, without the Ethernet header", |p| u64::from(p.mtu)),
    ("speed_bytes_per_second", "The rate that quanta and pace go by", |p| p.speed_bps / 8),
];

/// Those of all ports.
pub(super) fn families(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    info(page, stats)?;
    for (name, help, value) in GAUGES {
        page.gauge(&format!("knotless_port_{name}"), help, |samples| {
            stats.ports.iter().try_for_each(|p| samples.add(&[("port", &p.name)], value(p)))
        })?;
    }
    for (name, help, values) in BY_PRIORITY {
        by_priority(page, stats, (name, help, values), Value::Count)?;
    }
    for (name, help, values) in TIMES_BY_PRIORITY {
        by_priority(page, stats, (name, help, values), Value::Ns)?;
    }
    for (name, help, value) in COUNTERS {
        page.counter(&format!("knotless_port_{name}"), help, |samples| {
            stats.ports.iter().try_for_each(|p| samples.add(&[("port", &p.name)], value(p)))
        })?;
    }
    drops(page, stats)?;
    lldp(page, stats)
}

fn by_priority(
    page: &mut Page<'_>,
    stats: &Stats,
    (name, help, values): Family<ByPriority>,
    unit: fn(u64) -> Value,
) -> fmt::Result {
    page.counter(&format!("knotless_port_{name}"), help, |samples| {
        for port in &stats.ports {
            for (priority, value) in PRIORITY.into_iter().zip(values(port)) {
                let labels = [("port", port.name.as_str()), ("priority", priority)];
                samples.add(&labels, unit(value))?;
            }
        }
        Ok(())
    })
}

/// What does not change while the switch runs.
fn info(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let help = "Properties of a port; always 1";
    page.gauge("knotless_port_info", help, |samples| {
        for port in &stats.ports {
            let (number, worker) = (port.number.to_string(), port.worker.to_string());
            let labels = [
                ("port", port.name.as_str()),
                ("number", &number),
                ("device", &port.device),
                ("driver", &port.driver),
                ("mode", &port.mode),
                ("mac", &port.mac),
                ("worker", &worker),
            ];
            samples.add(&labels, true)?;
        }
        Ok(())
    })
}

/// Drops by cause. A cause that never occurred is 0, so that a rate sees its first frame.
fn drops(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    page.counter("knotless_port_drops", "Frames dropped, by cause", |samples| {
        for port in &stats.ports {
            for reason in DropReason::ALL {
                let labels = [("port", port.name.as_str()), ("cause", reason.name())];
                samples.add(&labels, port.drops.get(reason.name()).copied().unwrap_or(0))?;
            }
        }
        Ok(())
    })?;
    let name = "knotless_port_lossless_drops_by_cause";
    page.counter(name, "Lossless frames not delivered, by cause", |samples| {
        for port in &stats.ports {
            let occurred = &port.lossless_drops_by_cause;
            let reasons = DropReason::ALL.iter().map(|reason| reason.name());
            let lost = port.device_lost().map(|(counter, _)| loss_cause(counter));
            let mut causes: BTreeSet<&str> = reasons.chain(lost).collect();
            causes.extend(occurred.keys().map(String::as_str));
            for cause in causes {
                let labels = [("port", port.name.as_str()), ("cause", cause)];
                samples.add(&labels, occurred.get(cause).copied().unwrap_or(0))?;
            }
        }
        Ok(())
    })
}

/// The other end, by LLDP.
fn lldp(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let known = || stats.ports.iter().filter_map(|port| Some((&port.name, port.lldp.as_ref()?)));
    page.gauge("knotless_port_lldp_info", "The peer by LLDP; always 1", |samples| {
        for (port, lldp) in known() {
            let neighbor = lldp.neighbor.as_deref().unwrap_or_default();
            let labels =
                [("port", port.as_str()), ("orientation", &lldp.orientation), ("peer", neighbor)];
            samples.add(&labels, true)?;
        }
        Ok(())
    })?;
    let help = "What LLDP finds wrong at a port; always 1";
    page.gauge("knotless_port_lldp_condition", help, |samples| {
        for (port, lldp) in known() {
            for condition in &lldp.conditions {
                samples.add(&[("port", port), ("condition", condition)], true)?;
            }
        }
        Ok(())
    })
}

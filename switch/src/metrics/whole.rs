//! The families of the switch as a whole.

use super::page::{Page, Value};
use crate::control::stats::{AgentStats, FrameTotals, Stats};
use agents::host::Outcome;
use std::fmt;

/// Whether the workers have answered: the only family of a page if they have not.
pub(super) fn answer(page: &mut Page<'_>, is_complete: bool) -> fmt::Result {
    let help = "Whether all workers answer; if not, the page has no other metric";
    page.gauge("knotless_workers_answer", help, |samples| samples.add(&[], is_complete))
}

/// Frames by their source and their end.
pub(super) fn ends(totals: &FrameTotals) -> [(&'static str, u64); 9] {
    [
        ("received", totals.received),
        ("injected", totals.injected),
        ("copied", totals.copied),
        ("handoff_rx", totals.handoff_rx),
        ("sent", totals.sent),
        ("dropped", totals.dropped),
        ("punted", totals.punted),
        ("consumed", totals.consumed),
        ("handoff_tx", totals.handoff_tx),
    ]
}

/// All but [`answer`].
pub(super) fn families(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let build = [("version", stats.version.as_str()), ("dpdk", &stats.dpdk)];
    page.gauge("knotless_build_info", "Version of the program and of DPDK; always 1", |samples| {
        samples.add(&build, true)
    })?;
    page.gauge("knotless_uptime_seconds", "Time since the start", |samples| {
        samples.add(&[], Value::Ns(stats.uptime_ns))
    })?;
    gauges(page, stats)?;
    frames(page, stats)?;
    agent(page, &stats.agent)?;
    lldp(page, stats)?;
    fpm(page, stats)?;
    fleet(page, stats)?;
    sflow(page, stats)
}

/// Routes from a routing daemon.
fn fpm(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let Some(fpm) = &stats.fpm else { return Ok(()) };
    let help = "Whether a routing daemon is connected by FPM";
    page.gauge("knotless_fpm_connected", help, |samples| samples.add(&[], fpm.connected))?;
    let help = "Routes from a routing daemon in the table";
    page.gauge("knotless_fpm_routes", help, |samples| samples.add(&[], fpm.routes))?;
    let help = "Routes among them that the daemon has not given again since it connected";
    page.gauge("knotless_fpm_stale_routes", help, |samples| samples.add(&[], fpm.stale_routes))?;
    let help = "Next hops from a routing daemon";
    page.gauge("knotless_fpm_next_hops", help, |samples| samples.add(&[], fpm.next_hops))?;
    let help = "Connections of a routing daemon";
    page.counter("knotless_fpm_sessions", help, |samples| samples.add(&[], fpm.sessions))?;
    let help = "Messages read from routing daemons";
    page.counter("knotless_fpm_messages", help, |samples| samples.add(&[], fpm.messages))?;
    let help = "Peers that were refused or spoke no FPM";
    page.counter("knotless_fpm_errors", help, |samples| samples.add(&[], fpm.errors))?;
    let help = "Routes from a routing daemon that were not taken, by cause";
    page.counter("knotless_fpm_refused_routes", help, |samples| {
        let mut refused = fpm.refused.iter();
        refused.try_for_each(|(cause, routes)| samples.add(&[("cause", cause)], *routes))
    })
}

/// The agent of the fleet's store.
fn fleet(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let Some(fleet) = &stats.fleet else { return Ok(()) };
    let help = "Whether the fleet's store answers";
    page.gauge("knotless_fleet_connected", help, |samples| samples.add(&[], fleet.connected))?;
    let help = "Revision that the rules in use came with; 0 if they came another way";
    let revision = fleet.revision.unwrap_or(0);
    page.gauge("knotless_fleet_revision", help, |samples| samples.add(&[], revision))?;
    let help = "Revision that the store wants, as far as it is known; 0 if none";
    let wanted = fleet.wanted.unwrap_or(0);
    page.gauge("knotless_fleet_wanted_revision", help, |samples| samples.add(&[], wanted))?;
    let help = "Times that the store was lost";
    page.counter("knotless_fleet_losses", help, |samples| samples.add(&[], fleet.losses))
}

/// Samples of sFlow.
fn sflow(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let Some(sflow) = &stats.sflow else { return Ok(()) };
    let counters = &sflow.counters;
    let help = "Received frames of which sFlow samples one; 0 samples none";
    page.gauge("knotless_sflow_sample_rate", help, |samples| {
        let mut ports = stats.ports.iter().zip(&sflow.sample_rates);
        ports.try_for_each(|(port, rate)| samples.add(&[("port", &port.name)], u64::from(*rate)))
    })?;
    let help = "Interval of sFlow's samples of counters; 0 is never";
    page.gauge("knotless_sflow_polling_interval_seconds", help, |samples| {
        samples.add(&[], Value::Ns(sflow.polling_ns))
    })?;
    let help = "Dropped frames a second that sFlow reports, at most";
    page.gauge("knotless_sflow_drop_monitor_limit", help, |samples| {
        samples.add(&[], u64::from(sflow.drop_monitor_limit))
    })?;
    let help = "Samples of sFlow, by what was sampled: frames, counters of a port, dropped frames";
    let kinds = [
        ("flow", counters.flow_samples),
        ("counter", counters.counter_samples),
        ("drop", counters.drop_samples),
    ];
    page.counter("knotless_sflow_samples", help, |samples| {
        kinds.into_iter().try_for_each(|(kind, count)| samples.add(&[("kind", kind)], count))
    })?;
    let help = "Dropped frames above the limit of sFlow's drop monitor, which were not reported";
    page.counter("knotless_sflow_suppressed_drops", help, |samples| {
        samples.add(&[], counters.suppressed_drops)
    })?;
    let help = "Samples of sFlow that found a worker's ring full";
    let missed = [("flow", counters.missed_samples), ("drop", counters.missed_drops)];
    page.counter("knotless_sflow_missed_samples", help, |samples| {
        missed.into_iter().try_for_each(|(kind, count)| samples.add(&[("kind", kind)], count))
    })?;
    let help = "Datagrams of sFlow, to all collectors, by whether the system took them";
    let datagrams = [("sent", counters.sent_datagrams), ("lost", counters.lost_datagrams)];
    page.counter("knotless_sflow_datagrams", help, |samples| {
        datagrams.into_iter().try_for_each(|(end, count)| samples.add(&[("end", end)], count))
    })
}

fn gauges(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let (buffer, mbufs) = (&stats.buffer, &stats.mbufs);
    let gauges: [(&str, &str, u64); 18] = [
        ("epoch", "Version of the tables in use", stats.epoch),
        ("buffer_size_bytes", "Size of the whole buffer", buffer.size_bytes),
        ("buffer_shared_bytes", "Shared buffer in use", buffer.shared_bytes),
        ("buffer_shared_peak_bytes", "The most shared buffer in use", buffer.shared_peak_bytes),
        ("buffer_shared_size_bytes", "Size of the shared buffer", buffer.shared_size_bytes),
        ("buffer_headroom_bytes", "Headroom in use", buffer.headroom_bytes),
        ("buffer_headroom_peak_bytes", "The most headroom in use", buffer.headroom_peak_bytes),
        ("buffer_headroom_size_bytes", "Headroom that can be used", buffer.headroom_size_bytes),
        ("buffer_lossy_bytes", "Buffer in use by lossy traffic", buffer.lossy_bytes),
        ("buffer_lossy_peak_bytes", "The most buffer in use by it", buffer.lossy_peak_bytes),
        ("buffer_lossy_size_bytes", "Buffer limit of lossy traffic", buffer.lossy_size_bytes),
        ("mbufs", "mbufs for received frames", mbufs.data_total),
        ("mbufs_in_use", "mbufs that hold a frame or are in a ring", mbufs.data_in_use),
        ("control_mbufs", "mbufs kept for flow control", mbufs.control_total),
        ("control_mbufs_in_use", "Those of them in use", mbufs.control_in_use),
        ("neighbors", "Neighbors known", stats.neighbors),
        ("routes", "Static routes", stats.routes),
        ("mac_addresses", "MAC addresses learned", stats.mac_addresses),
    ];
    gauges.into_iter().try_for_each(|(name, help, value)| {
        page.gauge(&format!("knotless_{name}"), help, |samples| samples.add(&[], value))
    })
}

fn frames(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let totals = &stats.totals;
    let help = "Frames by their source and their end";
    page.counter("knotless_frames", help, |samples| {
        let mut ends = ends(totals).into_iter();
        ends.try_for_each(|(end, frames)| samples.add(&[("end", end)], frames))
    })?;
    page.gauge("knotless_held_frames", "Frames queued in the switch", |samples| {
        samples.add(&[], totals.held)
    })?;
    let help = "Frames received minus frames sent, dropped or queued: always 0";
    page.gauge("knotless_frames_imbalance", help, |samples| {
        samples.add(&[], Value::Signed(totals.imbalance))
    })?;
    let help = "Lossless frames whose tag the rules changed";
    page.counter("knotless_tag_changes", help, |samples| {
        stats.tag_changes.iter().try_for_each(|change| {
            let (tag, new_tag) = (change.tag.to_string(), change.new_tag.to_string());
            samples.add(&[("tag", tag.as_str()), ("new_tag", &new_tag)], change.frames)
        })
    })
}

/// ARP, ND, ICMP.
fn agent(page: &mut Page<'_>, agent: &AgentStats) -> fmt::Result {
    let help = "Frames for the control thread, by what became of them";
    page.counter("knotless_agent_outcomes", help, |samples| {
        Outcome::ALL.iter().try_for_each(|outcome| {
            let frames = agent.outcomes.get(outcome.name()).copied().unwrap_or(0);
            samples.add(&[("outcome", outcome.name())], frames)
        })
    })?;
    let counters = &agent.counters;
    let counters: [(&str, &str, u64); 13] = [
        ("frames_in", "Frames handed to the agent", counters.frames_in),
        ("requests_sent", "ARP requests and solicitations sent to all", counters.requests_sent),
        ("probes_sent", "ARP requests and solicitations sent to one", counters.probes_sent),
        ("announcements_sent", "Announcements of own addresses", counters.announcements_sent),
        ("errors_sent", "ICMP errors sent", counters.errors_sent),
        ("errors_limited", "ICMP errors over the rate limit", counters.errors_limited),
        ("errors_withheld", "ICMP errors that may not be sent", counters.errors_withheld),
        ("neighbors_up", "Neighbors that came up", counters.neighbors_up),
        ("neighbors_moved", "Neighbors whose MAC address changed", counters.neighbors_moved),
        ("neighbors_failed", "Neighbors that never answered", counters.neighbors_failed),
        ("neighbors_lost", "Neighbors that stopped answering", counters.neighbors_lost),
        ("neighbors_refused", "Neighbors that found the cache full", counters.neighbors_refused),
        ("unmade_frames", "Own frames for which no buffer was left", agent.unmade_frames),
    ];
    for (name, help, value) in counters {
        let name = format!("knotless_agent_{name}");
        page.counter(&name, help, |samples| samples.add(&[], value))?;
    }
    page.gauge("knotless_agent_pending_frames", "Frames that wait for a neighbor", |samples| {
        samples.add(&[], agent.pending_frames)
    })
}

/// LLDP, if it is spoken.
fn lldp(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let Some(lldp) = &stats.lldp else { return Ok(()) };
    if let Some(level) = lldp.level {
        page.gauge("knotless_lldp_level", "Links between the switch and the hosts", |samples| {
            samples.add(&[], u32::from(level))
        })?;
    }
    page.counter("knotless_lldp_events", "What LLDP counts, by name", |samples| {
        let mut counters = lldp.counters.iter();
        counters.try_for_each(|(event, &count)| samples.add(&[("event", event)], count))
    })
}

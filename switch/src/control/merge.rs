//! Merges the workers' reports into [`Stats`].

use super::lossless;
use super::stats::{AgentStats, BufferStats, FrameTotals, PortStats, WorkerStats};
use agents::host::{AgentCounters, Outcome};
use config::SwitchConfig;
use config::switch::Device;
use dataplane::counters::{DropReason, PortCounters, Totals};
use dataplane::ids::Priority;
use dataplane::limits::PRIORITIES;
use dataplane::report::{PortReport, Report};
use dataplane::snapshot::PortMode;
use std::collections::BTreeMap;

/// The frame balance of a worker.
pub(super) const fn totals(totals: &Totals) -> FrameTotals {
    FrameTotals {
        received: totals.received,
        injected: totals.injected,
        copied: totals.copied,
        handoff_rx: totals.handoff_rx,
        sent: totals.sent,
        dropped: totals.dropped,
        punted: totals.punted,
        consumed: totals.consumed,
        handoff_tx: totals.handoff_tx,
        held: totals.held,
        imbalance: totals.imbalance(),
    }
}

/// The sum over all workers. Handoffs between them are on both sides of the balance.
pub(super) fn sum(workers: &[WorkerStats]) -> FrameTotals {
    let mut sum = FrameTotals::default();
    for totals in workers.iter().map(|worker| &worker.totals) {
        sum.received += totals.received;
        sum.injected += totals.injected;
        sum.copied += totals.copied;
        sum.handoff_rx += totals.handoff_rx;
        sum.sent += totals.sent;
        sum.dropped += totals.dropped;
        sum.punted += totals.punted;
        sum.consumed += totals.consumed;
        sum.handoff_tx += totals.handoff_tx;
        sum.held += totals.held;
        sum.imbalance += totals.imbalance;
    }
    sum
}

/// The shared buffer, from the workers' parts.
pub(super) fn buffer<'a, I: Iterator<Item = &'a Report>>(
    config: &SwitchConfig,
    reports: I,
) -> BufferStats {
    let settings = &config.settings.buffer;
    let mut buffer = BufferStats {
        size_bytes: settings.size_bytes,
        lossy_size_bytes: settings.lossy_bytes,
        ..BufferStats::default()
    };
    for report in reports {
        let (shared, lossy) = (&report.pool.shared, &report.pool.lossy);
        buffer.shared_size_bytes = shared.size_bytes;
        buffer.shared_bytes += shared.bytes;
        buffer.shared_peak_bytes += shared.peak_bytes;
        buffer.lossy_bytes += lossy.bytes;
        buffer.lossy_peak_bytes += lossy.peak_bytes;
    }
    buffer
}

/// A port as configured in SWITCH.toml. Counters are added by [`add_report`].
pub(super) fn configured_port(config: &SwitchConfig, index: usize) -> PortStats {
    let (port, settings) = (&config.ports[index], &config.settings.ports[index]);
    let mode = match port.mode {
        PortMode::Routed { .. } => "routed",
        PortMode::Bridged(_) => "bridged",
    };
    PortStats {
        number: port.id.number(),
        name: port.name.clone(),
        device: match &port.device {
            Device::Virtual(text) | Device::Pci(text) => text.clone(),
        },
        worker: settings.worker.0,
        mac: settings.mac.to_string(),
        mode: mode.to_owned(),
        mtu: port.mtu,
        speed_bps: settings.speed.bps(),
        paced: settings.paced,
        ..PortStats::default()
    }
}

/// Adds a worker's report of its own port, or of a port of another worker where it sends.
pub(super) fn add_report(stats: &mut PortStats, report: &PortReport) {
    if !report.is_owner {
        return add_sent_for_owner(stats, report);
    }
    stats.up = report.up;
    add_counters(stats, &report.counters);
    stats.queues = report.queues;
}

/// A worker that sends at another worker's port counts what it sends, queues and drops there.
fn add_sent_for_owner(stats: &mut PortStats, report: &PortReport) {
    let counters = &report.counters;
    for priority in 0..PRIORITIES {
        stats.tx_frames[priority] += counters.tx_frames[priority];
        stats.tx_bytes[priority] += counters.tx_bytes[priority];
        stats.ecn_marked_frames[priority] += counters.ecn_marked_frames[priority];
        let (queue, gauges) = (&mut stats.queues[priority], &report.queues[priority]);
        queue.veq_bytes += gauges.veq_bytes;
        queue.veq_peak_bytes += gauges.veq_peak_bytes;
        queue.veq_frames += gauges.veq_frames;
    }
    for (reason, frames) in drops(counters) {
        *stats.drops.entry(reason).or_default() += frames;
    }
    add_lossless_drops(stats, counters);
}

fn add_lossless_drops(stats: &mut PortStats, counters: &PortCounters) {
    for (sum, priority) in stats.lossless_drops.iter_mut().zip(Priority::all()) {
        *sum += counters.lossless_dropped(priority);
    }
    lossless::add_counted(stats, counters);
}

fn add_counters(stats: &mut PortStats, counters: &PortCounters) {
    // Destructured by name, so that a counter added to the core is not forgotten here.
    let PortCounters {
        rx_frames,
        rx_bytes,
        rx_unclassified_frames,
        tx_frames,
        tx_bytes,
        drops: _,
        lossless_drops: _,
        punted_frames,
        injected_frames,
        copied_frames,
        ecn_marked_frames,
        remarked_frames,
        raised_frames,
        demoted_frames,
        pfc,
    } = counters;
    stats.rx_frames = *rx_frames;
    stats.rx_bytes = *rx_bytes;
    stats.rx_unclassified_frames = *rx_unclassified_frames;
    stats.tx_frames = *tx_frames;
    stats.tx_bytes = *tx_bytes;
    stats.drops = drops(counters);
    add_lossless_drops(stats, counters);
    stats.punted_frames = *punted_frames;
    stats.injected_frames = *injected_frames;
    stats.copied_frames = *copied_frames;
    stats.ecn_marked_frames = *ecn_marked_frames;
    stats.remarked_frames = *remarked_frames;
    stats.raised_frames = *raised_frames;
    stats.demoted_frames = *demoted_frames;
    stats.pfc = *pfc;
}

fn drops(counters: &PortCounters) -> BTreeMap<String, u64> {
    let counted = DropReason::ALL.iter().map(|&reason| (reason, counters.dropped(reason)));
    counted.filter(|&(_, frames)| frames > 0).map(|(r, n)| (r.name().to_owned(), n)).collect()
}

/// The switch as a host.
pub(super) fn agent(counters: &AgentCounters, pending_frames: usize) -> AgentStats {
    let outcomes = Outcome::ALL.iter().map(|&outcome| (outcome, counters.frames(outcome)));
    let outcomes = outcomes.filter(|&(_, frames)| frames > 0);
    AgentStats {
        frames_in: counters.frames_in,
        outcomes: outcomes.map(|(outcome, n)| (outcome.name().to_owned(), n)).collect(),
        pending_frames: pending_frames as u64,
        requests_sent: counters.requests_sent,
        probes_sent: counters.probes_sent,
        announcements_sent: counters.announcements_sent,
        errors_sent: counters.errors_sent,
        errors_limited: counters.errors_limited,
        errors_withheld: counters.errors_withheld,
        neighbors_up: counters.neighbors_up,
        neighbors_moved: counters.neighbors_moved,
        neighbors_failed: counters.neighbors_failed,
        neighbors_lost: counters.neighbors_lost,
        neighbors_refused: counters.neighbors_refused,
        unmade_frames: 0,
    }
}

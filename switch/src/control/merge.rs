//! Merges the workers' reports into [`Stats`].

use super::lossless;
use super::stats::{AgentStats, BufferStats, FrameTotals, PortStats, TagChange, WorkerStats};
use agents::host::{AgentCounters, Outcome};
use config::SwitchConfig;
use config::switch::Device;
use dataplane::buffer::Pool;
use dataplane::counters::{DropReason, PortCounters, Totals};
use dataplane::host_class::HostClass;
use dataplane::ids::Priority;
use dataplane::limits::PRIORITIES;
use dataplane::report::{PortReport, Report};
use dataplane::snapshot::PortMode;
use std::collections::BTreeMap;

/// The sum over all workers. Handoffs between them are on both sides of the balance.
pub(super) fn sum(workers: &[WorkerStats]) -> FrameTotals {
    let mut sum = Totals::default();
    workers.iter().for_each(|worker| sum += worker.totals.frames);
    sum.into()
}

/// The shared buffer, from the workers' parts.
pub(crate) fn buffer<'a, I: Iterator<Item = &'a Report>>(
    config: &SwitchConfig,
    reports: I,
) -> BufferStats {
    let settings = &config.settings.buffer;
    let mut buffer = BufferStats {
        size_bytes: settings.size_bytes,
        lossy_size_bytes: settings.lossy_bytes,
        headroom_size_bytes: config.settings.headroom_bytes(),
        ..BufferStats::default()
    };
    for report in reports {
        let Pool { shared, lossy, headroom, .. } = &report.pool;
        buffer.shared_size_bytes = shared.size_bytes;
        buffer.shared_bytes += shared.bytes;
        buffer.shared_peak_bytes += shared.peak_bytes;
        buffer.headroom_bytes += headroom.bytes;
        buffer.headroom_peak_bytes += headroom.peak_bytes;
        buffer.lossy_bytes += lossy.bytes;
        buffer.lossy_peak_bytes += lossy.peak_bytes;
    }
    buffer
}

/// The tag changes of all workers.
pub(crate) fn tag_changes<'a, I: Iterator<Item = &'a Report>>(reports: I) -> Vec<TagChange> {
    let mut sums: BTreeMap<(u8, u8), u64> = BTreeMap::new();
    for count in reports.flat_map(|report| &report.tag_changes) {
        *sums.entry((count.tag.value(), count.new_tag.value())).or_default() += count.frames;
    }
    sums.into_iter().map(|((tag, new_tag), frames)| TagChange { tag, new_tag, frames }).collect()
}

/// A port as configured in SWITCH.toml. Counters are added by [`add_report`].
pub(crate) fn configured_port(config: &SwitchConfig, index: usize) -> PortStats {
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
        trusted: port.trust.trusted,
        speed_bps: settings.speed.bps(),
        paced: settings.paced,
        ..PortStats::default()
    }
}

/// Adds a worker's report of its own port, or of a port of another worker where it sends.
pub(crate) fn add_report(stats: &mut PortStats, report: &PortReport) {
    if report.is_rx_queue {
        return add_received_for_owner(stats, report);
    }
    if !report.is_owner {
        return add_sent_for_owner(stats, report);
    }
    stats.up = report.up;
    // Every worker's table has it; the owner's is as good as any.
    stats.mac_addresses = report.mac.addresses.into();
    add_mac(stats, report);
    add_host_classes(stats, report);
    stats.counters = report.counters.clone();
    stats.drops = drops(&report.counters);
    add_lossless_drops(stats, &report.counters);
    stats.queues = report.queues;
}

/// A worker that polls a further receive queue counts what it receives and drops there, and has its
/// part of the VIQs.
fn add_received_for_owner(stats: &mut PortStats, report: &PortReport) {
    let counters = &report.counters;
    add_mac(stats, report);
    add_host_classes(stats, report);
    stats.counters.add_received(counters);
    for (queue, part) in stats.queues.iter_mut().zip(&report.queues) {
        queue.viq_bytes += part.viq_bytes;
        queue.viq_peak_bytes += part.viq_peak_bytes;
        queue.shared_peak_bytes += part.shared_peak_bytes;
        queue.headroom_bytes += part.headroom_bytes;
        queue.headroom_peak_bytes += part.headroom_peak_bytes;
    }
    for (reason, frames) in drops(counters) {
        *stats.drops.entry(reason).or_default() += frames;
    }
    add_lossless_drops(stats, counters);
}

/// What a worker learned by the frames that it received.
fn add_mac(stats: &mut PortStats, report: &PortReport) {
    stats.mac_moves += report.mac.moves;
    stats.mac_refused_frames += report.mac.refused_frames;
    stats.mac_held_frames += report.mac.held_frames;
}

/// What a worker passed to the control thread, and what it policed.
fn add_host_classes(stats: &mut PortStats, report: &PortReport) {
    let counted = report.host.passed_frames.into_iter().zip(report.host.dropped_frames);
    for (class, (passed, dropped)) in HostClass::ALL.iter().zip(counted) {
        if passed + dropped > 0 {
            let sum = stats.host_classes.entry(class.name().to_owned()).or_default();
            sum.passed_frames += passed;
            sum.dropped_frames += dropped;
        }
    }
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

fn drops(counters: &PortCounters) -> BTreeMap<String, u64> {
    let counted = DropReason::ALL.iter().map(|&reason| (reason, counters.dropped(reason)));
    counted.filter(|&(_, frames)| frames > 0).map(|(r, n)| (r.name().to_owned(), n)).collect()
}

/// The switch as a host.
pub(super) fn agent(counters: &AgentCounters, pending_frames: usize) -> AgentStats {
    let outcomes = Outcome::ALL.iter().map(|&outcome| (outcome, counters.frames(outcome)));
    let outcomes = outcomes.filter(|&(_, frames)| frames > 0);
    AgentStats {
        counters: counters.clone(),
        outcomes: outcomes.map(|(outcome, n)| (outcome.name().to_owned(), n)).collect(),
        pending_frames: pending_frames as u64,
        unmade_frames: 0,
    }
}

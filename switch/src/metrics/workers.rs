//! The families with the label `worker`, and the histograms.

use super::page::{Page, Samples, Value};
use super::whole::ends;
use crate::control::stats::{Stats, WorkerStats};
use std::fmt;

/// Adds a sample for each worker.
fn each(samples: &mut Samples<'_>, stats: &Stats, value: fn(&WorkerStats) -> Value) -> fmt::Result {
    stats.workers.iter().try_for_each(|worker| {
        samples.add(&[("worker", &worker.number.to_string())], value(worker))
    })
}

/// Those of all workers.
pub(super) fn families(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    info(page, stats)?;
    page.counter("knotless_worker_turns", "Worker turns", |samples| {
        each(samples, stats, |worker| worker.turns.into())
    })?;
    page.counter("knotless_worker_busy_turns", "Worker turns that moved a frame", |samples| {
        each(samples, stats, |worker| worker.busy_turns.into())
    })?;
    let help = "Commands of the control thread that were given up";
    page.counter("knotless_worker_commands_lost", help, |samples| {
        each(samples, stats, |worker| worker.commands_lost.into())
    })?;
    let help = "Version of the tables that the worker uses";
    page.gauge("knotless_worker_epoch", help, |samples| {
        each(samples, stats, |worker| worker.epoch.into())
    })?;
    let help = "The longest polling gap, which headroom must cover";
    page.gauge("knotless_worker_poll_gap_max_seconds", help, |samples| {
        each(samples, stats, |worker| Value::Ns(worker.poll_gap_ns_max))
    })?;
    frames(page, stats)?;
    histograms(page, stats)
}

fn info(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let help = "The CPU of a worker, if it is pinned to one; always 1";
    page.gauge("knotless_worker_info", help, |samples| {
        stats.workers.iter().try_for_each(|worker| {
            let core = worker.core.map_or_else(String::new, |core| core.to_string());
            samples.add(&[("worker", &worker.number.to_string()), ("core", &core)], true)
        })
    })
}

fn frames(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let help = "Frames of a worker by their source and their end";
    page.counter("knotless_worker_frames", help, |samples| {
        stats.workers.iter().try_for_each(|worker| {
            let number = worker.number.to_string();
            ends(&worker.totals).into_iter().try_for_each(|(end, frames)| {
                samples.add(&[("worker", number.as_str()), ("end", end)], frames)
            })
        })
    })?;
    page.gauge("knotless_worker_held_frames", "Frames queued in the worker", |samples| {
        each(samples, stats, |worker| worker.totals.held.into())
    })?;
    let help = "Frames that a worker received minus those sent, dropped or queued: always 0";
    page.gauge("knotless_worker_frames_imbalance", help, |samples| {
        each(samples, stats, |worker| Value::Signed(worker.totals.imbalance))
    })
}

fn histograms(page: &mut Page<'_>, stats: &Stats) -> fmt::Result {
    let help = "Length of the turns in which something moved";
    page.histogram("knotless_worker_turn_seconds", help, |samples| {
        stats.workers.iter().try_for_each(|worker| {
            samples.add_times(&[("worker", &worker.number.to_string())], &worker.turn_ns)
        })
    })?;
    let help = "From the arrival of a frame to its hand-over to the egress device";
    page.histogram("knotless_latency_seconds", help, |samples| {
        samples.add_times(&[], &stats.latency_ns)
    })?;
    page.histogram("knotless_burst_frames", "Frames of a received burst", |samples| {
        samples.add_bursts(&[], &stats.burst_frames)
    })
}

//! Shutdown: waits until the workers' queues are empty and collects the last reports.

use super::Control;
use super::collector::{Collector, Round};
use super::stats::Stats;
use crate::platform::Platform;
use crate::worker_loop::WorkerExit;
use dataplane::time::Instant;
use std::time::Duration;

/// Poll interval of the workers.
const POLL: Duration = Duration::from_millis(1);

impl<P: Platform> Control<P> {
    /// Waits until the workers' queues are empty, up to `until`. Returns how many frames they hold.
    /// The workers must not receive data any more.
    pub(crate) fn drain(&mut self, until: Instant) -> u64 {
        let mut held = u64::MAX;
        while held > 0 && self.platform.now() < until {
            held = self.frames_held(until).unwrap_or(held);
            if held > 0 {
                std::thread::sleep(POLL);
            }
        }
        held
    }

    /// Frames in the workers' queues and between them; `None` if not all have reported by `until`.
    fn frames_held(&mut self, until: Instant) -> Option<u64> {
        let began = self.platform.now();
        self.poll_workers();
        let collector = Collector::begin(&mut self.workers, began)?;
        while collector.round(&self.workers, began) != Round::Complete {
            if self.platform.now() >= until {
                return None;
            }
            std::thread::sleep(POLL / 10);
            self.poll_workers();
        }
        // Reports are written at different times: a frame that one worker has handed off may
        // already be received, and even sent, by another when that one reports.
        let reports = || self.workers.iter().filter_map(|worker| worker.answer());
        let held: u64 = reports().map(|report| report.totals.held).sum();
        let handoff_tx: u64 = reports().map(|report| report.totals.handoff_tx).sum();
        let handoff_rx: u64 = reports().map(|report| report.totals.handoff_rx).sum();
        Some(held + handoff_tx.abs_diff(handoff_rx))
    }

    fn poll_workers(&mut self) {
        for worker in self.workers.iter_mut() {
            worker.take_replies();
            worker.push_backlog();
        }
    }

    /// The final stats; `ends` is in the order of the workers.
    pub(crate) fn last_stats(&mut self, ends: Vec<WorkerExit>) -> Stats {
        for (worker, end) in self.workers.iter_mut().zip(ends) {
            worker.set_exit(end);
        }
        self.stats(self.platform.now())
    }

    /// Returns the platform and drops everything else, frames included.
    pub(crate) fn into_platform(self) -> P {
        self.platform
    }
}

//! The end: queues run empty, workers are heard for the last time.

use super::Control;
use super::collector::{Collector, Round};
use super::stats::Stats;
use crate::platform::Platform;
use crate::worker_loop::WorkerExit;
use dataplane::time::Instant;
use std::time::Duration;

/// How often the workers are asked whether they still hold frames.
const POLL: Duration = Duration::from_millis(1);

impl<P: Platform> Control<P> {
    /// Waits until the workers hold no frames any more, up to `until`. Returns how many they hold.
    /// The workers must not let data in any more, or this may well last.
    pub fn drain(&mut self, until: Instant) -> u64 {
        let mut held = u64::MAX;
        while held > 0 && self.platform.now() < until {
            held = self.frames_held(until).unwrap_or(held);
            if held > 0 {
                std::thread::sleep(POLL);
            }
        }
        held
    }

    /// Frames in the workers' queues and between them; `None` if that cannot be told by `until`.
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
        // Reports are written at different times: what one worker has handed over another may have
        // taken over, and even sent, by the time it reports.
        let reports = || self.workers.iter().filter_map(|worker| worker.answer());
        let held: u64 = reports().map(|report| report.totals.held).sum();
        let handed_over: u64 = reports().map(|report| report.totals.handed_over).sum();
        let taken_over: u64 = reports().map(|report| report.totals.taken_over).sum();
        Some(held + handed_over.abs_diff(taken_over))
    }

    fn poll_workers(&mut self) {
        for worker in self.workers.iter_mut() {
            worker.take_replies();
            worker.push_backlog();
        }
    }

    /// The state of the switch after its workers' end; `ends` stands in their order.
    pub fn last_stats(&mut self, ends: Vec<WorkerExit>) -> Stats {
        for (worker, end) in self.workers.iter_mut().zip(ends) {
            worker.set_exit(end);
        }
        self.stats(self.platform.now())
    }

    /// Gives the platform back; everything else goes, frames included.
    pub fn into_platform(self) -> P {
        self.platform
    }
}

//! Requests a report from every worker and detects when all have answered.

use super::workers::Workers;
use dataplane::frame::Frame;
use dataplane::time::Instant;

/// How long a worker may take to answer. It answers in its next turn; one that does not has
/// stopped, or its core is used by another thread.
pub(super) const ANSWER_NS_MAX: u64 = 3_000_000_000;

/// A control thread that was away for so long cannot tell whether a worker was silent: the whole
/// process may have been stopped.
const AWAY_NS: u64 = ANSWER_NS_MAX / 3;

/// The state of a round of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// All have answered.
    Complete,
    /// Some have not, yet.
    Waiting,
    /// The worker with this number has not answered for too long.
    Silent(usize),
}

/// A round of requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collector {
    began: Instant,
    looked_at: Instant,
}

impl Collector {
    /// Requests reports from all workers; `None` if one has not answered the last request.
    pub(super) fn begin<F: Frame>(workers: &mut Workers<F>, now: Instant) -> Option<Self> {
        if workers.iter().any(|worker| worker.answer().is_none()) {
            return None;
        }
        let all = workers.iter_mut().all(|worker| worker.ask());
        all.then_some(Self { began: now, looked_at: now })
    }

    /// The state of the round.
    pub(super) fn round<F: Frame>(&mut self, workers: &Workers<F>, now: Instant) -> Round {
        let away_ns = now.ns_since(std::mem::replace(&mut self.looked_at, now));
        if away_ns > AWAY_NS {
            self.began = now;
        }
        match workers.iter().position(|worker| worker.answer().is_none()) {
            None => Round::Complete,
            Some(silent) if now.ns_since(self.began) > ANSWER_NS_MAX => Round::Silent(silent),
            Some(_) => Round::Waiting,
        }
    }
}

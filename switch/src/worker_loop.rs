//! A worker's thread: takes turns until it is told to stop, and backs off while idle.

use crate::drain_filter::DrainFilter;
use crate::histograms::{Recorder, Sample};
use crate::platform::{DeviceLosses, PortDevice};
use config::switch::Idle;
use dataplane::driver::Polling;
use dataplane::report::Report;
use dataplane::time::Instant;
use dataplane::worker::{Turn, Worker};
use rtrb::{Consumer, Producer, RingBuffer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The phase of all workers, set by the control thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Phase {
    /// Wait until all workers have started: a frame handed off to a worker that has not would wait.
    Start,
    /// Take turns.
    Run,
    /// Take turns, but receive MAC control frames only.
    Drain,
    /// Exit.
    Stop,
}

/// The phase and the number of devices that were removed, shared by all threads; written three
/// times in the life of a switch, and at each removal.
#[derive(Clone, Debug)]
pub(crate) struct SharedPhase(Arc<AtomicU32>);

/// The phase is below this in the shared word, the count of removals from here on.
const ONE_REMOVAL: u32 = 4;

/// What a worker reads of [`SharedPhase`] in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PhaseWord(u32);

impl PhaseWord {
    #[inline(always)]
    const fn phase(self) -> Phase {
        match self.0 % ONE_REMOVAL {
            0 => Phase::Start,
            1 => Phase::Run,
            2 => Phase::Drain,
            _ => Phase::Stop,
        }
    }
}

impl Default for SharedPhase {
    fn default() -> Self {
        Self(Arc::new(AtomicU32::new(Phase::Start as u32)))
    }
}

impl SharedPhase {
    #[inline(always)]
    fn word(&self) -> PhaseWord {
        PhaseWord(self.0.load(Ordering::Relaxed))
    }

    /// Advances to `phase`; never goes back.
    pub(crate) fn advance_to(&self, phase: Phase) {
        let word = |now: u32| Some(now - now % ONE_REMOVAL + (now % ONE_REMOVAL).max(phase as u32));
        // The closure always gives a word, so there is no error.
        let _before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, word);
    }

    /// Has every worker release the devices that were removed, after its turn.
    pub(crate) fn count_removal(&self) {
        self.0.fetch_add(ONE_REMOVAL, Ordering::Relaxed);
    }
}

/// The worker's ends of the rings by which the control thread asks for samples.
#[derive(Debug)]
pub(crate) struct SampleRings {
    requests: Consumer<Box<Sample>>,
    replies: Producer<Box<Sample>>,
}

/// The control thread's ends.
#[derive(Debug)]
pub(crate) struct ControlSampleRings {
    /// Requests: empty samples to be filled.
    pub requests: Producer<Box<Sample>>,
    /// Replies: filled samples.
    pub replies: Consumer<Box<Sample>>,
}

/// The rings for one worker; one sample is in flight at a time.
pub(crate) fn sample_rings() -> (SampleRings, ControlSampleRings) {
    let (requests_in, requests) = RingBuffer::new(1);
    let (replies, replies_out) = RingBuffer::new(1);
    let control = ControlSampleRings { requests: requests_in, replies: replies_out };
    (SampleRings { requests, replies }, control)
}

/// The last report and sample of a worker.
#[derive(Debug, Default)]
pub(crate) struct WorkerExit {
    /// Its last report.
    pub report: Report,
    /// What it counted since the last sample.
    pub sample: Sample,
}

/// A worker, and the state of its thread's loop.
pub(crate) struct WorkerLoop<D: PortDevice> {
    /// The worker.
    pub worker: Worker<DrainFilter<D>, Polling<Recorder>>,
    /// Its ends of the sample rings.
    pub samples: SampleRings,
    /// The phase to follow.
    pub phase: SharedPhase,
    /// What it does while idle.
    pub idle: Idle,
}

impl<D: PortDevice> WorkerLoop<D> {
    /// Takes turns until the phase is [`Phase::Stop`]. `clock` is read once a turn.
    pub(crate) fn run(mut self, clock: impl Fn() -> Instant) -> WorkerExit {
        let mut seen = self.phase.word();
        while seen.phase() == Phase::Start {
            std::thread::yield_now();
            seen = self.phase.word();
        }
        let mut backoff = IdleBackoff::default();
        let mut start = clock();
        loop {
            let (turn, end) = self.turn(start, &clock);
            let word = self.phase.word();
            if word != seen {
                self.worker.device_mut().release_removed();
                seen = word;
            }
            match word.phase() {
                Phase::Start | Phase::Run => {}
                Phase::Drain => self.worker.device_mut().drain(),
                Phase::Stop => break,
            }
            let next = match self.idle {
                Idle::Poll => end,
                Idle::Sleep => backoff.wait(turn, end, &clock),
            };
            self.worker.probe_mut().poll_gap(next.ns_since(start));
            start = next;
        }
        self.end(clock())
    }

    /// Takes one turn, which begins at `start`, and records it; returns it with its end time.
    #[inline(always)]
    pub(crate) fn turn(&mut self, start: Instant, clock: &impl Fn() -> Instant) -> (Turn, Instant) {
        self.worker.device_mut().begin_turn(start);
        let turn = self.worker.turn(start);
        let end = clock();
        self.worker.probe_mut().end_turn(end.ns_since(start), turn.busy);
        if let Ok(sample) = self.samples.requests.pop() {
            self.return_sample(sample);
        }
        (turn, end)
    }

    /// Fills and returns `sample`. The ring has room: one sample is in flight at a time.
    #[cold]
    fn return_sample(&mut self, mut sample: Box<Sample>) {
        self.fill(&mut sample);
        drop(self.samples.replies.push(sample));
    }

    fn fill(&mut self, sample: &mut Sample) {
        self.worker.probe_mut().swap(sample);
        sample.losses.clear();
        let device = self.worker.device();
        sample.losses.extend(self.worker.driven().map(|(id, port)| (port, device.losses(id))));
    }

    /// Frees the worker's frames on its own thread.
    fn end(mut self, now: Instant) -> WorkerExit {
        let mut report = Report::default();
        self.worker.report(&mut report, now);
        let mut sample = Sample::default();
        self.fill(&mut sample);
        for (port, lossless_held_at_stop_frames) in self.worker.lossless_held() {
            let lost = DeviceLosses { lossless_held_at_stop_frames, ..DeviceLosses::default() };
            sample.losses.push((port, lost));
        }
        WorkerExit { report, sample }
    }
}

/// Empty turns in a row after which the worker backs off; fewer may be a gap between two bursts.
const EMPTY_TURNS_MIN: u32 = 64;
/// The first sleep of an idle stretch; each further one is twice as long.
const SLEEP_NS_FIRST: u64 = 50_000;
/// The longest sleep: the added latency of the first frame that arrives at an idle switch.
const SLEEP_NS_MAX: u64 = config::switch::IDLE_SLEEP_NS_MAX;
/// How long before a due turn the thread is woken; the scheduler needs part of it.
const WAKE_LEAD_NS: u64 = 10_000;

/// Backoff of an idle worker, which leaves its core to other threads.
#[derive(Debug, Default)]
struct IdleBackoff {
    empty_turns: u32,
    slept_ns: u64,
}

impl IdleBackoff {
    /// Sleeps as long as `turn`, which ended at `now`, allows; returns the time after that.
    fn wait(&mut self, turn: Turn, now: Instant, clock: &impl Fn() -> Instant) -> Instant {
        let sleep_ns = self.sleep_ns(turn, now);
        if sleep_ns == 0 {
            return now;
        }
        if sleep_ns < WAKE_LEAD_NS {
            std::thread::yield_now();
        } else {
            std::thread::sleep(Duration::from_nanos(sleep_ns));
        }
        clock()
    }

    /// How long to sleep now; 0 is not at all.
    fn sleep_ns(&mut self, turn: Turn, now: Instant) -> u64 {
        if turn.busy {
            *self = Self::default();
            return 0;
        }
        self.empty_turns = self.empty_turns.saturating_add(1);
        if self.empty_turns < EMPTY_TURNS_MIN {
            return 0;
        }
        self.slept_ns = (self.slept_ns * 2).clamp(SLEEP_NS_FIRST, SLEEP_NS_MAX);
        self.slept_ns.min(turn.next.ns_since(now).saturating_sub(WAKE_LEAD_NS).max(1))
    }
}

/// Sets the timer slack of this thread to 1 ns; the default delays a wake-up by up to 50 us.
pub(crate) fn set_timer_slack() {
    // A kernel that refuses only makes sleeps longer.
    let _later = nix::sys::prctl::set_timerslack(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(busy: bool, next_ns: u64) -> Turn {
        Turn { busy, next: Instant::from_ns(next_ns) }
    }

    #[test]
    fn sleep_comes_after_a_stretch_of_empty_turns_and_grows_to_a_bound() {
        let mut backoff = IdleBackoff::default();
        let now = Instant::ZERO;
        let never = turn(false, u64::MAX);
        for _ in 1..EMPTY_TURNS_MIN {
            assert_eq!(backoff.sleep_ns(never, now), 0);
        }
        let sleeps: Vec<u64> = (0..7).map(|_| backoff.sleep_ns(never, now)).collect();
        assert_eq!(sleeps, [50_000, 100_000, 200_000, 400_000, 800_000, 1_000_000, 1_000_000]);
        assert_eq!(backoff.sleep_ns(turn(true, u64::MAX), now), 0, "work ends the rest");
        assert_eq!(backoff.sleep_ns(never, now), 0, "and the stretch begins anew");
    }

    #[test]
    fn no_sleep_lasts_beyond_the_next_turn_that_is_due() {
        let mut backoff = IdleBackoff { empty_turns: EMPTY_TURNS_MIN, slept_ns: SLEEP_NS_MAX };
        let now = Instant::from_ns(1_000_000);
        assert_eq!(backoff.sleep_ns(turn(false, 1_060_000), now), 50_000);
        assert_eq!(backoff.sleep_ns(turn(false, 1_000_500), now), 1, "due at once: only a yield");
        assert_eq!(backoff.sleep_ns(turn(false, 0), now), 1, "overdue");
    }

    #[test]
    fn the_phase_never_goes_back() {
        let phase = SharedPhase::default();
        assert_eq!(phase.word().phase(), Phase::Start);
        phase.advance_to(Phase::Run);
        assert_eq!(phase.word().phase(), Phase::Run);
        let before = phase.word();
        phase.count_removal();
        assert!(phase.word() != before && phase.word().phase() == Phase::Run);
        phase.advance_to(Phase::Stop);
        phase.advance_to(Phase::Drain);
        phase.count_removal();
        assert_eq!(phase.word().phase(), Phase::Stop);
    }
}

//! Generates pauses on a schedule: XOFF for `on_ns` of every `period_ns`, refreshed before half its
//! quanta have expired, then XON. Measures the frames that still arrive after an XOFF.
//!
//! Sans-IO: the caller passes the time and sends the returned frames.

use dataplane::ids::Priority;
use dataplane::time::{Instant, Speed};
use dataplane::wire::mac_control::Pfc;
use serde::{Deserialize, Serialize};

/// The longest pause of a PFC frame, in quanta.
const QUANTA: u16 = 0xFFFF;

/// When to pause what.
#[derive(Clone, Debug)]
pub(super) struct PauseSchedule {
    /// The priorities.
    pub priorities: Vec<Priority>,
    /// The first XOFF.
    pub start: Instant,
    /// How long each pause lasts.
    pub on_ns: u64,
    /// From one XOFF to the next; `None` pauses once.
    pub period_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Running { pause_at: Instant },
    Paused(Pause),
}

/// A pause in progress.
#[derive(Clone, Copy, Debug)]
struct Pause {
    /// Since when the peer has been paused, without a lapse.
    since: Instant,
    end: Instant,
    refresh_at: Instant,
    /// The last XOFF pauses the peer at least until then.
    expiry: Instant,
    /// The expiry of the XOFF before it; `None` if it was the first.
    expiry_before: Option<Instant>,
}

/// Counters of the pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseCounters {
    /// Pauses sent.
    pub pauses: u64,
    /// XOFF frames sent, refreshes included.
    pub xoff_frames: u64,
    /// XON frames sent.
    pub xon_frames: u64,
    /// Times that a refresh was sent only after the peer's pause had expired: this machine was too
    /// busy, and the peer was free to send meanwhile.
    pub lapses: u64,
    /// Frames of paused priorities that came between an XOFF and its XON.
    pub frames_after_xoff: u64,
    /// The most bytes of them in one pause: what headroom here would have had to hold.
    pub bytes_after_xoff_max: u64,
    /// The longest from an XOFF to the last of them.
    pub ns_after_xoff_max: u64,
}

/// Generates pauses, and measures how they are obeyed.
#[derive(Clone, Debug)]
pub(super) struct PauseGenerator {
    schedule: PauseSchedule,
    quanta_ns: u64,
    phase: Phase,
    counters: PauseCounters,
    bytes_after_xoff: u64,
}

impl PauseGenerator {
    /// Follows `schedule` on a link of `speed`.
    pub(super) fn new(schedule: PauseSchedule, speed: Speed) -> Self {
        let phase = Phase::Running { pause_at: schedule.start };
        let quanta_ns = speed.quanta_ns(QUANTA);
        let counters = PauseCounters::default();
        Self { schedule, quanta_ns, phase, counters, bytes_after_xoff: 0 }
    }

    /// The frame that is due at `now`, if one is; ask again until none is, and call
    /// [`PauseGenerator::sent`] after each.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Pfc> {
        match self.phase {
            Phase::Running { pause_at } if pause_at <= now => {
                self.counters.pauses += 1;
                self.bytes_after_xoff = 0;
                let end = now + self.schedule.on_ns;
                Some(self.xoff(Pause { since: now, end, ..self.pause(now, None) }))
            }
            Phase::Paused(pause) if pause.end <= now => Some(self.xon(now)),
            Phase::Paused(Pause { since, end, refresh_at, expiry, .. }) if refresh_at <= now => {
                Some(self.xoff(Pause { since, end, ..self.pause(now, Some(expiry)) }))
            }
            _ => None,
        }
    }

    /// Records that the frame from [`PauseGenerator::poll`] was sent by `now`, which may be later
    /// than the poll.
    pub(super) fn sent(&mut self, now: Instant) {
        let Phase::Paused(pause) = &mut self.phase else { return };
        let lapsed = pause.expiry_before.is_some_and(|expiry| expiry <= now);
        self.counters.lapses += u64::from(lapsed);
        if lapsed || pause.expiry_before.is_none() {
            pause.since = now;
        }
    }

    /// The XON that a pause in progress still needs when everything stops.
    pub(super) fn stop(&mut self, now: Instant) -> Option<Pfc> {
        matches!(self.phase, Phase::Paused(_)).then(|| self.xon(now))
    }

    /// When [`PauseGenerator::poll`] has something next.
    pub(super) const fn next(&self) -> Instant {
        match self.phase {
            Phase::Running { pause_at } => pause_at,
            Phase::Paused(Pause { end, refresh_at, .. }) => {
                if end.ns < refresh_at.ns {
                    end
                } else {
                    refresh_at
                }
            }
        }
    }

    /// Takes note of a frame of `bytes` and `priority` that came at `when`.
    pub(super) fn record(&mut self, priority: Priority, bytes: u64, when: Instant) {
        let Phase::Paused(Pause { since, expiry, .. }) = self.phase else { return };
        if when <= since || when >= expiry || !self.schedule.priorities.contains(&priority) {
            return;
        }
        self.bytes_after_xoff += bytes;
        let counters = &mut self.counters;
        counters.frames_after_xoff += 1;
        counters.bytes_after_xoff_max = counters.bytes_after_xoff_max.max(self.bytes_after_xoff);
        counters.ns_after_xoff_max = counters.ns_after_xoff_max.max(when.ns_since(since));
    }

    /// The priorities it pauses.
    pub(super) fn priorities(&self) -> impl Iterator<Item = Priority> + '_ {
        self.schedule.priorities.iter().copied()
    }

    /// The counters so far.
    pub(super) const fn counters(&self) -> PauseCounters {
        self.counters
    }

    fn pause(&self, now: Instant, expiry_before: Option<Instant>) -> Pause {
        let (refresh_at, expiry) = (now + self.quanta_ns / 2, now + self.quanta_ns);
        Pause { since: now, end: now, refresh_at, expiry, expiry_before }
    }

    fn xoff(&mut self, pause: Pause) -> Pfc {
        self.phase = Phase::Paused(pause);
        self.counters.xoff_frames += 1;
        self.frame(QUANTA)
    }

    fn xon(&mut self, now: Instant) -> Pfc {
        let pause_at = self.schedule.period_ns.map_or(Instant::NEVER, |period_ns| {
            let start = self.schedule.start;
            let periods = now.ns_since(start) / period_ns.max(1) + 1;
            start + periods.saturating_mul(period_ns.max(1))
        });
        self.phase = Phase::Running { pause_at };
        self.counters.xon_frames += 1;
        self.frame(0)
    }

    fn frame(&self, quanta: u16) -> Pfc {
        let priorities = self.schedule.priorities.iter();
        priorities.fold(Pfc::default(), |pfc, &priority| pfc.with(priority, quanta))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: Priority = Priority::from_low_bits(3);
    const MS: u64 = 1_000_000;

    fn pause_generator(on_ns: u64, period_ns: Option<u64>) -> PauseGenerator {
        let start = Instant::from_ns(5 * MS);
        let schedule = PauseSchedule { priorities: vec![THREE], start, on_ns, period_ns };
        PauseGenerator::new(schedule, Speed::from_gbps(10))
    }

    /// The frames until `end`, if polled exactly when due.
    fn sent(pause_generator: &mut PauseGenerator, end: u64) -> Vec<(u64, u16)> {
        let mut sent = Vec::new();
        while pause_generator.next().ns < end {
            let now = pause_generator.next();
            let frame = pause_generator.poll(now).expect("it asked for this time");
            assert_eq!(frame.enabled_bits, THREE.bit());
            pause_generator.sent(now);
            sent.push((now.ns, frame.quanta[3]));
            assert_eq!(pause_generator.poll(now), None, "once");
        }
        sent
    }

    #[test]
    fn a_short_pause_is_xoff_and_xon_every_period() {
        let mut pause_generator = pause_generator(MS, Some(10 * MS));
        let wanted = [(5 * MS, QUANTA), (6 * MS, 0), (15 * MS, QUANTA), (16 * MS, 0)];
        assert_eq!(sent(&mut pause_generator, 25 * MS), wanted);
        assert_eq!(pause_generator.counters().pauses, 2);
    }

    #[test]
    fn a_long_pause_is_refreshed_at_half_its_time() {
        let mut pause_generator = pause_generator(4 * MS, None);
        let half = 3_355_392 / 2;
        let wanted = [5 * MS, 5 * MS + half, 5 * MS + 2 * half].map(|ns| (ns, QUANTA));
        let sent = sent(&mut pause_generator, 60_000 * MS);
        assert_eq!(sent[..3], wanted);
        assert_eq!(sent[3..], [(9 * MS, 0)], "and then never again");
    }

    #[test]
    fn a_late_refresh_counts_as_a_lapse_and_not_against_the_sender() {
        let mut pause_generator = pause_generator(20 * MS, None);
        let at = |us: u64| Instant::from_ns(5 * MS + us * 1_000);
        pause_generator.poll(at(0)).expect("due");
        pause_generator.sent(at(10));
        pause_generator.record(THREE, 100, at(5));
        pause_generator.record(THREE, 100, at(20));
        pause_generator.poll(at(2_000)).expect("due");
        pause_generator.sent(at(2_010));
        assert_eq!(
            (pause_generator.counters().lapses, pause_generator.counters().frames_after_xoff),
            (0, 1)
        );
        pause_generator.poll(at(4_000)).expect("due");
        pause_generator.sent(at(6_000));
        pause_generator.record(THREE, 100, at(5_900));
        pause_generator.record(THREE, 100, at(6_005));
        let counters = pause_generator.counters();
        assert_eq!((counters.lapses, counters.frames_after_xoff), (1, 2));
        assert_eq!(counters.ns_after_xoff_max, 10_000, "from the XOFF that found it running");
    }

    #[test]
    fn stopping_in_a_pause_resumes() {
        let mut pause_generator = pause_generator(MS, None);
        assert_eq!(pause_generator.stop(Instant::ZERO), None);
        pause_generator.poll(Instant::from_ns(5 * MS)).expect("due");
        let xon = pause_generator.stop(Instant::from_ns(5 * MS + 1)).expect("a pause was on");
        assert_eq!((xon.enabled_bits, xon.quanta[3]), (THREE.bit(), 0));
    }

    #[test]
    fn only_paused_frames_after_the_xoff_are_counted() {
        let mut pause_generator = pause_generator(MS, Some(10 * MS));
        let at = |us: u64| Instant::from_ns(5 * MS + us * 1_000);
        pause_generator.record(THREE, 100, at(0));
        pause_generator.poll(at(0)).expect("due");
        pause_generator.sent(at(0));
        pause_generator.record(THREE, 100, at(0));
        pause_generator.record(THREE, 200, at(3));
        pause_generator.record(Priority::default(), 400, at(4));
        pause_generator.record(THREE, 300, at(7));
        pause_generator.poll(at(1_000)).expect("due");
        pause_generator.record(THREE, 800, at(1_001));
        pause_generator.poll(at(10_000)).expect("due");
        pause_generator.sent(at(10_000));
        pause_generator.record(THREE, 450, at(10_002));
        let counters = pause_generator.counters();
        assert_eq!(counters.frames_after_xoff, 3);
        assert_eq!(counters.bytes_after_xoff_max, 500);
        assert_eq!(counters.ns_after_xoff_max, 7_000);
    }
}

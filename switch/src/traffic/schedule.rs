//! Which flow sends its next frame, and when: each at its own rate, all together at link speed,
//! none while its priority is paused.
//!
//! Sans-IO: the caller passes the time and the pauses. A rate is a token bucket, kept as the time
//! at which the next frame is due (GCRA). A flow that is late by at most the bucket's depth catches
//! up with a small burst; what is later is not sent, and counted as forfeited, so that a stalled
//! machine does not cause a flood.

use dataplane::ids::Priority;
use dataplane::time::Instant;

/// A token bucket in virtual time, in picoseconds so that rounding never becomes a rate error.
#[derive(Clone, Debug)]
struct Bucket {
    due_ps: u128,
    depth_ps: u128,
    forfeited_ps: u128,
}

/// More than any burst: the limit without a rate.
const NO_LIMIT: u128 = u32::MAX as u128;

const fn picoseconds(now: Instant) -> u128 {
    now.ns as u128 * 1_000
}

impl Bucket {
    fn new(start: Instant, depth_ns: u64) -> Self {
        // The caller's time comes in whole nanoseconds: less depth than one would forfeit the rest.
        let depth_ps = u128::from(depth_ns.max(1)) * 1_000;
        Self { due_ps: picoseconds(start), depth_ps, forfeited_ps: 0 }
    }

    fn due(&self) -> Instant {
        Instant::from_ns(u64::try_from(self.due_ps.div_ceil(1_000)).unwrap_or(u64::MAX))
    }

    /// How many frames of `cost_ps` may go at `now`.
    fn frames(&self, now: Instant, cost_ps: u64) -> u64 {
        let now_ps = picoseconds(now);
        if self.due_ps > now_ps {
            return 0;
        }
        let credit_ps = (now_ps - self.due_ps).min(self.depth_ps);
        let more = credit_ps.checked_div(u128::from(cost_ps)).unwrap_or(NO_LIMIT);
        u64::try_from(more).unwrap_or(u64::MAX).saturating_add(1)
    }

    /// Spends `cost_ps` at `now`, after writing off what was not used in time.
    fn spend(&mut self, now: Instant, cost_ps: u64) {
        self.forfeited_ps += self.write_off(now);
        self.due_ps += u128::from(cost_ps);
    }

    /// Drops credit older than the depth, and returns it.
    fn write_off(&mut self, now: Instant) -> u128 {
        let oldest_ps = picoseconds(now).saturating_sub(self.depth_ps);
        let lapsed_ps = oldest_ps.saturating_sub(self.due_ps);
        self.due_ps += lapsed_ps;
        lapsed_ps
    }
}

/// The rate and limits of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Its priority: a pause of it stops the flow.
    pub priority: Priority,
    /// Time from one frame to the next; 0 sends as fast as the link takes frames.
    pub interval_ps: u64,
    /// What one of its frames takes on the link.
    pub wire_ps: u64,
    /// Frames in all; `None` until the end.
    pub count: Option<u64>,
    /// When it starts.
    pub start: Instant,
}

#[derive(Clone, Debug)]
struct Flow {
    pace: Pace,
    bucket: Bucket,
    /// Whether it was paused at the last step.
    paused: bool,
    /// The step in which it was last served.
    served: u64,
    sent: u64,
}

impl Flow {
    fn remaining(&self) -> u64 {
        self.pace.count.map_or(u64::MAX, |count| count - self.sent.min(count))
    }
}

/// What the sender does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Send this many frames of this flow, at least one.
    Send {
        /// Index of the flow.
        flow: usize,
        /// How many in a row.
        frames: u32,
    },
    /// Nothing to do before this instant, unless a pause ends.
    Wait(Instant),
    /// Every flow has sent its count.
    Finished,
}

/// The flows of one sender on one link.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    flows: Vec<Flow>,
    link: Bucket,
    burst_max: u32,
    steps: u64,
}

impl Schedule {
    /// Flows at `paces` over a link; late by `depth_ns` is made good, and at most `burst_max`
    /// frames are let go in one step.
    pub(super) fn new(paces: &[Pace], start: Instant, depth_ns: u64, burst_max: u32) -> Self {
        let flow = |&pace: &Pace| Flow {
            pace,
            bucket: Bucket::new(pace.start, depth_ns),
            paused: false,
            served: 0,
            sent: 0,
        };
        Self {
            flows: paces.iter().map(flow).collect(),
            link: Bucket::new(start, depth_ns),
            burst_max: burst_max.max(1),
            steps: 0,
        }
    }

    /// Returns the step at `now`, while the priorities of `paused_bits` are paused. The caller
    /// knows when a pause ends: a wait does not end earlier for it.
    ///
    /// Of the flows that may send, the one that has been due longest is served; of two, the one
    /// that was served longer ago.
    pub(super) fn next(&mut self, now: Instant, paused_bits: u8) -> Step {
        let mut wake = Instant::NEVER;
        let mut chosen: Option<(u128, u64, usize)> = None;
        let mut finished = true;
        for (index, flow) in self.flows.iter_mut().enumerate() {
            if flow.remaining() == 0 {
                continue;
            }
            finished = false;
            let paused = paused_bits & flow.pace.priority.bit() != 0;
            if std::mem::replace(&mut flow.paused, paused) || paused {
                // Time lost to a pause is not lateness, and is not caught up.
                flow.bucket.write_off(now);
            }
            if paused {
                continue;
            }
            if flow.bucket.due() > now {
                wake = wake.min(flow.bucket.due());
            } else {
                let turn = (flow.bucket.due_ps, flow.served, index);
                chosen = Some(chosen.map_or(turn, |first| first.min(turn)));
            }
        }
        let Some((_, _, index)) = chosen else {
            return if finished { Step::Finished } else { Step::Wait(wake) };
        };
        let flow = &self.flows[index];
        let frames = (self.link.frames(now, flow.pace.wire_ps))
            .min(flow.bucket.frames(now, flow.pace.interval_ps))
            .min(flow.remaining())
            .min(u64::from(self.burst_max));
        match u32::try_from(frames) {
            Ok(frames) if frames > 0 => Step::Send { flow: index, frames },
            _ => Step::Wait(self.link.due()),
        }
    }

    /// Records that `frames` of `flow` were sent at `now`.
    pub(super) fn sent(&mut self, flow: usize, frames: u32, now: Instant) {
        let flow = &mut self.flows[flow];
        self.steps += 1;
        flow.served = self.steps;
        for _ in 0..frames {
            self.link.spend(now, flow.pace.wire_ps);
            flow.bucket.spend(now, flow.pace.interval_ps);
        }
        if flow.pace.interval_ps == 0 {
            // Due since it was last served: flows without a rate take turns.
            flow.bucket.due_ps = picoseconds(now);
        }
        flow.sent += u64::from(frames);
    }

    /// Frames that `flow` has sent.
    pub(super) fn frames_sent(&self, flow: usize) -> u64 {
        self.flows[flow].sent
    }

    /// Time's worth of frames that `flow` did not send because this program came too late, in ns.
    pub(super) fn forfeited_ns(&self, flow: usize) -> u64 {
        let flow = &self.flows[flow];
        if flow.pace.interval_ps == 0 {
            return 0;
        }
        u64::try_from(flow.bucket.forfeited_ps / 1_000).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn pace(interval_ps: u64, wire_ps: u64) -> Pace {
        let priority = Priority::from_low_bits(3);
        Pace { priority, interval_ps, wire_ps, count: None, start: Instant::ZERO }
    }

    /// Runs `schedule` on virtual time to `end`, coming late to each wake-up by `late_ns`, and says
    /// when which flow sent a frame.
    fn run(
        schedule: &mut Schedule,
        end: Instant,
        late_ns: u64,
        paused: impl Fn(Instant) -> (u8, Instant),
    ) -> Vec<(u64, usize)> {
        let mut frames_sent = Vec::new();
        let mut now = Instant::ZERO;
        while now < end {
            let (paused_bits, resume) = paused(now);
            match schedule.next(now, paused_bits) {
                Step::Send { flow, frames } => {
                    schedule.sent(flow, frames, now);
                    frames_sent.extend((0..frames).map(|_| (now.ns, flow)));
                }
                Step::Wait(until) => {
                    let until = until.min(resume);
                    assert!(until > now, "a wait that ends at once would spin");
                    now = until + late_ns;
                }
                Step::Finished => break,
            }
        }
        frames_sent
    }

    fn never(_: Instant) -> (u8, Instant) {
        (0, Instant::NEVER)
    }

    #[test]
    fn a_paced_flow_sends_at_its_interval_to_the_frame() {
        let mut schedule = Schedule::new(&[pace(10_000_500, 1_000)], Instant::ZERO, 0, 1);
        let sent = run(&mut schedule, Instant::from_ns(100 * MS), 0, never);
        assert_eq!(sent.len(), 10_000, "the 0.5 ns a frame add up to no frame");
        assert_eq!(sent[1].0, 10_001);
        assert_eq!(sent[2].0, 20_001);
    }

    #[test]
    fn lateness_within_the_depth_is_made_good_and_beyond_it_is_forfeited_and_counted() {
        let end = Instant::from_ns(10 * MS);
        let mut prompt = Schedule::new(&[pace(1_000_000, 1)], Instant::ZERO, 100_000, 64);
        let sent = run(&mut prompt, end, 50_000, never).len();
        assert!((9_900..=10_000).contains(&sent), "{sent}: all but the last wake-up's");
        assert_eq!(prompt.forfeited_ns(0), 0);
        let mut tardy = Schedule::new(&[pace(1_000_000, 1)], Instant::ZERO, 100_000, 64);
        let sent = run(&mut tardy, end, 1_000_000, never).len() as u64;
        assert!(sent < 1_200, "{sent} frames, where 101 each 1.1 ms are allowed");
        assert!(10 * MS - sent * 1_000 <= tardy.forfeited_ns(0) + 1_100_000);
    }

    #[test]
    fn flows_without_a_rate_share_the_link_and_keep_to_its_speed() {
        let flows = [pace(0, 1_000_000), pace(0, 1_000_000), pace(10_000_000, 1_000_000)];
        let mut schedule = Schedule::new(&flows, Instant::ZERO, 5_000, 1);
        let sent = run(&mut schedule, Instant::from_ns(MS), 0, never);
        let of = |flow| sent.iter().filter(|&&(_, other)| other == flow).count();
        assert_eq!(sent.len(), 1_000);
        assert_eq!(of(2), 100, "a paced flow gets its rate before the greedy take the rest");
        assert!(of(0).abs_diff(of(1)) <= 1, "{} and {}", of(0), of(1));
    }

    #[test]
    fn a_paused_priority_sends_nothing_and_does_not_catch_up_afterwards() {
        let mut other = pace(1_000_000, 1);
        other.priority = Priority::default();
        let mut schedule = Schedule::new(&[pace(1_000_000, 1), other], Instant::ZERO, 5_000, 64);
        let resume = Instant::from_ns(500_000);
        let paused = |now| if now < resume { (1 << 3, resume) } else { never(now) };
        let sent = run(&mut schedule, Instant::from_ns(MS), 0, paused);
        let times = |flow| sent.iter().filter(move |&&(_, other)| other == flow);
        assert_eq!(times(1).count(), 1_000);
        assert_eq!(times(0).map(|&(ns, _)| ns).min(), Some(resume.ns));
        assert_eq!(times(0).count(), 500 + 5, "the depth, and no more");
        assert_eq!(schedule.forfeited_ns(0), 0, "a pause is not our lateness");
    }

    #[test]
    fn counts_and_starts_are_kept() {
        let mut late = pace(0, 10);
        late.count = Some(7);
        late.start = Instant::from_ns(300);
        let mut schedule = Schedule::new(&[late], Instant::ZERO, 100, 64);
        assert_eq!(schedule.next(Instant::ZERO, 0), Step::Wait(late.start));
        let sent = run(&mut schedule, Instant::NEVER, 0, never);
        assert_eq!(sent.len(), 7);
        assert_eq!(schedule.next(Instant::from_ns(MS), 0), Step::Finished);
    }

    proptest! {
        /// Over any window, no more frames than its length and the depth allow.
        #[test]
        fn no_window_holds_more_than_the_rate_allows(
            interval_ns in 50_u64..2_000,
            depth_ns in 0_u64..5_000,
            late in prop::collection::vec(0_u64..4_000, 1..20),
            burst_max in 1_u32..64,
        ) {
            let paces = [pace(interval_ns * 1_000, 1)];
            let mut schedule = Schedule::new(&paces, Instant::ZERO, depth_ns, burst_max);
            let mut sent: Vec<u64> = Vec::new();
            let mut now = Instant::ZERO;
            for late_ns in late {
                loop {
                    match schedule.next(now, 0) {
                        Step::Send { frames, .. } => {
                            prop_assert!(frames <= burst_max);
                            schedule.sent(0, frames, now);
                            sent.extend((0..frames).map(|_| now.ns));
                        }
                        Step::Wait(until) => {
                            now = until + late_ns;
                            break;
                        }
                        Step::Finished => prop_assert!(false, "no count was set"),
                    }
                }
            }
            for (index, &from) in sent.iter().enumerate() {
                for (more, &to) in sent[index..].iter().enumerate() {
                    let allowed = (to - from + depth_ns.max(1)) / interval_ns + 1;
                    prop_assert!((more as u64) < allowed, "{} frames from {from} to {to}", more + 1);
                }
            }
        }
    }
}

//! The source of a flow's frames: when the next one is due, and its bytes.

use crate::event::{NEVER, Picoseconds};
use crate::flow::{FlowId, FlowSpec, HEAD_BYTES, Pace, frames_of, last_frame_bytes, set_number};
use crate::frame::{Pool, SimFrame, WRITTEN_BYTES};
use crate::go_back_n::SendWindow;
use crate::link::Transmitter;
use dataplane::frame::Frame;
use dataplane::ids::Priority;
use dataplane::limits::WIRE_OVERHEAD_BYTES;
use random::{Draw, SplitMix64};

/// One flow, at its sender.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) flow: FlowId,
    /// The class whose pauses it obeys.
    pub(crate) priority: Priority,
    pub(crate) start_ps: Picoseconds,
    start: [u8; WRITTEN_BYTES],
    frame_bytes: u16,
    /// The first bytes and length of the last frame, if it is shorter.
    last: Option<Box<([u8; WRITTEN_BYTES], u16)>>,
    clock: Clock,
    due_ps: Picoseconds,
    stop_ps: Picoseconds,
    /// Number of the next frame.
    next: u64,
    /// The number of frames; [`u64::MAX`] for a flow without end.
    frames: u64,
    send_window: Option<SendWindow>,
}

/// The intervals between frames.
#[derive(Debug)]
enum Clock {
    Always,
    /// A wire of the flow's own rate, on which its frames follow each other without a gap.
    Steady(Transmitter),
    /// Twice the mean interval, and the generator.
    Random(u64, SplitMix64),
}

impl Source {
    /// The source of `flow`, whose frames go in `priority` and begin with what `head` makes for
    /// their length. `rng` is its own generator.
    pub(crate) fn new(
        flow: FlowId,
        spec: &FlowSpec,
        priority: Priority,
        head: impl Fn(u16) -> [u8; HEAD_BYTES],
        rng: SplitMix64,
    ) -> Self {
        let wire_bytes = u64::from(spec.frame_bytes) + WIRE_OVERHEAD_BYTES as u64;
        let clock = match spec.pace {
            Pace::BackToBack => Clock::Always,
            Pace::Steady(speed) => Clock::Steady(Transmitter::new(speed)),
            Pace::Random(speed) => Clock::Random(2 * speed.bytes_ps(wire_bytes), rng),
        };
        let frames_max = |bytes: u64| (bytes / u64::from(spec.frame_bytes)).max(1);
        Self {
            flow,
            priority,
            start_ps: spec.start_ps,
            start: started(head(spec.frame_bytes)),
            frame_bytes: spec.frame_bytes,
            last: last_frame_bytes(spec).map(|bytes| Box::new((started(head(bytes)), bytes))),
            clock,
            due_ps: spec.start_ps,
            stop_ps: spec.stop_ps,
            next: 0,
            frames: frames_of(spec).unwrap_or(u64::MAX),
            send_window: spec.window_bytes.map(|bytes| SendWindow::new(frames_max(bytes))),
        }
    }

    /// When the next frame is due, for a wire that is free at `free_at_ps`; it may be past.
    /// [`NEVER`] if none may be sent.
    #[inline(always)]
    pub(crate) fn due_ps(&self, free_at_ps: Picoseconds) -> Picoseconds {
        let is_full =
            self.send_window.as_ref().is_some_and(|send_window| send_window.is_full(self.next));
        let may_not = is_full || self.next >= self.frames || self.has_stopped(free_at_ps);
        if may_not { NEVER } else { self.due_ps }
    }

    /// Whether no frame, resent ones included, is due at `now_ps` or later. A steady flow still
    /// sends frames that were due before its stop.
    #[inline(always)]
    pub(crate) const fn has_stopped(&self, now_ps: Picoseconds) -> bool {
        let due_ps = if matches!(self.clock, Clock::Always) { now_ps } else { self.due_ps };
        due_ps >= self.stop_ps
    }

    /// When the retransmission timeout ends: a frame must have been lost.
    pub(crate) fn resend_at_ps(&self) -> Picoseconds {
        self.send_window.as_ref().map_or(NEVER, |send_window| send_window.resend_at_ps(self.next))
    }

    /// Whether it sends nothing from `now_ps` on.
    pub(crate) fn is_over(&self, now_ps: Picoseconds) -> bool {
        let is_done =
            || self.send_window.as_ref().is_none_or(|send_window| send_window.is_done(self.next));
        self.has_stopped(now_ps) || self.next >= self.frames && is_done()
    }

    /// Takes the next frame, which is due, at `now_ps`.
    pub(crate) fn next(&mut self, pool: &Pool, now_ps: Picoseconds) -> SimFrame {
        let round = self.send_window.as_ref().map_or(0, SendWindow::round);
        let is_last = self.next + 1 == self.frames;
        let (start, frame_bytes) = match &self.last {
            Some(last) if is_last => (&last.0, last.1),
            _ => (&self.start, self.frame_bytes),
        };
        // The number is written into the frame, not into the copied bytes: a copy right after a
        // write waits for the write.
        let mut frame = pool.take_data(start, frame_bytes);
        if let Some(head) = frame.head_mut().first_chunk_mut() {
            set_number(head, round, self.next);
        }
        self.next += 1;
        if let Some(send_window) = &mut self.send_window {
            send_window.sent(self.next, now_ps);
        }
        match &mut self.clock {
            Clock::Always => {}
            Clock::Steady(wire) => {
                wire.start(usize::from(frame_bytes), self.due_ps);
                self.due_ps = wire.free_at_ps();
            }
            Clock::Random(longest_ps, rng) => self.due_ps += rng.below(*longest_ps + 1),
        }
        frame
    }

    /// The receiver has all frames below `number`; with `is_gap`, it misses frame `number`.
    pub(crate) fn acknowledge(&mut self, number: u64, is_gap: bool, now_ps: Picoseconds) {
        if let Some(send_window) = &mut self.send_window {
            self.next = send_window.acknowledge(number, is_gap, self.next, now_ps);
        }
    }

    /// Goes back to the first frame that is not acknowledged, if the timeout has ended.
    pub(crate) fn resend(&mut self, now_ps: Picoseconds) {
        if self.resend_at_ps() <= now_ps
            && let Some(send_window) = &mut self.send_window
        {
            self.next = send_window.go_back(now_ps);
        }
    }
}

/// The written bytes of a frame that starts with `head`.
fn started(head: [u8; HEAD_BYTES]) -> [u8; WRITTEN_BYTES] {
    let mut start = [0; WRITTEN_BYTES];
    start[..HEAD_BYTES].copy_from_slice(&head);
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::mark;
    use crate::topology::HostId;
    use dataplane::frame::Frame;
    use dataplane::ids::Tag;
    use dataplane::time::Speed;

    fn source(change: impl FnOnce(&mut FlowSpec)) -> Source {
        let mut spec = FlowSpec::new(HostId(0), HostId(1), Tag::default());
        spec.frame_bytes = 1_000;
        spec.start_ps = 500;
        change(&mut spec);
        let mut head = [0; HEAD_BYTES];
        head[12..14].copy_from_slice(&[8, 0]);
        Source::new(FlowId(0), &spec, Priority::default(), |_| head, random::seeded(4))
    }

    fn dues(pace: Pace, count: usize) -> Vec<Picoseconds> {
        let mut source = source(|spec| spec.pace = pace);
        let pool = Pool::default();
        (0..count)
            .map(|_| {
                let due_ps = source.due_ps(0);
                drop(source.next(&pool, due_ps));
                due_ps
            })
            .collect()
    }

    #[test]
    fn steady_frames_are_due_to_the_picosecond() {
        // 1,024 bytes on the wire at 3 Gb/s: 2,730.666.. ns.
        let dues = dues(Pace::Steady(Speed::from_gbps(3)), 4);
        assert_eq!(dues, [500, 500 + 2_730_666, 500 + 5_461_333, 500 + 8_192_000]);
    }

    #[test]
    fn random_frames_are_due_at_the_rate_on_average_and_never_evenly() {
        let dues = dues(Pace::Random(Speed::from_gbps(1)), 10_001);
        let mean_ps = (dues[10_000] - dues[0]) / 10_000;
        assert!(mean_ps.abs_diff(8_192_000) < 150_000, "{mean_ps}");
        let gaps: Vec<u64> = dues.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|&gap| gap <= 2 * 8_192_000));
        assert!(gaps.iter().any(|&gap| gap < 800_000) && gaps.iter().any(|&gap| gap > 15_000_000));
    }

    #[test]
    fn back_to_back_frames_are_always_due_and_numbered() {
        assert_eq!(dues(Pace::BackToBack, 3), [500; 3]);
        let mut source = source(|_| {});
        let pool = Pool::default();
        let numbers: Vec<u64> =
            (0..3).filter_map(|_| Some(mark(&source.next(&pool, 500))?.number)).collect();
        assert_eq!(numbers, [0, 1, 2]);
    }

    #[test]
    fn a_flow_of_some_size_ends_with_a_frame_of_the_rest() {
        for (size_bytes, lengths) in [
            (2_500, vec![1_000, 1_000, 500]),
            (2_000, vec![1_000, 1_000]),
            (1_010, vec![1_000, 60]),
            (1, vec![60]),
        ] {
            let mut source = source(|spec| spec.size_bytes = Some(size_bytes));
            let pool = Pool::default();
            let mut sent = Vec::new();
            while source.due_ps(500) != NEVER {
                assert!(!source.is_over(500));
                sent.push(source.next(&pool, 500).len());
            }
            assert!(source.is_over(500));
            assert_eq!(sent, lengths, "{size_bytes}");
        }
    }

    #[test]
    fn nothing_is_due_from_the_stop_on() {
        let mut source = source(|spec| {
            spec.pace = Pace::Steady(Speed::from_gbps(3));
            spec.stop_ps = 5_461_833;
        });
        let pool = Pool::default();
        drop((source.next(&pool, 0), source.next(&pool, 0)));
        assert!(source.is_over(0) && source.due_ps(0) == NEVER);
    }

    #[test]
    fn a_flow_that_is_always_due_stops_too_and_sends_nothing_again() {
        for window_bytes in [None, Some(2_000)] {
            let mut source = source(|spec| (spec.stop_ps, spec.window_bytes) = (900, window_bytes));
            let pool = Pool::default();
            drop(source.next(&pool, 500));
            assert_eq!((source.due_ps(899), source.is_over(899)), (500, false));
            assert_eq!((source.due_ps(900), source.is_over(900)), (NEVER, true));
        }
    }
}

//! When a port sends: IEEE 802.1AB-2016, 9.2.8 to 9.2.10, in instants instead of ticks.
//!
//! A port that comes up or has a new neighbor sends a few frames one second apart, then one frame
//! per interval. A change is sent at once while there is credit: each frame takes one credit, and
//! one returns each second. After a shutdown LLDPDU a port sends nothing for a while, so that the
//! next frame does not overtake it.

use super::settings::{LldpSettings, SECOND_NS};
use dataplane::time::Instant;

/// The transmission timers of one port. The caller sends a frame when [`Self::is_due`] returns
/// true, and then calls [`Self::on_sent`].
#[derive(Clone, Debug)]
pub(super) struct Transmitter {
    /// When the next frame is due though nothing changes (txTTR); `None` while the port is down.
    regular_at: Option<Instant>,
    /// Frames left of a fast start, without the next one (txFast).
    fast_left: u8,
    /// A change was not sent yet (txNow).
    tx_now: bool,
    /// When the credit is at its maximum again (txCredit). Each credit that is available makes it
    /// one second earlier.
    credit_full_at: Instant,
    /// Nothing is sent before this time.
    silent_until: Instant,
}

impl Transmitter {
    pub(super) const fn new() -> Self {
        Self {
            regular_at: None,
            fast_left: 0,
            tx_now: false,
            credit_full_at: Instant::ZERO,
            silent_until: Instant::ZERO,
        }
    }

    /// The port came up.
    pub(super) fn start(&mut self, now: Instant, settings: &LldpSettings) {
        self.regular_at = Some(now.max(self.silent_until));
        self.fast_left = settings.fast_frames;
        self.tx_now = false;
    }

    /// The port went down.
    pub(super) const fn stop(&mut self) {
        self.regular_at = None;
        self.tx_now = false;
    }

    /// The port has sent a shutdown LLDPDU.
    pub(super) fn shut_down(&mut self, now: Instant, settings: &LldpSettings) {
        self.stop();
        self.silent_until = now + u64::from(settings.reinit_s) * SECOND_NS;
    }

    pub(super) const fn is_running(&self) -> bool {
        self.regular_at.is_some()
    }

    /// What the port advertises has changed.
    pub(super) const fn mark_changed(&mut self) {
        self.tx_now = self.regular_at.is_some();
    }

    /// A new neighbor is there. It must not wait an interval for our frame.
    pub(super) fn start_fast(&mut self, now: Instant, settings: &LldpSettings) {
        if self.regular_at.is_some() && self.fast_left == 0 {
            self.fast_left = settings.fast_frames;
            self.regular_at = Some(now.max(self.silent_until));
        }
    }

    /// When the next frame is due.
    pub(super) fn due_at(&self, settings: &LldpSettings) -> Option<Instant> {
        let regular_at = self.regular_at?;
        let wanted_at = if self.tx_now { self.silent_until } else { regular_at };
        // With one credit left, the maximum is this far away.
        let spare_ns = u64::from(settings.credit_frames.saturating_sub(1)) * SECOND_NS;
        let credit_at = Instant::from_ns(self.credit_full_at.ns.saturating_sub(spare_ns));
        Some(wanted_at.min(regular_at).max(credit_at))
    }

    pub(super) fn is_due(&self, now: Instant, settings: &LldpSettings) -> bool {
        self.due_at(settings).is_some_and(|due| due <= now)
    }

    /// The frame that was due was sent.
    pub(super) fn on_sent(&mut self, now: Instant, settings: &LldpSettings) {
        if self.regular_at.is_some_and(|at| at <= now) {
            self.fast_left = self.fast_left.saturating_sub(1);
        }
        let wait_s = if self.fast_left > 0 { 1 } else { settings.interval_s.max(1) };
        self.regular_at = Some(now + u64::from(wait_s) * SECOND_NS);
        self.credit_full_at = self.credit_full_at.max(now) + SECOND_NS;
        self.tx_now = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const MS: u64 = 1_000_000;

    type Event = fn(&mut Transmitter, Instant);

    /// The times of the frames sent until `end_ms`, with these `events`.
    fn run(events: &[(u64, Event)], end_ms: u64) -> Vec<u64> {
        let settings = LldpSettings::default();
        let mut transmitter = Transmitter::new();
        let mut sent = Vec::new();
        let mut events = events.iter().peekable();
        for ms in 0..=end_ms {
            let now = Instant::from_ns(ms * MS);
            while let Some((_, event)) = events.next_if(|(at, _)| *at == ms) {
                event(&mut transmitter, now);
            }
            if transmitter.is_due(now, &settings) {
                transmitter.on_sent(now, &settings);
                sent.push(ms);
            }
        }
        sent
    }

    fn start(transmitter: &mut Transmitter, now: Instant) {
        transmitter.start(now, &LldpSettings::default());
    }

    #[test]
    fn four_frames_a_second_apart_and_then_one_in_thirty_seconds() {
        let sent = run(&[(7, start)], 95_000);
        assert_eq!(sent, [7, 1_007, 2_007, 3_007, 33_007, 63_007, 93_007]);
    }

    #[test]
    fn changes_are_sent_at_once_while_there_is_credit() {
        let change: Event = |transmitter, _| transmitter.mark_changed();
        let mut events = Vec::from([(0, start as Event)]);
        events.extend((0..300).map(|at| (10_000 + 10 * at, change)));
        let sent = run(&events, 60_000);
        assert_eq!(sent[..4], [0, 1_000, 2_000, 3_000]);
        assert_eq!(sent[4..9], [10_000, 10_010, 10_020, 10_030, 10_040], "five at once");
        assert_eq!(sent[9..12], [11_000, 12_000, 13_000], "then one a second");
        assert_eq!(sent[12..], [43_000], "and an interval after the last of them the next");
    }

    #[test]
    fn a_new_neighbor_restarts_fast_transmission_and_a_shutdown_ends_it() {
        let start_fast: Event =
            |transmitter, now| transmitter.start_fast(now, &LldpSettings::default());
        assert_eq!(
            run(&[(0, start), (20_500, start_fast), (21_500, start_fast)], 60_000),
            [0, 1_000, 2_000, 3_000, 20_500, 21_500, 22_500, 23_500, 53_500]
        );
        let shut: Event = |transmitter, now| transmitter.shut_down(now, &LldpSettings::default());
        let sent = run(&[(0, start), (500, shut), (600, start_fast), (700, start)], 6_000);
        assert_eq!(sent, [0, 2_500, 3_500, 4_500, 5_500]);
    }

    #[test]
    fn a_port_that_is_down_sends_nothing() {
        let stop: Event = |transmitter, _| transmitter.stop();
        let change: Event = |transmitter, _| transmitter.mark_changed();
        assert_eq!(run(&[(0, change), (1, start), (2, stop), (3, change)], 90_000), [1]);
    }
}

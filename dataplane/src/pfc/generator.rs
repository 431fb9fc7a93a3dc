//! Makes PFC frames for one port: XOFF when a VIQ goes over its threshold, refreshed before half of
//! its time has run out, XON when the VIQ is down again.
//!
//! One frame carries every class that changed. What upstream was last told is remembered only once
//! the frame has gone, so a frame that found no buffer or no room is simply made again.

use crate::counters::PfcCounters;
use crate::ids::Priority;
use crate::time::{Instant, Speed};
use crate::wire::mac_control::Pfc;

/// The longest pause a frame can ask for.
pub const QUANTA_MAX: u16 = 0xFFFF;
/// When it is asked for again, in quanta: before half of it has run out, with room for a slow turn.
const REFRESH_QUANTA: u16 = 0x6000;

/// The PFC generator of one port. What every turn asks for comes last, in the cache line of what a
/// port keeps behind it.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Generator {
    since: [Instant; 8],
    refresh_ns: u64,
    refresh_at: Instant,
    /// Priorities whose upstream was last told to be silent.
    told_bits: u8,
}

impl Generator {
    /// A generator for a port of `speed`, whose upstream sends.
    pub const fn new(speed: Speed) -> Self {
        Self {
            told_bits: 0,
            refresh_at: Instant::NEVER,
            refresh_ns: speed.quanta_ns(REFRESH_QUANTA),
            since: [Instant::ZERO; 8],
        }
    }

    /// The frame to send now so that upstream is silent in exactly `xoff_bits`; `None` if it knows.
    #[inline(always)]
    pub fn poll(&self, xoff_bits: u8, now: Instant) -> Option<Pfc> {
        if xoff_bits == self.told_bits && now < self.refresh_at {
            return None;
        }
        self.frame(xoff_bits)
    }

    fn frame(&self, xoff_bits: u8) -> Option<Pfc> {
        let addressed = xoff_bits | self.told_bits;
        let pfc =
            Priority::all().filter(|p| addressed & p.bit() != 0).fold(Pfc::default(), |pfc, p| {
                pfc.with(p, if xoff_bits & p.bit() != 0 { QUANTA_MAX } else { 0 })
            });
        (addressed != 0).then_some(pfc)
    }

    /// The frame of [`Generator::poll`] has gone.
    pub fn sent(&mut self, pfc: &Pfc, now: Instant, counters: &mut PfcCounters) {
        counters.tx_frames += 1;
        for priority in Priority::all().filter(|p| pfc.enabled_bits & p.bit() != 0) {
            let p = priority.index();
            let was_silent = self.told_bits & priority.bit() != 0;
            if pfc.quanta[p] > 0 {
                counters.tx_xoff[p] += 1;
                self.told_bits |= priority.bit();
                if !was_silent {
                    counters.tx_pauses[p] += 1;
                    self.since[p] = now;
                }
            } else {
                counters.tx_xon[p] += 1;
                self.told_bits &= !priority.bit();
                counters.tx_paused_ns[p] += now.ns_since(self.since[p]);
            }
        }
        self.refresh_at = if self.told_bits == 0 { Instant::NEVER } else { now + self.refresh_ns };
    }

    /// Upstream has forgotten what it was told: the link went down or came up. What still holds
    /// then is told again by the next [`Generator::poll`].
    pub fn reset(&mut self, now: Instant, counters: &mut PfcCounters) {
        for priority in Priority::all() {
            counters.tx_paused_ns[priority.index()] += self.running_ns(priority, now);
        }
        self.told_bits = 0;
        self.refresh_at = Instant::NEVER;
    }

    /// Priorities whose upstream was last told to be silent.
    pub const fn told_bits(&self) -> u8 {
        self.told_bits
    }

    /// When [`Generator::poll`] has something to say even if nothing changes.
    pub const fn refresh_at(&self) -> Instant {
        self.refresh_at
    }

    /// How long `priority`'s upstream has been silent by now, of the pause that is running.
    pub fn running_ns(&self, priority: Priority, now: Instant) -> u64 {
        let told = self.told_bits & priority.bit() != 0;
        if told { now.ns_since(self.since[priority.index()]) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P3: u8 = 1 << 3;
    const P4: u8 = 1 << 4;

    fn step(
        generator: &mut Generator,
        counters: &mut PfcCounters,
        bits: u8,
        ns: u64,
    ) -> Option<Pfc> {
        let now = Instant::from_ns(ns);
        let pfc = generator.poll(bits, now)?;
        generator.sent(&pfc, now, counters);
        Some(pfc)
    }

    #[test]
    fn one_frame_for_every_change_and_none_without() {
        let mut generator = Generator::new(Speed::from_gbps(10));
        let mut counters = PfcCounters::default();
        let p = Priority::from_low_bits;
        assert_eq!(step(&mut generator, &mut counters, 0, 0), None);
        let both = Pfc::default().with(p(3), 0xFFFF).with(p(4), 0xFFFF);
        assert_eq!(step(&mut generator, &mut counters, P3 | P4, 10), Some(both));
        assert_eq!(step(&mut generator, &mut counters, P3 | P4, 20), None);
        let one_off = Pfc::default().with(p(3), 0).with(p(4), 0xFFFF);
        assert_eq!(step(&mut generator, &mut counters, P4, 30), Some(one_off));
        let xon = Pfc::default().with(p(4), 0);
        assert_eq!(step(&mut generator, &mut counters, 0, 50), Some(xon));
        assert_eq!(step(&mut generator, &mut counters, 0, u64::MAX - 1), None);
        assert_eq!(counters.tx_frames, 3);
        assert_eq!((counters.tx_xoff[3], counters.tx_xon[3]), (1, 1));
        assert_eq!((counters.tx_xoff[4], counters.tx_xon[4]), (2, 1));
        assert_eq!((counters.tx_paused_ns[3], counters.tx_paused_ns[4]), (20, 40));
        assert_eq!((counters.tx_pauses[3], counters.tx_pauses[4]), (1, 1));
    }

    #[test]
    fn a_pause_is_refreshed_before_half_of_it_has_run_out() {
        let speed = Speed::from_gbps(40);
        let mut generator = Generator::new(speed);
        let mut counters = PfcCounters::default();
        step(&mut generator, &mut counters, P3, 0).unwrap();
        let half = speed.quanta_ns(QUANTA_MAX) / 2;
        let at =
            (0..=half).step_by(100).find(|&ns| generator.poll(P3, Instant::from_ns(ns)).is_some());
        assert!(at.is_some_and(|ns| ns > half / 2), "refreshed, but not all the time: {at:?}");
    }

    #[test]
    fn after_a_reset_nobody_was_told_and_what_holds_is_told_again() {
        let mut generator = Generator::new(Speed::from_gbps(10));
        let mut counters = PfcCounters::default();
        let xoff = step(&mut generator, &mut counters, P3, 10);
        generator.reset(Instant::from_ns(25), &mut counters);
        assert_eq!((generator.told_bits(), generator.refresh_at()), (0, Instant::NEVER));
        assert_eq!(counters.tx_paused_ns[3], 15);
        assert_eq!(step(&mut generator, &mut counters, 0, 30), None, "there is nothing to resume");
        assert_eq!(step(&mut generator, &mut counters, P3, 30), xoff);
        assert_eq!(counters.tx_pauses[3], 2);
    }

    #[test]
    fn a_frame_that_could_not_go_is_made_again() {
        let generator = Generator::new(Speed::from_gbps(10));
        let first = generator.poll(P3, Instant::ZERO);
        assert!(first.is_some());
        assert_eq!(generator.poll(P3, Instant::from_ns(5)), first);
    }
}

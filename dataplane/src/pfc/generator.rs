//! Makes the PFC frames of one port: XOFF when a VIQ (virtual ingress queue; SONiC: priority group)
//! goes over its threshold, a refresh before half of the pause time has run out, and XON when the
//! VIQ is down again.
//!
//! One frame carries every class that changed. The generator records what was sent only once the
//! frame has gone. So a frame for which the device had no buffer or no room is made again.

use crate::counters::PfcCounters;
use crate::ids::Priority;
use crate::limits::PRIORITIES;
use crate::time::{Instant, Speed};
use crate::wire::mac_control::Pfc;
use alloc::boxed::Box;

/// The longest pause that a frame can request, in quanta.
pub const QUANTA_MAX: u16 = 0xFFFF;
/// When a pause is refreshed, in quanta: before half of it has run out, with margin for a slow
/// turn.
const REFRESH_QUANTA: u16 = 0x6000;
/// The least that is left of a pause, in quanta, when a worker begins to be away that refreshed it
/// in time: a longer absence ends the pause.
pub const PAUSE_LEFT_QUANTA_MIN: u16 = QUANTA_MAX - REFRESH_QUANTA;

/// The rates sent upstream for classes that need not stop but slow down ([`gfc`](crate::gfc)
/// flow control), by priority: a code for the time field, 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateCodes(pub [u16; 8]);

impl RateCodes {
    /// No class is slowed down.
    pub const NONE: Self = Self([0; 8]);

    /// Priorities that are slowed down.
    pub fn bits(&self) -> u8 {
        let slowed = Priority::all().filter(|p| self.0[p.index()] != 0);
        slowed.fold(0, |bits, p| bits | p.bit())
    }
}

/// The PFC generator of one port, and its counters. The fields that every turn reads come last, in
/// the cache line of the port's fields behind it.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Generator {
    /// Boxed, so that the fields that every frame needs of a worker's ports lie in few pages.
    stats: Box<PfcTxStats>,
    /// The rates last sent; `None` if this port sends no rates.
    rates: Option<Box<SentRates>>,
    refresh_at: Instant,
    refresh_ns: u32,
    /// Priorities for which XOFF was sent last.
    xoff_sent_bits: u8,
}

/// What was sent so far.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
struct PfcTxStats {
    classes: [Class; PRIORITIES],
    frames: u64,
}

/// One priority: when its current or last pause began, and what was sent for it.
#[derive(Clone, Debug, Default)]
struct Class {
    since: Instant,
    xoff_frames: u64,
    xon_frames: u64,
    rate_frames: u64,
    pauses: u64,
    paused_ns: u64,
}

/// The rates last sent upstream.
#[derive(Clone, Debug, Default)]
struct SentRates {
    rate_codes: RateCodes,
    /// If set, rates are sent periodically, and not when they change.
    period_ns: Option<u64>,
}

impl Generator {
    /// A generator for a port of `speed`, whose upstream is not paused.
    pub fn new(speed: Speed) -> Self {
        Self {
            xoff_sent_bits: 0,
            rates: None,
            refresh_at: Instant::NEVER,
            // On the slowest links, more often than necessary.
            refresh_ns: u32::try_from(speed.quanta_ns(REFRESH_QUANTA)).unwrap_or(u32::MAX),
            stats: Box::default(),
        }
    }

    /// The same, which sends rates too: when they change, or every `period_ns`, like credits on
    /// links with credit-based flow control.
    #[must_use]
    pub fn gfc(self, period_ns: Option<u64>) -> Self {
        let refresh_at = if period_ns.is_some() { Instant::ZERO } else { self.refresh_at };
        let rates = Some(Box::new(SentRates { rate_codes: RateCodes::NONE, period_ns }));
        Self { rates, refresh_at, ..self }
    }

    /// Whether this port sends rates at all.
    #[inline(always)]
    pub(crate) const fn sends_rates(&self) -> bool {
        self.rates.is_some()
    }

    fn period_ns(&self) -> Option<u64> {
        self.rates.as_ref().and_then(|rates| rates.period_ns)
    }

    /// The frame to send now, so that upstream is paused in exactly `xoff_bits` and slowed down by
    /// `rate_codes` in others; `None` if no frame is due.
    #[inline(always)]
    pub fn poll(&self, xoff_bits: u8, rate_codes: &RateCodes, now: Instant) -> Option<Pfc> {
        let may_wait = match &self.rates {
            None => true,
            Some(rates) => rates.period_ns.is_some() || rates.rate_codes == *rate_codes,
        };
        if xoff_bits == self.xoff_sent_bits && may_wait && now < self.refresh_at {
            return None;
        }
        self.frame(xoff_bits, rate_codes)
    }

    fn frame(&self, xoff_bits: u8, rate_codes: &RateCodes) -> Option<Pfc> {
        let was_sent = self.xoff_sent_bits | self.rates_sent().bits();
        let addressed = xoff_bits | rate_codes.bits() | was_sent;
        let time = |p: Priority| {
            if xoff_bits & p.bit() != 0 { QUANTA_MAX } else { rate_codes.0[p.index()] }
        };
        let addressed_priorities = Priority::in_bits(addressed);
        let pfc = addressed_priorities.fold(Pfc::default(), |pfc, p| pfc.with(p, time(p)));
        (addressed != 0 || self.period_ns().is_some()).then_some(pfc)
    }

    /// The frame of [`Generator::poll`] was sent.
    pub fn sent(&mut self, pfc: &Pfc, now: Instant) {
        self.stats.frames += 1;
        for priority in Priority::in_bits(pfc.enabled_bits) {
            let class = &mut self.stats.classes[priority.index()];
            let was_paused = self.xoff_sent_bits & priority.bit() != 0;
            match pfc.quanta[priority.index()] {
                QUANTA_MAX => {
                    class.xoff_frames += 1;
                    self.xoff_sent_bits |= priority.bit();
                    if !was_paused {
                        class.pauses += 1;
                        class.since = now;
                    }
                    continue;
                }
                0 => class.xon_frames += 1,
                _ => class.rate_frames += 1,
            }
            self.xoff_sent_bits &= !priority.bit();
            if was_paused {
                class.paused_ns += now.ns_since(class.since);
            }
        }
        if let Some(rates) = &mut self.rates {
            rates.rate_codes = rates_in(pfc);
        }
        self.refresh_at = match self.period_ns() {
            Some(period_ns) => now + period_ns,
            None if self.has_sent_pause() => now + u64::from(self.refresh_ns),
            None => Instant::NEVER,
        };
    }

    /// The link went down or came up, so upstream has lost its PFC state. The next
    /// [`Generator::poll`] sends again what still applies.
    pub fn reset(&mut self, now: Instant) {
        for priority in Priority::in_bits(self.xoff_sent_bits) {
            self.stats.classes[priority.index()].paused_ns += self.running_ns(priority, now);
        }
        self.xoff_sent_bits = 0;
        if let Some(rates) = &mut self.rates {
            rates.rate_codes = RateCodes::NONE;
        }
        self.refresh_at = if self.period_ns().is_some() { now } else { Instant::NEVER };
    }

    /// Whether an XOFF or a rate is in effect upstream, which will have to be withdrawn.
    #[inline(always)]
    pub fn has_sent_pause(&self) -> bool {
        self.xoff_sent_bits != 0 || self.rates.is_some() && *self.rates_sent() != RateCodes::NONE
    }

    /// The rates last sent upstream.
    pub(crate) fn rates_sent(&self) -> &RateCodes {
        self.rates.as_ref().map_or(&RateCodes::NONE, |rates| &rates.rate_codes)
    }

    /// Priorities for which XOFF was sent last.
    pub const fn xoff_sent_bits(&self) -> u8 {
        self.xoff_sent_bits
    }

    /// When [`Generator::poll`] has a frame to send even if nothing changes.
    pub const fn refresh_at(&self) -> Instant {
        self.refresh_at
    }

    /// How long the current pause of `priority`'s upstream has lasted; 0 without one.
    pub fn running_ns(&self, priority: Priority, now: Instant) -> u64 {
        let told = self.xoff_sent_bits & priority.bit() != 0;
        if told { now.ns_since(self.stats.classes[priority.index()].since) } else { 0 }
    }

    /// Adds the counters to `counters`. Paused time is added when the pause ends.
    pub fn count_into(&self, counters: &mut PfcCounters) {
        counters.tx_frames += self.stats.frames;
        for (p, class) in self.stats.classes.iter().enumerate() {
            counters.tx_xoff[p] += class.xoff_frames;
            counters.tx_xon[p] += class.xon_frames;
            counters.tx_slowed[p] += class.rate_frames;
            counters.tx_pauses[p] += class.pauses;
            counters.tx_paused_ns[p] += class.paused_ns;
        }
    }
}

/// The rates in `pfc`: every time that is not an XOFF.
fn rates_in(pfc: &Pfc) -> RateCodes {
    let has_rate = |p: usize| pfc.enabled_bits >> p & 1 == 1 && pfc.quanta[p] != QUANTA_MAX;
    RateCodes(core::array::from_fn(|p| if has_rate(p) { pfc.quanta[p] } else { 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const P3: u8 = 1 << 3;
    const P4: u8 = 1 << 4;

    fn counted(generator: &Generator) -> PfcCounters {
        let mut counters = PfcCounters::default();
        generator.count_into(&mut counters);
        counters
    }

    fn step(generator: &mut Generator, bits: u8, ns: u64) -> Option<Pfc> {
        let now = Instant::from_ns(ns);
        let pfc = generator.poll(bits, &RateCodes::NONE, now)?;
        generator.sent(&pfc, now);
        Some(pfc)
    }

    #[test]
    fn one_frame_for_every_change_and_none_without() {
        let mut generator = Generator::new(Speed::from_gbps(10));
        let p = Priority::from_low_bits;
        assert_eq!(step(&mut generator, 0, 0), None);
        let both = Pfc::default().with(p(3), 0xFFFF).with(p(4), 0xFFFF);
        assert_eq!(step(&mut generator, P3 | P4, 10), Some(both));
        assert_eq!(step(&mut generator, P3 | P4, 20), None);
        let one_off = Pfc::default().with(p(3), 0).with(p(4), 0xFFFF);
        assert_eq!(step(&mut generator, P4, 30), Some(one_off));
        let xon = Pfc::default().with(p(4), 0);
        assert_eq!(step(&mut generator, 0, 50), Some(xon));
        assert_eq!(step(&mut generator, 0, u64::MAX - 1), None);
        let counters = counted(&generator);
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
        step(&mut generator, P3, 0).unwrap();
        let half = speed.quanta_ns(QUANTA_MAX) / 2;
        let at = (0..=half)
            .step_by(100)
            .find(|&ns| generator.poll(P3, &RateCodes::NONE, Instant::from_ns(ns)).is_some());
        assert!(at.is_some_and(|ns| ns > half / 2), "refreshed, but not all the time: {at:?}");
    }

    #[test]
    fn after_a_reset_nobody_was_told_and_what_holds_is_told_again() {
        let mut generator = Generator::new(Speed::from_gbps(10));
        let xoff = step(&mut generator, P3, 10);
        generator.reset(Instant::from_ns(25));
        assert_eq!((generator.xoff_sent_bits(), generator.refresh_at()), (0, Instant::NEVER));
        assert_eq!(counted(&generator).tx_paused_ns[3], 15);
        assert_eq!(step(&mut generator, 0, 30), None, "there is nothing to resume");
        assert_eq!(step(&mut generator, P3, 30), xoff);
        assert_eq!(counted(&generator).tx_pauses[3], 2);
    }

    #[test]
    fn a_frame_that_could_not_go_is_made_again() {
        let generator = Generator::new(Speed::from_gbps(10));
        let first = generator.poll(P3, &RateCodes::NONE, Instant::ZERO);
        assert!(first.is_some());
        assert_eq!(generator.poll(P3, &RateCodes::NONE, Instant::from_ns(5)), first);
    }

    /// Priority 3 slowed down by `code`.
    fn slow(code: u16) -> RateCodes {
        RateCodes([0, 0, 0, code, 0, 0, 0, 0])
    }

    #[test]
    fn a_rate_is_told_when_it_changes_and_is_neither_xoff_nor_a_pause() {
        let mut generator = Generator::new(Speed::from_gbps(10)).gfc(None);
        let mut told = |bits, code, ns| {
            let now = Instant::from_ns(ns);
            let pfc = generator.poll(bits, &slow(code), now)?;
            generator.sent(&pfc, now);
            Some((pfc.enabled_bits, pfc.quanta[3]))
        };
        let codes = [(0, 0), (0, 2), (0, 2), (0, 3), (P3, 0), (P3, 0), (0, 3), (0, 0), (0, 0)];
        let stats: Vec<_> =
            (0..).zip(codes).map(|(at, (bits, code))| told(bits, code, at * 10)).collect();
        let p3 = |code| Some((P3, code));
        assert_eq!(stats, [None, p3(2), None, p3(3), p3(0xFFFF), None, p3(3), p3(0), None]);
        let expected = PfcCounters {
            tx_frames: 5,
            tx_slowed: [0, 0, 0, 3, 0, 0, 0, 0],
            tx_xoff: [0, 0, 0, 1, 0, 0, 0, 0],
            tx_pauses: [0, 0, 0, 1, 0, 0, 0, 0],
            tx_paused_ns: [0, 0, 0, 20, 0, 0, 0, 0],
            tx_xon: [0, 0, 0, 1, 0, 0, 0, 0],
            ..PfcCounters::default()
        };
        assert_eq!(counted(&generator), expected);
        assert!(!generator.has_sent_pause());
    }

    #[test]
    fn on_a_link_with_credits_it_is_told_at_even_intervals_and_a_pause_at_once() {
        let mut generator = Generator::new(Speed::from_gbps(10)).gfc(Some(1_000));
        let mut times = Vec::new();
        for ns in 0..3_500 {
            let now = Instant::from_ns(ns);
            let bits = if ns >= 2_500 { P3 } else { 0 };
            if let Some(pfc) = generator.poll(bits, &slow(1 + ns as u16 / 10), now) {
                generator.sent(&pfc, now);
                times.push((ns, pfc.quanta[3]));
            }
        }
        assert_eq!(times, [(0, 1), (1_000, 101), (2_000, 201), (2_500, 0xFFFF)]);
    }
}

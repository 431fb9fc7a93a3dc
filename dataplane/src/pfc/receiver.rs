//! Applies received PFC frames on one port: which priorities are paused, and until when. Also says
//! which priorities a rate limits, be it the peer's (gentle flow control) or the queue's own peak
//! rate: who asks which queues may send now asks here, and once.

use crate::counters::PfcCounters;
use crate::gfc::{Form, RateAdjuster};
use crate::ids::Priority;
use crate::limits::PRIORITIES;
use crate::queue::shaper::{PeakRate, Shaper};
use crate::time::{Instant, Speed};
use crate::wire::mac_control::Pfc;
use alloc::boxed::Box;

/// The pauses that a port's peer requested, and their counters. The fields that every turn reads
/// come first, in the cache line of the port's fields before it.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    /// The earliest of `until` among paused priorities, and of the expiry of rates.
    expires_at: Instant,
    paused_bits: u8,
    /// Priorities that are limited to a rate: by the peer, or by a peak rate.
    rate_limited_bits: u8,
    /// Priorities to which PFC applies: the lossless ones of the port.
    obeyed_bits: u8,
    /// Priorities whose frames count: the peer may set a rate for them, or they have a peak rate.
    charged_bits: u8,
    /// Boxed, so that the fields that every frame needs of a worker's ports lie in few pages.
    stats: Box<PfcRxStats>,
    /// The rates that the peer sets; `None` if it sets none.
    rates: Option<Box<RateAdjuster>>,
    /// The peak rates of the port's own queues; `None` if it has none.
    shaper: Option<Box<Shaper>>,
    speed: Speed,
}

/// What was received so far.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
struct PfcRxStats {
    classes: [Class; PRIORITIES],
    /// PFC frames, and by priority those that set a rate.
    frames: u64,
    rate_frames: [u64; PRIORITIES],
}

/// One priority: when its last pause began, when it runs out, when it ended, and the frames
/// received for it. One cache line, because a PFC frame is usually about one priority.
#[derive(Clone, Debug, Default)]
#[repr(C)]
struct Class {
    since: Instant,
    until: Instant,
    resumed_at: Instant,
    /// Frames that paused it, that resumed it, and that were ignored.
    xoff_frames: u64,
    xon_frames: u64,
    ignored_frames: u64,
    pauses: u64,
    paused_ns: u64,
}

const _: () = assert!(size_of::<Class>() == 64, "what a priority hears is a cache line");

impl Receiver {
    /// A port of `speed` on which PFC applies to the priorities of `obeyed_bits`.
    pub fn new(obeyed_bits: u8, speed: Speed) -> Self {
        Self {
            obeyed_bits,
            speed,
            paused_bits: 0,
            rate_limited_bits: 0,
            charged_bits: 0,
            stats: Box::default(),
            expires_at: Instant::NEVER,
            rates: None,
            shaper: None,
        }
    }

    /// The same, whose peer sets rates in `form`. After a late poll, a class may catch up on
    /// `catch_up_ns` of its rate.
    #[must_use]
    #[cfg_attr(
        not(feature = "gfc"),
        expect(unreachable_code, unused_variables, reason = "the stub's types have no values")
    )]
    pub fn gfc(self, form: Form, catch_up_ns: u64) -> Self {
        let rates = RateAdjuster::new(form, self.speed, catch_up_ns);
        Self { rates: Some(Box::new(rates)), charged_bits: self.obeyed_bits, ..self }
    }

    /// From `now` on, the queue of `priority` has this peak rate, or none. The port's frames have
    /// at most `longest_bytes`.
    pub(crate) fn set_peak_rate(
        &mut self,
        priority: Priority,
        peak: Option<PeakRate>,
        longest_bytes: u32,
        now: Instant,
    ) {
        if peak.is_none() && self.shaper.is_none() {
            return;
        }
        let shaper = self.shaper.get_or_insert_with(|| Box::new(Shaper::new(longest_bytes)));
        shaper.set(priority, peak, now);
        let by_peer_bits = if self.rates.is_some() { self.obeyed_bits } else { 0 };
        self.charged_bits = by_peer_bits | shaper.shaped_bits();
        self.find_next_expiry();
    }

    /// Priorities that the peer limits to a rate below the port's.
    pub(crate) fn slowed_bits(&self) -> u8 {
        self.rates.as_ref().map_or(0, |rates| rates.rate_limited_bits())
    }

    /// Priorities that have used up their peak rate at `now`.
    pub(crate) fn peak_limited_bits(&self, now: Instant) -> u8 {
        self.shaper.as_ref().map_or(0, |shaper| shaper.limited_bits(now))
    }

    /// How often `priority` has used up its peak rate.
    pub(crate) fn peak_rate_used_up(&self, priority: Priority) -> u64 {
        self.shaper.as_ref().map_or(0, |shaper| shaper.used_up(priority))
    }

    /// A frame of `bytes` of `priority` that counts as [sent](Self::sent) was refused by the
    /// device. Only a peak rate takes that back: what the peer asks for is kept rather too well.
    pub(crate) fn take_back(&mut self, priority: Priority, bytes: u32) {
        if let Some(shaper) = &mut self.shaper {
            shaper.take_back(priority, bytes);
        }
    }

    /// Paused priorities. Call [`Receiver::expire`] first, once a turn.
    #[inline(always)]
    pub const fn paused_bits(&self) -> u8 {
        self.paused_bits
    }

    /// Priorities that the peer limits to a rate below the port's, or that have a peak rate.
    #[inline(always)]
    pub const fn rate_limited_bits(&self) -> u8 {
        self.rate_limited_bits
    }

    /// Those of them that have used up their rate at `now`.
    #[inline(always)]
    pub fn limited_bits(&self, now: Instant) -> u8 {
        if self.rate_limited_bits == 0 { 0 } else { self.limited(now) }
    }

    #[inline(never)]
    fn limited(&self, now: Instant) -> u8 {
        let by_peer_bits = self.rates.as_ref().map_or(0, |rates| rates.limited_bits(now));
        by_peer_bits | self.peak_limited_bits(now)
    }

    /// When the first of the rate-limited priorities in `bits` may send.
    #[inline(always)]
    pub fn free_at(&self, bits: u8) -> Instant {
        match &self.shaper {
            None => self.rates.as_ref().map_or(Instant::NEVER, |rates| rates.free_at(bits)),
            Some(shaper) => self.free_of_both_at(shaper, bits),
        }
    }

    #[inline(never)]
    fn free_of_both_at(&self, shaper: &Shaper, bits: u8) -> Instant {
        let limited = Priority::in_bits(bits & self.rate_limited_bits);
        let slowed_bits = self.slowed_bits();
        let free_at = limited.map(|priority| {
            let by_peer = self.rates.as_ref().filter(|_| slowed_bits & priority.bit() != 0);
            let by_peer_at = by_peer.map_or(Instant::ZERO, |rates| rates.free_at(priority.bit()));
            by_peer_at.max(shaper.free_at(priority))
        });
        free_at.min().unwrap_or(Instant::NEVER)
    }

    /// A frame of `bytes` of `priority` is sent at `now`.
    #[inline(always)]
    pub fn sent(&mut self, priority: Priority, bytes: u32, now: Instant) {
        if self.charged_bits & priority.bit() != 0 {
            self.charge(priority, bytes, now);
        }
    }

    #[inline(always)]
    fn charge(&mut self, priority: Priority, bytes: u32, now: Instant) {
        if let Some(rates) = &mut self.rates {
            rates.sent(priority, bytes, now);
        }
        if let Some(shaper) = &mut self.shaper {
            shaper.sent(priority, bytes, now);
        }
    }

    /// Since when `priority` has been paused without a break; `None` if it is not paused.
    pub(crate) fn paused_since(&self, priority: Priority) -> Option<Instant> {
        (self.paused_bits & priority.bit() != 0).then(|| self.stats.classes[priority.index()].since)
    }

    /// How long the current pause of `priority` has lasted at `now`, or how long the last one
    /// lasted.
    pub(crate) fn recent_ns(&self, priority: Priority, now: Instant) -> u64 {
        let ended_at =
            if self.paused_since(priority).is_some() { now } else { self.resumed_at(priority) };
        ended_at.ns_since(self.stats.classes[priority.index()].since)
    }

    /// When the current pause of `priority` runs out.
    pub(crate) fn paused_until(&self, priority: Priority) -> Instant {
        self.stats.classes[priority.index()].until
    }

    /// When the last pause of `priority` ended.
    pub(crate) fn resumed_at(&self, priority: Priority) -> Instant {
        self.stats.classes[priority.index()].resumed_at
    }

    /// The next expiry of a pause or a rate, [`Instant::NEVER`] if there is none.
    #[inline(always)]
    pub const fn expires_at(&self) -> Instant {
        self.expires_at
    }

    /// A PFC frame was received. For each enabled class the new time replaces the old one, even if
    /// it is shorter; 0 resumes. A lossy class ignores it.
    pub fn receive(&mut self, pfc: &Pfc, now: Instant) {
        self.stats.frames += 1;
        for priority in Priority::in_bits(pfc.enabled_bits) {
            let p = priority.index();
            let quanta = pfc.quanta[p];
            let obeys = self.obeyed_bits & priority.bit() != 0;
            let is_rate = match &mut self.rates {
                Some(rates) if obeys => rates.hear(priority, quanta, now),
                _ => false,
            };
            let PfcRxStats { classes, rate_frames, .. } = &mut *self.stats;
            let class = &mut classes[p];
            let kind = match quanta {
                _ if is_rate => &mut rate_frames[p],
                0 => &mut class.xon_frames,
                _ => &mut class.xoff_frames,
            };
            *kind += 1;
            if !obeys {
                class.ignored_frames += 1;
            } else if quanta == 0 || is_rate {
                self.resume(priority, now);
            } else {
                self.pause(priority, now, now + self.speed.quanta_ns(quanta));
            }
        }
        self.find_next_expiry();
    }

    /// Ends the pauses and rates that have run out by `now`.
    #[inline(always)]
    pub fn expire(&mut self, now: Instant) {
        if now >= self.expires_at {
            self.expire_due(now);
        }
    }

    fn expire_due(&mut self, now: Instant) {
        for priority in Priority::in_bits(self.paused_bits) {
            let until = self.paused_until(priority);
            if until <= now {
                self.resume(priority, until);
            }
        }
        if let Some(rates) = &mut self.rates {
            rates.expire(now);
        }
        self.find_next_expiry();
    }

    /// Ends every pause and rate: the link went down.
    pub fn reset(&mut self, now: Instant) {
        Priority::all().for_each(|priority| self.resume(priority, now));
        if let Some(rates) = &mut self.rates {
            rates.reset(now);
        }
        self.find_next_expiry();
    }

    fn pause(&mut self, priority: Priority, now: Instant, until: Instant) {
        let class = &mut self.stats.classes[priority.index()];
        class.until = until;
        if self.paused_bits & priority.bit() == 0 {
            self.paused_bits |= priority.bit();
            class.since = now;
            class.pauses += 1;
        }
    }

    fn resume(&mut self, priority: Priority, at: Instant) {
        if self.paused_bits & priority.bit() != 0 {
            self.paused_bits &= !priority.bit();
            let class = &mut self.stats.classes[priority.index()];
            class.resumed_at = at;
            class.paused_ns += at.ns_since(class.since);
        }
    }

    /// Adds the counters to `counters`. Paused time is added when the pause ends.
    pub fn count_into(&self, counters: &mut PfcCounters) {
        counters.rx_frames += self.stats.frames;
        for (p, class) in self.stats.classes.iter().enumerate() {
            counters.rx_xoff[p] += class.xoff_frames;
            counters.rx_xon[p] += class.xon_frames;
            counters.rx_ignored[p] += class.ignored_frames;
            counters.rx_slowed[p] += self.stats.rate_frames[p];
            counters.rx_pauses[p] += class.pauses;
            counters.rx_paused_ns[p] += class.paused_ns;
        }
    }

    fn find_next_expiry(&mut self) {
        let paused = Priority::in_bits(self.paused_bits);
        let pauses_end_at =
            paused.map(|p| self.stats.classes[p.index()].until).min().unwrap_or(Instant::NEVER);
        let rates_end_at = self.rates.as_ref().map_or(Instant::NEVER, |rates| rates.expires_at());
        let shaped_bits = self.shaper.as_ref().map_or(0, |shaper| shaper.shaped_bits());
        self.rate_limited_bits = self.slowed_bits() | shaped_bits;
        self.expires_at = pauses_end_at.min(rates_end_at);
    }

    /// How long the current pause of `priority` has lasted; 0 without one.
    pub fn running_ns(&self, priority: Priority, now: Instant) -> u64 {
        let paused = self.paused_bits & priority.bit() != 0;
        if paused { now.ns_since(self.stats.classes[priority.index()].since) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GBPS_10: Speed = Speed::from_gbps(10);

    fn p(value: u8) -> Priority {
        Priority::from_low_bits(value)
    }

    fn receiver() -> Receiver {
        Receiver::new(0b0001_1000, GBPS_10)
    }

    fn counted(receiver: &Receiver) -> PfcCounters {
        let mut counters = PfcCounters::default();
        receiver.count_into(&mut counters);
        counters
    }

    #[test]
    fn a_pause_holds_for_its_quanta_and_only_for_its_class() {
        let mut receiver = receiver();
        receiver.receive(&Pfc::default().with(p(3), 100), Instant::from_ns(1_000));
        assert_eq!(receiver.paused_bits(), 1 << 3);
        receiver.expire(Instant::from_ns(1_000 + 5_119));
        assert_eq!(receiver.paused_bits(), 1 << 3, "100 quanta of 51.2 ns are 5,120 ns");
        receiver.expire(Instant::from_ns(1_000 + 5_120));
        assert_eq!(receiver.paused_bits(), 0);
        let counters = counted(&receiver);
        assert_eq!(counters.rx_paused_ns[3], 5_120);
        assert_eq!((counters.rx_pauses[3], counters.rx_xoff[3], counters.rx_xon[3]), (1, 1, 0));
    }

    #[test]
    fn a_new_time_replaces_the_old_even_if_shorter() {
        let mut receiver = receiver();
        receiver.receive(&Pfc::default().with(p(3), 0xFFFF), Instant::ZERO);
        receiver.receive(&Pfc::default().with(p(3), 1), Instant::from_ns(10));
        receiver.expire(Instant::from_ns(10 + 52));
        assert_eq!(receiver.paused_bits(), 0);
        let counters = counted(&receiver);
        assert_eq!((counters.rx_pauses[3], counters.rx_xoff[3]), (1, 2), "one pause, told twice");
    }

    #[test]
    fn time_0_resumes_and_counts_as_xon() {
        let mut receiver = receiver();
        let both = Pfc::default().with(p(3), 9).with(p(4), 9);
        receiver.receive(&both, Instant::ZERO);
        receiver.receive(&Pfc::default().with(p(4), 0), Instant::from_ns(7));
        assert_eq!(receiver.paused_bits(), 1 << 3);
        let counters = counted(&receiver);
        assert_eq!((counters.rx_xon[4], counters.rx_paused_ns[4]), (1, 7));
    }

    #[test]
    fn vector_0_changes_nothing_and_lossy_classes_do_not_obey() {
        let mut receiver = receiver();
        receiver.receive(&Pfc { enabled_bits: 0, quanta: [0xFFFF; 8] }, Instant::ZERO);
        receiver.receive(&Pfc::default().with(p(0), 0xFFFF), Instant::ZERO);
        assert_eq!(receiver.paused_bits(), 0);
        let expected = PfcCounters {
            rx_frames: 2,
            rx_xoff: [1, 0, 0, 0, 0, 0, 0, 0],
            rx_ignored: [1, 0, 0, 0, 0, 0, 0, 0],
            ..PfcCounters::default()
        };
        assert_eq!(counted(&receiver), expected);
    }

    #[test]
    fn a_link_that_goes_down_forgets_its_pauses() {
        let mut receiver = receiver();
        receiver.receive(&Pfc::default().with(p(3), 0xFFFF), Instant::ZERO);
        receiver.reset(Instant::from_ns(500));
        assert_eq!((receiver.paused_bits(), receiver.expires_at()), (0, Instant::NEVER));
        assert_eq!(counted(&receiver).rx_paused_ns[3], 500);
    }
}

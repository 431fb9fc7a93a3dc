//! A port's flow control: processes received MAC control frames, maps VIQs to the classes that a
//! pause names, computes the rates to send upstream, and runs the watchdog.
//!
//! Counts: `storms`, `restored`. Drop reasons: `watchdog`.

use super::Port;
use crate::accounting::Accounting;
use crate::counters::DropReason;
use crate::device::Device;
use crate::driver::Driver;
use crate::frame::Frame;
use crate::handoff::pauses::PortPauses;
use crate::ids::Priority;
use crate::pfc::generator::RateCodes;
use crate::pfc::receiver::Receiver;
use crate::pfc::watchdog::Watchdog;
use crate::wire::mac_control::MacControl;
use crate::wire::parse::Parsed;
use alloc::boxed::Box;

impl<D: Device, V: Driver> Port<D, V> {
    /// Processes MAC control frames, each with its parsed headers.
    pub(crate) fn process_mac_control<'a>(
        &mut self,
        frames: impl Iterator<Item = (Parsed, &'a D::Frame)>,
        accounting: &mut Accounting<D::Frame, V>,
    ) where
        D::Frame: 'a,
    {
        let controls = frames.map(|(parsed, frame)| mac_control(&parsed, frame));
        self.obey(controls, accounting);
    }

    /// Does what MAC control frames say.
    pub(crate) fn obey(
        &mut self,
        controls: impl Iterator<Item = MacControl>,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        // In an event-driven turn a pause of a class without frames may have expired unnoticed.
        self.receiver.expire(accounting.now);
        let may_not = |receiver: &Receiver| receiver.paused_bits() | receiver.rate_limited_bits();
        let before = may_not(&self.receiver);
        let counters = &mut self.counters.pfc;
        for control in controls {
            match control {
                MacControl::Pfc(pfc) => {
                    let pfc = match self.host_priority {
                        Some(host) => pfc.spread(host, self.lossless_bits),
                        None => pfc,
                    };
                    self.receiver.receive(&pfc, accounting.now);
                }
                MacControl::Pause => counters.rx_link_pause_frames += 1,
                MacControl::Unknown => counters.rx_unknown_frames += 1,
                MacControl::Truncated => counters.rx_truncated_frames += 1,
            }
        }
        let held_now = may_not(&self.receiver) & !before;
        // The other workers first: this one has nothing to hand to the device before it returns.
        self.publish_pauses();
        if held_now != 0 {
            self.unbatch(held_now, accounting);
        }
    }

    /// Shares what this worker and the others know of pauses within a turn.
    pub(crate) fn share_pauses(&mut self, pauses: PortPauses) {
        self.pauses = Some(Box::new(pauses));
    }

    /// Tells the other workers which priorities are paused at this port, if this worker owns it.
    #[inline(always)]
    pub(crate) fn publish_pauses(&mut self) {
        if let Some(pauses) = &mut self.pauses {
            let ignored_bits = self.ignored_bits;
            pauses.publish(self.receiver.paused_bits() & !ignored_bits, ignored_bits);
        }
    }

    /// The priorities that other workers know to be paused at this port.
    #[inline(always)]
    pub(super) fn paused_elsewhere_bits(&self) -> u8 {
        self.pauses.as_ref().map_or(0, |pauses| pauses.known_bits(self.ignored_bits))
    }

    /// Starts a turn of the worker's own port: priorities that other workers know to be paused are
    /// held until this worker has processed the PFC frames itself.
    #[inline(always)]
    pub(crate) fn hold_paused_elsewhere(&mut self) {
        self.ungranted_bits = self.paused_elsewhere_bits();
    }

    /// Before a burst goes to the device: takes back the frames of priorities that other workers
    /// know to be paused since this turn began. Returns whether no frame is left of the burst.
    #[inline(always)]
    pub(super) fn holds_whole_batch(&mut self, accounting: &mut Accounting<D::Frame, V>) -> bool {
        let new_bits = self.newly_paused_elsewhere_bits();
        new_bits != 0 && self.take_back_paused(new_bits, accounting)
    }

    /// Priorities that another worker knows to be paused, and that are not held here yet.
    #[inline(always)]
    pub(super) fn newly_paused_elsewhere_bits(&self) -> u8 {
        if V::IS_EVENT_DRIVEN { 0 } else { self.paused_elsewhere_bits() & !self.held_bits() }
    }

    #[cold]
    fn take_back_paused(&mut self, bits: u8, accounting: &mut Accounting<D::Frame, V>) -> bool {
        self.ungranted_bits |= bits;
        self.unbatch(bits, accounting);
        self.tx_batch.is_empty()
    }

    /// The priorities that a pause must name to stop traffic to the VIQs in `viq_bits`.
    #[inline(always)]
    pub(crate) fn paused_upstream(&self, viq_bits: u8) -> u8 {
        if self.pauses_own_class { viq_bits } else { self.mapped_upstream(viq_bits) }
    }

    /// The rates to send upstream for the priorities that are not paused.
    #[inline(always)]
    pub(crate) fn rate_codes(
        &self,
        xoff_bits: u8,
        accounting: &Accounting<D::Frame, V>,
    ) -> RateCodes {
        if self.generator.sends_rates() {
            accounting.buffer.rate_codes(self.id, xoff_bits, self.generator.rates_sent())
        } else {
            RateCodes::NONE
        }
    }

    #[inline(never)]
    fn mapped_upstream(&self, viq_bits: u8) -> u8 {
        let viqs = Priority::in_bits(viq_bits);
        viqs.fold(0, |bits, p| bits | self.upstream[p.index()].bit())
    }

    /// Whether the watchdog has detected a storm in `priority`.
    pub(super) fn is_stormed(&self, priority: Priority) -> bool {
        let stormed_bits = self.watchdog.as_ref().map_or(0, |watchdog| watchdog.stormed_bits());
        stormed_bits & priority.bit() != 0
    }

    /// Runs the watchdog if it is due. Returns whether it ran, so that eligible priorities may
    /// differ.
    #[inline(always)]
    pub(crate) fn watch(&mut self, accounting: &mut Accounting<D::Frame, V>) -> bool {
        match &self.watchdog {
            Some(watchdog) if watchdog.due(&self.receiver) <= accounting.now => {
                self.look_out(accounting)
            }
            _ => false,
        }
    }

    #[cold]
    fn look_out(&mut self, accounting: &mut Accounting<D::Frame, V>) -> bool {
        let Some(watchdog) = &mut self.watchdog else { return false };
        let changed = watchdog.look(&self.receiver, accounting.now);
        for priority in Priority::in_bits(changed.began_bits) {
            self.counters.pfc.storms[priority.index()] += 1;
        }
        self.count_restored(changed.ended_bits);
        self.storms_changed(accounting);
        true
    }

    /// From now on, the port has this watchdog, or none.
    #[cold]
    pub(crate) fn set_watchdog(
        &mut self,
        mut watchdog: Option<Box<Watchdog>>,
        accounting: &mut Accounting<D::Frame, V>,
    ) {
        if let Some(before) = self.watchdog.take() {
            match &mut watchdog {
                Some(watchdog) => watchdog.succeed(&before),
                None => self.count_restored(before.stormed_bits()),
            }
        }
        self.watchdog = watchdog;
        self.storms_changed(accounting);
    }

    fn count_restored(&mut self, ended_bits: u8) {
        for priority in Priority::in_bits(ended_bits) {
            self.counters.pfc.restored[priority.index()] += 1;
        }
    }

    /// Discards what is queued in the priorities that are discarded from now on.
    #[cold]
    pub(crate) fn storms_changed(&mut self, accounting: &mut Accounting<D::Frame, V>) {
        self.set_storm_bits(accounting.big_red_switch);
        for priority in Priority::all() {
            if self.discards(priority) {
                self.drop_queue(priority, DropReason::Watchdog, accounting);
            }
        }
    }

    /// Sets which pauses are ignored and which frames are discarded.
    pub(super) fn set_storm_bits(&mut self, is_big_red: bool) {
        let all = if is_big_red { self.lossless_bits } else { 0 };
        let (ignored, discarded) = self
            .watchdog
            .as_ref()
            .map_or((0, 0), |watchdog| (watchdog.ignored_bits(), watchdog.discarded_bits()));
        (self.ignored_bits, self.discarded_bits) = (ignored | all, discarded | all);
    }
}

/// What a MAC control frame says. It has no VLAN tag: a tagged one is only counted, as truncated.
pub(crate) fn mac_control<F: Frame>(parsed: &Parsed, frame: &F) -> MacControl {
    MacControl::parse(if parsed.is_tagged() { &[] } else { frame.head() })
}

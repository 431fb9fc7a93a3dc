//! A turn that looks only where something happened.
//!
//! A worker that polls looks at every port in every turn. Where the device can tell
//! ([`Device::stirred`]), as an emulated one can, most turns find one port with one frame, and a
//! turn should cost that, and not how many ports there are. It does what
//! [`Worker::turn`] does, in the same order, with the same code, less what would find nothing:
//!
//! - a pause runs out, or one is to be refreshed, only at a time known before: then the worker
//!   looks at all;
//! - a VIQ goes over a static threshold only when frames came in by its port, and comes down only
//!   when frames of it left; a dynamic one may at any time;
//! - a port sends only if it was given frames, heard a MAC control frame or was waited for.

use crate::device::{Device, Stirred};
use crate::ids::PortId;
use crate::probe::Probe;
use crate::slots::Slots;
use crate::time::Instant;
use crate::worker::{Core, Turn, Worker};

/// What an attentive worker remembers between turns.
#[derive(Debug)]
pub(crate) struct Attention {
    /// Before this no port has anything to do that nothing stirred.
    pub(crate) timers_at: Instant,
    /// Places of ports whose upstream was told to be silent.
    pub(crate) told: Slots,
    /// Whether a VIQ's threshold can move without anything happening at its port.
    has_dynamic: bool,
}

impl Attention {
    /// None so far: the first turn looks at all ports.
    pub(crate) fn new(has_dynamic: bool) -> Self {
        Self { timers_at: Instant::ZERO, told: Slots::default(), has_dynamic }
    }
}

impl<D: Device, P: Probe> Worker<D, P> {
    /// The ports to look at, if not all of them must be.
    #[inline(always)]
    pub(crate) fn only_stirred(&mut self, now: Instant) -> Option<Stirred> {
        let stirred = self.core.device.stirred()?;
        let is_due = now >= self.attention.timers_at;
        (!is_due && !self.has_others()).then_some(stirred)
    }

    /// The turn at `now` in which only these ports were stirred.
    #[inline(always)]
    pub(crate) fn turn_some(&mut self, stirred: &Stirred, now: Instant) -> Turn {
        if let [port] = stirred[..]
            && !self.attention.has_dynamic
            && let Some(slot) = self.core.exchange.slot(port)
        {
            return self.turn_at(slot, now);
        }
        let (looked_at, came_in) = self.receive_some(stirred, now);
        let own_ports = self.core.own_ports.len();
        let may_go_over =
            if self.attention.has_dynamic { Slots::first(own_ports) } else { came_in };
        may_go_over.iter().for_each(|slot| self.control_flow(slot, now));
        let (sending, sent) = self.transmit_some(|slot| looked_at.contains(slot), now);
        let may_resume = self.may_resume();
        may_resume.iter().for_each(|slot| self.control_flow(slot, now));
        let busy = sent || came_in.iter().next().is_some();
        self.count_turn(busy, now);
        let next = self.next_timer(sending.and(may_go_over).and(may_resume), now);
        Turn { busy, next }
    }

    /// The same where something happened at one port only, as nearly always.
    #[inline(always)]
    fn turn_at(&mut self, slot: usize, now: Instant) -> Turn {
        let came_in = self.receive_at(slot, now);
        if came_in {
            self.control_flow(slot, now);
        }
        let (sending, sent) = self.transmit_some(|other| other == slot, now);
        let mut touched = sending;
        if came_in {
            touched.insert(slot);
        }
        let may_resume = self.may_resume();
        if !may_resume.is_empty() {
            may_resume.iter().for_each(|slot| self.control_flow(slot, now));
            touched = touched.and(may_resume);
        }
        self.count_turn(came_in || sent, now);
        Turn { busy: came_in || sent, next: self.next_timer(touched, now) }
    }

    /// Has ports send that were given frames, or heard that they may; which, and whether any did.
    #[inline(always)]
    fn transmit_some(
        &mut self,
        is_looked_at: impl Fn(usize) -> bool,
        now: Instant,
    ) -> (Slots, bool) {
        let sending = core::mem::take(&mut self.core.sending);
        let mut sent = false;
        for slot in sending.iter() {
            let Core { ports, device, books, .. } = &mut self.core;
            let port = &mut ports[slot];
            // What only waits for room need not try before there is some.
            if !port.will_be_stirred() || is_looked_at(slot) {
                sent |= port.transmit(device, books, now);
            }
        }
        (sending, sent)
    }

    /// Takes what came in: where something happened, and where something came in.
    #[inline(always)]
    fn receive_some(&mut self, stirred: &Stirred, now: Instant) -> (Slots, Slots) {
        // In the order of the ports, not in that in which they were stirred.
        let mut looked_at = Slots::default();
        for slot in stirred.iter().filter_map(|&port| self.core.exchange.slot(port)) {
            looked_at.insert(slot);
        }
        let mut came_in = Slots::default();
        for slot in looked_at.iter() {
            if self.receive_at(slot, now) {
                came_in.insert(slot);
            }
        }
        (looked_at, came_in)
    }

    /// Takes what came in at `slot`; whether something did.
    #[inline(always)]
    fn receive_at(&mut self, slot: usize, now: Instant) -> bool {
        let port = &self.core.ports[slot];
        if let Some(frame) = self.core.device.rx_alone(port.id) {
            if port.will_be_stirred() {
                self.core.sending.insert(slot);
            }
            self.core.receive_alone(&self.snapshot, slot, frame, now);
            return true;
        }
        self.core.device.rx_burst(port.id, &mut self.core.rx);
        let came_in = !self.core.rx.is_empty();
        if !came_in || port.will_be_stirred() {
            self.core.sending.insert(slot);
        }
        if came_in {
            self.core.receive(&self.snapshot, slot, now);
        }
        came_in
    }

    /// Ports whose upstream is silent and may perhaps send again.
    #[inline(always)]
    fn may_resume(&mut self) -> Slots {
        let released = core::mem::take(&mut self.core.books.released);
        let told = self.attention.told;
        if self.attention.has_dynamic || told.is_empty() {
            return told;
        }
        let mut may_resume = Slots::default();
        let ports = released.iter().filter_map(PortId::from_index);
        for slot in ports.filter_map(|port| self.core.exchange.slot(port)) {
            if told.contains(slot) {
                may_resume.insert(slot);
            }
        }
        may_resume
    }
}

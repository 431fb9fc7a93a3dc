//! When a port must be looked at though nothing happens to it.

use super::Port;
use crate::frame::Frame;
use crate::time::Instant;

impl<F: Frame> Port<F> {
    /// When this port needs a turn although nothing arrives: a pace, a pause, a refresh.
    #[inline(always)]
    pub(crate) fn wants_turn_at(&self, now: Instant) -> Instant {
        let is_empty = self.occupied_bits == 0;
        let expires_at = if is_empty { Instant::NEVER } else { self.receiver.expires_at() };
        let other_at = self.rate_or_watchdog_at(self.occupied_bits & !self.held_bits(), now);
        expires_at.min(self.generator.refresh_at()).min(self.sends_at(now)).min(other_at)
    }

    /// When what waits may leave as far as this port is concerned, unless the worker is told.
    #[inline(always)]
    fn sends_at(&self, now: Instant) -> Instant {
        let is_told = self.hears_of_room | (self.eligible_bits(now) == 0);
        let free_at = if self.is_paced { self.paced_at(now) } else { now };
        // Nobody can guess whether it is.
        core::hint::select_unpredictable(is_told, Instant::NEVER, free_at)
    }

    /// When the pace lets the next frame go.
    #[inline(never)]
    fn paced_at(&self, now: Instant) -> Instant {
        self.pacer.as_ref().map_or(now, |pacer| pacer.free_at().max(now))
    }

    /// When a priority of `bits` that is held to a rate may send, or the watchdog has to look.
    #[inline(always)]
    fn rate_or_watchdog_at(&self, bits: u8, now: Instant) -> Instant {
        let watch_at = self.watchdog.as_ref().map_or(Instant::NEVER, |w| w.due(&self.receiver));
        if bits & self.receiver.slowed_bits() == 0 {
            return watch_at;
        }
        // What is free already waits for room or for another class, of which it hears.
        let free_at = self.receiver.free_at(bits);
        if free_at > now { watch_at.min(free_at) } else { watch_at }
    }
}

//! When a port needs a turn although no frame arrives for it.

use super::Port;
use crate::driver::Driver;
use crate::frame::Frame;
use crate::time::Instant;

impl<F: Frame, V: Driver> Port<F, V> {
    /// When this port needs a turn although nothing arrives: for the pacer, the end of a pause, a
    /// pause refresh, a rate or the watchdog.
    #[inline(always)]
    pub(crate) fn wants_turn_at(&self, now: Instant) -> Instant {
        let is_empty = self.occupied_bits == 0;
        let expires_at = if is_empty { Instant::NEVER } else { self.receiver.expires_at() };
        let other_at = self.rate_or_watchdog_at(self.occupied_bits & !self.held_bits(), now);
        expires_at.min(self.generator.refresh_at()).min(self.sends_at(now)).min(other_at)
    }

    /// `now`, or when the pacer lets the next eligible frame leave. Never, if no frame is eligible
    /// or the device notifies the worker of room.
    #[inline(always)]
    fn sends_at(&self, now: Instant) -> Instant {
        let is_told = self.awaits_tx_ready | (self.eligible_bits(now) == 0);
        let free_at = if self.is_paced { self.paced_at(now) } else { now };
        // The condition is unpredictable, so a branch would often be mispredicted.
        core::hint::select_unpredictable(is_told, Instant::NEVER, free_at)
    }

    /// When the pacer lets the next frame leave.
    #[inline(never)]
    fn paced_at(&self, now: Instant) -> Instant {
        self.pacer.as_ref().map_or(now, |pacer| pacer.free_at().max(now))
    }

    /// When a rate-limited priority of `bits` may send, or the watchdog is due, if earlier.
    #[inline(always)]
    fn rate_or_watchdog_at(&self, bits: u8, now: Instant) -> Instant {
        let watch_at = self.watchdog.as_ref().map_or(Instant::NEVER, |w| w.due(&self.receiver));
        if bits & self.receiver.rate_limited_bits() == 0 {
            return watch_at;
        }
        // A class that may send already waits for room or for another class, and needs no timer.
        let free_at = self.receiver.free_at(bits);
        if free_at > now { watch_at.min(free_at) } else { watch_at }
    }
}

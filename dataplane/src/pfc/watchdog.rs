//! The PFC watchdog: reacts to a deadlock or a broken peer. It exists for comparison with deadlock
//! prevention.
//!
//! A queue that its peer has paused without a break for the detection time is in a *storm*.
//! Hardware polls and estimates this; here it is exact. A pause that was interrupted for a
//! nanosecond has ended, and only frames that pause count, not those that resume. The storm ends
//! when the class has not been paused for the restoration time. The watchdog detects this also
//! while it ignores pauses. It checks each class of each port separately, whether frames are queued
//! in it or not.
//!
//! Each known error of SONiC's watchdog has its own test.

use crate::ids::Priority;
use crate::pfc::receiver::Receiver;
use crate::time::Instant;

/// What the watchdog does during a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Discards the frames of the queue and those that arrive for it. Also discards the frames that
    /// arrive at the same port in the same class, so that no pause goes upstream.
    Drop,
    /// Ignores the pause.
    Forward,
    /// Only counts the storm.
    Alert,
}

impl Action {
    /// All of them, with their names in the configuration.
    pub const ALL: [(&'static str, Self); 3] =
        [("drop", Self::Drop), ("forward", Self::Forward), ("alert", Self::Alert)];

    /// Whether a class in a storm ignores pauses.
    pub const fn ignores_pauses(self) -> bool {
        match self {
            Self::Drop | Self::Forward => true,
            Self::Alert => false,
        }
    }
}

/// When a storm begins and ends, and the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogSettings {
    /// A pause without a break of this length is a storm.
    pub detection_ns: u64,
    /// A storm ends after the class has not been paused for this time.
    pub restoration_ns: u64,
    /// The action during the storm.
    pub action: Action,
}

/// The watchdog of one port.
#[derive(Clone, Debug)]
pub struct Watchdog {
    settings: WatchdogSettings,
    stormed_bits: u8,
}

/// The classes whose state changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Classes in which a storm began.
    pub began_bits: u8,
    /// Classes in which a storm ended.
    pub ended_bits: u8,
}

impl Watchdog {
    /// The watchdog of a port without a storm.
    pub const fn new(settings: WatchdogSettings) -> Self {
        Self { settings, stormed_bits: 0 }
    }

    /// The same watchdog with other settings: storms go on.
    pub(crate) const fn succeed(&mut self, before: &Self) {
        self.stormed_bits = before.stormed_bits;
    }

    /// Checks every class against the state of `receiver` at `now`.
    pub fn look(&mut self, receiver: &Receiver, now: Instant) -> Changed {
        let due = Priority::all().filter(|&p| self.is_due(p, receiver, now));
        let due_bits = due.fold(0, |bits, p| bits | p.bit());
        let stormed_bits = self.stormed_bits;
        self.stormed_bits ^= due_bits;
        Changed { began_bits: due_bits & !stormed_bits, ended_bits: due_bits & stormed_bits }
    }

    /// Whether the state of `priority` changes at `now`.
    fn is_due(&self, priority: Priority, receiver: &Receiver, now: Instant) -> bool {
        let is_stormed = self.stormed_bits & priority.bit() != 0;
        let is_paused = receiver.paused_since(priority).is_some();
        is_stormed != is_paused && self.due_of(priority, receiver) <= now
    }

    /// When to check again if no PFC frame arrives before.
    pub fn due(&self, receiver: &Receiver) -> Instant {
        if self.stormed_bits | receiver.paused_bits() == 0 {
            return Instant::NEVER;
        }
        Priority::all().map(|p| self.due_of(p, receiver)).min().unwrap_or(Instant::NEVER)
    }

    fn due_of(&self, priority: Priority, receiver: &Receiver) -> Instant {
        let is_stormed = self.stormed_bits & priority.bit() != 0;
        match receiver.paused_since(priority) {
            // The pause has to expire first.
            Some(_) if is_stormed => receiver.paused_until(priority),
            Some(since) => since + self.settings.detection_ns,
            None if is_stormed => receiver.resumed_at(priority) + self.settings.restoration_ns,
            None => Instant::NEVER,
        }
    }

    /// Ends all storms: the link went down.
    pub const fn reset(&mut self) {
        self.stormed_bits = 0;
    }

    /// Classes in a storm.
    pub(crate) const fn stormed_bits(&self) -> u8 {
        self.stormed_bits
    }

    /// Classes whose pauses are ignored.
    pub(crate) const fn ignored_bits(&self) -> u8 {
        if self.settings.action.ignores_pauses() { self.stormed_bits } else { 0 }
    }

    /// Classes whose frames are discarded.
    pub(crate) const fn discarded_bits(&self) -> u8 {
        match self.settings.action {
            Action::Drop => self.stormed_bits,
            Action::Forward | Action::Alert => 0,
        }
    }
}

#[cfg(test)]
#[path = "watchdog_tests.rs"]
mod tests;

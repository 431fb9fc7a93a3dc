//! The PFC watchdog: the reactive answer to a deadlock or a broken peer, to compare prevention
//! with.
//!
//! A queue that its peer has paused without a break for the detection time is in a *storm*. What
//! hardware polls for and estimates is known here exactly: a pause that ended for a nanosecond has
//! ended, and only frames that pause count, not those that resume. The storm is over when the class
//! has not been paused for the restoration time; that is known also while pauses are not obeyed.
//! Each class of each port is looked at by itself, whether anything waits in it or not.
//!
//! What SONiC's watchdog got wrong in its time has a test by name each.

use crate::ids::Priority;
use crate::pfc::receiver::Receiver;
use crate::time::Instant;

/// What is done about a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// What waits in the queue and what comes for it is discarded, and so is what comes in by the
    /// same port in the same class, so that no pause goes upstream.
    Drop,
    /// The pause is not obeyed.
    Forward,
    /// It is counted.
    Alert,
}

impl Action {
    /// All of them, as they are written.
    pub const ALL: [(&'static str, Self); 3] =
        [("drop", Self::Drop), ("forward", Self::Forward), ("alert", Self::Alert)];

    /// Whether a class in a storm no longer obeys pauses.
    pub const fn ignores_pauses(self) -> bool {
        match self {
            Self::Drop | Self::Forward => true,
            Self::Alert => false,
        }
    }
}

/// When a storm begins and ends, and what is done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogSettings {
    /// A pause without a break of this length is a storm.
    pub detection_ns: u64,
    /// So long without being paused, and it is over.
    pub restoration_ns: u64,
    /// What is done meanwhile.
    pub action: Action,
}

/// The watchdog of one port.
#[derive(Clone, Debug)]
pub struct Watchdog {
    settings: WatchdogSettings,
    stormed_bits: u8,
}

/// What changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Classes in which a storm began.
    pub began_bits: u8,
    /// Classes in which one ended.
    pub ended_bits: u8,
}

impl Watchdog {
    /// A port without a storm.
    pub const fn new(settings: WatchdogSettings) -> Self {
        Self { settings, stormed_bits: 0 }
    }

    /// Looks at every class, as `receiver` knows it at `now`.
    pub fn look(&mut self, receiver: &Receiver, now: Instant) -> Changed {
        let mut changed = Changed::default();
        for priority in Priority::all().filter(|&p| self.is_due(p, receiver, now)) {
            if self.stormed_bits & priority.bit() != 0 {
                changed.ended_bits |= priority.bit();
            } else {
                changed.began_bits |= priority.bit();
            }
        }
        self.stormed_bits = self.stormed_bits & !changed.ended_bits | changed.began_bits;
        changed
    }

    /// Whether the state of `priority` changes at `now`.
    fn is_due(&self, priority: Priority, receiver: &Receiver, now: Instant) -> bool {
        let is_stormed = self.stormed_bits & priority.bit() != 0;
        let is_paused = receiver.paused_since(priority).is_some();
        is_stormed != is_paused && self.due_of(priority, receiver) <= now
    }

    /// When to look again if nothing is heard until then.
    pub fn due(&self, receiver: &Receiver) -> Instant {
        if self.stormed_bits | receiver.paused_bits() == 0 {
            return Instant::NEVER;
        }
        Priority::all().map(|p| self.due_of(p, receiver)).min().unwrap_or(Instant::NEVER)
    }

    fn due_of(&self, priority: Priority, receiver: &Receiver) -> Instant {
        let is_stormed = self.stormed_bits & priority.bit() != 0;
        match receiver.paused_since(priority) {
            // The pause has to run out first.
            Some(_) if is_stormed => receiver.paused_until(priority),
            Some(since) => since + self.settings.detection_ns,
            None if is_stormed => receiver.resumed_at(priority) + self.settings.restoration_ns,
            None => Instant::NEVER,
        }
    }

    /// The link went down: its peer, and what it did, is gone.
    pub const fn reset(&mut self) {
        self.stormed_bits = 0;
    }

    /// Classes in a storm.
    pub const fn stormed_bits(&self) -> u8 {
        self.stormed_bits
    }

    /// Classes whose pauses are not obeyed.
    pub const fn ignored_bits(&self) -> u8 {
        if self.settings.action.ignores_pauses() { self.stormed_bits } else { 0 }
    }

    /// Classes whose frames are discarded.
    pub const fn discarded_bits(&self) -> u8 {
        match self.settings.action {
            Action::Drop => self.stormed_bits,
            Action::Forward | Action::Alert => 0,
        }
    }
}

#[cfg(test)]
#[path = "watchdog_tests.rs"]
mod tests;

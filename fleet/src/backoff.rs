//! How long to wait before the next attempt, so that ten thousand switches do not all come at once.

use random::{Draw, SplitMix64, seeded};
use std::time::Duration;

/// The first wait is at most this.
const FIRST: Duration = Duration::from_millis(250);
/// No wait is longer.
const MAX: Duration = Duration::from_secs(10);

/// Waits that double, each drawn evenly from its second half.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    random: SplitMix64,
    attempts: u32,
}

impl Backoff {
    /// Of the switch `name`: each switch draws other waits.
    pub(crate) fn new(name: &str) -> Self {
        let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { random: seeded(seed), attempts: 0 }
    }

    /// The wait before the next attempt.
    pub(crate) fn next(&mut self) -> Duration {
        let most = FIRST.saturating_mul(1 << self.attempts.min(16)).min(MAX);
        self.attempts = self.attempts.saturating_add(1);
        most / 2 + self.within(most / 2)
    }

    /// An attempt succeeded.
    pub(crate) fn reset(&mut self) {
        self.attempts = 0;
    }

    /// A time up to `most`.
    pub(crate) fn within(&mut self, most: Duration) -> Duration {
        let ns = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.random.below(ns.saturating_add(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_and_begin_anew() {
        let mut backoff = Backoff::new("a");
        let waits: Vec<Duration> = (0..40).map(|_| backoff.next()).collect();
        for (at, wait) in waits.iter().enumerate() {
            let most = FIRST.saturating_mul(1 << at.min(10)).min(MAX);
            assert!((most / 2..=most).contains(wait), "{at}: {wait:?}");
        }
        backoff.reset();
        assert!(backoff.next() <= FIRST);
    }

    /// Ten thousand switches that lost the store long ago come back spread over five seconds.
    #[test]
    fn switches_do_not_come_at_once() {
        let mut tenths = [0_u32; 50];
        for number in 0..10_000 {
            let mut backoff = Backoff::new(&format!("leaf{number}"));
            let last = (0..10).map(|_| backoff.next()).last().unwrap();
            let tenth = (last - MAX / 2).as_millis() / 100;
            tenths[usize::try_from(tenth).unwrap().min(49)] += 1;
        }
        assert!(tenths.iter().all(|&count| (100..320).contains(&count)), "{tenths:?}");
    }
}

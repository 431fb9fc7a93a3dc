//! Leaves out events that come again and again, so that a flapping cable does not fill the journal.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Events alike that are logged within [`SPAN`].
const EVENTS_MAX: u32 = 30;
const SPAN: Duration = Duration::from_secs(10);
/// Kinds of events that are remembered. Names of ports are the operator's own, so there are not
/// more; if there are, all begin anew.
const KINDS_MAX: usize = 4_096;

/// What came lately, by kind and port.
#[derive(Debug)]
pub(super) struct Limiter {
    kinds: BTreeMap<(&'static str, Option<String>), Recent>,
}

/// Events alike since a time.
#[derive(Debug)]
struct Recent {
    since: Instant,
    logged: u32,
    left_out: u64,
}

impl Limiter {
    pub(super) const fn new() -> Self {
        Self { kinds: BTreeMap::new() }
    }

    /// Whether to log an event at `now`: how many like it were left out before, or `None`.
    pub(super) fn take(
        &mut self,
        kind: &'static str,
        port: Option<&str>,
        now: Instant,
    ) -> Option<u64> {
        if self.kinds.len() >= KINDS_MAX {
            self.kinds.clear();
        }
        let entry = self.kinds.entry((kind, port.map(str::to_owned)));
        let recent = entry.or_insert(Recent { since: now, logged: 0, left_out: 0 });
        if now.duration_since(recent.since) >= SPAN {
            (recent.since, recent.logged) = (now, 0);
        }
        if recent.logged >= EVENTS_MAX {
            recent.left_out += 1;
            return None;
        }
        recent.logged += 1;
        Some(std::mem::take(&mut recent.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_in_ten_seconds_and_then_the_count_of_the_rest() {
        let (mut limiter, start) = (Limiter::new(), Instant::now());
        let mut take = |port, ms| limiter.take("link", port, start + Duration::from_millis(ms));
        for event in 0..30 {
            assert_eq!(take(Some("p1"), event), Some(0));
        }
        for event in 30..45 {
            assert_eq!(take(Some("p1"), event), None);
        }
        assert_eq!(take(Some("p2"), 50), Some(0), "another port");
        assert_eq!(take(None, 50), Some(0));
        assert_eq!(take(Some("p1"), 9_999), None);
        assert_eq!(take(Some("p1"), 10_000), Some(16));
        assert_eq!(take(Some("p1"), 10_001), Some(0));
    }

    #[test]
    fn the_memory_of_it_is_bounded() {
        let (mut limiter, now) = (Limiter::new(), Instant::now());
        for port in 0..3 * KINDS_MAX {
            assert_eq!(limiter.take("link", Some(&port.to_string()), now), Some(0));
            assert!(limiter.kinds.len() <= KINDS_MAX);
        }
    }
}

//! How long nothing came: the times between two test frames that lasted longer than was asked for.

use dataplane::time::Instant;

/// Outages that are kept.
const KEPT_MAX: usize = 65_536;

/// The outages so far.
#[derive(Debug)]
pub(super) struct Outages {
    min_ns: u64,
    last: Option<Instant>,
    lengths_ns: Vec<u64>,
}

impl Outages {
    /// Of `min_ns` or more.
    pub(super) const fn new(min_ns: u64) -> Self {
        Self { min_ns, last: None, lengths_ns: Vec::new() }
    }

    /// A test frame arrived at `when`. The time before the first one is no outage.
    pub(super) fn record(&mut self, when: Instant) {
        if let Some(last) = self.last {
            let length_ns = when.ns_since(last);
            if length_ns >= self.min_ns && self.lengths_ns.len() < KEPT_MAX {
                self.lengths_ns.push(length_ns);
            }
        }
        // Stamps of two interfaces' queues may be a little out of order.
        self.last = self.last.max(Some(when));
    }

    /// Their lengths, in the order in which they came.
    pub(super) fn lengths_ns(&self) -> &[u64] {
        &self.lengths_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_times_between_two_frames_are_outages() {
        let mut outages = Outages::new(100);
        for at_ns in [5_000, 5_050, 5_150, 5_149, 5_249, 5_250, 9_000] {
            outages.record(Instant::from_ns(at_ns));
        }
        assert_eq!(outages.lengths_ns(), [100, 3_750]);
    }
}

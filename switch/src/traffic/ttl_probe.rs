//! What the TTLs of received frames say of reroutes, as Tagger measured them (Tagger, Table I).
//!
//! All frames of a flow start with one TTL, and each router counts it down. So a frame with a lower
//! TTL than another one of its flow took a longer path: it was rerouted. A measurement is so many
//! frames in a row, 100 in Tagger; it is rerouted if its TTLs differ. In a Clos network a bounce
//! costs two links more, one down and one up.
//!
//! Tagger's probes go as IP-in-IP from a server to a high-level switch, which decapsulates them and
//! sends them back. These go from host to host, and need nothing of a switch. A path that all
//! frames of a flow take for as long as one listens is not seen as a reroute, in Tagger's way
//! neither.

use crate::bounces::BounceCounts;

/// The TTLs of one flow, or of several.
#[derive(Clone, Debug)]
pub(super) struct TtlProbe {
    /// Frames of a measurement.
    measurement_frames: u64,
    /// By TTL.
    frames: [u64; 256],
    /// The measurement that frames are now of: its number, its lowest and its highest TTL.
    current: Option<(u64, u8, u8)>,
    measurements: u64,
    rerouted_measurements: u64,
}

/// What the TTLs of some flows say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reroutes {
    /// How often frames bounced, if each two links more are a bounce.
    pub counts: BounceCounts,
    /// Groups of frames.
    pub measurements: u64,
    /// Those with frames of several TTLs.
    pub rerouted_measurements: u64,
}

impl TtlProbe {
    /// Nothing yet.
    pub(super) const fn new(measurement_frames: u64) -> Self {
        Self {
            measurement_frames,
            frames: [0; 256],
            current: None,
            measurements: 0,
            rerouted_measurements: 0,
        }
    }

    /// Records a frame with this sequence number. One that comes when a later measurement has begun
    /// counts as a frame, and for no measurement.
    pub(super) fn record(&mut self, sequence: u64, ttl: u8) {
        self.frames[usize::from(ttl)] += 1;
        let number = sequence / self.measurement_frames.max(1);
        match &mut self.current {
            Some((current, low, high)) if *current == number => {
                (*low, *high) = ((*low).min(ttl), (*high).max(ttl));
            }
            Some((current, ..)) if *current > number => {}
            current => {
                let before = current.replace((number, ttl, ttl));
                self.close(before);
            }
        }
    }

    fn close(&mut self, measurement: Option<(u64, u8, u8)>) {
        if let Some((_, low, high)) = measurement {
            self.measurements += 1;
            self.rerouted_measurements += u64::from(low != high);
        }
    }

    /// Adds what was seen so far to `sum`.
    pub(super) fn add_to(&self, sum: &mut Reroutes) {
        let mut closed = self.clone();
        closed.close(self.current);
        sum.measurements += closed.measurements;
        sum.rerouted_measurements += closed.rerouted_measurements;
        sum.counts.sees_all = true;
        let Some(shortest) = self.frames.iter().rposition(|&frames| frames > 0) else { return };
        for (ttl, &frames) in self.frames.iter().enumerate().filter(|&(_, &frames)| frames > 0) {
            sum.counts.frames += frames;
            let bounces = (shortest - ttl).div_ceil(2);
            let at_least = &mut sum.counts.at_least;
            at_least.resize(at_least.len().max(bounces), 0);
            at_least[..bounces].iter_mut().for_each(|count| *count += frames);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn reroutes(probes: &[TtlProbe]) -> Reroutes {
        let mut sum = Reroutes::default();
        probes.iter().for_each(|probe| probe.add_to(&mut sum));
        sum
    }

    #[test]
    fn a_measurement_is_rerouted_if_its_ttls_differ() {
        let mut probe = TtlProbe::new(100);
        for sequence in 0..1_000 {
            // One frame bounced once, one twice, both in the same measurement; one in another.
            let ttl = match sequence {
                205 | 710 => 59,
                206 => 57,
                _ => 61,
            };
            probe.record(sequence, ttl);
        }
        let found = reroutes(&[probe.clone()]);
        let counts = BounceCounts { frames: 1_000, at_least: vec![3, 1], sees_all: true };
        assert_eq!(found, Reroutes { counts, measurements: 10, rerouted_measurements: 2 });
        // Another flow, whose path is shorter, is compared with itself.
        let mut near = TtlProbe::new(100);
        (0..100).for_each(|sequence| near.record(sequence, 63));
        let both = reroutes(&[probe, near]);
        assert_eq!((both.measurements, both.rerouted_measurements), (11, 2));
        assert_eq!(both.counts.at_least, [3, 1]);
    }

    #[test]
    fn late_and_lost_frames_open_no_measurement_again() {
        let mut probe = TtlProbe::new(10);
        for sequence in [0, 1, 25, 3, 26, 4] {
            probe.record(sequence, if sequence == 4 { 60 } else { 61 });
        }
        let found = reroutes(&[probe]);
        assert_eq!((found.measurements, found.rerouted_measurements), (2, 0));
        assert_eq!((found.counts.frames, found.counts.at_least), (6, vec![1]));
    }

    proptest! {
        /// Measurements against a table of all frames.
        #[test]
        fn measurements_in_order_are_those_of_a_table(
            ttls in proptest::collection::vec(proptest::sample::select(vec![61_u8, 61, 61, 59]), 0..400),
            size in 1_u64..50,
        ) {
            let mut probe = TtlProbe::new(size);
            let mut table: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
            for (sequence, &ttl) in (0..).zip(&ttls) {
                probe.record(sequence, ttl);
                table.entry(sequence / size).or_default().push(ttl);
            }
            let rerouted = table.values().filter(|ttls| ttls.iter().any(|&ttl| ttl != ttls[0]));
            let found = reroutes(&[probe]);
            prop_assert_eq!(found.measurements, table.len() as u64);
            prop_assert_eq!(found.rerouted_measurements, rerouted.count() as u64);
        }
    }
}

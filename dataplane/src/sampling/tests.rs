//! Sampling: how often, how evenly, and what the ring cannot take.

use super::*;
use crate::capture::in_hand::Followers;
use crate::capture::record::{Ending, Kind};
use crate::testing::TestFrame;
use crate::turns::RATE_MAX;
use proptest::prelude::*;
use std::vec;

fn port(index: usize) -> PortId {
    PortId::from_index(index).unwrap()
}

fn settings(rates: Vec<u32>, seed: u64) -> SamplingSettings {
    SamplingSettings { rates, drops_per_second: 100, header_bytes: 64, seed }
}

fn record(kind: Kind, index: usize) -> Record {
    Record::new(kind, Ending::Unknown, port(index))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Of M frames, M / N are sampled. The lengths of skips are uniform in 1 to 2 N - 1, so their
    /// number has the variance M (N² - N) / (3 N³) of a renewal process, or less: M / (3 N). A
    /// wrong failure beyond six deviations has a probability of 2e-9.
    #[test]
    fn one_frame_in_n_is_sampled_whatever_bursts_they_come_in(
        seed: u64,
        rate in 2..200_u32,
        bursts in prop::collection::vec(0..=64_usize, 3_000),
    ) {
        let (mut sampling, _reader) = connect(&settings(vec![rate, 7], seed), 0, 1);
        let mut sampled = 0;
        for &burst in &bursts {
            let bits = sampling.arrive(port(0), burst);
            prop_assert!(burst == 64 || bits >> burst == 0, "only frames that came are sampled");
            sampled += u64::from(bits.count_ones());
        }
        let frames: usize = bursts.iter().sum();
        prop_assert_eq!(sampling.sources[0].pool, frames as u64);
        prop_assert_eq!(sampling.sources[1].pool, 0, "another port's frames are its own");
        let expected = frames as f64 / f64::from(rate);
        // One more for the first skip, which begins in its middle.
        let bound = 6.0 * (expected / 3.0).sqrt() + 1.0;
        prop_assert!((sampled as f64 - expected).abs() <= bound, "{} of {}", sampled, expected);
    }

    #[test]
    fn bursts_are_cut_as_one_long_row_of_frames(
        seed: u64,
        rate in 1..30_u32,
        bursts in prop::collection::vec(0..=64_usize, 1..60),
    ) {
        let row = |bursts: &[usize]| {
            let (mut sampling, _reader) = connect(&settings(vec![rate], seed), 3, 1);
            let mut row = Vec::new();
            for &burst in bursts {
                let bits = sampling.arrive(port(0), burst);
                row.extend((0..burst).map(|at| bits >> at & 1 == 1));
            }
            row
        };
        let ones = vec![1; bursts.iter().sum()];
        prop_assert_eq!(row(&bursts), row(&ones));
    }
}

/// Each position of a burst is sampled as often as any other: 64 positions, 200,000 bursts, a rate
/// of 50. The count of each is about 4,000 with a deviation of at most 63; beyond six of them is a
/// wrong failure with a probability of 64 times 2e-9. The seed is fixed besides.
#[test]
fn no_place_in_a_burst_is_preferred() {
    let (mut sampling, _reader) = connect(&settings(vec![50], 11), 0, 1);
    let mut counts = [0_u32; 64];
    for _ in 0..200_000 {
        let bits = sampling.arrive(port(0), 64);
        for (at, count) in counts.iter_mut().enumerate() {
            *count += u32::from(bits >> at & 1 == 1);
        }
    }
    assert!(counts.iter().all(|count| count.abs_diff(4_000) < 380), "{counts:?}");
}

#[test]
fn a_rate_of_one_takes_all_and_of_zero_none() {
    let (mut sampling, _reader) = connect(&settings(vec![1, 0, RATE_MAX], 5), 0, 1);
    for _ in 0..1_000 {
        assert_eq!(sampling.arrive(port(0), 64), u64::MAX.into());
        assert_eq!(sampling.arrive(port(0), 3), 0b111);
        assert_eq!(sampling.arrive(port(1), 64), 0);
        assert_eq!(sampling.arrive(port(9), 64), 0, "a port that does not exist");
    }
}

#[test]
fn a_full_ring_loses_samples_and_counts_them_by_port() {
    let (mut sampling, mut reader) = connect(&settings(vec![1, 1], 5), 2, 3);
    let frame = TestFrame::new(&[7; 100]);
    for at in [0, 1, 1, 1, 1] {
        sampling.arrive(port(at), 1);
        sampling.hold(record(Kind::In, at), &frame);
        let mut in_hand = InHand::new(Followers { capture: false, sampling: true });
        in_hand.goes_on(Ending::Consumed, None);
        sampling.release(&in_hand);
    }
    sampling.report(record(Kind::Drop, 0), &frame);
    assert_eq!((reader.missed_samples(), reader.missed_drops()), (2, 1));
    let first = reader.ring.pop().unwrap();
    assert_eq!((first.pool, first.missed, first.header.len()), (1, 0, 64));
    assert_eq!((first.record.worker, first.record.frame_bytes), (2, 100));
    assert_eq!(first.record.ending, Ending::Consumed);
    sampling.arrive(port(1), 1);
    sampling.take(record(Kind::In, 1), &frame);
    let last = core::iter::from_fn(|| reader.ring.pop().ok()).last().unwrap();
    assert_eq!((last.pool, last.missed), (5, 2), "of the port alone");
}

#[test]
fn drops_above_the_rate_are_counted_and_without_a_rate_nothing_is() {
    let (mut sampling, reader) = connect(&settings(vec![0], 5), 0, 3);
    let now = Instant::from_ns(7);
    let reported = (0..1_000).filter(|_| sampling.reports(now)).count();
    assert_eq!((reported, reader.suppressed_drops()), (100, 900));
    let none = SamplingSettings { drops_per_second: 0, ..settings(vec![0], 5) };
    let (mut sampling, reader) = connect(&none, 0, 3);
    assert!(!sampling.reports(now));
    assert_eq!(reader.suppressed_drops(), 0);
}

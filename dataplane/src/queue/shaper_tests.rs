//! The shaper against the definition: what every interval may carry.

use super::*;
use alloc::vec::Vec;
use proptest::prelude::*;

const P3: Priority = Priority::from_low_bits(3);
const P5: Priority = Priority::from_low_bits(5);
const LONGEST: u32 = 1_522;

fn at(ns: u64) -> Instant {
    Instant::from_ns(ns)
}

fn peak(bps: u64, burst_bytes: u32) -> PeakRate {
    PeakRate { rate: Speed::from_bps(bps), burst_bytes }
}

fn shaper(bps: u64, burst_bytes: u32) -> Shaper {
    let mut shaper = Shaper::new(LONGEST);
    shaper.set(P3, Some(peak(bps, burst_bytes)), at(0));
    shaper
}

fn is_free(shaper: &Shaper, ns: u64) -> bool {
    shaper.limited_bits(at(ns)) & P3.bit() == 0
}

/// Sends frames of `bytes` bytes at `ns` as long as it may; how many.
fn burst(shaper: &mut Shaper, bytes: u32, ns: u64) -> u64 {
    let mut frames = 0;
    while is_free(shaper, ns) {
        shaper.sent(P3, bytes, at(ns));
        frames += 1;
    }
    frames
}

/// What was sent: when, and the octets with FCS. Every interval is looked at.
#[derive(Default)]
struct Sent(Vec<(u64, u64)>);

impl Sent {
    /// Whether each interval that ends at `ns` has room for `more` octets: at most `bps` and
    /// `burst` octets at once, or one longest frame.
    fn has_room(&self, ns: u64, more: u64, bps: u64, burst: u64) -> bool {
        let mut octets = more;
        let most = burst.max(u64::from(LONGEST + 4));
        self.0.iter().rev().all(|&(began, sent)| {
            octets += sent;
            let allowed = u128::from(bps) * u128::from(ns - began);
            u128::from(octets) * 8_000_000_000 <= allowed + u128::from(most) * 8_000_000_000
        })
    }
}

proptest! {
    /// No interval carries more than rate and burst allow, and a queue waits only if its next frame
    /// could break that: it is never held back for nothing.
    #[test]
    fn a_queue_sends_what_every_interval_allows_and_no_less(
        bps in 1_000_u64..20_000_000_000, burst in 0_u32..60_000,
        polls in proptest::collection::vec((0_u64..40_000, 60..=LONGEST), 1..150),
    ) {
        let mut shaper = shaper(bps, burst);
        let (mut sent, mut now) = (Sent::default(), 0);
        for (ns, bytes) in polls {
            now += ns;
            let may = sent.has_room(now, u64::from(LONGEST + 4), bps, burst.into());
            prop_assert_eq!(is_free(&shaper, now), may, "at {} ns", now);
            let free_at = shaper.free_at(P3).ns;
            prop_assert_eq!(free_at <= now, may);
            prop_assert!(may || is_free(&shaper, free_at) && !is_free(&shaper, free_at - 1));
            if may {
                shaper.sent(P3, bytes, at(now));
                sent.0.push((now, u64::from(bytes + 4)));
                prop_assert!(sent.has_room(now, 0, bps, burst.into()));
            }
        }
    }

    /// A frame that the device refuses counts for nothing, neither octets nor times.
    #[test]
    fn a_refused_frame_is_as_if_it_had_not_been_sent(
        polls in proptest::collection::vec((0_u64..20_000, 60..=LONGEST, any::<bool>()), 1..80),
    ) {
        let (mut refused, mut plain) = (shaper(1_000_000_000, 4_000), shaper(1_000_000_000, 4_000));
        let mut now = 0;
        for (ns, bytes, goes) in polls {
            now += ns;
            prop_assert_eq!(is_free(&refused, now), is_free(&plain, now));
            if !is_free(&plain, now) {
                continue;
            }
            refused.sent(P3, bytes, at(now));
            if goes {
                plain.sent(P3, bytes, at(now));
            } else {
                refused.take_back(P3, bytes);
            }
            prop_assert_eq!(refused.free_at(P3).max(at(now)), plain.free_at(P3).max(at(now)));
            prop_assert_eq!(refused.used_up(P3), plain.used_up(P3));
        }
    }
}

#[test]
fn the_rate_counts_octets_of_frames_with_their_fcs() {
    // 996 bytes and the FCS are 8,000 bits: 8 us at 1G, whatever preamble and gap take.
    let mut shaper = shaper(1_000_000_000, 0);
    let first = burst(&mut shaper, 996, 0);
    assert_eq!((first, shaper.free_at(P3)), (1, at(8_000)));
    let frames: u64 = (0..1_000_000).step_by(10).map(|ns| burst(&mut shaper, 996, ns)).sum();
    assert_eq!(first + frames, 125, "1 ms at 1G");
    assert_eq!(shaper.used_up(P3), 125);
}

#[test]
fn an_idle_queue_has_its_burst_and_no_more() {
    let mut shaper = shaper(10_000_000, 20_000);
    assert_eq!(burst(&mut shaper, 996, 9_000_000_000), 19, "the next could be of 1,526 octets");
    assert_eq!(burst(&mut shaper, 996, 90_000_000_000), 19);
    assert_eq!(shaper.used_up(P3), 2);
}

#[test]
fn only_shaped_queues_count() {
    let mut shaper = shaper(1_000, 0);
    shaper.sent(P5, 1_000, at(0));
    shaper.sent(P3, 1_000, at(0));
    assert_eq!((shaper.limited_bits(at(1)), shaper.free_at(P5)), (P3.bit(), Instant::ZERO));
}

#[test]
fn a_new_rate_holds_at_once_and_old_debts_are_the_new_bursts_at_most() {
    let mut shaper = shaper(10_000_000_000, 1_000_000);
    let _frames = burst(&mut shaper, 1_522, 0);
    shaper.set(P3, Some(peak(1_000_000, 0)), at(0));
    assert_eq!(shaper.free_at(P3), at(12_208_000), "1,526 octets at 1M, not the megabyte");
    shaper.set(P3, Some(peak(1_000_000_000, 0)), at(6_104_000));
    assert_eq!(shaper.free_at(P3), at(6_104_000 + 6_104), "half of them is paid");
    shaper.set(P3, None, at(6_104_001));
    assert_eq!((shaper.shaped_bits(), shaper.limited_bits(at(6_104_001))), (0, 0));
}

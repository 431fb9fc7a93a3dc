//! WRED: lossy frames that are dropped before their queue is full, through a whole worker.

use dataplane::control_rings::Command;
use dataplane::ids::Priority;
use dataplane::settings::DepthCurve;
use dataplane::testing::wire::{Udp, sequence};
use dataplane::testing::{Rig, RigBuilder};

const BYTES: u16 = 1_000;
const ECT_0: u8 = 0b10;
const NOT_ECT: u8 = 0;
const CE: u8 = 0b11;
const LOSSY: usize = 0;

/// Nothing up to 10 frames, everything above.
const STEP: DepthCurve = DepthCurve { kmin_bytes: 10_000, kmax_bytes: 10_000, pmax_q16: 65_536 };

/// The frame that waits first, in another queue.
const FIRST: u32 = 9_999;

/// Port 2 takes nothing until it is [released](leave). A frame waits there, so that no other passes
/// the queues.
fn blocked(builder: RigBuilder) -> Rig {
    let mut rig = builder.build();
    rig.port(2).takes_frames = Some(0);
    rig.arrive(1, &Udp { sequence: FIRST, ..Udp::routed(1, 2, 26) }.bytes());
    rig.settle();
    rig
}

fn arrive(rig: &mut Rig, dscp: u8, ecn: u8, count: u32) {
    let tos = dscp << 2 | ecn;
    let frame = Udp { tos, frame_bytes: BYTES.into(), ..Udp::routed(1, 2, 0) };
    rig.arrive_numbered(1, &frame, 0..count);
    rig.settle();
}

fn leave(rig: &mut Rig) -> Vec<Vec<u8>> {
    rig.port(2).takes_frames = None;
    rig.settle();
    rig.sent(2).into_iter().filter(|frame| sequence(frame) != FIRST).collect()
}

/// What the rig counts, as `port counter value`, without what every load moves.
fn drops(rig: &Rig) -> Vec<String> {
    let counters = rig.counters();
    counters.into_iter().filter(|line| line.contains("drop") || line.contains("marked")).collect()
}

#[test]
fn a_lossy_queue_above_the_step_takes_no_more_frames() {
    let mut rig = blocked(RigBuilder::routed(2).wred(LOSSY, STEP));
    arrive(&mut rig, 0, NOT_ECT, 30);
    assert_eq!(drops(&rig), ["p2 drop.wred_drop = 19"]);
    let left: Vec<u32> = leave(&mut rig).iter().map(|frame| sequence(frame)).collect();
    assert_eq!(left, (0..11).collect::<Vec<_>>(), "the queue was at 10,000 bytes for the 11th");
    assert_eq!((rig.totals().held, rig.totals().dropped), (0, 19));
    arrive(&mut rig, 0, NOT_ECT, 1);
    assert_eq!(leave(&mut rig).len(), 1, "an idle port drops nothing");
}

#[test]
fn lossless_frames_are_never_dropped_early() {
    let mut rig = blocked(RigBuilder::routed(2).wred(3, STEP));
    arrive(&mut rig, 26, NOT_ECT, 30);
    assert_eq!(drops(&rig), <[&str; 0]>::default());
    assert_eq!(leave(&mut rig).len(), 30);
}

#[test]
fn what_ecn_marks_is_not_dropped_and_the_rest_is() {
    for tos in [NOT_ECT, ECT_0] {
        let mut rig = blocked(RigBuilder::routed(2).ecn(LOSSY, STEP).wred(LOSSY, STEP));
        arrive(&mut rig, 0, tos, 30);
        let left = leave(&mut rig);
        let marked = left.iter().filter(|frame| frame[15] & 3 == CE).count();
        let expected: (&[&str], usize, usize) = match tos {
            NOT_ECT => (&["p2 drop.wred_drop = 19"], 11, 0),
            _ => (&["p2 ecn_marked_frames[0] = 20"], 30, 20),
        };
        assert_eq!(drops(&rig), expected.0);
        assert_eq!((left.len(), marked), (expected.1, expected.2));
    }
}

/// Bridged: IPv6 has its ECN field elsewhere, and a frame without an IP header has none.
#[test]
fn ipv6_frames_are_marked_too_and_others_are_dropped() {
    let mut frames = Vec::new();
    for (sequence, class) in (0..15).zip([NOT_ECT, ECT_0, 1].into_iter().cycle()) {
        let tos = class;
        let frame = Udp { tos, frame_bytes: BYTES.into(), sequence, ..Udp::bridged(1, 2, 0) };
        let mut bytes = frame.bytes();
        // The same octets with an IPv6 header, and with another EtherType.
        match sequence % 2 {
            0 => {
                bytes[12..14].copy_from_slice(&0x86DD_u16.to_be_bytes());
                bytes[14..18].copy_from_slice(&(6 << 28 | u32::from(class) << 20).to_be_bytes());
                bytes[18..20].copy_from_slice(&(BYTES - 54).to_be_bytes());
            }
            _ => bytes[12..14].copy_from_slice(&0x88B5_u16.to_be_bytes()),
        }
        frames.push((bytes, sequence % 2 == 0 && class != NOT_ECT));
    }
    let all = DepthCurve { kmin_bytes: 0, kmax_bytes: 0, pmax_q16: 65_536 };
    let mut rig = RigBuilder::bridged(2).ecn(LOSSY, all).wred(LOSSY, all).build();
    rig.port(2).takes_frames = Some(0);
    rig.arrive(1, &Udp { sequence: FIRST, ..Udp::bridged(1, 2, 26) }.bytes());
    rig.settle();
    for (bytes, _) in &frames {
        rig.arrive(1, bytes);
    }
    rig.settle();
    let kept = 1 + frames[1..].iter().filter(|(_, is_capable)| *is_capable).count();
    assert_eq!(leave(&mut rig).len(), kept);
    assert_eq!(drops(&rig)[0], format!("p2 drop.wred_drop = {}", frames.len() - kept));
}

/// Frame by frame: whether it was dropped, against the probability at the depth that it found.
#[test]
fn between_the_thresholds_as_many_are_dropped_as_the_curve_says() {
    let curve = DepthCurve { kmin_bytes: 20_000, kmax_bytes: 90_000, pmax_q16: 26_214 };
    let (mut dropped, mut expected, mut variance) = (0.0, 0.0, 0.0);
    for seed in 1..=40 {
        let mut builder = RigBuilder::routed(2).wred(LOSSY, curve);
        builder.settings.seed = seed;
        let mut rig = blocked(builder);
        arrive(&mut rig, 0, NOT_ECT, 100);
        let left: Vec<u32> = leave(&mut rig).iter().map(|frame| sequence(frame)).collect();
        let mut depth = 0.0;
        for number in 0..100 {
            let share = ((depth - 20_000.0) / 70_000.0_f64).clamp(0.0, 1.0);
            let p = if depth > 90_000.0 { 1.0 } else { share * 0.4 };
            expected += p;
            variance += p * (1.0 - p);
            if left.contains(&number) {
                depth += f64::from(BYTES);
            } else {
                dropped += 1.0;
            }
        }
    }
    assert!(expected > 300.0, "{expected}");
    assert!((dropped - expected).abs() <= 5.0 * f64::sqrt(variance), "{dropped} of {expected}");
}

#[test]
fn a_running_switch_takes_a_new_curve() {
    let mut rig = blocked(RigBuilder::routed(2));
    for (curve, expected) in [(None, 0), (Some(STEP), 29), (None, 29)] {
        rig.command(|| Command::Wred(Priority::EACH[LOSSY], curve));
        arrive(&mut rig, 0, NOT_ECT, 20 + u32::from(curve.is_some()) * 9);
        let lines = drops(&rig);
        let counted = (expected > 0).then(|| format!("p2 drop.wred_drop = {expected}"));
        assert_eq!(lines, counted.into_iter().collect::<Vec<_>>());
    }
}

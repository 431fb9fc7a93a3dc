//! ECN marking and early drops (WRED).

use crate::dut::{self, Dut, LOSSY_DSCP, MS, POOL, PROFILE, received};
use crate::model::Profile;
use dataplane::control_rings::Command;
use dataplane::ids::Priority;
use dataplane::settings::DepthCurve;
use dataplane::testing::wire::Udp;

const BYTES: u32 = 1_000;
const ECT_0: u8 = 0b10;
const NOT_ECT: u8 = 0;
const CE: u8 = 0b11;

/// `frames` frames with this ECN field wait for a port that a pause holds. The ECN fields with
/// which they leave, in order.
fn released(ecn: DepthCurve, frames: u32, field: u8, seed: u64) -> (Vec<u8>, u64) {
    let profile = Profile { dynamic_th: 3, ..PROFILE };
    let mut builder = dut::builder(2, profile, 10 * POOL).ecn(3, ecn);
    builder.settings.seed = seed;
    let mut dut = Dut::new(builder);
    dut.hear_pfc(2, 1 << 3, 0xFFFF);
    let tos = 3 << 2 | field;
    let frame = Udp { tos, frame_bytes: BYTES as usize, ..Udp::routed(1, 2, 0) };
    dut.rig.arrive_numbered(1, &frame, 0..frames);
    dut.rig.settle();
    dut.pass(4 * MS);
    let fields: Vec<u8> = dut.left(2).iter().map(|frame| frame[15] & 3).collect();
    assert_eq!(fields.len(), frames as usize, "never dropped instead");
    assert_eq!(dut.rig.totals().dropped, 0);
    (fields, dut.rig.report(2).counters.ecn_marked_frames[3])
}

/// The probability by which a frame is marked that leaves a queue of `depth` bytes.
fn probability(ecn: DepthCurve, depth: u32) -> f64 {
    if depth <= ecn.kmin_bytes {
        0.0
    } else if depth > ecn.kmax_bytes {
        1.0
    } else {
        let span = f64::from(ecn.kmax_bytes - ecn.kmin_bytes);
        f64::from(depth - ecn.kmin_bytes) / span * f64::from(ecn.pmax_q16) / 65_536.0
    }
}

/// DscpEcnSend, `ecn_1` to `ecn_5`: a frame that is not ECN-capable is never marked; below the
/// minimum none is; above it, as many as the curve says. Theirs wants 3 to 7 percent of the limit
/// marked where 5 are due; here five standard deviations are allowed, over twenty runs.
#[test]
fn qos_sai_dscp_ecn() {
    let curve = DepthCurve { kmin_bytes: 250_000, kmax_bytes: 1_000_000, pmax_q16: 3_277 };
    for (frames, field) in
        [(200, ECT_0), (900, NOT_ECT), (250, ECT_0), (900, ECT_0), (1_500, ECT_0)]
    {
        let (mut marked, mut expected, mut variance) = (0.0, 0.0, 0.0);
        for seed in 1..=20 {
            let (fields, counted) = released(curve, frames, field, seed);
            let of_frames = fields.iter().filter(|&&field| field == CE).count();
            assert_eq!(of_frames as u64, counted, "{frames} frames");
            let unmarked = fields.iter().filter(|&&left| left == field).count();
            assert_eq!(of_frames + unmarked, frames as usize, "no other codepoint");
            marked += of_frames as f64;
            if field == ECT_0 {
                for depth in (1..=frames).map(|waiting| waiting * BYTES) {
                    let p = probability(curve, depth);
                    expected += p;
                    variance += p * (1.0 - p);
                }
            }
        }
        let most = 5.0 * f64::sqrt(variance);
        assert!((marked - expected).abs() <= most, "{frames} frames: {marked} for {expected}");
        assert!(field != NOT_ECT || marked == 0.0);
    }
}

/// The first and the last frame that is marked, with a step: the queue is measured as a frame
/// leaves, so the first are marked and the last are not.
#[test]
fn the_marks_end_where_the_queue_is_short_again() {
    let step = DepthCurve { kmin_bytes: 100_000, kmax_bytes: 100_000, pmax_q16: 65_536 };
    let (fields, _) = released(step, 250, ECT_0, 1);
    assert_eq!(fields, [[CE; 150].as_slice(), &[ECT_0; 100]].concat());
}

/// A profile with `ecn_all` and `wred_green_enable`: above its maximum a lossy queue drops what is
/// not ECN-capable, marks the rest, and a lossless queue drops nothing.
#[test]
fn a_wred_profile_drops_what_is_not_ecn_capable() {
    const FRAMES: u32 = 50;
    let step = DepthCurve { kmin_bytes: 20_000, kmax_bytes: 20_000, pmax_q16: 65_536 };
    let profile = Profile { dynamic_th: 3, ..PROFILE };
    for (dscp, queue, field) in
        [(LOSSY_DSCP, 0_u8, NOT_ECT), (LOSSY_DSCP, 0, ECT_0), (3, 3, NOT_ECT)]
    {
        let builder = dut::builder(2, profile, POOL);
        let mut dut = Dut::new(builder.ecn(queue.into(), step).wred(queue.into(), step));
        dut.block(2);
        let tos = dscp << 2 | field;
        let frame = Udp { tos, frame_bytes: BYTES as usize, ..Udp::routed(1, 2, 0) };
        // The port of the first frame looked free.
        for numbers in [0..1, 1..FRAMES] {
            dut.rig.arrive_numbered(1, &frame, numbers);
            dut.rig.settle();
        }
        let mut expected = received(1, queue, BYTES as usize, FRAMES);
        let dropped = if (queue, field) == (0, NOT_ECT) { FRAMES - 21 } else { 0 };
        expected.extend((dropped > 0).then(|| format!("p2 drop.wred_drop +{dropped}")));
        assert_eq!(dut.moved(), expected);
        dut.release(2);
        let left = dut.left(2);
        let marked = left.iter().filter(|frame| frame[15] & 3 == CE).count();
        assert_eq!(left.len(), (FRAMES - dropped) as usize);
        assert_eq!(marked, if field == ECT_0 { FRAMES as usize - 20 } else { 0 });
    }
}

/// test_ecn_config_utility: the thresholds of a running switch change, of one queue and no other.
#[test]
fn ecn_config_utility() {
    let all = DepthCurve { kmin_bytes: 0, kmax_bytes: 1, pmax_q16: 65_536 };
    let none = DepthCurve { kmin_bytes: 500_000, kmax_bytes: 600_000, pmax_q16: 0 };
    let builder = dut::builder(2, Profile { dynamic_th: 3, ..PROFILE }, 10 * POOL);
    let mut dut = Dut::new(builder.ecn(3, none).ecn(4, all));
    let marked = |dut: &mut Dut, settings: Option<DepthCurve>| {
        dut.rig.command(|| Command::Ecn(Priority::EACH[3], settings));
        dut.hear_pfc(2, 1 << 3 | 1 << 4, 0xFFFF);
        for dscp in [3, 4] {
            let udp = Udp { tos: dscp << 2 | ECT_0, frame_bytes: 1_000, ..Udp::routed(1, 2, 0) };
            dut.rig.arrive_numbered(1, &udp, 0..10);
        }
        dut.rig.settle();
        dut.hear_pfc(2, 1 << 3 | 1 << 4, 0);
        let of = |frames: &[Vec<u8>], dscp: u8| {
            frames.iter().filter(|frame| frame[15] == dscp << 2 | CE).count()
        };
        let left = dut.left(2);
        assert_eq!(left.len(), 20);
        [of(&left, 3), of(&left, 4)]
    };
    for (settings, expected) in [(Some(none), 0), (Some(all), 10), (Some(none), 0), (None, 0)] {
        assert_eq!(marked(&mut dut, settings), [expected, 10], "{settings:?}");
    }
}

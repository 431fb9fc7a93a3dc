use super::*;
use dataplane::time::Speed;

/// `tau` of section 5.4: 10G, MTU 1,500, 1 us of wire each way, 3 us to react.
const TAU_PS: u64 = 7_400_000;

#[test]
fn the_papers_figures_at_10g() {
    let c_tau = Speed::from_gbps(10).bps() * TAU_PS / 8 / 1_000_000_000_000;
    assert_eq!(c_tau, 9_250);
    assert_eq!((theorem(c_tau), staged(c_tau)), (37_000, 18_500));
    assert_eq!(tight(c_tau), 25_145, "25,144.1");
    assert_eq!(worst_load_bps(TAU_PS) / 1_000_000, 69);
    assert_eq!(steady_load_bps(TAU_PS) / 100_000, 86, "8.6 Mb/s");
}

#[test]
fn time_based_grows_with_the_period() {
    assert_eq!(time_based(10_000, 0), 10_000);
    assert_eq!(time_based(10_000, 10_000), 40_000);
    assert_eq!(time_based(9, 3), 9 + 3 + 2 * 6, "rounded up");
}

#[test]
fn the_slack_is_a_frame_and_a_byte_for_each_sender() {
    assert_eq!(slack(1_514, 2, 0), 1_516);
    assert_eq!(slack(1_514, 64, 250), 1_828);
    assert_eq!(slack(u64::MAX, 1, 1), u64::MAX);
    assert_eq!(senders_max(18_500 * 2), 65_536, "stages to C / 2^16");
}

/// The queue of the conceptual form as a fluid, in steps of `tau / STEPS`, with `C = tau = 1`:
/// inflow is what the queue said `tau` ago. Returns the least room that was ever left, in `C tau`.
fn least_room(span: f64, drains: impl Fn(usize) -> f64, steps: usize) -> f64 {
    const STEPS: usize = 2_000;
    let dt = 1.0 / STEPS as f64;
    let mut room = vec![span];
    let mut least = span;
    for step in 0..steps {
        let seen = if step < STEPS { span } else { room[step - STEPS] };
        let inflow = (seen / span).clamp(0.0, 1.0);
        let next = (room[step] + (drains(step) - inflow) * dt).min(span);
        least = least.min(next);
        room.push(next);
    }
    least
}

/// What a drain can do worst: nothing at all once the queue fills; and what drains comes in bursts
/// with many periods.
#[test]
fn the_tighter_bound_holds_and_no_tighter_one_does() {
    let e = std::f64::consts::E;
    let stopped = |span: f64| least_room(span, |_| 0.0, 60_000);
    assert!(stopped(4.0) > 0.0, "the paper's");
    assert!(stopped(e) > 0.0, "ours");
    for below in [2.65, 2.6, 2.4, 2.0, 1.0] {
        assert!(stopped(below) < 0.0, "{below} C tau overflows");
    }
    for period in [500, 2_000, 3_100, 7_000, 20_000] {
        for share in [1, 2, 3] {
            let bursts = |step: usize| if step % period < period * share / 4 { 1.0 } else { 0.0 };
            assert!(least_room(e, bursts, 60_000) > 0.0, "bursts of {period} x {share}/4");
        }
    }
}

/// The staged form as a fluid, `C = tau = 1`: the rate halves where the rest of the buffer has.
#[test]
fn stages_that_begin_two_c_tau_before_the_end_never_reach_it() {
    const STEPS: usize = 2_000;
    let least = |rest: f64| {
        let span = 2.0 * rest;
        let mut room = vec![span];
        for step in 0..40_000 {
            let seen: f64 = if step < STEPS { span } else { room[step - STEPS] };
            let stage = (span / seen.max(1e-9)).log2().floor().max(0.0);
            let next = room[step] - 0.5_f64.powf(stage) / STEPS as f64;
            room.push(next);
        }
        room.into_iter().fold(span, f64::min)
    };
    assert!(least(2.0) > 0.0);
    assert!(least(0.9) < 0.0, "and half of that is too little");
}

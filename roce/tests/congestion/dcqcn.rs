use crate::is_near;
use proptest::prelude::*;
use roce::congestion::{Algorithm, Congestion, DcqcnParameters, PathFacts};
use roce::time::PS_PER_US;

/// Section 3.3 and figure 7 of the paper, in floats, with a clock that ticks every microsecond.
struct Paper {
    p: DcqcnParameters,
    line: f64,
    rc: f64,
    rt: f64,
    alpha: f64,
    alpha_left_us: u64,
    timer_left_us: u64,
    byte_left: i64,
    t: u32,
    bc: u32,
    has_cut: bool,
}

impl Paper {
    fn new(p: DcqcnParameters, line: f64) -> Self {
        Self {
            p,
            line,
            rc: line,
            rt: line,
            alpha: 1.0,
            alpha_left_us: 0,
            timer_left_us: 0,
            byte_left: 0,
            t: 0,
            bc: 0,
            has_cut: false,
        }
    }

    fn tick(&mut self) {
        if !self.has_cut {
            return;
        }
        let g = f64::from(self.p.g_millionths) / 1e6;
        self.alpha_left_us -= 1;
        if self.alpha_left_us == 0 {
            self.alpha *= 1.0 - g;
            self.alpha_left_us = self.p.alpha_interval_ps / PS_PER_US;
        }
        self.timer_left_us -= 1;
        if self.timer_left_us == 0 {
            self.timer_left_us = self.p.increase_interval_ps / PS_PER_US;
            self.t += 1;
            self.raise();
        }
    }

    fn raise(&mut self) {
        let f = self.p.fast_recovery_steps;
        if self.t.max(self.bc) > f {
            let is_hyper = self.t.min(self.bc) > f;
            self.rt += if is_hyper { self.p.hyper_bps } else { self.p.additive_bps } as f64;
        }
        self.rt = self.rt.min(self.line);
        self.rc = (self.rt + self.rc) / 2.0;
    }

    fn sent(&mut self, bytes: u32) {
        if !self.has_cut {
            return;
        }
        self.byte_left -= i64::from(bytes);
        if self.byte_left <= 0 {
            self.byte_left += i64::try_from(self.p.increase_bytes).unwrap();
            self.bc += 1;
            self.raise();
        }
    }

    fn cnp(&mut self) {
        let g = f64::from(self.p.g_millionths) / 1e6;
        if self.p.clamps_target || self.t > 0 || !self.has_cut {
            self.rt = self.rc;
        }
        self.rc = (self.rc * (1.0 - self.alpha / 2.0)).max(self.p.minimum_bps as f64);
        self.alpha = (1.0 - g) * self.alpha + g;
        self.alpha_left_us = self.p.alpha_interval_ps / PS_PER_US;
        self.timer_left_us = self.p.increase_interval_ps / PS_PER_US;
        self.byte_left = i64::try_from(self.p.increase_bytes).unwrap();
        (self.t, self.bc, self.has_cut) = (0, 0, true);
    }
}

fn path(speed_bps: u64) -> PathFacts {
    PathFacts { speed_bps, base_rtt_ps: 8 * PS_PER_US, packet_bytes: 1_024, hops: 2 }
}

proptest! {
    /// The target and the steps cannot be seen from outside, but each of them decides a later rate.
    #[test]
    fn rates_are_those_of_the_paper_whatever_comes(
        clamps_target: bool,
        steps in 0_u32..7,
        bytes in prop_oneof![20_000_u64..200_000, Just(10_000_000)],
        // What comes at the next microseconds: nothing, a packet, or a notification.
        events in prop::collection::vec((1_u64..400, 0_u32..10), 1..400),
    ) {
        let parameters = DcqcnParameters {
            clamps_target,
            fast_recovery_steps: steps,
            increase_bytes: bytes,
            ..DcqcnParameters::default()
        };
        let speed_bps = 40_000_000_000;
        let mut ours = Congestion::new(&Algorithm::Dcqcn(parameters), &path(speed_bps));
        let mut paper = Paper::new(parameters, speed_bps as f64);
        let mut now_us = 0;
        for (wait_us, kind) in events {
            for _ in 0..wait_us {
                paper.tick();
            }
            now_us += wait_us;
            if kind == 0 {
                ours.on_cnp(now_us * PS_PER_US);
                paper.cnp();
            } else {
                ours.on_sent(now_us * PS_PER_US, 9_000);
                paper.sent(9_000);
            }
            let rate_bps = ours.rate_bps();
            // Ours stops its clock at line rate, which the paper's approaches for ever.
            prop_assert!(is_near(rate_bps, paper.rc), "{rate_bps} {} at {now_us} us", paper.rc);
        }
    }
}

#[test]
fn the_first_notification_halves_the_rate_and_five_steps_bring_most_of_it_back() {
    let mut ours = Congestion::new(&Algorithm::Dcqcn(DcqcnParameters::default()), &path(1 << 36));
    let mut at_us = 1_000;
    ours.on_cnp(at_us * PS_PER_US);
    assert_eq!(ours.rate_bps(), 1 << 35);
    for step in 1..=5 {
        at_us += 55;
        ours.on_sent(at_us * PS_PER_US - 1, 64);
        ours.on_sent(at_us * PS_PER_US, 64);
        assert_eq!(ours.rate_bps(), (1 << 36) - (1 << (35 - step)));
    }
}

#[test]
fn a_long_silence_costs_nothing_and_forgets_the_congestion() {
    let mut ours = Congestion::new(&Algorithm::Dcqcn(DcqcnParameters::default()), &path(1 << 38));
    for count in 0..1_000 {
        ours.on_cnp(count * 50 * PS_PER_US);
    }
    assert_eq!(ours.rate_bps(), DcqcnParameters::default().minimum_bps);
    let late_ps = 1_000_000 * 50 * PS_PER_US;
    ours.on_sent(late_ps, 1_000);
    assert_eq!(ours.rate_bps(), 1 << 38);
    ours.on_cnp(late_ps);
    assert!(ours.rate_bps() > (1 << 38) - (1 << 26), "alpha has fallen to nothing");
}

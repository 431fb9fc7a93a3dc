use crate::is_near;
use proptest::prelude::*;
use roce::congestion::{Algorithm, Congestion, Feedback, PathFacts, TimelyParameters};

/// Algorithm 1 of the paper, in floats.
struct Paper {
    p: TimelyParameters,
    rate: f64,
    previous: Option<f64>,
    difference: f64,
    count: u32,
}

impl Paper {
    fn sample(&mut self, rtt: f64, line: f64) {
        let p = &self.p;
        let Some(previous) = self.previous.replace(rtt) else { return };
        let (alpha, beta) =
            (f64::from(p.alpha_millionths) / 1e6, f64::from(p.beta_millionths) / 1e6);
        self.difference = (1.0 - alpha) * self.difference + alpha * (rtt - previous);
        let gradient = self.difference / p.minimum_rtt_ps as f64;
        let delta = p.additive_bps as f64;
        let (low, high) = (p.t_low_ps as f64, p.t_high_ps as f64);
        self.count = if gradient <= 0.0 && rtt >= low && rtt <= high { self.count + 1 } else { 0 };
        if rtt < low {
            self.rate += delta;
        } else if rtt > high {
            self.rate *= 1.0 - beta * (1.0 - high / rtt);
        } else if gradient <= 0.0 {
            let n = if self.count >= p.hyper_samples { p.hyper_samples } else { 1 };
            self.rate += f64::from(n) * delta;
        } else {
            self.rate *= (1.0 - beta * gradient).max(0.0);
        }
        self.rate = self.rate.clamp(p.minimum_bps as f64, line);
    }
}

proptest! {
    #[test]
    fn rates_are_those_of_the_paper(
        rtts_us in prop::collection::vec(
            prop_oneof![10_u64..60, 40_u64..90, 100_u64..600, 400_u64..5_000], 1..300),
    ) {
        let (p, speed_bps) = (TimelyParameters::default(), 10_000_000_000);
        let path = PathFacts { speed_bps, base_rtt_ps: 0, packet_bytes: 4_096, hops: 1 };
        let mut ours = Congestion::new(&Algorithm::Timely(p), &path);
        let mut paper =
            Paper { p, rate: speed_bps as f64, previous: None, difference: 0.0, count: 0 };
        for rtt_us in rtts_us {
            let rtt_ps = rtt_us * 1_000_000;
            // A segment's packets: only the last is a completion.
            for rtt_ps in [1, 2, 3, rtt_ps] {
                ours.on_feedback(0, &Feedback {
                    rtt_ps,
                    acknowledged_bytes: 4_096,
                    acknowledged_to: 0,
                    sent_to: 0,
                    telemetry: None,
                });
            }
            paper.sample(rtt_ps as f64, speed_bps as f64);
            prop_assert!(is_near(ours.rate_bps(), paper.rate), "{} {}", ours.rate_bps(), paper.rate);
        }
    }
}

use proptest::prelude::*;
use roce::congestion::{Algorithm, Congestion, Feedback, PathFacts, SwiftParameters};

const PACKET: u32 = 4_096;
const SPEED: u64 = 100_000_000_000;

/// Algorithm 1 and section 3.5 of the paper, in floats: packets and picoseconds.
struct Paper {
    p: SwiftParameters,
    hops: f64,
    most: f64,
    cwnd: f64,
    rtt: f64,
    last_decrease: f64,
    retransmits: u32,
}

impl Paper {
    fn share(millionths: u32) -> f64 {
        f64::from(millionths) / 1e6
    }

    fn target(&self) -> f64 {
        let p = &self.p;
        let range = p.scaling_range_ps as f64;
        let least = Self::share(p.scaling_least_millionths);
        let most = Self::share(p.scaling_most_millionths);
        let alpha = range / (1.0 / least.sqrt() - 1.0 / most.sqrt());
        let beta = -alpha / most.sqrt();
        let scaling = (alpha / self.cwnd.sqrt() + beta).min(range).max(0.0);
        p.base_target_ps as f64 + self.hops * p.hop_ps as f64 + scaling
    }

    fn acknowledge(&mut self, now: f64, delay: f64, packets: f64) {
        let p = self.p;
        let before = self.cwnd;
        let target = self.target();
        self.retransmits = 0;
        let can_decrease = now - self.last_decrease >= self.rtt;
        self.rtt = delay;
        let ai = Self::share(p.additive_millionths);
        if delay < target {
            self.cwnd += if self.cwnd >= 1.0 { ai / self.cwnd * packets } else { ai * packets };
        } else if can_decrease {
            let beta = Self::share(p.beta_millionths);
            let factor = 1.0 - beta * ((delay - target) / delay);
            self.cwnd *= factor.max(1.0 - Self::share(p.decrease_most_millionths));
            self.rtt = delay;
        }
        self.end(before, now);
    }

    fn lose(&mut self, now: f64) {
        let before = self.cwnd;
        self.retransmits += 1;
        if self.retransmits >= self.p.reset_losses {
            self.cwnd = 0.0;
        } else if now - self.last_decrease >= self.rtt {
            self.cwnd *= 1.0 - Self::share(self.p.decrease_most_millionths);
        }
        self.end(before, now);
    }

    fn end(&mut self, before: f64, now: f64) {
        self.cwnd = self.cwnd.clamp(Self::share(self.p.least_millionths), self.most);
        if self.cwnd < before {
            self.last_decrease = now;
        }
    }
}

proptest! {
    /// The delay is the same for all acknowledgments, so that "an RTT since" is unambiguous.
    #[test]
    fn windows_are_those_of_the_paper(
        delay_us in prop_oneof![20_u64..36, 30_u64..60, 60_u64..400],
        events in prop::collection::vec((1_u64..300, 0_u32..12), 1..300),
    ) {
        let p = SwiftParameters::default();
        let path = PathFacts { speed_bps: SPEED, base_rtt_ps: 20_000_000, packet_bytes: PACKET, hops: 3 };
        let mut ours = Congestion::new(&Algorithm::Swift(p), &path);
        let packets = |us: f64| us * SPEED as f64 / 8e6 / f64::from(PACKET);
        let mut paper = Paper {
            p,
            hops: 3.0,
            most: packets(131.0),
            cwnd: packets(20.0),
            rtt: 20e6,
            last_decrease: -1e12,
            retransmits: 0,
        };
        let mut now_ps = 0;
        for (number, (wait_us, kind)) in events.into_iter().enumerate() {
            // Odd moments, so that no wait is an RTT to the picosecond.
            now_ps += wait_us * 1_000_000 + 7;
            let delay_ps = delay_us * 1_000_000;
            // As near as this rounding decides whether the window falls.
            if (paper.target() - delay_ps as f64).abs() < 2e-3 * delay_ps as f64 {
                break;
            }
            if kind == 0 && number > 0 {
                ours.on_loss(now_ps);
                paper.lose(now_ps as f64);
            } else {
                ours.on_feedback(now_ps, &Feedback {
                    rtt_ps: delay_ps,
                    acknowledged_bytes: u64::from(kind * PACKET),
                    acknowledged_to: 0,
                    sent_to: 0,
                    telemetry: None,
                });
                paper.acknowledge(now_ps as f64, delay_ps as f64, f64::from(kind));
            }
            let window = ours.window_bytes().unwrap() as f64;
            let theirs = paper.cwnd.max(1.0) * f64::from(PACKET);
            prop_assert!((window - theirs).abs() < 1.0 + 1e-3 * theirs, "{window} {theirs}");
            let rate = ours.rate_bps() as f64;
            let theirs = if paper.cwnd >= 1.0 { SPEED as f64 }
                else { paper.cwnd * f64::from(PACKET) * 8e12 / paper.rtt };
            prop_assert!((rate - theirs).abs() < 2e-3 * theirs + 16.0, "{rate} {theirs}");
        }
    }
}

#[test]
fn a_window_below_a_packet_is_a_pause_between_packets() {
    let path =
        PathFacts { speed_bps: SPEED, base_rtt_ps: 20_000_000, packet_bytes: PACKET, hops: 0 };
    let mut ours = Congestion::new(&Algorithm::Swift(SwiftParameters::default()), &path);
    for _ in 0..5 {
        ours.on_loss(0);
    }
    assert_eq!(ours.window_bytes(), Some(u64::from(PACKET)));
    // A hundredth of a packet in each RTT: a packet in 2 ms.
    let expected_bps = u64::from(PACKET) * 8 * 500;
    assert!(ours.rate_bps().abs_diff(expected_bps) <= expected_bps / 1_000, "{}", ours.rate_bps());
}

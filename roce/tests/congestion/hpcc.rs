use dataplane::time::Instant;
use dataplane::wire::telemetry::{Hop, Stack};
use proptest::prelude::*;
use roce::congestion::{Algorithm, Congestion, Feedback, HpccParameters, PathFacts};

/// Codes of 100 and 400 Gb/s.
const SPEED_100G: u8 = 2;
const SPEED_400G: u8 = 4;

/// A link, in the units that telemetry has.
#[derive(Clone, Copy, Debug, Default)]
struct Link {
    at_ns: u64,
    sent_bytes: u64,
    queued_bytes: u64,
    speed: u8,
}

impl Link {
    fn bytes_a_ps(self) -> f64 {
        if self.speed == SPEED_400G { 0.05 } else { 0.0125 }
    }
}

fn stack(links: &[Link]) -> Stack {
    let mut stack = Stack::EMPTY;
    for (number, link) in (1..).zip(links) {
        let queued_bytes = u32::try_from(link.queued_bytes).unwrap();
        let at = Instant::from_ns(link.at_ns);
        assert!(stack.push(number, Hop::new(link.speed, at, link.sent_bytes, queued_bytes)));
    }
    stack
}

/// Algorithm 1 of the paper, in floats: bytes and picoseconds.
struct Paper {
    p: HpccParameters,
    t: f64,
    most: f64,
    w: f64,
    wc: f64,
    u: f64,
    stage: u32,
    updated_to: u64,
    last: Vec<Link>,
}

impl Paper {
    fn acknowledge(&mut self, to: u64, sent: u64, hops: &[Link]) {
        if !self.last.is_empty() {
            self.measure(hops);
            if to > self.updated_to {
                self.resize(true);
                self.updated_to = sent;
            } else {
                self.resize(false);
            }
        }
        self.last = hops.to_vec();
    }

    fn measure(&mut self, hops: &[Link]) {
        let (mut u, mut tau) = (0.0, 0.0);
        for (hop, last) in hops.iter().zip(&self.last) {
            let bytes_a_ps = hop.bytes_a_ps();
            let passed = (hop.at_ns - last.at_ns) as f64 * 1e3;
            if passed == 0.0 {
                continue;
            }
            let rate = (hop.sent_bytes - last.sent_bytes) as f64 / passed;
            let queue = hop.queued_bytes.min(last.queued_bytes) as f64;
            let link = queue / (bytes_a_ps * self.t) + rate / bytes_a_ps;
            if link > u {
                (u, tau) = (link, passed);
            }
        }
        let tau: f64 = f64::min(tau, self.t);
        self.u = (1.0 - tau / self.t) * self.u + tau / self.t * u;
    }

    fn resize(&mut self, update: bool) {
        let eta = f64::from(self.p.eta_millionths) / 1e6;
        let additive = self.p.additive_bytes as f64;
        let is_full = self.u >= eta || self.stage >= self.p.stages_max;
        let base = if is_full { self.wc / (self.u / eta) } else { self.wc };
        self.w = (base + additive).clamp(1.0, self.most);
        if update {
            self.stage = if is_full { 0 } else { self.stage + 1 };
            self.wc = self.w;
        }
    }
}

proptest! {
    #[test]
    fn windows_are_those_of_the_paper(
        additive_bytes in 1_u64..2_000,
        acks in prop::collection::vec(
            ((1_u64..30_000, 0_u64..1_200, 0_u64..5_000), (0_u64..20_000, 0_u64..30_000)),
            1..200),
    ) {
        let p = HpccParameters { additive_bytes, ..HpccParameters::default() };
        let (speed_bps, base_rtt_ps) = (100_000_000_000, 13_000_000);
        let path = PathFacts { speed_bps, base_rtt_ps, packet_bytes: 1_000, hops: 3 };
        let mut ours = Congestion::new(&Algorithm::Hpcc(p), &path);
        let first = ours.window_bytes().unwrap();
        prop_assert_eq!(first, 162_500);
        let (t, most) = (base_rtt_ps as f64, first as f64);
        let (stage, updated_to, last) = (0, 0, Vec::new());
        let mut paper = Paper { p, t, most, w: most, wc: most, u: 0.0, stage, updated_to, last };
        let (mut hops, mut to, mut sent_to) = ([Link::default(); 3], 0, 0);
        for ((passed_ns, sent_units, queued_units), (acknowledged_bytes, new_bytes)) in acks {
            for (number, hop) in (1..).zip(&mut hops) {
                hop.at_ns += passed_ns + number;
                hop.sent_bytes += (sent_units / number * 128).min(passed_ns * 12 / 128 * 128);
                hop.queued_bytes = queued_units * 80 * (number % 2);
                hop.speed = if number == 2 { SPEED_400G } else { SPEED_100G };
            }
            sent_to += new_bytes + acknowledged_bytes;
            to += acknowledged_bytes;
            let (acknowledged_to, rtt_ps) = (to, 20_000_000);
            ours.on_feedback(0, &Feedback {
                rtt_ps, acknowledged_bytes, acknowledged_to, sent_to, telemetry: Some(&stack(&hops)),
            });
            paper.acknowledge(to, sent_to, &hops);
            let window = ours.window_bytes().unwrap();
            // Rounding down by a byte in each RTT is not more than a share of what is added.
            prop_assert!((window as f64 - paper.w).abs() <= 0.002 * paper.w + 30.0,
                "{window} {}", paper.w);
            let rate_bps = ours.rate_bps();
            prop_assert!((rate_bps as f64 - window as f64 * 8e12 / t).abs() <= 1.0);
        }
    }
}

#[test]
fn two_flows_that_fill_a_link_settle_at_95_of_100_without_a_queue() {
    // A fluid link of 100 Gb/s and RTTs in lockstep: it holds what the windows exceed it by.
    let path = PathFacts {
        speed_bps: 100_000_000_000,
        base_rtt_ps: 10_000_000,
        packet_bytes: 1_000,
        hops: 1,
    };
    let mut flows =
        [(); 2].map(|()| Congestion::new(&Algorithm::Hpcc(HpccParameters::default()), &path));
    let (mut hop, mut to) = (Link { speed: SPEED_100G, ..Link::default() }, 0);
    for _ in 0..2_000 {
        let inside: u64 = flows.iter().map(|flow| flow.window_bytes().unwrap()).sum();
        to += 200_000;
        hop.at_ns += 10_000;
        hop.sent_bytes += inside.min(125_000);
        hop.queued_bytes = inside.saturating_sub(125_000);
        for flow in &mut flows {
            flow.on_feedback(
                0,
                &Feedback {
                    rtt_ps: 10_000_000,
                    acknowledged_bytes: 100_000,
                    acknowledged_to: to,
                    sent_to: to + 50_000,
                    telemetry: Some(&stack(&[hop])),
                },
            );
        }
    }
    let windows = flows.each_ref().map(|flow| flow.window_bytes().unwrap());
    assert_eq!((hop.queued_bytes, windows[0]), (0, windows[1]));
    assert!((115_000..=122_000).contains(&(2 * windows[0])), "{windows:?}");
}

//! A fat-tree of 80 switches and 128 hosts, all well.

use super::{GIGABIT, MICROSECOND, Wiring, bytes_of, flow};
use netsim::outcome::{DropOutcome, FlowOutcome, Outcome, PauseSpans, QueueSeries, Timeline};
use random::{Draw, SplitMix64};

const PODS: u64 = 8;
const HALF: u64 = PODS / 2;
const STEP_PS: u64 = 5 * MICROSECOND;
const SAMPLES: u64 = 203;
const STOPS_PS: u64 = 1000 * MICROSECOND;

/// A permutation between all hosts, and a few flows more, under the rules of `tagger`.
pub(super) fn clean() -> Outcome {
    let mut rng = random::seeded(11);
    let mut rngs = rng.clone();
    let flows: Vec<FlowOutcome> = (0..256).map(|n| one_flow(n, &mut rng)).collect();
    let flow_bytes: Vec<Vec<u64>> = (0..64).map(|_| rates(&mut rngs)).collect();
    let all_bytes = (0..usize::try_from(SAMPLES).unwrap())
        .map(|n| 4 * flow_bytes.iter().map(|flow| flow[n]).sum::<u64>());
    Outcome {
        name: "fat-tree permutation".to_owned(),
        about: "128 hosts send to one another at random over 80 switches; two links fail."
            .to_owned(),
        scheme: "tagger".to_owned(),
        seed: u64::MAX,
        duration_ps: STOPS_PS,
        drained_ps: Some(STOPS_PS + 12 * MICROSECOND),
        lossy_drops: 18_220,
        drops: vec![
            DropOutcome { reason: "tail_drop".to_owned(), frames: 18_220 },
            DropOutcome { reason: "port_down".to_owned(), frames: 41 },
        ],
        pfc_frames: 91_402,
        paused_ps: 8_400 * MICROSECOND,
        packet_hops: 5_120_774,
        flows,
        timeline: Timeline {
            step_ps: STEP_PS,
            all_bytes: all_bytes.collect(),
            flow_bytes,
            queues: (0..32).map(|n| queue(n, &mut rngs)).collect(),
            pauses: (0..40).map(|n| pause(n, &mut rngs)).collect(),
        },
        topology: wiring(&mut rngs).done(),
        trace_hash: "04c2aa91d2be77f0".to_owned(),
        ..Outcome::default()
    }
}

fn wiring(rng: &mut SplitMix64) -> Wiring {
    let mut wiring = Wiring::default();
    let rate = 100 * GIGABIT;
    let mut busy = || [0, 1].map(|_| rng.below(bytes_of(rate, STOPS_PS)));
    for pod in 0..PODS {
        for n in 0..HALF {
            wiring.node(&format!("e{pod}-{n}"), 1);
            wiring.node(&format!("a{pod}-{n}"), 2);
        }
    }
    for n in 0..HALF * HALF {
        wiring.node(&format!("c{n}"), 3);
    }
    for host in 0..PODS * HALF * HALF {
        wiring.node(&format!("h{host}"), 0);
    }
    for pod in 0..PODS {
        for edge in 0..HALF {
            for n in 0..HALF {
                let host = format!("h{}", (pod * HALF + edge) * HALF + n);
                wiring.link(&host, &format!("e{pod}-{edge}:{}", n + 1), rate, busy());
                let (down, up) =
                    (format!("a{pod}-{n}:{}", edge + 1), format!("e{pod}-{edge}:{}", HALF + n + 1));
                wiring.link(&up, &down, rate, busy());
                let core = format!("c{}:{}", edge * HALF + n, pod + 1);
                wiring.link(&format!("a{pod}-{edge}:{}", HALF + n + 1), &core, rate, busy());
                if (pod, edge, n) == (2, 1, 3) || (pod, edge, n) == (5, 0, 0) {
                    wiring.fail_last();
                }
            }
        }
    }
    wiring
}

fn one_flow(n: u64, rng: &mut SplitMix64) -> FlowOutcome {
    let hosts = PODS * HALF * HALF;
    let (from, to) = (n % hosts, (n * 53 + 17) % hosts);
    let bytes = bytes_of(30 * GIGABIT + rng.below(60 * GIGABIT), STOPS_PS);
    let mut flow = flow(
        &format!("h{from} to h{to}"),
        &format!("h{from}"),
        &format!("h{to}"),
        bytes,
        bytes / 4,
        0,
    );
    if n.is_multiple_of(5) {
        flow.size_bytes = Some(bytes);
        flow.finished_ps = Some(400 * MICROSECOND + rng.below(500 * MICROSECOND));
        flow.late_bytes = 0;
    }
    flow
}

fn rates(rng: &mut SplitMix64) -> Vec<u64> {
    let mean = 25 * GIGABIT + rng.below(60 * GIGABIT);
    let mut rate = mean;
    let mut step = |n| {
        rate = (rate * 3 + mean + rng.below(20 * GIGABIT)).saturating_sub(10 * GIGABIT) / 4;
        if n < SAMPLES - 2 { bytes_of(rate, STEP_PS) } else { bytes_of(rate, STEP_PS) / 6 }
    };
    (0..SAMPLES).map(&mut step).collect()
}

fn queue(n: u64, rng: &mut SplitMix64) -> QueueSeries {
    let mut bytes = 0;
    let mut step = || {
        bytes = (bytes * 7 + rng.below(220_000 - n * 4_000)) / 8;
        bytes
    };
    let series: Vec<u64> = (0..SAMPLES - 2).map(|_| step()).chain([1_200, 0]).collect();
    let xoff_bytes = series.iter().map(|bytes| 610_000 - bytes).collect();
    let port = format!("e{}-{}:{}", n % PODS, n % HALF, n % 7 + 1);
    QueueSeries { port, priority: 3, bytes: series, xoff_bytes }
}

fn pause(n: u64, rng: &mut SplitMix64) -> PauseSpans {
    let mut spans_ps = Vec::new();
    let mut at = rng.below(100 * MICROSECOND);
    while at < STOPS_PS {
        let until = at + 300_000 + rng.below(6_000_000 / (n + 1));
        spans_ps.push((at, until));
        at = until + 200_000 + rng.below((n + 1) * 1_500_000);
    }
    let (pod, edge) = (n % PODS, n % HALF);
    let sender =
        if n.is_multiple_of(3) { format!("h{n}") } else { format!("a{pod}-{edge}:{}", edge + 1) };
    PauseSpans { sender, by: format!("e{pod}-{edge}:{}", n % 8 + 1), priority: 3, spans_ps }
}

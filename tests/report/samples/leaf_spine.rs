//! An incast in a small leaf-spine: what most people simulate first.

use super::{GIGABIT, MICROSECOND, Wiring, bytes_of, flow};
use netsim::outcome::{Outcome, PauseSpans, QueueSeries, Timeline};

const STEP_PS: u64 = 10 * MICROSECOND;
const SAMPLES: u64 = 40;
const STOPS_PS: u64 = 400 * MICROSECOND;

/// Six senders, one receiver.
pub(super) fn incast() -> Outcome {
    let mut wiring = Wiring::default();
    for spine in ["spine1", "spine2"] {
        wiring.node(spine, 2);
    }
    for leaf in 1..=4 {
        wiring.node(&format!("leaf{leaf}"), 1);
        for (spine, name) in [(1, "spine1"), (2, "spine2")] {
            let bytes = bytes_of(3 * GIGABIT * spine, STOPS_PS);
            let up = format!("leaf{leaf}:{}", spine + 2);
            wiring.link(&up, &format!("{name}:{leaf}"), 25 * GIGABIT, [bytes, bytes * (leaf % 3)]);
        }
        for port in 1..=2 {
            let host = format!("h{}", leaf * 2 + port - 2);
            wiring.node(&host, 0);
            let bytes = bytes_of(GIGABIT * leaf * port, STOPS_PS);
            wiring.link(&host, &format!("leaf{leaf}:{port}"), 10 * GIGABIT, [bytes, 0]);
        }
    }
    wiring.fail_last();
    let rate = |n: u64, of: u64| {
        let share = 10 * GIGABIT / (1 + n.min(6 - (n / 7).min(5)));
        bytes_of(share * (3 + (n + of) % 3) / 5, STEP_PS)
    };
    let flow_bytes: Vec<Vec<u64>> =
        (0..6).map(|of| (0..SAMPLES).map(|n| rate(n, of)).collect()).collect();
    let flows = (1..).zip(&flow_bytes).map(|(n, bytes): (u64, _)| {
        let mut flow = flow(
            &format!("h{n} to h8"),
            &format!("h{n}"),
            "h8",
            bytes.iter().sum(),
            bytes[30..].iter().sum(),
            0,
        );
        flow.start_ps = n * 5 * MICROSECOND;
        flow
    });
    let depth = |n: u64, most: u64| most * (n % 9) / 8;
    let queue = |(port, most): (&str, u64)| QueueSeries {
        port: port.to_owned(),
        priority: 3,
        bytes: (0..SAMPLES).map(|n| depth(n, most)).collect(),
        xoff_bytes: vec![50_000; 40],
    };
    let pause = |(sender, by): (&str, &str)| PauseSpans {
        sender: sender.to_owned(),
        by: by.to_owned(),
        priority: 3,
        spans_ps: (3..30)
            .map(|n| (n * 12 * MICROSECOND, (n * 12 + 4 + n % 5) * MICROSECOND))
            .collect(),
    };
    Outcome {
        name: "incast".to_owned(),
        about: "Six hosts send to one at the same time.".to_owned(),
        scheme: "tagger".to_owned(),
        seed: 1,
        duration_ps: STOPS_PS,
        drained_ps: Some(STOPS_PS + 41_300_000),
        pfc_frames: 318,
        paused_ps: 900 * MICROSECOND,
        packet_hops: 120_331,
        flows: flows.collect(),
        timeline: Timeline {
            step_ps: STEP_PS,
            all_bytes: (0..40).map(|n| flow_bytes.iter().map(|flow| flow[n]).sum()).collect(),
            flow_bytes,
            queues: [("leaf4:3", 58_000), ("leaf4:4", 51_000), ("spine1:1", 33_000)]
                .map(queue)
                .into(),
            pauses: [("spine1:4", "leaf4:3"), ("spine2:4", "leaf4:4"), ("h1", "leaf1:1")]
                .map(pause)
                .into(),
        },
        topology: wiring.done(),
        trace_hash: "71d0c2f4bb013a9e".to_owned(),
        ..Outcome::default()
    }
}

//! Three switches in a ring, three flows of two hops each: the smallest deadlock.

use super::{GIGABIT, MICROSECOND, Wiring, bytes_of, cycle, flow};
use netsim::outcome::{DropOutcome, Outcome, PauseSpans, QueueSeries, Timeline};
use random::{Draw, SplitMix64};

const CLOSED_PS: u64 = 63_100_000;
const STEP_PS: u64 = 2 * MICROSECOND;
const SAMPLES: u64 = 110;
const STOPS_PS: u64 = 200 * MICROSECOND;

/// `pfc` on a ring: it locks at 63.1 us.
pub(super) fn deadlock() -> Outcome {
    let mut rng = random::seeded(7);
    let mut wiring = Wiring::default();
    for (switch, host) in [("A", "a"), ("B", "b"), ("C", "c")] {
        wiring.node(switch, 1);
        wiring.node(host, 0);
    }
    let carried = bytes_of(10 * GIGABIT, CLOSED_PS);
    for (from, to) in [("A:1", "B:2"), ("B:1", "C:2"), ("C:1", "A:2")] {
        wiring.link(from, to, 10 * GIGABIT, [carried, 0]);
    }
    for (from, to) in [("a", "A:3"), ("b", "B:3"), ("c", "C:3")] {
        wiring.link(from, to, 10 * GIGABIT, [carried / 2, carried / 2]);
    }
    let flow_bytes: Vec<Vec<u64>> = (0..3).map(|_| rates(&mut rng)).collect();
    let all_bytes: Vec<u64> =
        (0..flow_bytes[0].len()).map(|n| flow_bytes.iter().map(|flow| flow[n]).sum()).collect();
    let ends = [("a to c", "a", "c"), ("b to a", "b", "a"), ("c to b", "c", "b")];
    let flows = ends
        .iter()
        .zip(&flow_bytes)
        .map(|(&(name, from, to), bytes)| flow(name, from, to, bytes.iter().sum(), 0, 61));
    Outcome {
        name: "ring".to_owned(),
        about: "Three flows of two hops each around a ring of three switches. With plain PFC each switch \
                waits for the next, and none ever moves again."
            .to_owned(),
        scheme: "pfc".to_owned(),
        seed: 7,
        duration_ps: STOPS_PS,
        frames_stuck: 183,
        deadlock: cycle(
            CLOSED_PS,
            &[("A", 2, 1, 64_512), ("B", 2, 1, 62_464), ("C", 2, 1, 63_488)],
        ),
        violations: vec!["183 frames had not left the network 1 ms after the sources stopped".to_owned()],
        drops: vec![DropOutcome { reason: "no_route".to_owned(), frames: 3 }],
        pfc_frames: 1_204,
        paused_ps: 6 * (STOPS_PS - CLOSED_PS),
        packet_hops: 4_812,
        flows: flows.collect(),
        timeline: Timeline {
            step_ps: STEP_PS,
            flow_bytes,
            all_bytes,
            queues: queues(&mut rng),
            pauses: pauses(&mut rng),
        },
        topology: wiring.done(),
        trace_hash: "9f3c51e07ab2d846".to_owned(),
        ..Outcome::default()
    }
}

/// Half of a link each, and nothing once it is locked.
fn rates(rng: &mut SplitMix64) -> Vec<u64> {
    let full = bytes_of(5 * GIGABIT, STEP_PS);
    let at = |n: u64, rng: &mut SplitMix64| {
        let wobble = rng.below(full / 4);
        match n * STEP_PS {
            0..4_000_000 => 0,
            4_000_000..44_000_000 => full + full / 8 - wobble,
            44_000_000..62_000_000 => full * (31 - n) / 9 + wobble / 4,
            _ => 0,
        }
    };
    (0..SAMPLES).map(|n| at(n, rng)).collect()
}

/// Thresholds fall as the buffer fills; queues rise until they stay.
fn queues(rng: &mut SplitMix64) -> Vec<QueueSeries> {
    let xoff: Vec<u64> = (0..SAMPLES).map(|n| 96_000 - 40_000 * n.min(32) / 32).collect();
    let mut series = |port: &str, most: u64| {
        let bytes = (0..SAMPLES)
            .map(|n| most * n.min(32) / 32 - rng.below(9_000) * n.min(32 - n.min(32)) / 16);
        QueueSeries {
            port: port.to_owned(),
            priority: 3,
            bytes: bytes.collect(),
            xoff_bytes: xoff.clone(),
        }
    };
    [
        ("A:2", 64_512),
        ("C:2", 63_488),
        ("B:2", 62_464),
        ("A:3", 59_000),
        ("B:3", 57_500),
        ("C:3", 57_100),
    ]
    .map(|(port, most)| series(port, most))
    .into()
}

/// Short pauses at first, then one that does not end.
fn pauses(rng: &mut SplitMix64) -> Vec<PauseSpans> {
    let wires =
        [("A:1", "B:2"), ("B:1", "C:2"), ("C:1", "A:2"), ("a", "A:3"), ("b", "B:3"), ("c", "C:3")];
    let mut rows = Vec::new();
    for (number, (sender, by)) in (0..).zip(wires) {
        let mut spans_ps = Vec::new();
        let mut at = (22 + number) * MICROSECOND;
        while at < 56 * MICROSECOND {
            let until = at + 600_000 + rng.below(1_500_000);
            spans_ps.push((at, until));
            at = until + 900_000 + rng.below(2_500_000);
        }
        let locked = CLOSED_PS - (5 - number.min(5)) * 700_000;
        spans_ps.push((locked.min(CLOSED_PS), SAMPLES * STEP_PS));
        rows.push(PauseSpans {
            sender: sender.to_owned(),
            by: by.to_owned(),
            priority: 3,
            spans_ps,
        });
    }
    rows
}

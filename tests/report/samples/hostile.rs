//! Names that nobody should choose, everywhere, and numbers at their ends.

use super::{GIGABIT, MICROSECOND, Wiring, cycle, flow};
use netsim::outcome::{DropOutcome, Outcome, PauseSpans, QueueSeries, Timeline};

/// What would leave the data, then run.
const NAME: &str = "</script><img src=x onerror=\"document.documentElement.dataset.owned=1\">";

/// A deadlock over two parallel links, between switches with such names.
pub(super) fn names() -> Outcome {
    let long = "a-very-long-name-".repeat(24);
    let others = [
        "\"quoted' & <b>bold</b>",
        "网络 🦀 שלום\u{202e}",
        "__proto__",
        "{{script}}",
        long.as_str(),
        "",
    ];
    let mut wiring = Wiring::default();
    wiring.node(NAME, 1);
    wiring.node(&long, 1);
    wiring.link(&format!("{NAME}:1"), &format!("{long}:1"), 10 * GIGABIT, [900, 0]);
    wiring.link(&format!("{long}:2"), &format!("{NAME}:2"), 10 * GIGABIT, [u64::MAX, 0]);
    for (port, name) in (3..).zip(&others[..4]) {
        wiring.node(name, 0);
        wiring.link(name, &format!("{NAME}:{port}"), 0, [1, 1]);
    }
    let names = others.iter().copied().chain([NAME]);
    let flows: Vec<_> = names.clone().map(|name| flow(name, NAME, name, 4096, 1024, 1)).collect();
    Outcome {
        name: format!("{NAME} {long}"),
        about: format!("<!-- <script> {} {NAME}", others.join(" ")),
        scheme: "<i>pfc</i>".to_owned(),
        seed: 9_007_199_254_740_993,
        duration_ps: MICROSECOND,
        frames_stuck: u64::MAX,
        deadlock: cycle(MICROSECOND / 2, &[(NAME, 2, 1, 1), (&long, 1, 2, u64::MAX)]),
        violations: others.iter().map(|&name| name.to_owned()).chain([NAME.to_owned()]).collect(),
        lossless_drops: u64::MAX,
        drops: vec![DropOutcome { reason: NAME.to_owned(), frames: u64::MAX }],
        timeline: Timeline {
            step_ps: MICROSECOND / 4,
            // Fewer samples than flows, and not all of one length.
            flow_bytes: vec![vec![0, 12, 7, 0], vec![], vec![5]],
            all_bytes: vec![0, 17, 7, 0],
            queues: names.clone().map(queue).collect(),
            pauses: names.map(pause).collect(),
        },
        flows,
        topology: wiring.done(),
        trace_hash: NAME.to_owned(),
        ..Outcome::default()
    }
}

fn queue(port: &str) -> QueueSeries {
    QueueSeries { port: port.to_owned(), priority: 7, bytes: vec![0, 9, 9, 9], xoff_bytes: vec![] }
}

fn pause(sender: &str) -> PauseSpans {
    // Spans of no length, and one beyond the end.
    let spans_ps = vec![(0, 0), (100, 100), (500_000, u64::MAX)];
    PauseSpans { sender: sender.to_owned(), by: NAME.to_owned(), priority: 0, spans_ps }
}

//! Flows that begin and end: sizes, starts and stops, windows that make up for what was lost, and
//! sizes and times drawn at random.

use crate::faults::{drops, outcome, scenario};
use crate::support::{MS, US};
use netsim::scenario::{Options, build, run};

#[test]
fn a_flow_with_size_start_and_stop_sends_that_and_no_more() {
    // 1,538 bytes at 10G: 1.2304 us a frame.
    for (pace, sent, finished) in [
        ("size = '100KB'", 67, true),
        ("size = '100KB'\nstart = '500us'", 67, true),
        ("stop = '100us'", 82, false),
        ("stop = '100us'\nwindow = '30KB'", 82, false),
        ("start = '300us'\nstop = '400us'", 82, false),
        ("rate = '1G'\nstop = '100us'", 9, false),
        ("rate = '1G'\nstart = '300us'\nstop = '400us'", 9, false),
        ("size = '100KB'\nstop = '10us'", 9, false),
        ("size = 1", 1, true),
    ] {
        let outcome = outcome(&format!("[[flow]]\nfrom = 'a'\nto = 'c'\n{pace}\n"));
        let flow = &outcome.flows[0];
        let is_windowed = pace.contains("window");
        let near = flow.sent_frames.abs_diff(sent) <= if is_windowed { 2 } else { 0 };
        assert!(near, "{pace}: {}", flow.sent_frames);
        assert_eq!((flow.missing_frames, flow.finished_ps.is_some()), (0, finished), "{pace}");
        assert_eq!((drops(&outcome), outcome.pfc_frames), (vec![], 0), "{pace}");
        let starts_us = if pace.contains("300us") {
            300
        } else if pace.contains("500us") {
            500
        } else {
            0
        };
        assert_eq!(flow.start_ps, starts_us * US);
        assert!(flow.finished_ps.is_none_or(|at_ps| at_ps > flow.start_ps), "{pace}");
    }
}

#[test]
fn a_last_frame_is_as_long_as_what_is_left() {
    let outcome = outcome("[[flow]]\nfrom = 'a'\nto = 'c'\nsize = 3128\nframe = 1000\n");
    assert_eq!((outcome.flows[0].received_frames, outcome.flows[0].received_bytes), (4, 3_128));
}

#[test]
fn a_flow_with_a_window_arrives_whole_though_frames_are_dropped() {
    // Three senders with more on their way than the switch at the receiver has room for.
    let text = "scheme = { kind = 'lossy' }\nswitches = { size = '60KB' }\n\
        [[traffic]]\nkind = 'incast'\nto = 'c'\nsize = '150KB'\nwindow = '60KB'\n";
    let mut config = scenario(text);
    // Whose last frames are lost hears of no gap, and goes back after a millisecond.
    config.duration_ns = 20_000_000;
    let outcome = run(&config, Options::default()).unwrap();
    assert_eq!(outcome.violations, [""; 0]);
    assert_eq!(outcome.flows.len(), 3);
    for flow in &outcome.flows {
        assert_eq!((flow.received_bytes, flow.size_bytes), (150_000, Some(150_000)));
        let finished_ps = flow.finished_ps.expect("all of it came");
        assert!((120 * US..20 * MS).contains(&finished_ps));
    }
    assert!(outcome.lossy_drops > 10, "{}", outcome.lossy_drops);
    assert_eq!((outcome.lossless_drops, outcome.pfc_frames), (0, 0));
    let by_reason = drops(&outcome);
    assert!(
        by_reason.iter().all(|drop| ["ingress_limit", "tail_drop"].contains(&drop.0)),
        "{by_reason:?}"
    );
    let sent: u64 = outcome.flows.iter().map(|flow| flow.sent_frames).sum();
    let missing: u64 = outcome.flows.iter().map(|flow| flow.missing_frames).sum();
    assert!(sent > 3 * 100 && missing > 0 && missing <= outcome.lossy_drops);
}

#[test]
fn no_more_than_a_window_is_on_its_way() {
    let text = "[[flow]]\nfrom = 'a'\nto = 'c'\nwindow = '20KB'\n\
        [[fault]]\nkind = 'slow-receiver'\nhost = 'c'\nspeed = '2G'\nat = '100us'\n";
    let mut built = build(&scenario(text), None, None).unwrap();
    let mut most = 0;
    for step in 1..=2_000 {
        built.network.run_until(step * US / 2);
        let flow = built.network.flow(built.flows[0].id);
        most = most.max(flow.sent_frames - flow.received_frames);
    }
    assert_eq!(most, 20_000 / 1_514, "and it is used");
    built.network.check().unwrap();
    built.network.drain(10 * MS).unwrap();
    assert_eq!(built.network.flow(built.flows[0].id).missing_frames(), 0);
}

/// The sum of all sizes over what the links of these hosts carry in the time.
fn load(kind: &str, loaded_links: u64) -> f64 {
    let text = format!("[[traffic]]\nkind = '{kind}'\nsizes = 'web-search'\nload = 0.4\n");
    let mut config = scenario(&text);
    let seconds = 80 / loaded_links;
    config.duration_ns = seconds * 1_000_000_000;
    let built = build(&config, None, None).unwrap();
    let bytes: u64 = built.flows.iter().filter_map(|flow| flow.size_bytes).sum();
    assert!(built.flows.is_sorted_by_key(|flow| flow.start_ps));
    assert!(built.flows.iter().all(|flow| flow.start_ps < seconds * 1_000 * MS));
    let room_bytes = seconds * 10_000_000_000 / 8 * loaded_links;
    bytes as f64 / room_bytes as f64
}

#[test]
fn random_flows_make_the_load_that_was_asked_for() {
    for (kind, loaded_links) in [("permutation", 4), ("incast", 1), ("all-to-all", 4)] {
        let made = load(kind, loaded_links);
        assert!((0.38..0.42).contains(&made), "{kind}: {made}");
    }
    // Four pairs may share a sender: its link is loaded as asked, and not twice that.
    let random = load("random'\nflows = 4\nfrom = ['a']\n# '", 1);
    assert!((0.37..0.43).contains(&random), "{random}");
}

#[test]
fn random_sizes_finish_and_every_run_is_its_seeds() {
    let text = "[[traffic]]\nkind = 'random'\nflows = 30\nsizes = 'data-mining'\nload = 0.8\n\
        window = '60KB'\n";
    let mut config = scenario(text);
    config.duration_ns = 60_000_000;
    let outcome = |seed| {
        let outcome = run(&config, Options { seed: Some(seed), ..Options::default() }).unwrap();
        assert_eq!((&outcome.violations, outcome.lossless_drops), (&vec![], 0));
        assert_eq!((drops(&outcome), outcome.frames_stuck), (vec![], 0));
        outcome
    };
    let first = outcome(1);
    assert_eq!(first, outcome(1));
    let other = outcome(2);
    assert!(first.trace_hash != other.trace_hash && first.flows.len() > 5);
    // What was due early and is short has long come.
    let early = first.flows.iter().filter(|flow| {
        flow.start_ps < 50 * MS && flow.size_bytes.is_some_and(|bytes| bytes < 20_000)
    });
    let finished: Vec<bool> = early.map(|flow| flow.finished_ps.is_some()).collect();
    assert!(finished.len() > 3 && finished.iter().all(|&is| is), "{finished:?}");
    for flow in first.flows.iter().filter(|flow| flow.finished_ps.is_some()) {
        let size_bytes = flow.size_bytes.unwrap();
        assert!((size_bytes..size_bytes + 60).contains(&flow.received_bytes), "{flow:?}");
    }
}

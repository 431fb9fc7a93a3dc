use super::event::{FlightEvent, What};
use super::sampler::Knowledge;
use super::{FlightRecorder, Recording};
use crate::control::stats::{Origin, PortStats, Stats, Wait};
use config::switch::FlightRecorder as Settings;
use dataplane::time::Instant;
use std::path::PathBuf;

const MS: u64 = 1_000_000;

fn stats(at_ms: u64) -> Stats {
    let port = |number: usize| PortStats {
        number,
        name: format!("p{number}"),
        up: true,
        ..PortStats::default()
    };
    Stats {
        name: "A".to_owned(),
        time_unix_ms: 1_000_000 + at_ms,
        uptime_ns: at_ms * MS,
        ports: (1..=2).map(port).collect(),
        ..Stats::default()
    }
}

fn recorder(settings: &Settings) -> FlightRecorder {
    let mut recorder = FlightRecorder::new(settings);
    recorder.sample(&stats(100), Some(Knowledge::default()), Instant::from_ns(100 * MS));
    recorder
}

fn sample(recorder: &mut FlightRecorder, stats: &Stats) {
    recorder.sample(stats, None, Instant::from_ns(stats.uptime_ns));
}

/// `MS: TEXT` of each event after the last one that was seen.
fn news(recorder: &FlightRecorder, after: &mut u64) -> Vec<String> {
    let Recording { last, events, .. } = recorder.since("A", *after);
    *after = last;
    events.iter().map(|event| format!("{}: {}", event.uptime_ns / MS, event.what.text())).collect()
}

/// `stats` in which the peer has paused priority 3 of port 1 for `ms`.
fn paused(at_ms: u64, ms: u64, pauses: u64) -> Stats {
    let mut stats = stats(at_ms);
    let queue = &mut stats.ports[0].queues[3];
    (queue.rx_paused, queue.rx_paused_for_ns) = (true, ms * MS);
    stats.ports[0].pfc.rx_pauses[3] = pauses;
    stats
}

#[test]
fn a_pause_begins_once_and_ends_once_at_its_own_times() {
    let mut recorder = recorder(&Settings::default());
    let mut after = 0;
    sample(&mut recorder, &paused(200, 30, 1));
    assert_eq!(news(&recorder, &mut after), ["170: port p1 priority 3: paused by the peer"]);
    // The worker's report is a little older or younger than the sample.
    sample(&mut recorder, &paused(300, 129, 1));
    sample(&mut recorder, &paused(400, 231, 1));
    assert_eq!(news(&recorder, &mut after), [""; 0]);
    let mut over = stats(500);
    over.ports[0].pfc.rx_pauses[3] = 1;
    over.ports[0].queues[3].rx_recent_pause_ns = 250 * MS;
    sample(&mut recorder, &over);
    assert_eq!(
        news(&recorder, &mut after),
        ["419: port p1 priority 3: resumed by the peer after 250 ms"]
    );
    // Two short ones, and one that lasts.
    sample(&mut recorder, &paused(600, 10, 4));
    assert_eq!(
        news(&recorder, &mut after),
        [
            "590: port p1 priority 3: paused by the peer",
            "600: port p1 priority 3: 2 short pauses by the peer, 0 of it"
        ]
    );
    // Another one in place of the last.
    sample(&mut recorder, &paused(700, 5, 5));
    assert_eq!(
        news(&recorder, &mut after),
        [
            "600: port p1 priority 3: resumed by the peer after 10 ms",
            "695: port p1 priority 3: paused by the peer"
        ]
    );
}

#[test]
fn drops_links_depths_and_tables_are_events() {
    let mut recorder = recorder(&Settings::default());
    let mut after = 0;
    let mut now = stats(200);
    now.epoch = 2;
    now.ports[0].up = false;
    now.ports[0].drops.insert("tail_drop".to_owned(), 7);
    now.ports[1].lossless_drops_by_cause.insert("rx_missed".to_owned(), 3);
    now.ports[1].queues[3].viq_bytes = 900;
    now.ports[1].pfc.storms[3] = 1;
    let known = Knowledge {
        neighbors: [("10.0.0.1".parse().unwrap(), ("p1".to_owned(), "02:00".to_owned()))].into(),
        routes: 4,
        rules: (9, 5),
    };
    recorder.sample(&now, Some(known), Instant::from_ns(now.uptime_ns));
    let mut said = news(&recorder, &mut after);
    said.sort();
    assert_eq!(
        said,
        [
            "200: neighbor 10.0.0.1 at port p1 is 02:00",
            "200: port p1 is down",
            "200: port p1: 7 frames dropped, 0 lossless: tail_drop",
            "200: port p2 priority 3: 900 bytes came in, 0 in headroom; 0 frames, 0 bytes wait to leave",
            "200: port p2 priority 3: the watchdog detected a storm",
            "200: port p2: 3 frames dropped, 3 lossless: rx_missed",
            "200: table version 2 is in use",
            "200: the rules have changed: 5 entries",
            "200: there are 4 routes",
        ]
    );
    now.uptime_ns = 300 * MS;
    recorder.sample(&now, Some(Knowledge::default()), Instant::from_ns(now.uptime_ns));
    let said = news(&recorder, &mut after);
    assert!(said.contains(&"300: neighbor 10.0.0.1 at port p1 is unknown".to_owned()), "{said:?}");
}

fn stalled(at_ms: u64) -> Stats {
    let mut stats = paused(at_ms, at_ms - 150, 1);
    stats.waits = vec![Wait {
        port: 1,
        name: "p1".to_owned(),
        priority: 3,
        frames: 5,
        bytes: 5_000,
        paused_for_ns: (at_ms - 150) * MS,
        origins: vec![Origin {
            name: "p2".to_owned(),
            priority: 3,
            paused: true,
            ..Origin::default()
        }],
        ..Wait::default()
    }];
    stats
}

#[test]
fn what_is_old_goes_and_numbers_have_no_gaps() {
    let settings = Settings { duration_ns: 1_000 * MS, ..Settings::default() };
    let mut recorder = recorder(&settings);
    for at in 2..=30 {
        let mut now = stats(at * 100);
        now.epoch = at;
        sample(&mut recorder, &now);
    }
    let recording = recorder.since("A", 0);
    assert_eq!((recording.first, recording.last), (19, 29));
    let numbers: Vec<u64> = recording.events.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (19..=29).collect::<Vec<_>>());
    assert_eq!(recorder.since("A", 27).events.len(), 2);
    assert_eq!(recorder.since("A", u64::MAX).last, 29);
}

#[test]
fn a_stall_is_told_once_and_written_to_the_file_with_what_was_before() {
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("A.jsonl");
    let settings = Settings { file: Some(file.clone()), ..Settings::default() };
    let mut recorder = recorder(&settings);
    for at in [200, 700, 1_100] {
        sample(&mut recorder, &stalled(at));
    }
    assert!(!file.exists(), "nothing has stalled for a second");
    for at in [1_200, 1_300] {
        sample(&mut recorder, &stalled(at));
    }
    let stalls = recorder.since("A", 0).events.into_iter();
    let stalls = stalls.filter(|event| matches!(event.what, What::Stall { .. }));
    assert_eq!(stalls.count(), 1);
    let text = (0..1_000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        std::fs::read_to_string(&file).ok().filter(|text| text.lines().count() >= 3)
    });
    let text = text.expect("the file is written");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], r#"{"events":2,"switch":"A","trigger":"stall"}"#);
    let events: Vec<FlightEvent> =
        lines[1..].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0].what, What::Paused { port: "p1".to_owned(), priority: 3 });
    assert_eq!((events[0].uptime_ns, events[0].time_unix_ms), (150 * MS, 1_000_150));
    let What::Stall { origins, frames, .. } = &events[1].what else { panic!("{events:?}") };
    assert_eq!((origins[0].port.as_str(), *frames), ("p2", 5));
}

#[test]
fn without_its_trigger_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("A.jsonl");
    let settings = Settings { file: Some(file.clone()), triggers: vec![], ..Settings::default() };
    let mut recorder = recorder(&settings);
    [200, 1_500, 9_000].iter().for_each(|&at| sample(&mut recorder, &stalled(at)));
    std::thread::sleep(std::time::Duration::from_millis(50));
    assert!(!file.exists());
}

//! The page, from a switch in which every figure is another.

use super::{Format, silent_text, text};
use crate::control::stats::{
    FleetStats, FpmStats, HostClassStats, LldpPortStats, LldpStats, Origin, PortStats, SflowStats,
    Stats, TagChange, TapStats, Wait, WorkerStats,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The text page of [`stats`].
const RECORDED: &str = include_str!("recorded.txt");

/// Numbers that are labels, or that are too small for a figure of their own.
const LABELS: [&str; 8] =
    ["number", "port", "priority", "tag", "new_tag", "worker", "core", "level"];

/// Two ports, one with a name to be escaped, and two workers; no figure is 0.
fn skeleton() -> Stats {
    let port = |number, name: &str| {
        let lldp = LldpPortStats {
            orientation: "uplink".to_owned(),
            neighbor: Some("spine1".to_owned()),
            conditions: vec!["loop".to_owned()],
        };
        let mut port = PortStats { number, name: name.to_owned(), ..PortStats::default() };
        (port.lldp, port.driver) = (Some(lldp), "net_tap".to_owned());
        (port.device, port.mac) = (format!("net_tap{number}"), format!("02:00:00:00:00:0{number}"));
        port.mode = "routed".to_owned();
        port.drops.extend([("no_route".to_owned(), 0), ("ttl_expired".to_owned(), 0)]);
        port.lossless_drops_by_cause.insert("watchdog".to_owned(), 0);
        port
    };
    let worker = |number| {
        let mut worker = WorkerStats { number, core: Some(number + 2), ..WorkerStats::default() };
        worker.turn_ns.buckets = vec![0; 34];
        worker
    };
    let origin = |name: &str| Origin { port: 1, name: name.to_owned(), ..Origin::default() };
    let mut stats = Stats {
        name: "s\"1".to_owned(),
        version: "1.2.3".to_owned(),
        dpdk: "DPDK 22.11.8".to_owned(),
        ports: vec![port(1, "a\"b\\c"), port(2, "up1")],
        workers: vec![worker(0), worker(1)],
        lldp: Some(LldpStats { level: Some(1), counters: [("inserted".to_owned(), 0)].into() }),
        fpm: Some(FpmStats {
            address: "127.0.0.1:2620".to_owned(),
            peer: Some("127.0.0.1:40000".to_owned()),
            refused: [("not_ours".to_owned(), 0), ("full".to_owned(), 0)].into(),
            ..FpmStats::default()
        }),
        fleet: Some(FleetStats {
            network: "row7".to_owned(),
            revision: Some(0),
            wanted: Some(0),
            ..FleetStats::default()
        }),
        sflow: Some(SflowStats {
            agent: "10.0.0.1".to_owned(),
            collectors: vec!["10.0.0.9:6343".to_owned()],
            sample_rates: vec![0, 0],
            ..SflowStats::default()
        }),
        tag_changes: vec![
            TagChange { tag: 1, new_tag: 2, frames: 0 },
            TagChange { tag: 2, new_tag: 0, frames: 0 },
        ],
        ..Stats::default()
    };
    stats.taps = ["swp1", "up1"]
        .map(|port| TapStats {
            port: port.to_owned(),
            tap: port.to_owned(),
            addresses: vec!["10.0.0.1/31".to_owned()],
            ..TapStats::default()
        })
        .into();
    stats.ports[1].host_classes.insert("bgp".to_owned(), HostClassStats::default());
    stats.waits.push(Wait {
        port: 2,
        name: "up1".to_owned(),
        priority: 3,
        origins: vec![origin("a\"b\\c"), origin("up1")],
        ..Wait::default()
    });
    (stats.latency_ns.buckets, stats.burst_frames.buckets) = (vec![0; 34], vec![0; 8]);
    stats.agent.outcomes.insert("pending".to_owned(), 0);
    stats
}

/// Calls `visit` with each number and each truth value, and its path.
fn leaves(value: &mut Value, path: &str, visit: &mut impl FnMut(&str, &mut Value)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                leaves(field, &format!("{path}/{name}"), visit);
            }
        }
        Value::Array(elements) => {
            for (at, element) in elements.iter_mut().enumerate() {
                leaves(element, &format!("{path}/{at}"), visit);
            }
        }
        Value::Number(_) | Value::Bool(_) => visit(path, value),
        Value::String(_) | Value::Null => {}
    }
}

fn key(path: &str) -> &str {
    path.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap_or_default()
}

/// The skeleton with a figure of its own at each place.
fn stats() -> Stats {
    let mut value = json!(skeleton());
    let mut next = 0_u64;
    leaves(&mut value, "", &mut |path, leaf| {
        next += 1;
        match leaf {
            Value::Bool(is_true) => *is_true = next.is_multiple_of(2),
            _ if key(path) == "imbalance" => *leaf = json!(-7),
            _ if !LABELS.contains(&key(path)) => *leaf = json!(next),
            _ => {}
        }
    });
    let mut stats: Stats = serde_json::from_value(value).unwrap();
    let times = stats.workers.iter_mut().map(|worker| &mut worker.turn_ns);
    for histogram in times.chain([&mut stats.latency_ns, &mut stats.burst_frames]) {
        histogram.count = histogram.buckets.last().unwrap() + 1;
    }
    stats
}

fn page(stats: &Stats, format: Format) -> String {
    text(&Arc::new(stats.clone()), format)
}

/// Names, labels and help are what dashboards and the book's reference rely on; a change shows
/// here. `KNOTLESS_WRITE=1` records it.
#[test]
fn the_metrics_are_those_of_the_recording() {
    let page = page(&stats(), Format::Text);
    if std::env::var_os("KNOTLESS_WRITE").is_some() {
        let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/src/metrics/recorded.txt");
        return std::fs::write(recording, page).unwrap();
    }
    let lines = |page: &'static str| page.lines().collect::<BTreeSet<_>>();
    let (now, recorded) = (lines(String::leak(page.clone())), lines(RECORDED));
    assert_eq!(now.len(), page.lines().count(), "no line comes twice");
    let missing: Vec<_> = recorded.difference(&now).collect();
    let added: Vec<_> = now.difference(&recorded).collect();
    assert!(missing.is_empty() && added.is_empty(), "missing {missing:#?}, added {added:#?}");
}

/// What the counters reference has and the page shows otherwise, or not.
fn is_left_out(path: &str) -> bool {
    // When and by which process: Prometheus has a time of its own.
    let of_the_answer = ["/time_unix_ms", "/pid"].contains(&path);
    // The kernel's number of an interface.
    let of_the_kernel = path.starts_with("/taps/") && key(path) == "index";
    // The queue that waits has the same figures, and so has the one that it waits for.
    let of_a_wait = path.starts_with("/waits/") && key(path) != "priority" && key(path) != "paused";
    // Buckets say it, from 256 ns on.
    let times = path.contains("_ns/");
    let summary = ["mean", "p50", "p99", "p999", "max"].contains(&key(path));
    let of_a_histogram = (times || path.contains("burst_frames/")) && summary;
    let bucket = path.rsplit('/').next().and_then(|at| at.parse::<usize>().ok());
    let short = times && key(path) == "buckets" && bucket.is_some_and(|at| at < 8);
    of_the_answer || of_the_kernel || of_a_wait || of_a_histogram || short
}

#[test]
fn every_figure_of_the_counters_reference_is_on_the_page() {
    let before = stats();
    let mut value = json!(before);
    let mut places = Vec::new();
    leaves(&mut value, "", &mut |path, _| places.push(path.to_owned()));
    assert!(places.len() > 800, "{}", places.len());
    let shown = page(&before, Format::Text);
    let mut missing = Vec::new();
    for place in places.iter().filter(|place| !is_left_out(place)) {
        let mut changed = value.clone();
        leaves(&mut changed, "", &mut |path, leaf| {
            if path == place {
                // The speed is in bits, and shown in bytes.
                *leaf = match leaf.as_bool() {
                    Some(is_true) => json!(!is_true),
                    None => json!(leaf.as_i64().unwrap() + 8),
                };
            }
        });
        let changed: Stats = serde_json::from_value(changed).unwrap();
        if page(&changed, Format::Text) == shown {
            missing.push(place);
        }
    }
    assert!(missing.is_empty(), "not on the page: {missing:#?}");
}

#[test]
fn a_sample_names_its_switch_port_and_priority() {
    let mut stats = stats();
    stats.ports[0].counters.rx_frames[0] = 7;
    let page = page(&stats, Format::Text);
    let line = r#"knotless_port_rx_frames_total{switch="s\"1",port="a\"b\\c",priority="0"} 7"#;
    assert!(page.lines().any(|l| l == line), "{page}");
}

#[test]
fn times_are_in_seconds_and_a_speed_in_bytes() {
    let mut stats = stats();
    stats.ports[1].counters.pfc.rx_paused_ns[3] = 1_500_000_000;
    stats.ports[1].speed_bps = 40_000_000_000;
    let page = page(&stats, Format::Text);
    for line in [
        r#"knotless_port_pfc_rx_paused_seconds_total{switch="s\"1",port="up1",priority="3"} 1.5"#,
        r#"knotless_port_speed_bytes_per_second{switch="s\"1",port="up1"} 5000000000"#,
    ] {
        assert!(page.lines().any(|l| l == line), "{line}: {page}");
    }
}

#[test]
fn a_cause_that_never_occurred_is_zero() {
    let page = page(&stats(), Format::Text);
    for sample in [
        r#"knotless_port_drops_total{switch="s\"1",port="up1",cause="tail_drop"} 0"#,
        r#"knotless_port_lossless_drops_by_cause_total{switch="s\"1",port="up1",cause="rx_missed"} 0"#,
        r#"knotless_agent_outcomes_total{switch="s\"1",outcome="malformed"} 0"#,
    ] {
        assert!(page.lines().any(|line| line == sample), "{sample}: {page}");
    }
}

/// The name that the samples of a family have.
fn is_of_family(sample: &str, family: &str, kind: &str) -> bool {
    let suffix = sample.strip_prefix(family);
    match kind {
        "histogram" => matches!(suffix, Some("_bucket" | "_count" | "_sum")),
        _ => suffix == Some(""),
    }
}

#[test]
fn every_sample_belongs_to_the_family_before_it_and_families_come_once() {
    let page = page(&stats(), Format::Text);
    let (mut seen, mut family, mut kind) = (BTreeSet::new(), String::new(), String::new());
    for line in page.lines() {
        let mut words = line.split(' ');
        match (words.next(), words.next()) {
            (Some("#"), Some("HELP")) => {
                family = words.next().unwrap().to_owned();
                assert!(seen.insert(family.clone()), "{family} comes twice");
            }
            (Some("#"), Some("TYPE")) => {
                assert_eq!(words.next(), Some(family.as_str()));
                kind = words.next().unwrap().to_owned();
                assert_eq!(kind == "counter", family.ends_with("_total"), "{line}");
            }
            _ => {
                assert!(is_of_family(line.split('{').next().unwrap(), &family, &kind), "{line}");
                let value = line.rsplit(' ').next().unwrap();
                assert!(value.parse::<f64>().is_ok(), "{line}");
            }
        }
    }
    assert!(page.ends_with('\n') && seen.len() > 100, "{}", seen.len());
}

#[test]
fn open_metrics_has_the_same_samples_and_other_names_of_counters() {
    let stats = stats();
    let mut expected = String::new();
    for line in page(&stats, Format::Text).lines() {
        // `# HELP name_total ...` and `# TYPE name_total counter`.
        let is_head = line.starts_with("# ");
        let line = if is_head { line.replacen("_total ", " ", 1) } else { line.to_owned() };
        expected += &format!("{line}\n");
    }
    assert_eq!(page(&stats, Format::OpenMetrics), expected + "# EOF\n");
}

#[test]
fn buckets_of_a_histogram_are_cumulative_and_end_with_the_count() {
    let mut stats = Stats { name: "s1".to_owned(), ..Stats::default() };
    let latency = &mut stats.latency_ns;
    (latency.count, latency.sum, latency.buckets) = (9, 5_000, vec![0; 34]);
    latency.buckets[8..].fill(3);
    latency.buckets[10..].fill(8);
    let page = page(&stats, Format::Text);
    let of = |name: &str| -> Vec<String> {
        let lines = page.lines().filter(|line| line.starts_with(name));
        lines.map(|line| line.rsplit('{').next().unwrap().to_owned()).collect()
    };
    let buckets = of("knotless_latency_seconds_bucket");
    assert_eq!(buckets.len(), 27);
    assert_eq!(buckets[0], r#"switch="s1",le="2.56e-7"} 3"#);
    assert_eq!(buckets[1], r#"switch="s1",le="5.12e-7"} 3"#);
    assert_eq!(buckets[2], r#"switch="s1",le="0.000001024"} 8"#);
    assert_eq!(buckets[26], r#"switch="s1",le="+Inf"} 9"#);
    assert_eq!(of("knotless_latency_seconds_count"), [r#"switch="s1"} 9"#]);
    assert_eq!(of("knotless_latency_seconds_sum"), [r#"switch="s1"} 0.000005"#]);
    let empty = of("knotless_burst_frames_bucket");
    assert_eq!((empty.len(), empty[8].as_str()), (9, r#"switch="s1",le="+Inf"} 0"#));
}

#[test]
fn a_worker_that_does_not_answer_leaves_one_metric() {
    for format in [Format::Text, Format::OpenMetrics] {
        let page = silent_text("s1", format);
        let samples: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(samples, [r#"knotless_workers_answer{switch="s1"} 0"#]);
    }
    assert!(page(&stats(), Format::Text).contains("knotless_workers_answer{switch=\"s\\\"1\"} 1"));
}

//! The executor against switches that are scripts: what it asks, and what it waits for.

use super::*;
use crate::control::protocol::{RouteRow, Routes};
use crate::control::stats::PortStats;
use config::NetworkConfig;
use config::plan_file::{Origin, PlanFile};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

const NETWORK: &str = "switch = [{name = 'A', ports = 2}, {name = 'B', ports = 2}]
    host = [{name = 'H'}, {name = 'K'}]
    link = [{ends = ['A:1', 'H']}, {ends = ['A:2', 'B:1']}, {ends = ['B:2', 'K']}]";

/// What a script has seen, in the order of all scripts: the switch's name and the request.
type Seen = Arc<Mutex<Vec<String>>>;

/// A switch with one route. Port 2 holds 5 frames; with each reading but the first `sent` leave and
/// as many come.
fn script(name: &'static str, socket: &Path, sent: u64, seen: &Seen) {
    let listener = UnixListener::bind(socket).unwrap();
    let seen = Arc::clone(seen);
    thread::spawn(move || {
        let mut readings = 0;
        for stream in listener.incoming() {
            answer(name, stream.unwrap(), sent, &mut readings, &seen);
        }
    });
}

fn answer(name: &str, stream: UnixStream, sent: u64, readings: &mut u64, seen: &Seen) {
    let mut writer = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines() {
        let request: Request = serde_json::from_str(&line.unwrap()).unwrap();
        let (what, reply) = match request {
            Request::Routes { .. } => {
                let row = RouteRow {
                    prefix: "10.1.1.0/24".to_owned(),
                    kind: "via".to_owned(),
                    origin: "static".to_owned(),
                    via: Vec::new(),
                    resolved: 1,
                };
                ("routes", serde_json::to_value(Routes { total: 1, routes: vec![row] }))
            }
            Request::DelRoute { .. } => {
                let reloaded = Reloaded { epoch: 2, read: Vec::new(), warnings: Vec::new() };
                ("remove", serde_json::to_value(reloaded))
            }
            Request::Stats => {
                let mut port = PortStats { number: 2, ..PortStats::default() };
                port.counters.tx_frames[3] = *readings * sent;
                port.queues[3].veq_frames = 5;
                *readings += 1;
                let stats = Stats { ports: vec![port], ..Stats::default() };
                ("stats", serde_json::to_value(stats))
            }
            other => panic!("{other:?} is not for this"),
        };
        seen.lock().unwrap().push(format!("{name} {what}"));
        writeln!(writer, "{}", reply.unwrap()).unwrap();
    }
}

/// Removes the path from H to K, whose frames leave as `sent` and `in_turn` say, and are waited for
/// until `settle`; returns what was asked and what was reported.
fn removed(sent: u64, in_turn: bool, settle: Duration) -> (Vec<String>, Vec<String>) {
    let place = tempfile::tempdir().unwrap();
    let network = NetworkConfig::parse(Path::new("N.toml"), NETWORK).unwrap().network;
    let paths = |text| config::path_file::parse(Path::new("P.txt"), text, &network).unwrap();
    let change = Change::between(&network, paths("p: H A B K"), paths(""));
    let seen = Seen::default();
    let sockets = [(0, "A"), (1, "B")].map(|(switch, name)| {
        let socket = place.path().join(name);
        script(name, &socket, sent, &seen);
        (switch, socket)
    });
    let (prefix, gateway) = ("10.1.1.0/24".to_owned(), "10.0.0.2".to_owned());
    let path_routes = PathRoutes {
        sockets: sockets.into(),
        routes: vec![vec![RouteEntry { switch: 0, prefix, gateway }]],
        exits: vec![[0, 1].map(|switch| Exit { switch, port: 2, in_turn }).to_vec()],
        kept: Vec::new(),
    };
    let executor = Executor {
        network: &network,
        change: &change,
        path_routes: &path_routes,
        ids: &[1],
        direction: Direction::Forward,
        answer_timeout: Duration::from_secs(20),
        settle,
        in_force: Mutex::new(vec![true]),
        switch_locks: vec![Mutex::new(()), Mutex::new(())],
    };
    let order = Order::new(1, Vec::new());
    let plan = PlanFile::new(&change, &order, Origin::default());
    let mut journal = Journal::open(&place.path().join("state"), &plan).unwrap();
    let reports = Mutex::new(Vec::new());
    let report = |_, _, what: &str| reports.lock().unwrap().push(what.to_owned());
    let outcome = executor.run(&order, &mut journal, &report).unwrap();
    assert_eq!((outcome.done, outcome.failures), (1, Vec::new()));
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, reports.into_inner().unwrap())
}

#[test]
fn the_next_switch_follows_when_as_many_frames_were_sent_as_were_queued() {
    // The bound is not met, on however busy a machine.
    let (seen, reports) = removed(2, false, Duration::from_secs(60));
    // 5 frames were queued and 2 leave with each reading: three readings after the first.
    let at_a = ["A routes", "A remove", "A stats", "A stats", "A stats", "A stats"];
    let at_b = ["B stats"; 4];
    assert_eq!(seen, [&at_a[..], &at_b[..]].concat());
    assert_eq!(reports, ["remove p"]);
}

#[test]
fn a_queue_that_does_not_move_or_serves_ports_in_turn_is_waited_for_until_the_bound() {
    for (sent, in_turn) in [(0, false), (2, true)] {
        let (seen, reports) = removed(sent, in_turn, Duration::from_secs(1));
        assert!(seen.iter().filter(|what| *what == "A stats").count() > 2, "{seen:?}");
        let said = "remove p; its frames may be left at A:2, B:2, where they did not leave in 1s";
        assert_eq!(reports, [said]);
    }
}

#[test]
fn a_plan_is_executed_by_one_process_at_a_time() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("state");
    let network = NetworkConfig::parse(Path::new("network"), NETWORK).unwrap().network;
    let change = Change::between(&network, Vec::new(), Vec::new());
    let plan = PlanFile::new(&change, &Order::new(0, Vec::new()), Origin::default());
    let first = Journal::open(&file, &plan).unwrap();
    let error = Journal::open(&file, &plan).unwrap_err();
    assert!(error.contains("another `apply` executes this plan"), "{error}");
    drop(first);
    assert!(Journal::open(&file, &plan).is_ok());
}

use super::chain::{SwitchView, World};
use super::finding::Readings;
use crate::control::protocol::NeighborRow;
use crate::control::stats::{Origin, PortStats, Stats, Wait};
use crate::flight_recorder::event::{FlightEvent, What};
use config::NetworkConfig;
use std::path::Path;

/// 2023-11-14, 22:13:20.
const NOW_MS: u64 = 1_700_000_000_000;

fn stats() -> Stats {
    let port = |number: usize| PortStats {
        number,
        name: format!("p{number}"),
        up: true,
        in_service: true,
        speed_bps: 1_000_000_000,
        ..PortStats::default()
    };
    Stats {
        name: "A".to_owned(),
        time_unix_ms: NOW_MS,
        uptime_ns: 10_000_000_000,
        ports: (1..=3).map(port).collect(),
        ..Stats::default()
    }
}

/// Two seconds later.
fn later(stats: &Stats) -> Stats {
    Stats {
        time_unix_ms: NOW_MS + 2_000,
        uptime_ns: stats.uptime_ns + 2_000_000_000,
        ..stats.clone()
    }
}

/// `KIND: TEXT` of each finding at port 3.
fn say(before: &Stats, now: &Stats, class: Option<usize>, events: &[FlightEvent]) -> Vec<String> {
    let readings = Readings { before, now, neighbors: &[], events };
    let found = readings.findings(3, class);
    found.iter().map(|finding| format!("{}: {}", finding.kind, finding.text)).collect()
}

/// Priority 3 of port 3 is paused, with frames of ports 1 and 2.
fn paused() -> (Stats, Stats) {
    let before = stats();
    let mut now = later(&before);
    now.ports[2].pfc.rx_paused_ns[3] = 1_840_000_000;
    let queue = &mut now.ports[2].queues[3];
    (queue.rx_paused, queue.rx_paused_for_ns) = (true, 1_500_000_000);
    (queue.veq_frames, queue.veq_bytes) = (412, 412_000);
    now.ports[0].queues[3].viq_bytes = 300_000;
    now.ports[1].queues[3].viq_bytes = 112_000;
    let origin = |port: usize, paused| Origin {
        port,
        name: format!("p{port}"),
        priority: 3,
        paused,
        paused_for_ns: 0,
    };
    now.waits = vec![Wait {
        port: 3,
        name: "p3".to_owned(),
        priority: 3,
        frames: 412,
        bytes: 412_000,
        paused_for_ns: 1_500_000_000,
        origins: vec![origin(1, true), origin(2, false)],
        ..Wait::default()
    }];
    (before, now)
}

#[test]
fn a_paused_queue_is_said_with_its_share_and_its_senders() {
    let (before, now) = paused();
    let said = say(&before, &now, None, &[]);
    assert_eq!(
        said,
        [
            "paused: port p3 priority 3: paused by the peer 92 % of the last 2.0 s, without a break since \
             22:13:20.500 UTC (1.5 s); 412 KB wait (412 frames); they came in by p1 priority 3 (300 KB in \
             the buffer), which pauses its peer and by p2 priority 3 (112 KB in the buffer), which does not \
             pause its peer"
        ]
    );
    let other = say(&before, &now, Some(4), &[]);
    assert!(other[0].starts_with("nothing: port p3: nothing is slow or lossy"), "{other:?}");
}

#[test]
fn a_port_that_pauses_says_where_its_frames_wait() {
    let (before, mut now) = paused();
    now.ports[0].pfc.tx_paused_ns[3] = 1_000_000_000;
    let readings = Readings { before: &before, now: &now, neighbors: &[], events: &[] };
    let found = readings.findings(1, None);
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].text,
        "port p1 priority 3: pauses its peer 50 % of the last 2.0 s; 300 KB that came in there are in the \
         buffer; they wait at p3 priority 3, which its peer has paused for 1.5 s"
    );
}

#[test]
fn drops_are_said_by_cause_with_what_helps_and_since_when() {
    let before = stats();
    let mut now = later(&before);
    now.ports[2].drops.insert("tail_drop".to_owned(), 7);
    let drop = |seq, time_unix_ms, port: &str| FlightEvent {
        seq,
        time_unix_ms,
        uptime_ns: 0,
        what: What::Drops {
            port: port.to_owned(),
            cause: "tail_drop".to_owned(),
            frames: 5,
            lossless_frames: 0,
        },
    };
    let events =
        [drop(1, NOW_MS - 9_000, "p1"), drop(2, NOW_MS - 3_000, "p3"), drop(3, NOW_MS, "p3")];
    assert_eq!(
        say(&before, &now, None, &events),
        [
            "drops: port p3: 7 frames dropped in the last 2.0 s, 0 of them lossless: tail_drop; 10 frames \
          since 22:13:17.000 UTC; the lossy queue is full: more came than the link carries"
        ]
    );
}

#[test]
fn a_link_that_is_down_full_or_without_neighbor_is_said() {
    let mut before = stats();
    before.ports[2].queues[0].veq_frames = 10;
    let mut now = later(&before);
    now.ports[2].tx_bytes[0] = 240_000_000;
    now.ports[2].queues[0].veq_bytes = 9_000;
    let said = say(&before, &now, None, &[]);
    assert_eq!(
        said,
        [
            "link_full: port p3 priority 0: the link is slower than the demand: it sends 960.0 Mb/s of 1.0 \
          Gb/s, and 9000 bytes wait (10 frames)"
        ]
    );
    now.ports[2].tx_bytes[0] = 0;
    now.ports[2].up = false;
    let said = say(&before, &now, None, &[]);
    assert_eq!(said[0], "link_down: port p3 is down: its link is down: the cable, or the peer");
    let neighbor = NeighborRow {
        port: "p3".to_owned(),
        address: "10.0.3.1".to_owned(),
        mac: None,
        state: "failed".to_owned(),
        age_ns: 0,
    };
    let calm = stats();
    let neighbors = [neighbor];
    let after = later(&calm);
    let readings = Readings { before: &calm, now: &after, neighbors: &neighbors, events: &[] };
    let found = readings.findings(3, None);
    assert_eq!(found[0].kind, "unresolved");
    assert!(found[0].text.contains("the MAC address of 10.0.3.1 is unknown"), "{found:?}");
}

/// Neither a peer nor the link is the limit: the queue's own rate is.
#[test]
fn a_queue_that_waits_for_its_own_rate_is_told_as_such() {
    let (mut before, mut now) = paused();
    for stats in [&mut before, &mut now] {
        stats.ports[2].pfc.rx_paused_ns[3] = 0;
        let queue = &mut stats.ports[2].queues[3];
        (queue.rx_paused, queue.peak_limited, queue.veq_frames) = (false, true, 412);
    }
    now.ports[2].tx_bytes[3] = 240_000_000;
    now.waits[0].own_rate = true;
    let said = say(&before, &now, None, &[]);
    assert_eq!(said.len(), 1, "{said:?}");
    let start = "peak_rate: port p3 priority 3: waits for its own peak rate ([[shaper]]), for no peer: it sends \
                 960.0 Mb/s, and 412 KB wait (412 frames); they came in by p1 priority 3 (300 KB in the buffer)";
    assert!(said[0].starts_with(start), "{said:?}");
}

/// A ring of three: port 2 leads to the next one's port 3.
fn ring() -> World {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/examples/knot/network.toml");
    let network = NetworkConfig::load(&file).unwrap().network;
    let mut world = World { network: Some(network), ..World::default() };
    for (name, age_ms) in [("A", 5_000), ("B", 4_000), ("C", 3_000)] {
        let mut stats = stats();
        name.clone_into(&mut stats.name);
        stats.waits = vec![Wait {
            port: 2,
            name: "p2".to_owned(),
            priority: 1,
            frames: 9,
            bytes: 9_000,
            paused_for_ns: age_ms * 1_000_000,
            origins: vec![Origin {
                port: 3,
                name: "p3".to_owned(),
                priority: 1,
                ..Origin::default()
            }],
            ..Wait::default()
        }];
        let event = FlightEvent {
            seq: 1,
            time_unix_ms: NOW_MS - age_ms,
            uptime_ns: 0,
            what: What::Paused { port: "p2".to_owned(), priority: 1 },
        };
        let view = SwitchView { stats, events: vec![event], lldp: Vec::new() };
        world.switches.insert(name.to_owned(), view);
    }
    world
}

#[test]
fn a_cycle_is_followed_round_and_named_with_the_moment_in_which_it_closed() {
    let world = ring();
    for (switch, port, class) in [("A", 2, None), ("B", 2, Some(1)), ("C", 3, None)] {
        let chain = world.chain(switch, port, class).unwrap();
        let mut cycle = chain.cycle.clone();
        cycle.sort();
        assert_eq!(cycle, ["A:3", "B:3", "C:3"]);
        let closing = &chain.queues[chain.closed_by.unwrap()];
        assert_eq!((closing.switch.as_str(), closing.since_unix_ms), ("C", NOW_MS - 3_000));
        assert!(closing.recorded);
    }
    let lines = world.chain("A", 2, None).unwrap().lines();
    assert_eq!(
        lines,
        [
            "A:p2 priority 1 waits for B:3: 9 frames, 9000 bytes, for 5.0 s since 22:13:15.000 UTC",
            "B:p2 priority 1 waits for C:3: 9 frames, 9000 bytes, for 4.0 s since 22:13:16.000 UTC",
            "C:p2 priority 1 waits for A:3: 9 frames, 9000 bytes, for 3.0 s since 22:13:17.000 UTC",
            "deadlock: A:3 > B:3 > C:3 > A:3",
            "the cycle closed at 22:13:17.000 UTC, when A:3 paused C:p2 priority 1 (the flight recorder says)",
        ]
    );
    assert_eq!(world.chain("A", 2, Some(2)), None, "nothing waits in priority 2");
}

#[test]
fn a_chain_that_ends_says_where() {
    let mut world = ring();
    world.switches.get_mut("C").unwrap().stats.waits[0].port = 1;
    let chain = world.chain("A", 2, None).unwrap();
    assert_eq!((chain.queues.len(), chain.cycle.len()), (3, 0));
    assert_eq!(chain.end, "host HC pauses: a slow or broken receiver");
    // A queue that its own rate holds waits for no peer.
    let waits = &mut world.switches.get_mut("C").unwrap().stats.waits;
    (waits[0].own_rate, waits[0].paused_for_ns) = (true, 0);
    let chain = world.chain("A", 2, None).unwrap();
    assert_eq!(chain.end, "switch C sends from there at the queue's own peak rate ([[shaper]])");
    let last = "C:p2 priority 1 waits for its own rate: 9 frames, 9000 bytes";
    assert_eq!((chain.lines()[2].as_str(), chain.cycle.len()), (last, 0));
    world.switches.get_mut("C").unwrap().stats.waits.clear();
    let chain = world.chain("A", 2, None).unwrap();
    assert!(chain.end.starts_with("switch C pauses B, and no queue"), "{}", chain.end);
    world.switches.remove("C");
    let chain = world.chain("A", 2, None).unwrap();
    assert!(chain.end.starts_with("switch C was not asked"), "{}", chain.end);
    world.network = None;
    let chain = world.chain("A", 2, None).unwrap();
    assert!(chain.end.starts_with("the peer is not known"), "{}", chain.end);
    // LLDP says the links, too.
    let rows = vec![("p2".to_owned(), "B".to_owned(), "p3".to_owned())];
    world.switches.get_mut("A").unwrap().lldp = rows;
    assert_eq!(world.chain("A", 2, None).unwrap().queues.len(), 2);
}

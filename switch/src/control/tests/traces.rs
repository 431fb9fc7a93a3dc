//! `knotless trace`: what it says is what a worker that forwards does.

use super::Rig;
use crate::control::protocol::{MacTable, Reply, Request};
use crate::trace::reply::{Stage, Trace};
use crate::trace::request::{HEAD_BYTES_MAX, Station, TraceRequest, TracedFrame, hex};
use dataplane::counters::DropReason;
use dataplane::limits::PRIORITIES;
use dataplane::report::Report;
use proptest::prelude::*;
use serde_json::json;
use std::net::Ipv4Addr;

/// Frames of one switch that are compared.
const FRAMES: usize = 24;

/// A switch with routed ports 1 to 3, the third with a VLAN, and bridged ports 4 to 6.
fn switch(rules: Option<&str>, trusted: [bool; 3], source_check: bool, classify: &str) -> String {
    let mut text = "name = 's1'\n".to_owned();
    if let Some(rules) = rules {
        text += &format!("rules = '{rules}'\n");
    }
    text += "[control]\nsocket = 's1.sock'\n[mac_table]\nsize = 1024\n";
    for (tag, dscp) in [(1, 26), (2, 27)] {
        let priority =
            if rules.is_some() { String::new() } else { format!("priority = {}\n", tag + 2) };
        text += &format!("[[tag]]\ntag = {tag}\ndscp = {dscp}\n{priority}");
        text += &format!("[[lossless]]\npriority = {}\nstatic_th = '64KB'\n", tag + 2);
    }
    for number in 1..=3 {
        let vlan = if number == 3 { "vlan = 7\n" } else { "" };
        let check =
            if number == 1 { format!("source_check = {source_check}\n") } else { String::new() };
        text += &format!(
            "[[port]]\nname = 'r{number}'\ndevice = 'net_null{number}'\nspeed = '10G'\npace = false\n\
             mac = '02:00:00:00:00:0{number}'\naddresses = ['10.0.{number}.254/24']\n\
             trusted = {}\n{vlan}{check}",
            trusted[number - 1]
        );
        if number < 3 {
            text += &format!("classify = '{classify}'\n");
        }
    }
    for (number, vlans) in [(4, "vlan = 1\n"), (5, "vlan = 1\n"), (6, "vlans = [1, 9]\n")] {
        text += &format!(
            "[[port]]\nname = 'b{number}'\ndevice = 'net_null{number}'\nspeed = '10G'\npace = false\n\
             mac = '02:00:00:00:00:0{number}'\n{vlans}"
        );
    }
    for number in 1..=3 {
        text += &format!(
            "[[neighbor]]\naddress = '10.0.{number}.1'\nmac = '02:00:00:00:01:0{number}'\n\
             port = 'r{number}'\n"
        );
    }
    text + "[[route]]\nto = '10.9.0.0/16'\nvia = ['10.0.1.1', '10.0.2.1', '10.0.3.1']\n\
            [[route]]\nto = '10.8.0.0/16'\nvia = ['10.0.2.77']\n\
            [[route]]\nto = '10.7.0.0/16'\nblackhole = true\n"
}

/// Tag, ingress ports, egress ports, new tag.
type Entry = (u8, Vec<usize>, Vec<usize>, u8);

/// A rule file with these entries.
fn rules(entries: &[Entry]) -> String {
    let entry = |entry: &Entry| {
        let (tag, input, output, new_tag) = entry;
        json!({ "tag": tag, "in": input, "out": output, "new_tag": new_tag })
    };
    json!({
        "switch": "s1", "ports": 6, "lossy_tag": 0, "initial_tag": 1,
        "priorities": { "1": 3, "2": 4 }, "entries": entries.iter().map(entry).collect::<Vec<_>>(),
    })
    .to_string()
}

/// A frame and the number of its ingress port.
#[derive(Clone, Debug)]
struct Arrival {
    port: usize,
    bytes: Vec<u8>,
}

fn frame(
    (to, from): ([u8; 6], [u8; 6]),
    tag: Option<u16>,
    (source, destination): (Ipv4Addr, Ipv4Addr),
    (dscp, ttl, flow): (u8, u8, u16),
    bytes: usize,
) -> Vec<u8> {
    use smoltcp::wire::{IpProtocol, Ipv4Packet};
    let mut frame = [to, from].concat();
    if let Some(tci) = tag {
        frame.extend([0x81, 0]);
        frame.extend(tci.to_be_bytes());
    }
    frame.extend([8, 0]);
    let ip_at = frame.len();
    frame.resize(bytes.max(ip_at + 28), 0);
    let length = u16::try_from(frame.len() - ip_at).unwrap();
    let mut ip = Ipv4Packet::new_unchecked(&mut frame[ip_at..]);
    ip.set_version(4);
    ip.set_header_len(20);
    ip.set_dscp(dscp);
    ip.set_total_len(length);
    ip.set_hop_limit(ttl);
    ip.set_next_header(IpProtocol::Udp);
    ip.set_src_addr(source);
    ip.set_dst_addr(destination);
    ip.fill_checksum();
    ip.payload_mut()[..2].copy_from_slice(&flow.to_be_bytes());
    frame
}

fn arrival() -> impl Strategy<Value = Arrival> {
    let mac = |port: usize| {
        let own = u8::try_from(port).unwrap();
        prop_oneof![
            6 => Just([2, 0, 0, 0, 0, own]),
            3 => (1_u8..5).prop_map(|station| [2, 0, 0, 0, 2, station]),
            1 => Just([0xFF; 6]),
        ]
    };
    let addresses = (
        (1_u8..4, 1_u8..3).prop_map(|(net, host)| Ipv4Addr::new(10, 0, net, host)),
        prop_oneof![
            4 => (1_u8..4).prop_map(|net| Ipv4Addr::new(10, 0, net, 1)),
            4 => any::<u8>().prop_map(|host| Ipv4Addr::new(10, 9, 0, host)),
            1 => Just(Ipv4Addr::new(10, 8, 0, 1)),
            1 => Just(Ipv4Addr::new(10, 7, 0, 1)),
            1 => Just(Ipv4Addr::new(10, 0, 2, 254)),
            1 => Just(Ipv4Addr::new(192, 0, 2, 1)),
            1 => Just(Ipv4Addr::new(224, 0, 0, 1)),
        ],
    );
    let tag = prop_oneof![
        5 => Just(None),
        3 => (prop_oneof![Just(0_u16), Just(1), Just(7), Just(9), Just(11)], 0_u16..8)
            .prop_map(|(vid, pcp)| Some(pcp << 13 | vid)),
    ];
    let ip = (
        prop_oneof![Just(0_u8), Just(26), Just(27), Just(46)],
        prop_oneof![Just(0_u8), Just(1), Just(2), Just(64)],
        any::<u16>(),
    );
    let damage = proptest::option::weighted(0.1, (any::<proptest::sample::Index>(), any::<u8>()));
    (1_usize..=6).prop_flat_map(move |port| {
        let from = (1_u8..5).prop_map(|station| [2, 0, 0, 0, 2, station]);
        let bytes = prop_oneof![4 => 60_usize..200, 1 => 1_400_usize..1_600];
        let fields =
            ((mac(port), from), tag.clone(), addresses.clone(), ip.clone(), bytes, damage.clone());
        fields.prop_map(move |(macs, tag, addresses, ip, bytes, damage)| {
            let mut bytes = frame(macs, tag, addresses, ip, bytes);
            if let Some((at, value)) = damage {
                let at = at.index(bytes.len().min(40));
                bytes[at] = value;
            }
            Arrival { port, bytes }
        })
    })
}

/// What a worker counts, as far as a frame moves it.
#[derive(Debug, PartialEq, Eq)]
struct Counted {
    drops: Vec<(usize, DropReason, u64)>,
    tx_frames: Vec<[u64; PRIORITIES]>,
    punted: u64,
    held: u64,
}

fn counted(rig: &Rig) -> Counted {
    let worker = &rig.worker_loops[0].worker;
    let mut report = Report::default();
    worker.report(&mut report, rig.now());
    let drops = report.ports.iter().flat_map(|port| {
        let drops = DropReason::ALL.iter().zip(port.counters.drops);
        drops.map(move |(&reason, frames)| (port.port.index(), reason, frames))
    });
    Counted {
        drops: drops.collect(),
        tx_frames: report.ports.iter().map(|port| port.counters.tx_frames).collect(),
        punted: worker.punted_frames(),
        held: worker.totals().held,
    }
}

/// Where each station was learned.
fn stations(rig: &mut Rig) -> Vec<Station> {
    let Reply::Mac(MacTable { addresses, .. }) = rig.ask(Request::Mac { offset: 0 }) else {
        panic!("no MAC table")
    };
    let rows = addresses.into_iter();
    rows.map(|row| Station { vlan: row.vlan, mac: row.mac, port: row.port }).collect()
}

fn trace(rig: &mut Rig, arrival: &Arrival, stations: Vec<Station>) -> Trace {
    let head = &arrival.bytes[..arrival.bytes.len().min(HEAD_BYTES_MAX)];
    let frame = TracedFrame::Captured { head: hex(head), frame_bytes: arrival.bytes.len() };
    let request = TraceRequest { port: Some(arrival.port.to_string()), frame, stations };
    match rig.call(Request::Trace(request)).try_recv() {
        Ok(Reply::Trace(trace)) => *trace,
        other => panic!("{other:?}"),
    }
}

/// What a trace has of a frame in any case: it may have lost a VLAN tag.
fn start(head: &str) -> String {
    head.chars().take(2 * (HEAD_BYTES_MAX - 8)).collect()
}

/// Gives `arrival` to the worker and to `trace`, and compares what both did.
fn compare(rig: &mut Rig, arrival: &Arrival) -> Result<(), TestCaseError> {
    let known = stations(rig);
    rig.turns(3);
    (1..=6).for_each(|port| drop(rig.sent(port)));
    let before = counted(rig);
    let traced = trace(rig, arrival, known);
    rig.arrive(arrival.port, &arrival.bytes);
    for _ in 0..3 {
        rig.memory.now.set(rig.memory.now.get() + 1_000_000);
        rig.turn_worker(0);
    }
    let after = counted(rig);
    let names = ["r1", "r2", "r3", "b4", "b5", "b6"];

    let mut sent = Vec::new();
    for (port, name) in (1..).zip(names) {
        for frame in rig.sent(port) {
            sent.push((name.to_owned(), start(&hex(&frame)), frame.len()));
        }
    }
    let said = traced.end.sent.iter();
    let said = said.map(|it| (it.port.clone(), start(&it.head), it.frame_bytes));
    prop_assert_eq!(said.collect::<Vec<_>>(), sent, "{:?}", traced);

    let new = after.drops.iter().zip(&before.drops).filter(|(after, before)| after.2 > before.2);
    let dropped: Vec<(&str, &str)> = new.map(|(it, _)| (names[it.0], it.1.name())).collect();
    let said = traced.end.dropped.iter().map(|it| (it.port.as_str(), it.cause.as_str()));
    prop_assert_eq!(said.collect::<Vec<_>>(), dropped, "{:?}", traced);
    prop_assert_eq!(traced.end.punted.len() as u64, after.punted - before.punted, "{:?}", traced);
    let waits = after.held > before.held || traced.end.punted.contains(&"unresolved".to_owned());
    prop_assert_eq!(traced.end.verdict == "waits", waits && traced.end.sent.is_empty());

    // The stages say the same.
    for stage in &traced.stages {
        match stage {
            Stage::Forward(forward) if !traced.end.sent.is_empty() => {
                let port = forward.next_hops[forward.taken].port.as_ref();
                prop_assert_eq!(port, Some(&traced.end.sent[0].port));
            }
            Stage::Queue(queue) => {
                let at = names.iter().position(|name| *name == queue.port).unwrap();
                let priority = usize::from(queue.priority);
                let sent = after.tx_frames[at][priority] - before.tx_frames[at][priority];
                prop_assert_eq!(sent, 1, "{:?}", traced);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Numbers of a few ports.
fn ports() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::btree_set(1_usize..7, 1..4).prop_map(|ports| ports.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Random tables and frames, one after the other at one switch: what was learned counts.
    #[test]
    fn a_trace_says_what_a_worker_does(
        trusted: [bool; 3], source_check: bool, by_pcp: bool,
        entries in proptest::option::of(proptest::collection::vec((1_u8..3, ports(), ports(), 0_u8..3), 0..6)),
        arrivals in proptest::collection::vec(arrival(), FRAMES),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rules.json");
        if let Some(entries) = &entries {
            std::fs::write(&file, rules(entries)).unwrap();
        }
        let named = entries.as_ref().map(|_| file.to_str().unwrap());
        let classify = if by_pcp { "pcp" } else { "dscp" };
        let mut rig = Rig::new(&switch(named, trusted, source_check, classify));
        rig.turns(3);
        for arrival in &arrivals {
            compare(&mut rig, arrival)?;
        }
    }
}

fn described(port: Option<&str>, destination: &str, dscp: u8) -> TraceRequest {
    let text = format!(
        r#"{{"port":{},"frame":{{"described":{{"source":"10.0.1.1","destination":"{destination}",
        "dscp":{dscp},"protocol":17,"source_port":49152,"destination_port":4791,"ttl":64,"vlan":null,
        "pcp":0,"frame_bytes":128,"source_mac":null,"destination_mac":null}}}}}}"#,
        serde_json::json!(port)
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_stages_say_the_tables_that_decided() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.json");
    std::fs::write(&file, rules(&[(2, vec![1], vec![2], 2), (1, vec![1], vec![2], 2)])).unwrap();
    let named = file.to_str().unwrap();
    let mut rig = Rig::new(&switch(Some(named), [true; 3], false, "dscp"));
    rig.turns(3);
    let ask = |rig: &mut Rig, request| match rig.call(Request::Trace(request)).try_recv() {
        Ok(Reply::Trace(trace)) => *trace,
        other => panic!("{other:?}"),
    };
    // The port follows from the source.
    let trace = ask(&mut rig, described(None, "10.0.2.1", 26));
    assert_eq!((trace.port.as_str(), trace.end.verdict.as_str()), ("r1", "sent"));
    let mut seen = Vec::new();
    for stage in &trace.stages {
        seen.push(match stage {
            Stage::Parse(it) => format!("{} {:?} {:?}", it.kind, it.dscp, it.destination_port),
            Stage::Classify(it) => format!("{}: tag {} priority {}", it.by, it.tag, it.priority),
            Stage::Forward(it) => format!("{:?} {:?}", it.prefix, it.next_hops[it.taken].mac),
            Stage::Rules(it) => format!("{} {:?} {} {}", it.tag, it.entry, it.new_tag, it.priority),
            Stage::Rewrite(it) => format!("{}", it.before == it.after),
            Stage::Admission(it) => {
                format!("{} {} {:?}", it.port, it.priority, it.threshold_bytes)
            }
            Stage::Queue(it) => format!("{} {}", it.port, it.priority),
            Stage::Bridge(_) => "bridge".to_owned(),
        });
    }
    assert_eq!(
        seen,
        [
            "ipv4 Some(26) Some(4791)",
            "DSCP 26: tag 1 priority 3",
            "Some(\"10.0.2.0/24\") Some(\"02:00:00:00:01:02\")",
            "1 Some(2) 2 4",
            "false",
            "r1 3 Some(64000)",
            "r2 4",
        ]
    );
    // By ECMP the hash decides, and a gateway that does not answer is waited for.
    let trace = ask(&mut rig, described(Some("1"), "10.9.0.5", 0));
    let Stage::Forward(forward) = &trace.stages[2] else { panic!("{trace:?}") };
    assert_eq!((forward.next_hops.len(), forward.hash.is_some()), (3, true));
    let buckets: usize = forward.next_hops.iter().map(|hop| hop.buckets).sum();
    assert!(forward.bucket.is_some_and(|bucket| (1..=buckets).contains(&bucket)), "{forward:?}");
    assert_eq!(forward.next_hops[forward.taken].port.as_ref(), Some(&trace.end.sent[0].port));
    let trace = ask(&mut rig, described(None, "10.8.0.5", 26));
    assert_eq!(trace.end.verdict, "waits");
    let Stage::Forward(forward) = &trace.stages[2] else { panic!("{trace:?}") };
    assert_eq!(forward.next_hops[0].kind, "resolve");
    let trace = ask(&mut rig, described(None, "10.7.0.5", 26));
    assert_eq!(trace.end.dropped[0].cause, "blackhole");
    // Nobody was sent any of them; the switch asks for its gateway.
    rig.turns(3);
    let is_ip = |frame: &Vec<u8>| frame[12..14] == [8, 0];
    assert!((1..=6).all(|port| !rig.sent(port).iter().any(is_ip)));
    match rig.call(Request::Trace(described(Some("r9"), "10.0.2.1", 26))).try_recv() {
        Ok(Reply::Failed(failed)) => {
            assert!(failed.error.starts_with("there is no port `r9`"), "{failed:?}");
        }
        other => panic!("{other:?}"),
    }
}

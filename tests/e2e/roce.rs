//! `knotless roce` on real taps: what arrives is what was sent, PFC is obeyed, and tshark reads
//! each packet.

use crate::host::{Host, parse};
use crate::lab::{Lab, Setup};
use crate::process::{LOOK, Running};
use nix::sys::signal::Signal;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};
use switch::roce::report::{BenchReport, RecvReport};

const PEER: &str = "10.1.3.2";
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts `knotless roce` at a host. Nobody gives up on a busy machine.
fn roce(host: &Host, what: &str, arguments: &str) -> Running {
    let knotless = crate::lab::knotless().to_str().expect("a path of ours");
    let common = format!("--json --dev {} --timeout 5s", host.dev);
    host.start(knotless, &format!("roce {what} {common} {arguments}"))
}

/// Starts to receive, for one peer, and returns when it does.
fn recv(host: &Host, arguments: &str) -> Running {
    let mut receiver = roce(host, "recv", &format!("--sessions 1 {arguments}"));
    receiver.wait_for("listening");
    receiver
}

fn nothing_was_repeated(report: &BenchReport) {
    let counters = &report.endpoint.counters;
    assert_eq!((counters["retransmitted"], counters["timeouts"]), (0, 0), "{report:?}");
}

/// Captures the RoCEv2 that arrives at a host: what it sends passes by the capture.
fn capture(lab: &Lab, host: &Host) -> Running {
    let file = lab.path(&format!("{}.pcapng", host.dev));
    let limits = "-a duration:200 -f udp[2:2]==4791";
    let arguments = format!("-q -i {} {limits} -w {}", host.dev, file.display());
    let mut running = host.start("dumpcap", &arguments);
    running.wait_for("File:");
    running
}

/// What tshark reads in the capture: operation code and destination queue pair of each packet, and
/// whether it thinks that one is malformed.
fn decoded(lab: &Lab, host: &Host) -> Vec<(u64, u64, bool)> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(lab.path(&format!("{}.pcapng", host.dev))).args(["-T", "fields"]);
    for field in ["infiniband.bth.opcode", "infiniband.bth.destqp", "_ws.malformed"] {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark is installed");
    let text = String::from_utf8(output.stdout).expect("tshark writes text");
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).expect("a number"),
        None => text.parse().expect("a number"),
    };
    text.lines()
        .map(|line| {
            let mut fields = line.split('\t');
            let mut field = || fields.next().unwrap_or_default();
            // It takes some payloads for other protocols, and finds them wrong.
            (number(field()), number(field()), field().contains("InfiniBand"))
        })
        .collect()
}

#[test]
fn a_file_arrives_whole_and_tshark_reads_each_packet() {
    let Some(lab) = Setup::new().start() else { return };
    let (one, three) = (lab.host(1), lab.host(3));
    let bytes: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let (file, copy) = (lab.path("file"), lab.path("copy"));
    fs::write(&file, &bytes).expect("the directory is ours");
    let captures = [one, three].map(|host| capture(&lab, host));
    let receiver = recv(three, &format!("--size 64KiB --to {}", copy.display()));
    let sender = roce(one, "send", &format!("{} {PEER}", file.display()));
    let sent: BenchReport = parse(sender);
    let received: RecvReport = parse(receiver);
    nothing_was_repeated(&sent);
    assert!(fs::read(&copy).expect("it was written") == bytes, "the copy is another file");
    assert_eq!((received.messages, received.message_bytes), (19, 1_200_000));
    // What a capture misses on a busy machine it may miss; what it has must be right.
    let asked = Instant::now();
    let packets = loop {
        let packets = [decoded(&lab, one), decoded(&lab, three)].concat();
        let count = |is_of: fn(u64) -> bool| packets.iter().filter(|it| is_of(it.0)).count();
        // Of 18 messages of 64 packets, and one of 20.
        let (requests, answers) = (count(|opcode| opcode < 6), count(|opcode| opcode == 0x11));
        assert!(requests <= 1_172, "{requests} requests");
        if requests >= 100 && answers >= 1 {
            break packets;
        }
        assert!(asked.elapsed() < PATIENCE, "{requests} requests and {answers} answers");
        std::thread::sleep(LOOK);
    };
    for captured in captures {
        captured.signal(Signal::SIGINT);
        captured.end(PATIENCE).success();
    }
    let wrong: Vec<_> =
        packets.iter().filter(|(_, pair, is_bad)| *pair != 0x11 || *is_bad).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    lab.stop();
}

#[test]
fn every_operation_completes_and_nothing_is_sent_twice() {
    let Some(mut lab) = Setup::new().start() else { return };
    for op in ["write", "read", "send", "fetch-add", "compare-swap"] {
        let receiver = recv(lab.host(3), "--size 64KiB --qps 4");
        let bench =
            roce(lab.host(1), "bench", &format!("{PEER} --op {op} --ops 100 --qps 4 --depth 4"));
        let report: BenchReport = parse(bench);
        let received: RecvReport = parse(receiver);
        let size = if op == "fetch-add" || op == "compare-swap" { 8 } else { 65_536 };
        assert_eq!((report.ops, report.size, report.qps), (100, size, 4), "{op}");
        nothing_was_repeated(&report);
        assert_eq!(received.messages, if op == "send" { 100 } else { 0 }, "{op}");
        assert_eq!(received.endpoint.counters["duplicates"], 0, "{op}");
        assert!(
            report.latency_ns.min > 0 && report.latency_ns.p50 <= report.latency_ns.max,
            "{op}"
        );
    }
    let stats = lab.switch.settled();
    assert_eq!(stats.lossless_dropped(), 0);
    lab.stop();
}

#[test]
fn a_pause_stops_the_sender_and_loses_nothing() {
    let Some(lab) = Setup::new().start() else { return };
    let receiver = recv(lab.host(3), "");
    let pauser = lab.host(3).pause("--classes 3:65535 --repeat 10ms --count 100");
    let report: BenchReport = parse(roce(lab.host(1), "bench", &format!("{PEER} --ops 100")));
    pauser.end(PATIENCE).success();
    let received: RecvReport = parse(receiver);
    nothing_was_repeated(&report);
    // 100 writes of 64 KiB fill what the switch holds of one port, which then pauses the sender.
    assert!(report.endpoint.paused_ns > 0 && report.endpoint.pauses > 0, "{report:?}");
    assert_eq!(received.endpoint.counters["out_of_sequence"], 0);
    lab.stop();
}

#[test]
fn what_cannot_be_is_said_in_a_line() {
    let Some(lab) = Setup::new().start() else { return };
    let host = lab.host(1);
    let said = |arguments: &str, status: i32| {
        let ended = roce(host, "bench", arguments).end(PATIENCE);
        assert_eq!(ended.status.code(), Some(status), "{}", ended.stderr);
        ended.stderr
    };
    assert!(said("10.1.1.2", 1).contains("10.1.1.2:18515: Connection refused"));
    assert!(said("10.1.3.2 --dcqcn ai=1M", 2).contains("needs --congestion dcqcn"));
    assert!(said("10.1.3.2 --hpcc ai=80", 2).contains("needs --congestion hpcc"));
    let receiver = recv(lab.host(3), "--size 4KiB");
    assert!(said("10.1.3.2 --size 1MiB", 1).contains("the peer has no such memory"));
    receiver.end(PATIENCE).success();
    lab.stop();
}

//! The real program on `net_pcap`, `net_null` and `net_ring`: from SWITCH.toml to a zero imbalance.
#![cfg(feature = "dpdk")]

#[allow(dead_code, reason = "each test file uses a part of it")]
mod binary;
#[allow(dead_code, reason = "each test file uses a part of it")]
mod pcap;

use binary::Place;
use dataplane::testing::wire::{Udp, host_mac, port_mac, sequence};
use nix::sys::signal::Signal;
use pcap::{read_pcap, write_pcap};
use serde_json::Value;
use switch::control::stats::Stats;

/// Frames from a file by port `in` to port `out`, on as many workers as there are ports.
fn through_files(workers: usize, more: &str) -> Place {
    let place = Place::new(&format!(
        r#"
name = "s1"
[buffer]
size = "4MB"
[control]
socket = "s.sock"
[memory]
hugepages = "never"
[workers]
count = {workers}
idle = "sleep"
[[lossless]]
priority = 3
[[port]]
name = "in"
device = "net_pcap0,rx_pcap=in.pcap,tx_pcap=back.pcap"
mac = "02:00:00:00:00:01"
addresses = ["10.0.1.254/24"]
trusted = true
[[port]]
name = "out"
device = "net_pcap1,rx_pcap=nothing.pcap,tx_pcap=out.pcap"
mac = "02:00:00:00:00:02"
addresses = ["10.0.2.254/24"]
{more}
[[neighbor]]
address = "10.0.2.1"
mac = "02:00:00:01:02:01"
"#
    ));
    write_pcap(&place.path("nothing.pcap"), &[]);
    place
}

/// `count` numbered frames, every other one lossless.
fn numbered(count: u32) -> Vec<Vec<u8>> {
    let frame = |number: u32| {
        let dscp = if number.is_multiple_of(2) { 0 } else { 3 };
        let frame_bytes = 60 + number as usize % 1_400;
        Udp { sequence: number, frame_bytes, ..Udp::routed(1, 2, dscp) }.bytes()
    };
    (0..count).map(frame).collect()
}

/// The numbers of the UDP frames in a file.
fn numbers(place: &Place, file: &str) -> Vec<u32> {
    let frames = read_pcap(&place.path(file));
    frames.iter().filter(|f| f[12..14] == [8, 0] && f[23] == 17).map(|f| sequence(f)).collect()
}

fn all_sent(frames: u64) -> impl Fn(&binary::Switch<'_>) -> bool {
    move |switch| {
        switch.number("/ports/1/tx_frames/0") + switch.number("/ports/1/tx_frames/3") >= frames
    }
}

#[test]
fn frames_are_routed_and_the_frame_balance_is_zero_at_the_end() {
    let place = through_files(1, "");
    write_pcap(&place.path("in.pcap"), &numbered(3_000));
    let switch = place.start(&[]);
    for startup_output in [
        "software PFC works here",
        "MB of plain memory",
        "a sender waits when its receive queue is full",
    ] {
        assert!(switch.startup_output.contains(startup_output), "{}", switch.startup_output);
    }
    switch.wait_for("every frame", all_sent(3_000));
    let (output, _) = switch.interrupt();
    assert!(output.contains("3000 received") && output.contains("imbalance 0"), "{output}");
    assert!(
        output.contains("lossless drops: 0") && output.contains("buffers are back"),
        "{output}"
    );

    let lossy: Vec<u32> = (0..3_000).filter(|n| n % 2 == 0).collect();
    let lossless: Vec<u32> = (0..3_000).filter(|n| n % 2 == 1).collect();
    let sent = numbers(&place, "out.pcap");
    let of = |odd: u32| sent.iter().copied().filter(|n| n % 2 == odd).collect::<Vec<_>>();
    assert_eq!((of(0), of(1)), (lossy, lossless), "each once, in order");
    for frame in read_pcap(&place.path("out.pcap")).iter().filter(|f| f[23] == 17) {
        assert_eq!((&frame[..6], &frame[6..12]), (&host_mac(2, 1).0[..], &port_mac(2).0[..]));
        assert_eq!(frame[22], 63, "one hop");
    }
}

#[test]
fn two_workers_hand_frames_off_and_json_has_the_same_totals() {
    let place = through_files(2, "");
    write_pcap(&place.path("in.pcap"), &numbered(2_000));
    let switch = place.start(&["--json"]);
    switch.wait_for("every frame", all_sent(2_000));
    let (output, error) = switch.interrupt();
    let stats: Stats = serde_json::from_str(&output).expect("one JSON object and nothing else");
    assert!(error.contains("s1 runs: 2 ports, 2 workers"), "{error}");
    assert_eq!(stats.workers.len(), 2);
    assert_eq!((stats.totals.received, stats.totals.handoff_tx), (2_000, 2_000));
    assert_eq!((stats.totals.handoff_rx, stats.totals.held), (2_000, 0));
    assert_eq!((stats.totals.dropped, stats.totals.imbalance), (0, 0));
    assert_eq!(stats.ports[1].device_counters.tx_frames, 2_000 + stats.ports[1].injected_frames);
    assert_eq!(numbers(&place, "out.pcap").len(), 2_000);
}

#[test]
fn what_is_queued_at_the_end_is_sent_before_it() {
    // 500 frames of up to 560 bytes at 10 Mb/s take about 150 ms.
    let place = through_files(1, "speed = \"10M\"");
    write_pcap(&place.path("in.pcap"), &numbered(500));
    let switch = place.start(&[]);
    switch.wait_for("all frames in the switch", |switch| switch.number("/totals/received") == 500);
    let (output, _) = switch.interrupt();
    assert!(output.contains("500 received") && output.contains(" 0 held;"), "{output}");
    assert_eq!(numbers(&place, "out.pcap").len(), 500);
}

#[test]
fn no_frame_is_lost_while_tables_are_swapped() {
    let rules = |entries: &str| {
        format!(
            r#"{{"switch":"s1","ports":2,"lossy_tag":0,"initial_tag":1,"priorities":{{"1":3}},
                "entries":[{entries}]}}"#
        )
    };
    // One worker: what it receives it sends, so a file that never ends cannot overrun it.
    let place = through_files(1, "");
    write_pcap(&place.path("in.pcap"), &numbered(64));
    let endless = std::fs::read_to_string(place.path("SWITCH.toml")).unwrap();
    place.write(
        "SWITCH.toml",
        &endless
            .replace("rx_pcap=in.pcap,tx_pcap=back.pcap", "rx_pcap=in.pcap,infinite_rx=1")
            .replace("net_pcap1,rx_pcap=nothing.pcap,tx_pcap=out.pcap", "net_null0,no-rx=1"),
    );
    place.write("one.json", &rules(r#"{"tag":1,"in":[1],"out":[2],"new_tag":1}"#));
    place.write("none.json", &rules(""));
    let switch = place.start(&[]);
    let began = switch.number("/totals/sent");
    for swap in 0..20 {
        let file = if swap % 2 == 0 { "one.json" } else { "none.json" };
        let epoch = switch.json(&["rules", file])["epoch"].as_u64().unwrap();
        assert_eq!(switch.number("/epoch"), epoch, "in use when ctl says so");
    }
    assert!(switch.number("/totals/sent") > began, "frames moved all the time");
    let (output, _) = switch.interrupt();
    let dropped: u64 = output
        .lines()
        .find_map(|line| {
            line.strip_prefix("frames: ")?.split(" + ").find_map(|p| p.strip_suffix(" dropped"))
        })
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(dropped, 0, "{output}");
}

#[test]
fn signals_reload_and_end_it() {
    let place = through_files(1, "");
    write_pcap(&place.path("in.pcap"), &numbered(10));
    let switch = place.start(&[]);
    switch.signal(Signal::SIGHUP);
    switch.wait_for("new tables", |switch| switch.number("/epoch") >= 2);
    place.write("SWITCH.toml", "name = \"other\"");
    let refused = switch.ctl(&["reload"]);
    assert_eq!(refused.status.code(), Some(2));
    switch.signal(Signal::SIGTERM);
    let (_, error) = switch.ended_well();
    assert!(error.contains("reload refused, the tables in use do not change: "), "{error}");
}

/// What a process takes, in kB: its resident memory and hugepages, and all of DPDK's `dpdk_mb` of
/// plain memory, touched or not.
fn process_kb(pid: u32, dpdk_mb: u64) -> u64 {
    let of = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let kb = |line: &str, key: &str| -> Option<u64> {
        line.strip_prefix(key)?.trim().strip_suffix(" kB")?.parse().ok()
    };
    let (mut size_kb, mut sum_kb, mut of_dpdk) = (0, 0, 0);
    for line in of("smaps").lines() {
        if let Some(kb) = kb(line, "Size:") {
            size_kb = kb;
        } else if let Some(resident_kb) = kb(line, "Rss:") {
            let is_of_dpdk = size_kb == dpdk_mb * 1024;
            of_dpdk += u32::from(is_of_dpdk);
            sum_kb += if is_of_dpdk { size_kb } else { resident_kb };
        }
    }
    assert_eq!(of_dpdk, 1, "DPDK's memory is one mapping");
    let hugepages_kb = of("status").lines().find_map(|line| kb(line, "HugetlbPages:"));
    sum_kb + hugepages_kb.expect("Linux counts it")
}

#[test]
fn four_ports_with_the_default_buffer_fit_256_mb() {
    let ports: String = (0..4)
        .map(|n| format!("[[port]]\ndevice = \"net_ring{n}\"\naddresses = [\"10.0.{n}.1/24\"]\n"))
        .collect();
    let place = Place::new(&format!(
        "name = \"four\"\n[control]\nsocket = \"s.sock\"\n[memory]\nhugepages = \"never\"\n\
         [workers]\nidle = \"sleep\"\n[[lossless]]\npriority = 3\n{ports}"
    ));
    let switch = place.start(&[]);
    let memory =
        switch.startup_output.lines().find_map(|line| line.strip_prefix("memory: ")).unwrap();
    let mb: u64 = memory.split(' ').next().unwrap().parse().unwrap();
    let before = switch.json(&["stats"]);
    let process_kb = process_kb(switch.pid(), mb);
    println!("DPDK {mb} MB, the process {process_kb} kB");
    assert!(process_kb <= 256 * 1024, "{process_kb} kB; {memory}");
    switch.interrupt();
    assert_eq!(before.pointer("/totals/imbalance").and_then(Value::as_i64), Some(0));
}

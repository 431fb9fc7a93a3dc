//! What any Linux host expects of a router: it answers, forwards, shows up on the way, and says why
//! when it cannot.

use crate::lab::{Lab, Setup};
use serde_json::Value;

/// Pings that must fail, and what the host must be told.
fn refused(lab: &Lab, host: usize, arguments: &str, why: &str) {
    let ended = lab.host(host).run("ping", &format!("-n -c 1 -W 15 {arguments}"));
    assert!(!ended.status.success(), "{arguments}: {}", ended.stdout);
    assert!(ended.stdout.contains(why), "{arguments}: {}", ended.stdout);
}

#[test]
fn hosts_reach_each_other_and_the_switch_and_are_told_what_they_cannot_reach() {
    let narrow = Setup::new().port(3, "mtu = 1400");
    let Some(mut lab) = narrow.start() else { return };
    // Every host, by both IP versions; then the switch, from its own side and from behind it.
    for (from, to) in [(1, 2), (2, 3), (3, 1)] {
        for address in [format!("10.1.{to}.2"), format!("fd00:1:{to}::2")] {
            let said = lab.host(from).ping(&address);
            assert!(said.contains("ttl=63"), "one hop between: {said}");
        }
    }
    for address in ["10.1.1.1", "fd00:1:1::1", "10.1.3.1", "fd00:1:3::1"] {
        let said = lab.host(1).ping(address);
        assert!(said.contains("ttl=64"), "the switch itself: {said}");
    }
    for (address, switch, host) in
        [("10.1.3.2", "10.1.1.1", "10.1.3.2"), ("fd00:1:3::2", "fd00:1:1::1", "fd00:1:3::2")]
    {
        let said = lab.host(1).run("traceroute", &format!("-n -q 1 -w 10 {address}")).success();
        let hops: Vec<&str> =
            said.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(hops, [switch, host], "{said}");
    }
    refused(&lab, 1, "10.77.0.1", "From 10.1.1.1 icmp_seq=1 Destination Net Unreachable");
    refused(&lab, 1, "fd77::1", "From fd00:1:1::1 icmp_seq=1 Destination unreachable: No route");
    refused(&lab, 1, "10.1.3.99", "From 10.1.1.1 icmp_seq=1 Destination Host Unreachable");
    refused(&lab, 1, "-t 1 10.1.3.2", "From 10.1.1.1 icmp_seq=1 Time to live exceeded");
    refused(&lab, 1, "-s 1400 -M do 10.1.3.2", "Frag needed and DF set (mtu = 1400)");
    refused(&lab, 1, "-s 1400 -M do fd00:1:3::2", "Packet too big: mtu=1400");

    let stats = lab.switch.settled();
    assert_eq!((stats.totals.imbalance, stats.lossless_dropped()), (0, 0));
    assert!(stats.agent.counters.errors_sent >= 6, "{:?}", stats.agent);
    lab.stop();
}

/// TCP has no sequence of its own to check here: its checksum and its stream do that. What is
/// looked at is that it fills the port, through drops and retransmissions, on a lossy class.
#[test]
fn tcp_fills_a_slow_port_over_a_lossy_class() {
    let Some(mut lab) = Setup::new().start() else { return };
    let mut server = lab.host(3).start("iperf3", "--server --one-off --forceflush --json");
    lab.host(3).ping("10.1.3.1");
    for _ in 0..200 {
        let listening = lab.host(3).run("ss", "--no-header --listening --tcp --numeric").success();
        if listening.contains(":5201") {
            break;
        }
        assert!(server.is_running(), "{}", server.told());
    }
    let said = lab.host(1).run("iperf3", "--client 10.1.3.2 --bytes 16M --json").success();
    let report: Value = serde_json::from_str(&said).expect("iperf3 writes JSON");
    let bps = report["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate");
    // 100 Mb/s less headers: 95 at most. How far below it stays is up to the machine.
    assert!(bps > 0.0 && bps < 96e6, "{bps} b/s");
    server.end(std::time::Duration::from_secs(10)).success();

    let stats = lab.switch.settled();
    let port = &stats.ports[2];
    assert!(
        port.tx_frames[0] > 16_000_000 / 1_500 && port.tx_frames[3..5] == [0, 0],
        "{:?}",
        port.tx_frames
    );
    let paused: u64 = stats.ports.iter().map(|port| port.pfc.tx_frames).sum();
    assert_eq!(paused, 0, "a lossy class is not paused for");
    lab.stop();
}

//! The ports as interfaces of the machine: its tools and daemons work by them, its addresses are
//! the switch's, and a flood of one kind of frames keeps no other away.

use crate::host::{THREE_PINGS, are_answered};
use crate::lab::{Lab, Setup};
use crate::process::{LOOK, Running};
use serde_json::Value;
use std::time::{Duration, Instant};
use switch::control::stats::{HostClassStats, Stats};

const PATIENCE: Duration = Duration::from_secs(30);

/// The lab, whose switch has a TAP `hN` for port N in its own namespace.
fn lab(setup: Setup) -> Option<Lab> {
    setup.head("[host]\ntaps = true\n").start()
}

/// Starts `program` beside the switch.
fn start(lab: &Lab, name: &str, program: &str, arguments: &str) -> Running {
    let mut command = lab.namespace.command(program);
    command.args(arguments.split_ascii_whitespace());
    Running::start(command, lab.directory.path(), name)
}

/// Runs `program` beside the switch; what it says.
fn run(lab: &Lab, program: &str, arguments: &str) -> String {
    start(lab, "run", program, arguments).end(PATIENCE).success()
}

/// Waits until `is_so`.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let asked = Instant::now();
    while !is_so() {
        assert!(asked.elapsed() < PATIENCE, "{what} does not come");
        std::thread::sleep(4 * LOOK);
    }
}

/// Frames of `class` at port `number`, from 1.
fn class(stats: &Stats, number: usize, class: &str) -> HostClassStats {
    stats.ports[number - 1].host_classes.get(class).copied().unwrap_or_default()
}

/// The state of the TAP of port `number`, as iproute2 shows it.
fn link(lab: &Lab, number: usize) -> Value {
    let said = run(lab, "ip", &format!("-j link show h{number}"));
    let links: Value = serde_json::from_str(&said).expect("iproute2 writes JSON");
    links[0].clone()
}

fn has_carrier(lab: &Lab, number: usize) -> bool {
    link(lab, number)["flags"].as_array().expect("a list").contains(&"LOWER_UP".into())
}

/// Starts a server of iperf3, and returns when it listens.
fn iperf3_server(lab: &Lab, port: u16) -> Running {
    let mut server =
        start(lab, &format!("iperf3-{port}"), "iperf3", &format!("--server --one-off -p {port}"));
    wait_until("iperf3", || {
        assert!(server.is_running(), "{}", server.told());
        run(lab, "ss", "--no-header --listening --tcp --numeric").contains(&format!(":{port}"))
    });
    server
}

#[test]
fn the_machine_and_the_hosts_reach_each_other_by_the_taps() {
    let Some(mut lab) = lab(Setup::new()) else { return };
    wait_until("the carrier", || (1..=3).all(|number| has_carrier(&lab, number)));
    // Until then the kernel uses no IPv6 address of theirs (RFC 4862, 5.4).
    wait_until("the end of duplicate address detection", || {
        run(&lab, "ip", "-6 addr show tentative").is_empty()
    });
    let mtu = link(&lab, 1)["mtu"].clone();
    let mac = lab.switch.stats().ports[0].mac.clone();
    assert_eq!((mtu, link(&lab, 1)["address"].clone()), (1_500.into(), mac.into()));

    // From the machine, by the interface it names; to the switch's addresses, which are the
    // machine's; and through the switch, as ever.
    for address in ["10.1.1.2", "fd00:1:1::2"] {
        let said = run(&lab, "ping", &format!("{THREE_PINGS} -I h1 {address}"));
        assert!(are_answered(&said), "{said}");
    }
    for address in ["10.1.1.1", "10.1.3.1", "fd00:1:1::1"] {
        assert!(lab.host(1).ping(address).contains("ttl=64"), "{address}");
    }
    for address in ["10.1.2.2", "fd00:1:2::2"] {
        assert!(lab.host(1).ping(address).contains("ttl=63"), "{address}");
    }

    let server = iperf3_server(&lab, 5_201);
    lab.host(2).run("iperf3", "--client 10.1.2.1 --bytes 4M --json").success();
    server.end(PATIENCE).success();

    let stats = lab.switch.settled();
    assert_eq!((stats.totals.imbalance, stats.lossless_dropped()), (0, 0));
    let (icmp, local) = (class(&stats, 1, "icmp"), class(&stats, 2, "local"));
    assert!(icmp.passed_frames >= 9 && icmp.dropped_frames == 0, "{icmp:?}");
    assert!(local.passed_frames > 1_000, "{local:?}");
    assert!(class(&stats, 1, "arp_nd").passed_frames > 0);
    assert_eq!(stats.agent.outcomes.get("echo_answered"), None, "the kernel answers");
    let punted: u64 = stats.ports.iter().map(|port| port.counters.punted_frames).sum();
    let passed = stats.ports.iter().flat_map(|port| port.host_classes.values());
    assert_eq!(passed.map(|class| class.passed_frames).sum::<u64>(), punted, "each has a class");
    let to_host: u64 = stats.taps.iter().map(|tap| tap.to_host_frames).sum();
    assert!(to_host <= punted && to_host > 1_000, "{:?}", stats.taps);
    lab.stop();
}

#[test]
fn an_address_that_the_machine_gets_while_the_switch_runs_is_the_ports() {
    let Some(mut lab) = lab(Setup::new()) else { return };
    let routes = |lab: &mut Lab| {
        let answer = lab.switch.ask(&serde_json::json!({ "request": "routes" }));
        answer["routes"].to_string()
    };
    assert!(routes(&mut lab).contains("10.1.1.0/24"), "those of the file are there");
    let unknown = lab.host(2).run("ping", "-n -c 1 -W 15 10.9.1.2");
    assert!(unknown.stdout.contains("Destination Net Unreachable"), "{}", unknown.stdout);

    lab.namespace.ip("addr add 10.9.1.1/24 dev h1");
    lab.host(1).namespace.ip("addr add 10.9.1.2/24 dev kt1");
    wait_until("the network", || routes(&mut lab).contains("10.9.1.0/24"));
    assert!(lab.host(2).ping("10.9.1.2").contains("ttl=63"), "forwarded");
    assert!(lab.host(1).ping("10.9.1.1").contains("ttl=64"), "answered");
    let addresses = lab.switch.stats().taps[0].addresses.clone();
    assert!(addresses.contains(&"10.9.1.1/24".to_owned()), "{addresses:?}");

    // A network of another port, a router's own address, and the end of the first.
    lab.namespace.ip("addr add 10.1.2.77/24 dev h1");
    lab.switch.wait_for("10.1.2.77/24");
    lab.namespace.ip("addr add 10.255.0.1/32 dev lo");
    wait_until("the router's own", || routes(&mut lab).contains("10.255.0.1/32"));
    assert!(lab.host(3).ping("10.255.0.1").contains("ttl=64"));
    lab.namespace.ip("addr del 10.9.1.1/24 dev h1");
    wait_until("its end", || !routes(&mut lab).contains("10.9.1.0/24"));
    let unknown = lab.host(2).run("ping", "-n -c 1 -W 15 10.9.1.2");
    assert!(unknown.stdout.contains("Destination Net Unreachable"), "{}", unknown.stdout);
    assert!(lab.host(2).ping("10.1.1.2").contains("ttl=63"), "the other network stays");
    assert_eq!(lab.switch.settled().totals.imbalance, 0);
    lab.stop();
}

#[test]
fn the_carrier_follows_the_link_and_tools_see_what_passes() {
    let Some(mut lab) = lab(Setup::new()) else { return };
    wait_until("the carrier", || has_carrier(&lab, 1));
    lab.host(1).namespace.ip("link set kt1 down");
    wait_until("the end of the carrier", || !has_carrier(&lab, 1));
    assert!(has_carrier(&lab, 2), "another port");
    lab.host(1).namespace.ip("link set kt1 up");
    wait_until("the carrier", || has_carrier(&lab, 1));
    lab.switch.ask(&serde_json::json!({ "request": "link", "port": "h1", "up": false }));
    wait_until("the end of the carrier", || !has_carrier(&lab, 1));
    lab.switch.ask(&serde_json::json!({ "request": "link", "port": "h1", "up": true }));
    wait_until("the carrier", || has_carrier(&lab, 1));

    // A capture on the TAP: an LLDP frame from the host, and a ping of it in both directions.
    let capture = start(&lab, "tshark", "tshark", "-l -n -i h2 -c 3 -a duration:25 -f arp||icmp");
    let mut capture = capture;
    capture.wait_for("Capturing");
    lab.host(2).ping("10.1.2.1");
    let said = capture.end(PATIENCE).success();
    assert!(said.contains("Echo (ping)"), "{said}");
    assert_eq!(lab.switch.settled().totals.imbalance, 0);
    lab.stop();
}

/// As fast as the host's program sends; rates that a NIC has are tested without a device.
#[test]
fn a_flood_at_the_switchs_own_address_keeps_no_session_away() {
    let Some(mut lab) = lab(Setup::new()) else { return };
    lab.host(1).ping("10.1.1.1");
    let mac = lab.switch.stats().ports[0].mac.clone();
    let flood = lab.host(1).send(&format!(
        "--flow src-ip=10.1.1.2,dst-ip=10.1.1.1,dst-mac={mac},size=64,rate=1G --speed 1G \
         --duration 60s"
    ));
    lab.switch.stats_when("the flood", |stats| class(stats, 1, "local").dropped_frames > 20_000);

    // A session of the protocol that a fabric lives by, at the flooded port; pings at it and at
    // another one.
    let server = iperf3_server(&lab, 179);
    let arguments = "--client 10.1.1.1 -p 179 --bytes 1M --window 64K --json";
    let said = lab.host(1).run("iperf3", arguments).success();
    let report: Value = serde_json::from_str(&said).expect("iperf3 writes JSON");
    // The client ends when its socket has taken the last octet, and then the server reads no more.
    // What is still in their sockets, which Linux makes twice as large as asked, does not count.
    let received = report["end"]["sum_received"]["bytes"].as_u64().expect("the server reports");
    assert!(received >= (1 << 20) - 2 * (128 << 10), "{said}");
    server.end(PATIENCE).success();
    lab.host(1).ping("10.1.1.1");
    lab.host(2).ping("10.1.2.1");
    assert!(lab.host(2).ping("10.1.3.2").contains("ttl=63"), "forwarding goes on");
    let before = lab.switch.stats();
    let sent = flood.stop();

    let stats = lab.switch.settled();
    assert_eq!(stats.totals.imbalance, 0);
    // The flood obeys nobody: what its tap could not hold was lost before it had a class.
    let mut lossless = stats.lossless_drops_by_cause();
    lossless.remove("rx_missed");
    assert!(lossless.is_empty(), "{lossless:?}");
    assert_eq!(stats.ports[1].lossless_dropped() + stats.ports[2].lossless_dropped(), 0);
    let (local, bgp) = (class(&stats, 1, "local"), class(&stats, 1, "bgp"));
    assert_eq!(bgp.dropped_frames, 0, "{bgp:?}");
    assert!(bgp.passed_frames * 1_460 >= received, "{bgp:?} of {received} octets");
    for (number, name) in [(1, "icmp"), (1, "arp_nd"), (2, "icmp"), (2, "arp_nd")] {
        assert_eq!(class(&stats, number, name).dropped_frames, 0, "{name} at port {number}");
    }
    assert!(local.dropped_frames >= class(&before, 1, "local").dropped_frames);
    let flooded: u64 = sent.flows.iter().map(|flow| flow.frames).sum();
    assert!(local.passed_frames + local.dropped_frames <= flooded, "no frame counts twice");
    let dropped = &stats.ports[0].drops;
    assert_eq!(dropped.get("punt_policed").copied(), Some(local.dropped_frames), "{dropped:?}");
    lab.stop();
}

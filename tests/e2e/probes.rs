//! Probes that follow a class: ping and traceroute with a marking go by the queues of that class,
//! and show how long it waits and where.

use crate::lab::Setup;
use nix::sys::signal::Signal;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
/// The type of service with DSCP 26, which is priority 3, lossless.
const TOS: u8 = 26 << 2;
/// How long the class is held, at least.
const HELD_MS: f64 = 1_000.0;

/// The least, mean and most of the round trips in what ping says, in milliseconds.
fn round_trips(said: &str) -> [f64; 3] {
    let rest = said.split_once("min/avg/max/mdev = ").expect("ping says its round trips").1;
    let mut figures = rest.split('/').map(|figure| figure.parse().expect("a number"));
    [(); 3].map(|()| figures.next().expect("four figures"))
}

#[test]
fn the_round_trip_and_the_path_of_a_class_show_where_it_waits() {
    let trusted = "trusted = true";
    let setup = Setup::new().port(1, trusted).port(3, trusted);
    let Some(mut lab) = setup.start() else { return };
    let ping = |tos: u8| format!("-n -c 3 -i 0.2 -W 50 -Q {tos} 10.1.3.2");
    let trace = |tos: u8| format!("-n -q 1 -w 2 -m 2 -t {tos} 10.1.3.2");
    let hops = |said: &str| -> Vec<String> {
        let lines = said.lines().skip(1);
        lines.filter_map(|line| Some(line.split_whitespace().nth(1)?.to_owned())).collect()
    };
    lab.host(1).ping("10.1.3.2");
    let before = lab.switch.settled();
    let said = lab.host(1).run("ping", &ping(TOS)).success();
    assert!(said.contains(" 0% packet loss"), "{said}");
    let after = lab.switch.settled();
    for port in [0, 2] {
        let [before, after] =
            [&before, &after].map(|stats| stats.ports[port].counters.tx_frames[3]);
        assert!(after - before >= 3, "both ways in the class");
    }
    let said = lab.host(1).run("traceroute", &trace(TOS)).success();
    assert_eq!(hops(&said), ["10.1.1.1", "10.1.3.2"], "{said}");

    // The receiver pauses the class. What is behind it answers nobody in this class, and at once in
    // another one.
    let pauser = lab.host(3).pause("--classes 3:65535 --repeat 50ms");
    lab.switch.stats_when("a pause", |stats| stats.ports[2].queues[3].rx_paused);
    let held = lab.host(1).start("ping", &ping(TOS));
    lab.switch.stats_when("a second of pause with frames that wait", |stats| {
        let queue = &stats.ports[2].queues[3];
        queue.rx_paused_for_ns > 1_500_000_000 && queue.veq_frames >= 3
    });
    let free = lab.host(1).run("ping", &ping(0)).success();
    assert!(free.contains(" 0% packet loss"), "{free}");
    let said = lab.host(1).run("traceroute", &trace(TOS)).success();
    assert_eq!(hops(&said), ["10.1.1.1", "*"], "{said}");
    let said = lab.host(1).run("traceroute", &trace(0)).success();
    assert_eq!(hops(&said), ["10.1.1.1", "10.1.3.2"], "{said}");
    pauser.signal(Signal::SIGTERM);
    pauser.end(PATIENCE).success();
    lab.host(3).traffic("pfc", "--classes 3:0").end(PATIENCE).success();
    let said = held.end(PATIENCE).success();
    assert!(said.contains(" 0% packet loss"), "nothing is lost, it is late: {said}");
    let ([_, _, held], [_, _, free]) = (round_trips(&said), round_trips(&free));
    assert!(held >= HELD_MS && free < held, "{held} ms in the class, {free} ms in another one");
    let stats = lab.switch.settled();
    assert_eq!(stats.totals.imbalance, 0);
    // The two probes of the class that were to end at the first hop.
    let lost: Vec<_> = stats.lossless_drops_by_cause().into_iter().collect();
    assert_eq!(lost, [("ttl_expired", 2)]);
    lab.stop();
}

//! Pauses travel against the traffic, hop by hop, and no further than they must.

use crate::support::{
    MS, US, all_ports, drops, entry, lossless_network, megabits, port_of, run_checked,
    run_until_deadlock, tag,
};
use dataplane::time::Speed;
use netsim::checker::Violation;
use netsim::flow::FlowSpec;
use netsim::link::LinkSpec;
use netsim::sink::Drain;
use netsim::switch_spec::SwitchSpec;

/// a - S1 - S2 - S3 - c, and b at S1 whose flow to d at S2 shares only the first link.
#[test]
fn a_slow_receiver_behind_three_switches_pauses_its_sender() {
    let link = LinkSpec::new(10, 100);
    let mut builder = lossless_network(1, 1);
    let switches = ["S1", "S2", "S3"].map(|name| builder.switch(name, SwitchSpec::default()));
    let [s1, s2, s3] = switches;
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| builder.host(name));
    // Port 1 towards a, port 2 towards c.
    builder.link(a, s1.port(1), link);
    builder.link(s1.port(2), s2.port(1), link);
    builder.link(s2.port(2), s3.port(1), link);
    builder.link(s3.port(2), c, link);
    builder.link(b, s1.port(3), link);
    builder.link(d, s2.port(3), link);
    let drain = Drain {
        speed: Some(Speed::from_gbps(2)),
        xoff_bytes: 60_000,
        xon_bytes: 50_000,
        capacity_bytes: 80_000,
    };
    builder.slow_down(c, drain);
    let slow = builder.flow(FlowSpec::new(a, c, tag(1)));
    let victim = builder.flow(FlowSpec { start_ps: MS, ..FlowSpec::new(b, d, tag(1)) });
    let mut network = builder.build().unwrap();

    // Each switch pauses the one before it later than it was paused itself.
    let mut first_pause_ps = [None; 3];
    while network.now_ps() < MS {
        let until_ps = network.now_ps() + US;
        run_checked(&mut network, until_ps, US);
        for (first, switch) in first_pause_ps.iter_mut().zip(switches) {
            let paused = port_of(&network, switch, 1).queues[3].tx_paused;
            *first = first.or(paused.then_some(network.now_ps()));
        }
    }
    let [one, two, three] = first_pause_ps.map(|first| first.expect("each has paused"));
    assert!(three + 10 * US < two && two + 10 * US < one, "{one} {two} {three}");

    run_checked(&mut network, 5 * MS, 100 * US);
    for switch in switches {
        assert_eq!(drops(&network, switch), []);
        assert!(port_of(&network, switch, 2).counters.pfc.rx_pauses[3] > 5, "{switch:?}");
        assert!(port_of(&network, switch, 1).counters.pfc.tx_pauses[3] > 5, "{switch:?}");
    }
    assert!(network.host(a).pfc.rx_pauses[3] > 5);
    let rate = megabits(network.flow(slow).received_bytes, 5 * MS);
    assert!((1_950..=2_250).contains(&rate), "{rate} Mb/s");
    // Head-of-line blocking, PFC's known price: the victim's queue at S1 is the slow flow's.
    let rate = megabits(network.flow(victim).received_bytes, 4 * MS);
    assert!(rate < 5_000, "{rate} Mb/s");
    network.drain(MS).unwrap();
    network.check().unwrap();
    assert_eq!(network.flow(slow).missing_frames() + network.flow(victim).missing_frames(), 0);
}

#[test]
fn a_very_slow_host_is_no_deadlock() {
    let link = LinkSpec::new(10, 10);
    let mut builder = lossless_network(1, 1);
    let [s1, s2] = ["S1", "S2"].map(|name| builder.switch(name, SwitchSpec::default()));
    let [a, c] = ["a", "c"].map(|name| builder.host(name));
    builder.link(a, s1.port(1), link);
    builder.link(s1.port(2), s2.port(1), link);
    builder.link(s2.port(2), c, link);
    let drain = Drain {
        speed: Some(Speed::from_bps(100_000)),
        xoff_bytes: 10_000,
        xon_bytes: 2_000,
        capacity_bytes: 60_000,
    };
    builder.slow_down(c, drain);
    builder.flow(FlowSpec::new(a, c, tag(1)));
    let mut network = builder.build().unwrap();
    assert_eq!(run_until_deadlock(&mut network, 2 * MS, 100 * US), None);
    assert!(
        port_of(&network, s1, 2).queues[3].rx_paused
            && port_of(&network, s2, 2).queues[3].rx_paused
    );
    let stuck = network.drain(4 * MS).unwrap_err();
    assert_eq!(stuck.deadlock, None);
    assert!(stuck.frames > 50 && stuck.frames == network.frames_inside(), "{stuck}");
    network.check().unwrap();
}

#[test]
fn a_rule_that_lowers_a_tag_is_found_out() {
    let link = LinkSpec::new(10, 10);
    let mut builder = lossless_network(1, 2);
    let [s1, s2] = ["S1", "S2"].map(|name| builder.switch(name, SwitchSpec::default()));
    let [a, c] = ["a", "c"].map(|name| builder.host(name));
    builder.link(a, s1.port(1), link);
    builder.link(s1.port(2), s2.port(1), link);
    builder.link(s2.port(2), c, link);
    let all = all_ports(2);
    builder.rules(s1, vec![entry(1, &all, &all, 2)]);
    builder.rules(s2, vec![entry(2, &all, &all, 1)]);
    let flow = builder.flow(FlowSpec::new(a, c, tag(1)));
    let mut network = builder.build().unwrap();
    network.run_until(10 * US);
    let fell = Violation::TagFell { sender: "S2:2".into(), from: tag(2), to: tag(1) };
    assert_eq!(network.check(), Err(fell));
    assert!(network.flow(flow).received_frames > 0);
}

//! The classical cyclic buffer dependency: three switches in a ring (reconfiguration paper, Fig.
//! 1).
//!
//! Plain PFC must lock up here, or every test that finds no deadlock is worth nothing.

use crate::support::{
    MS, Ring, US, all_ports, entry, lossless_network, megabits, port, run_checked,
    run_until_deadlock,
};
use dataplane::settings::Threshold;
use netsim::link::LinkSpec;
use netsim::switch_spec::SwitchSpec;

#[test]
fn plain_pfc_deadlocks_the_cycle_is_named_and_nothing_unties_it() {
    let mut builder = lossless_network(1, 1);
    let ring = Ring::new(&mut builder, &SwitchSpec::default(), LinkSpec::new(40, 10));
    let mut network = builder.build().unwrap();

    let (at_ps, deadlock) = run_until_deadlock(&mut network, MS, US).expect("a deadlock");
    assert!((20 * US..80 * US).contains(&at_ps), "{} us; the paper measured 65", at_ps / US);
    let places: Vec<(&str, usize, usize)> = deadlock
        .hops
        .iter()
        .map(|hop| (hop.switch.as_str(), hop.input.number(), hop.output.number()))
        .collect();
    assert_eq!(places, [("A", 2, 1), ("B", 2, 1), ("C", 2, 1)]);
    assert!(deadlock.hops.iter().all(|hop| hop.bytes > 35_000), "{deadlock}");
    network.check().unwrap();

    // Nothing that the cycle holds ever moves again, sources or not.
    network.run_for(MS);
    let (hops, received) = (network.data_hops(), ring.flows.map(|flow| network.flow(flow).clone()));
    let stuck = network.drain(10 * MS).unwrap_err();
    assert_eq!(stuck.deadlock.as_ref().map(|deadlock| deadlock.hops.len()), Some(3));
    network.run_for(50 * MS);
    assert_eq!(network.data_hops(), hops, "pauses are refreshed for ever");
    assert_eq!(ring.flows.map(|flow| network.flow(flow).clone()), received);
    assert_eq!(network.frames_inside(), stuck.frames);
    network.check().unwrap();
}

#[test]
fn a_dynamic_threshold_only_puts_it_off() {
    let threshold = Threshold::dynamic(-5);
    let after_us = [SwitchSpec::default().threshold, threshold].map(|threshold| {
        let mut builder = lossless_network(1, 1);
        let spec = SwitchSpec { threshold, ..SwitchSpec::default() };
        Ring::new(&mut builder, &spec, LinkSpec::new(40, 10));
        let mut network = builder.build().unwrap();
        let (at_ps, _) = run_until_deadlock(&mut network, 10 * MS, US).expect("a deadlock");
        at_ps / US
    });
    assert!(after_us[1] > 2 * after_us[0], "{after_us:?}");
}

#[test]
fn a_rule_that_raises_the_tag_at_one_hop_lets_it_flow_and_drain() {
    let mut builder = lossless_network(1, 2);
    let ring = Ring::new(&mut builder, &SwitchSpec::default(), LinkSpec::new(40, 10));
    // At A what comes around the ring and goes on around it gets tag 2; the rest keeps its tag.
    let (from_ring, onwards) = ([port(2)].into_iter().collect(), [port(1)].into_iter().collect());
    let all = all_ports(3);
    let keep = [entry(1, &all, &all, 1), entry(2, &all, &all, 2)];
    for (number, switch) in ring.switches.into_iter().enumerate() {
        let raise = (number == 0).then(|| entry(1, &from_ring, &onwards, 2));
        builder.rules(switch, raise.into_iter().chain(keep).collect());
    }
    let mut network = builder.build().unwrap();
    run_checked(&mut network, 3 * MS, 50 * US);
    assert_eq!(network.find_deadlock(), None);
    let rates = ring.flows.map(|flow| megabits(network.flow(flow).received_bytes, 3 * MS));
    assert!(rates.iter().all(|&rate| rate > 8_000), "{rates:?} Mb/s");
    network.drain(MS).unwrap();
    network.check().unwrap();
    assert_eq!(ring.flows.map(|flow| network.flow(flow).missing_frames()), [0; 3]);
}

//! Who is believed, who is not, and what is told of it.

use super::*;
use alloc::vec;

#[test]
fn a_host_port_believes_no_switch_and_says_so() {
    let mut bench = Bench::new();
    bench.hear(1, &switch(9, Some(1), Orientation::Unknown));
    assert_eq!((bench.agent.level(), bench.orientation(1)), (None, Orientation::Unknown));
    assert_eq!(bench.role(1), PortRole::Downlink);
    assert_eq!(bench.told(2), [], "it may be a moment's confusion");
    assert_eq!(bench.told(1), [(1, Condition::Refused, true)]);
    bench.hear(1, &Pdu { ttl_s: 0, ..said(9, 0) });
    assert_eq!(bench.told(10), [(1, Condition::Refused, false)]);
}

#[test]
fn a_switch_port_believes_no_host() {
    let mut bench = Bench::new();
    bench.hear(2, &host(9));
    assert_eq!((bench.agent.level(), bench.role(2)), (None, PortRole::Uplink));
    assert_eq!(bench.told(9), [(2, Condition::Refused, true)]);
    bench.hear(3, &host(8));
    assert_eq!(
        (bench.agent.level(), bench.role(3)),
        (Some(1), PortRole::Downlink),
        "any port does"
    );
}

#[test]
fn a_host_without_the_tlv_is_known_by_its_capabilities_or_its_port() {
    let capable = |name, enabled_bits| {
        let capabilities = Some(Capabilities { supported_bits: enabled_bits, enabled_bits });
        Pdu { capabilities, ..said(name, 120) }
    };
    let mut bench = Bench::new();
    bench.hear(3, &capable(7, Capabilities::STATION));
    assert_eq!((bench.agent.level(), bench.orientation(3)), (Some(1), Orientation::Downlink));
    bench.hear(4, &capable(6, Capabilities::BRIDGE | Capabilities::STATION));
    assert_eq!((bench.orientation(4), bench.role(4)), (Orientation::Unknown, PortRole::Uplink));
    assert_eq!(bench.told(9), [(4, Condition::Silent, true)]);
    let mut bench = Bench::new();
    bench.hear(1, &capable(6, Capabilities::BRIDGE | Capabilities::ROUTER));
    assert_eq!(bench.agent.level(), Some(1), "a host that bridges for its guests");
}

#[test]
fn a_liar_is_damped_and_the_level_rests_until_it_is_calm() {
    let mut bench = Bench::new();
    let mut changes = 0;
    for round in 0..3_000_u64 {
        let level = Some(1 + u8::try_from(round % 2).unwrap());
        let before = bench.agent.level();
        bench.hear(3, &switch(9, level, Orientation::Unknown));
        changes += u64::from(bench.agent.level() != before);
        bench.now = bench.now + SECOND_NS / 10;
        bench.agent.handle_timeout(bench.now);
        bench.outputs();
    }
    assert!((24..50).contains(&changes), "{changes} changes of 3,000");
    assert_eq!(bench.agent.level(), None);
    assert!(bench.agent.port(port(3)).unwrap().conditions.has(Condition::Damped));
    // It says the same from now on: a minute later it is believed again.
    let calm = switch(9, Some(1), Orientation::Uplink);
    bench.hear(3, &calm);
    bench.wait(30);
    assert_eq!(bench.agent.level(), None);
    bench.hear(3, &calm);
    bench.wait(60);
    assert_eq!((bench.agent.level(), bench.role(3)), (Some(2), PortRole::Downlink));
    bench.hear(3, &calm);
    let told = bench.told(10);
    assert!(told.is_empty() || told == [(3, Condition::Damped, false)], "{told:?}");
    assert!(!bench.agent.port(port(3)).unwrap().conditions.has(Condition::Damped));
}

#[test]
fn a_liar_of_many_names_fills_its_own_port_and_no_other() {
    let mut bench = Bench::new();
    bench.hear(1, &host(200));
    bench.counted();
    for name in 0..200 {
        bench.hear(4, &switch(name, Some(1 + name % 3), Orientation::Unknown));
    }
    assert_eq!(bench.neighbors(4), 4);
    assert_eq!((bench.agent.level(), bench.orientation(4)), (Some(1), Orientation::Unknown));
    let counted = bench.counted();
    let of = |name| counted.iter().find(|(other, _)| *other == name).map(|&(_, count)| count);
    assert_eq!((of("inserted"), of("too_many")), (Some(4), Some(196)));
    let told = bench.told(9);
    assert!(told.contains(&(4, Condition::MultipleNeighbors, true)), "{told:?}");
    assert!(told.contains(&(4, Condition::NeighborTableFull, true)), "{told:?}");
    assert!(told.iter().all(|&(number, ..)| number == 4), "{told:?}");
}

#[test]
fn our_own_frame_that_comes_back_is_a_loop_and_nothing_more() {
    let mut bench = Bench::new();
    bench.hear(1, &host(9));
    let (_, outputs) = bench.hear(3, &switch(9, Some(2), Orientation::Unknown));
    let frame = outputs.iter().find_map(|output| match output {
        Output::Send { port, frame } if port.number() == 3 => Some(frame.clone()),
        _ => None,
    });
    bench.agent.handle_frame(bench.now, port(4), &frame.unwrap());
    assert_eq!((bench.orientation(4), bench.role(4)), (Orientation::Unknown, PortRole::Uplink));
    let told = bench.told(9);
    assert!(told.contains(&(4, Condition::Loop, true)), "{told:?}");
}

#[test]
fn what_no_tree_has_is_told_and_left_open() {
    use Orientation::{Crosslink, Downlink, Unknown, Uplink};
    let mut bench = Bench::new();
    bench.hear(1, &host(9));
    bench.hear(2, &switch(5, Some(1), Crosslink));
    bench.hear(3, &switch(6, Some(4), Unknown));
    bench.hear(4, &switch(7, Some(2), Uplink));
    let types = [1, 2, 3, 4].map(|number| bench.orientation(number));
    assert_eq!(types, [Downlink, Crosslink, Unknown, Uplink]);
    assert_eq!(
        [1, 2, 3, 4].map(|n| bench.role(n)),
        [PortRole::Downlink, PortRole::Uplink, PortRole::Uplink, PortRole::Uplink]
    );
    assert_eq!(
        bench.told(9),
        [
            (2, Condition::Crosslink, true),
            (3, Condition::LevelGap, true),
            (4, Condition::Disagreement, true)
        ]
    );
}

#[test]
fn a_neighbor_that_protects_other_priorities_or_takes_shorter_frames_is_told() {
    let mut bench = Bench::new();
    let pfc = |enabled_bits| {
        let pfc =
            super::super::PfcConfiguration { capability: 8, enabled_bits, ..Default::default() };
        Pdu { pfc: Some(pfc), max_frame_bytes: Some(1_518), ..host(9) }
    };
    bench.hear(1, &pfc(0b0001_1000));
    assert_eq!(bench.told(9), []);
    bench.hear(1, &pfc(0b0000_1000));
    assert_eq!(bench.told(9), [(1, Condition::PfcMismatch, true)]);
    bench.hear(1, &Pdu { max_frame_bytes: Some(1_517), ..pfc(0b0001_1000) });
    assert_eq!(
        bench.told(9),
        [(1, Condition::PfcMismatch, false), (1, Condition::FrameSize, true)]
    );
}

#[test]
fn a_fixed_level_stays_whatever_is_heard() {
    let mut bench = Bench::with(LldpSettings { level: Some(2), ..LldpSettings::default() });
    assert_eq!(bench.agent.level(), Some(2));
    bench.hear(3, &switch(5, Some(1), Orientation::Uplink));
    bench.hear(2, &switch(6, Some(3), Orientation::Downlink));
    bench.hear(4, &host(7));
    assert_eq!(bench.agent.level(), Some(2));
    assert_eq!((bench.role(3), bench.role(2)), (PortRole::Downlink, PortRole::Uplink));
    assert_eq!(bench.told(9), [(4, Condition::LevelGap, true)], "hosts are at level 1");
    assert_eq!(
        vec![("level_changes", 0)],
        vec![("level_changes", bench.agent.counters().level_changes)]
    );
}

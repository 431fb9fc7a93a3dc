//! Which claims are accepted, which are ignored, and which conditions are reported.

use super::*;
use alloc::vec;

#[test]
fn a_host_port_refuses_a_switch_and_reports_it() {
    let mut bench = Bench::new();
    bench.receive(1, &switch(9, Some(1), Orientation::Unknown));
    assert_eq!((bench.agent.level(), bench.orientation(1)), (None, Orientation::Unknown));
    assert_eq!(bench.role(1), PortRole::Downlink);
    assert_eq!(bench.reported(2), [], "not before it has lasted 3 s");
    assert_eq!(bench.reported(1), [(1, Condition::Refused, true)]);
    bench.receive(1, &Pdu { ttl_s: 0, ..plain_pdu(9, 0) });
    assert_eq!(bench.reported(10), [(1, Condition::Refused, false)]);
}

#[test]
fn a_switch_port_refuses_a_host() {
    let mut bench = Bench::new();
    bench.receive(2, &host(9));
    assert_eq!((bench.agent.level(), bench.role(2)), (None, PortRole::Uplink));
    assert_eq!(bench.reported(9), [(2, Condition::Refused, true)]);
    bench.receive(3, &host(8));
    assert_eq!(
        (bench.agent.level(), bench.role(3)),
        (Some(1), PortRole::Downlink),
        "any port does"
    );
}

#[test]
fn a_host_without_the_tlv_is_recognized_by_its_capabilities_or_its_port() {
    let capable = |name, enabled_bits| {
        let capabilities = Some(Capabilities { supported_bits: enabled_bits, enabled_bits });
        Pdu { capabilities, ..plain_pdu(name, 120) }
    };
    let mut bench = Bench::new();
    bench.receive(3, &capable(7, Capabilities::STATION));
    assert_eq!((bench.agent.level(), bench.orientation(3)), (Some(1), Orientation::Downlink));
    bench.receive(4, &capable(6, Capabilities::BRIDGE | Capabilities::STATION));
    assert_eq!((bench.orientation(4), bench.role(4)), (Orientation::Unknown, PortRole::Uplink));
    assert_eq!(bench.reported(9), [(4, Condition::Silent, true)]);
    let mut bench = Bench::new();
    bench.receive(1, &capable(6, Capabilities::BRIDGE | Capabilities::ROUTER));
    assert_eq!(bench.agent.level(), Some(1), "a host that bridges for its guests");
}

#[test]
fn a_flapping_neighbor_is_damped_until_its_claims_are_stable() {
    let mut bench = Bench::new();
    let mut changes = 0;
    for round in 0..3_000_u64 {
        let level = Some(1 + u8::try_from(round % 2).unwrap());
        let before = bench.agent.level();
        bench.receive(3, &switch(9, level, Orientation::Unknown));
        changes += u64::from(bench.agent.level() != before);
        bench.now = bench.now + SECOND_NS / 10;
        bench.agent.handle_timeout(bench.now);
        bench.outputs();
    }
    assert!((24..50).contains(&changes), "{changes} changes of 3,000");
    assert_eq!(bench.agent.level(), None);
    assert!(bench.agent.port(port(3)).unwrap().conditions.has(Condition::Damped));
    // Its claims are stable from now on. After a minute they are accepted again.
    let stable = switch(9, Some(1), Orientation::Uplink);
    bench.receive(3, &stable);
    bench.wait(30);
    assert_eq!(bench.agent.level(), None);
    bench.receive(3, &stable);
    bench.wait(60);
    assert_eq!((bench.agent.level(), bench.role(3)), (Some(2), PortRole::Downlink));
    bench.receive(3, &stable);
    let reported = bench.reported(10);
    assert!(reported.is_empty() || reported == [(3, Condition::Damped, false)], "{reported:?}");
    assert!(!bench.agent.port(port(3)).unwrap().conditions.has(Condition::Damped));
}

#[test]
fn forged_neighbors_fill_the_table_of_one_port_only() {
    let mut bench = Bench::new();
    bench.receive(1, &host(200));
    bench.counted();
    for name in 0..200 {
        bench.receive(4, &switch(name, Some(1 + name % 3), Orientation::Unknown));
    }
    assert_eq!(bench.neighbors(4), 4);
    assert_eq!((bench.agent.level(), bench.orientation(4)), (Some(1), Orientation::Unknown));
    let counted = bench.counted();
    let of = |name| counted.iter().find(|(other, _)| *other == name).map(|&(_, count)| count);
    assert_eq!((of("inserted"), of("too_many")), (Some(4), Some(196)));
    let reported = bench.reported(9);
    assert!(reported.contains(&(4, Condition::MultipleNeighbors, true)), "{reported:?}");
    assert!(reported.contains(&(4, Condition::NeighborTableFull, true)), "{reported:?}");
    assert!(reported.iter().all(|&(number, ..)| number == 4), "{reported:?}");
}

#[test]
fn our_own_frame_is_reported_as_a_loop_only() {
    let mut bench = Bench::new();
    bench.receive(1, &host(9));
    let (_, outputs) = bench.receive(3, &switch(9, Some(2), Orientation::Unknown));
    let frame = outputs.iter().find_map(|output| match output {
        Output::Send { port, frame } if port.number() == 3 => Some(frame.clone()),
        _ => None,
    });
    bench.agent.handle_frame(bench.now, port(4), &frame.unwrap());
    assert_eq!((bench.orientation(4), bench.role(4)), (Orientation::Unknown, PortRole::Uplink));
    let reported = bench.reported(9);
    assert!(reported.contains(&(4, Condition::Loop, true)), "{reported:?}");
}

#[test]
fn levels_and_crosslinks_that_no_tree_has_are_reported() {
    use Orientation::{Crosslink, Downlink, Unknown, Uplink};
    let mut bench = Bench::new();
    bench.receive(1, &host(9));
    bench.receive(2, &switch(5, Some(1), Crosslink));
    bench.receive(3, &switch(6, Some(4), Unknown));
    bench.receive(4, &switch(7, Some(2), Uplink));
    let types = [1, 2, 3, 4].map(|number| bench.orientation(number));
    assert_eq!(types, [Downlink, Crosslink, Unknown, Uplink]);
    assert_eq!(
        [1, 2, 3, 4].map(|n| bench.role(n)),
        [PortRole::Downlink, PortRole::Uplink, PortRole::Uplink, PortRole::Uplink]
    );
    assert_eq!(
        bench.reported(9),
        [
            (2, Condition::Crosslink, true),
            (3, Condition::LevelGap, true),
            (4, Condition::Disagreement, true)
        ]
    );
}

#[test]
fn other_pfc_priorities_and_shorter_frames_are_reported() {
    let mut bench = Bench::new();
    let pfc = |enabled_bits| {
        let pfc =
            super::super::PfcConfiguration { capability: 8, enabled_bits, ..Default::default() };
        Pdu { pfc: Some(pfc), max_frame_bytes: Some(1_518), ..host(9) }
    };
    bench.receive(1, &pfc(0b0001_1000));
    assert_eq!(bench.reported(9), []);
    bench.receive(1, &pfc(0b0000_1000));
    assert_eq!(bench.reported(9), [(1, Condition::PfcMismatch, true)]);
    bench.receive(1, &Pdu { max_frame_bytes: Some(1_517), ..pfc(0b0001_1000) });
    assert_eq!(
        bench.reported(9),
        [(1, Condition::PfcMismatch, false), (1, Condition::FrameSize, true)]
    );
}

#[test]
fn a_fixed_level_does_not_change() {
    let mut bench = Bench::with(LldpSettings { level: Some(2), ..LldpSettings::default() });
    assert_eq!(bench.agent.level(), Some(2));
    bench.receive(3, &switch(5, Some(1), Orientation::Uplink));
    bench.receive(2, &switch(6, Some(3), Orientation::Downlink));
    bench.receive(4, &host(7));
    assert_eq!(bench.agent.level(), Some(2));
    assert_eq!((bench.role(3), bench.role(2)), (PortRole::Downlink, PortRole::Uplink));
    assert_eq!(bench.reported(9), [(4, Condition::LevelGap, true)], "hosts are at level 1");
    assert_eq!(
        vec![("level_changes", 0)],
        vec![("level_changes", bench.agent.counters().level_changes)]
    );
}

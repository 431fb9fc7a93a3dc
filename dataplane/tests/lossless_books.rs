//! Every frame of a lossless class that is not delivered is in `lossless_drops`, by cause; and no
//! other frame is.

use dataplane::control_rings::Command;
use dataplane::ids::{PortId, Priority};
use dataplane::testing::wire::{Udp, host_v4};
use dataplane::testing::{Rig, RigBuilder};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;
use std::net::{IpAddr, Ipv4Addr};

const LOSSLESS_DSCP: u8 = 26;

/// The lines of `lossless_drops` of all ports.
fn lost(rig: &Rig) -> Vec<String> {
    rig.counters().into_iter().filter(|line| line.contains("lossless_drops")).collect()
}

/// What becomes of `frame` of DSCP 26 at port 1 of a routed switch, and that the same of DSCP 0
/// is no loss.
fn routed(change: impl Fn(Udp) -> Vec<u8>) -> Vec<String> {
    let run = |dscp| {
        let mut rig = RigBuilder::routed(2).build();
        let port = PortId::from_number(2).unwrap();
        let far = IpAddr::V4(Ipv4Addr::from(host_v4(2, 1)));
        rig.builder.routes.set_neighbor(far, port, MacAddress([2, 0, 0, 9, 9, 9])).unwrap();
        rig.arrive(1, &change(Udp::routed(1, 2, dscp)));
        rig.settle();
        assert_eq!(rig.sent(2).len(), 0);
        rig.totals();
        lost(&rig)
    };
    assert_eq!(run(0), [""; 0], "a lossy frame");
    run(LOSSLESS_DSCP)
}

#[test]
fn each_way_to_end_on_a_routed_port_is_a_cause() {
    assert_eq!(
        routed(|udp| Udp { ttl: 1, ..udp }.bytes()),
        ["p1 lossless_drops.ttl_expired[3] = 1"],
        "its sender is told, its receiver gets nothing"
    );
    assert_eq!(
        routed(|udp| Udp { dst: [192, 0, 2, 1], ..udp }.bytes()),
        ["p1 lossless_drops.no_route[3] = 1"]
    );
    assert_eq!(
        routed(|udp| Udp { dst: [10, 0, 2, 255], ..udp }.bytes()),
        ["p1 lossless_drops.blackhole[3] = 1"]
    );
    assert_eq!(
        routed(|udp| Udp { frame_bytes: 1_515, ..udp }.bytes()),
        ["p1 lossless_drops.too_big[3] = 1"]
    );
    assert_eq!(
        routed(|udp| Udp { frame_bytes: 1_523, ..udp }.bytes()),
        ["p1 lossless_drops.too_long[3] = 1"]
    );
    assert_eq!(
        routed(|udp| Udp { dst: [224, 0, 0, 9], ..udp }.bytes()),
        ["p1 lossless_drops.unroutable[3] = 1"]
    );
    assert_eq!(
        routed(|udp| Udp { tags: vec![7 << 5 | 99], ..udp }.bytes()),
        ["p1 lossless_drops.vlan_not_allowed[3] = 1"]
    );
}

#[test]
fn what_was_not_for_this_switch_is_no_loss() {
    let elsewhere = |udp| Udp { dst_mac: MacAddress([2, 9, 9, 9, 9, 9]), ..udp }.bytes();
    assert_eq!(routed(elsewhere), [""; 0]);
}

#[test]
fn a_header_that_does_not_hold_says_no_class() {
    let broken = |udp: Udp| {
        let mut bytes = udp.bytes();
        bytes[24] ^= 1;
        bytes
    };
    assert_eq!(routed(broken), [""; 0]);
}

#[test]
fn frames_for_a_port_that_is_down_and_from_one() {
    let mut rig = RigBuilder::routed(3).build();
    rig.command(|| Command::Link(PortId::from_number(2).unwrap(), false));
    rig.settle();
    for dscp in [LOSSLESS_DSCP, 0] {
        rig.arrive(1, &Udp::routed(1, 2, dscp).bytes());
        rig.arrive(2, &Udp::routed(2, 3, dscp).bytes());
    }
    rig.settle();
    let expected =
        ["p2 drop.port_down = 4", "p2 lossless_drops.port_down[3] = 2"].map(String::from);
    let counters = rig.counters();
    assert!(expected.iter().all(|line| counters.contains(line)), "{counters:?}");
    assert_eq!(lost(&rig), expected[1..]);
}

/// An access port takes what is as long as a frame with two tags; a trunk adds a third.
#[test]
fn a_bridged_frame_too_long_for_its_egress_port_is_refused_before_it_is_charged() {
    let mut rig = RigBuilder::bridged(2).build();
    rig.builder.settings.ports[1].frame_bytes_max = 1_000;
    let mut rig = rig.builder.build();
    let frame = |frame_bytes| Udp { frame_bytes, ..Udp::bridged(1, 2, LOSSLESS_DSCP) }.bytes();
    // Station 2 is at port 2.
    rig.arrive(2, &Udp { frame_bytes: 60, ..Udp::bridged(2, 1, 0) }.bytes());
    rig.settle();
    rig.arrive(1, &frame(1_008));
    rig.arrive(1, &frame(1_009));
    rig.settle();
    assert_eq!(rig.sent(2).len(), 1);
    let counters = rig.counters();
    assert!(counters.contains(&"p1 drop.oversize = 1".to_owned()), "{counters:?}");
    assert_eq!(lost(&rig), ["p1 lossless_drops.oversize[3] = 1"]);
    assert_eq!(rig.report(1).queues[3].viq_peak_bytes, 1_008, "never charged");
    assert_eq!(rig.report(2).counters.tx_frames[3], 1);
}

#[test]
fn a_vlan_tag_too_many_is_refused_before_it_is_charged() {
    let mut builder = RigBuilder::bridged(2);
    let dataplane::snapshot::PortMode::Bridged(trunk) = &mut builder.forwarding[1].mode else {
        panic!("bridged")
    };
    trunk.tagged.insert(dataplane::l2::Vid::new(1).unwrap());
    trunk.native = None;
    let mut rig = builder.build();
    let frame = |frame_bytes| Udp { frame_bytes, ..Udp::bridged(1, 2, LOSSLESS_DSCP) }.bytes();
    for frame_bytes in 1_514..=1_522 {
        rig.arrive(1, &frame(frame_bytes));
    }
    rig.settle();
    let lengths: Vec<usize> = rig.sent(2).iter().map(Vec::len).collect();
    assert_eq!(lengths, [1_518, 1_519, 1_520, 1_521, 1_522]);
    assert_eq!(lost(&rig), ["p1 lossless_drops.oversize[3] = 4"]);
    assert_eq!(rig.report(2).counters.tx_frames[3], 5);
    assert_eq!(rig.totals().sent, 5);
}

#[test]
fn what_the_watchdog_and_a_link_that_goes_down_drop() {
    let mut rig = RigBuilder::routed(2).build();
    let xoff = Pfc::default().with(Priority::from_low_bits(3), 0xFFFF);
    rig.arrive(2, &xoff.to_frame(MacAddress([2, 0, 0, 1, 2, 9])));
    rig.turn();
    for dscp in [LOSSLESS_DSCP; 7] {
        rig.arrive(1, &Udp::routed(1, 2, dscp).bytes());
    }
    rig.settle();
    assert_eq!(lost(&rig), [""; 0]);
    rig.command(|| Command::Link(PortId::from_number(2).unwrap(), false));
    rig.settle();
    assert_eq!(lost(&rig), ["p2 lossless_drops.port_down[3] = 7"]);
}

#[test]
fn protocols_that_share_lldps_address_leave_its_allowance_alone() {
    let frame = |ethertype: [u8; 2]| {
        let mut bytes = vec![1, 0x80, 0xC2, 0, 0, 0x0E, 2, 0, 0, 1, 1, 9];
        bytes.extend(ethertype);
        bytes.resize(60, 0);
        bytes
    };
    for builder in [RigBuilder::routed(2), RigBuilder::bridged(2)] {
        let mut rig = builder.build();
        for _ in 0..100 {
            rig.arrive(1, &frame([0x88, 0xF7]));
        }
        for _ in 0..5 {
            rig.arrive(1, &frame([0x88, 0xCC]));
        }
        rig.settle();
        let report = rig.report(1);
        assert_eq!(report.counters.punted_frames, 5, "LLDP alone");
        let counters = rig.counters();
        assert!(counters.contains(&"p1 drop.reserved_address = 100".to_owned()), "{counters:?}");
    }
}

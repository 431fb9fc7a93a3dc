//! The TTL scheme through a whole worker: classes by hops, and pauses that name the class before.

use dataplane::ids::Priority;
use dataplane::testing::wire::{Udp, port_mac};
use dataplane::testing::{Rig, RigBuilder};
use dataplane::ttl_class::{Parity, TtlClasses};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::{MacControl, Pfc};

fn p(value: u8) -> Priority {
    Priority::new(value).unwrap()
}

/// Classes 0 to 3 on priorities 1, 3, 4 and 5, from TTL 64; DSCP 26 is lossless.
fn classes(parity: Parity) -> TtlClasses {
    TtlClasses { ttl0: 64, priorities: [1, 3, 4, 5].map(p).into_iter().collect(), parity }
}

fn rig(parity: Parity, trusted: bool) -> Rig {
    let mut builder = RigBuilder::routed(3);
    let ttl_classes = classes(parity);
    let viq = builder.settings.ports[0].lossless[3];
    for port in &mut builder.settings.ports {
        let held = |p: &Priority| ttl_classes.lossless_bits() & p.bit() != 0;
        port.lossless = Priority::EACH.map(|p| viq.filter(|_| held(&p)));
        port.upstream = ttl_classes.upstream();
    }
    for port in &mut builder.forwarding {
        port.trust.trusted = trusted;
    }
    builder.tags.ttl_classes = Some(ttl_classes);
    builder.build()
}

fn udp(from: u8, to: u8, ttl: u8) -> Udp {
    Udp { ttl, frame_bytes: 1_000, ..Udp::routed(from, to, 26) }
}

#[test]
fn a_frame_waits_in_the_class_of_its_hops_and_keeps_its_marking() {
    let mut rig = rig(Parity::All, true);
    for ttl in [64, 63, 62] {
        rig.arrive(1, &udp(1, 2, ttl).bytes());
    }
    rig.settle();
    let left: Vec<(u8, u8)> = rig.sent(2).iter().map(|f| (f[22], f[15] >> 2)).collect();
    assert_eq!(left, [(63, 26), (62, 26), (61, 26)]);
    let expected = [
        "p1 rx_frames[3] = 1",
        "p1 rx_frames[4] = 1",
        "p1 rx_frames[5] = 1",
        "p1 rx_bytes[3] = 1000",
        "p1 rx_bytes[4] = 1000",
        "p1 rx_bytes[5] = 1000",
        "p2 tx_frames[3] = 1",
        "p2 tx_frames[4] = 1",
        "p2 tx_frames[5] = 1",
        "p2 tx_bytes[3] = 1000",
        "p2 tx_bytes[4] = 1000",
        "p2 tx_bytes[5] = 1000",
    ];
    assert_eq!(rig.counters(), expected);
}

#[test]
fn a_frame_with_more_hops_than_classes_or_fewer_than_one_is_lossy_from_then_on() {
    let mut rig = rig(Parity::All, true);
    for ttl in [61, 65, 255, 10] {
        rig.arrive(1, &udp(1, 2, ttl).bytes());
    }
    rig.settle();
    assert!(rig.sent(2).iter().all(|frame| frame[15] >> 2 == 0), "the marking says it too");
    let expected = [
        "p1 rx_frames[0] = 4",
        "p1 rx_bytes[0] = 4000",
        "p1 remarked_frames = 4",
        "p2 tx_frames[0] = 4",
        "p2 tx_bytes[0] = 4000",
    ];
    assert_eq!(rig.counters(), expected);
}

#[test]
fn a_frame_without_hops_left_ends_here_and_is_counted() {
    let mut rig = rig(Parity::All, true);
    rig.arrive(1, &udp(1, 2, 1).bytes());
    rig.settle();
    assert_eq!(rig.sent(2).len(), 0);
    let expected = ["p1 rx_frames[0] = 1", "p1 rx_bytes[0] = 1000", "p1 punted_frames = 1"];
    assert_eq!(rig.counters(), expected);
    assert_eq!(rig.totals().punted, 1, "the control thread tells the sender");
}

#[test]
fn a_host_begins_with_the_first_class_or_with_none() {
    let mut rig = rig(Parity::All, false);
    for ttl in [64, 63, 62] {
        rig.arrive(1, &udp(1, 2, ttl).bytes());
    }
    rig.settle();
    let counters = rig.report(1).counters;
    assert_eq!((counters.rx_frames[3], counters.rx_frames[0]), (1, 2));
}

#[test]
fn on_a_tree_only_every_second_class_comes_here() {
    let mut rig = rig(Parity::Even, true);
    for ttl in [64, 63, 62] {
        rig.arrive(1, &udp(1, 2, ttl).bytes());
    }
    rig.settle();
    let counters = rig.report(1).counters;
    assert_eq!((counters.rx_frames[4], counters.rx_frames[0]), (1, 2));
    assert!(!rig.report(1).queues[3].lossless && rig.report(1).queues[4].lossless);
}

/// What port `number` asked of its peer.
fn pauses(rig: &mut Rig, number: u8) -> Vec<(u8, [u16; 8])> {
    let control = rig.sent(number).into_iter().filter(|f| f[12..14] == [0x88, 0x08]);
    let said = |frame: Vec<u8>| match MacControl::parse(&frame) {
        MacControl::Pfc(pfc) => (pfc.enabled_bits, pfc.quanta),
        other => panic!("{other:?}"),
    };
    control.map(said).collect()
}

#[test]
fn a_full_queue_pauses_the_class_before_it_upstream() {
    let mut rig = rig(Parity::All, true);
    // Downstream pauses what this switch holds as class 2, which downstream holds as class 3.
    let pfc = Pfc::default().with(p(4), 0xFFFF).to_frame(MacAddress([2, 0, 0, 1, 9, 9]));
    rig.arrive(2, &pfc);
    rig.turn();
    for _ in 0..30 {
        rig.arrive(1, &udp(1, 2, 63).bytes());
    }
    rig.arrive(1, &udp(1, 2, 64).bytes());
    rig.settle();
    let mut quanta = [0; 8];
    quanta[3] = 0xFFFF;
    assert_eq!(pauses(&mut rig, 1), [(1 << 3, quanta)], "class 1, which upstream keeps them in");
    let queues = rig.report(1).queues;
    assert!(queues[4].tx_paused && !queues[3].tx_paused && !queues[5].tx_paused);
    assert_eq!(rig.report(1).counters.pfc.tx_pauses, [0, 0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(rig.sent(2).len(), 1, "the frame of class 1 passes");
    let xon = Pfc::default().with(p(4), 0).to_frame(port_mac(9));
    rig.arrive(2, &xon);
    rig.settle();
    assert_eq!((rig.sent(2).len(), pauses(&mut rig, 1)), (30, vec![(1 << 3, [0; 8])]));
    assert!(Priority::all().all(|p| rig.report(1).counters.lossless_dropped(p) == 0));
}

/// A NIC that has all lossless frames in priority 6, whatever their class here, at port 1.
fn rig_with_nic() -> Rig {
    let mut builder = RigBuilder::routed(3);
    let ttl_classes = classes(Parity::All);
    let viq = builder.settings.ports[0].lossless[3];
    for port in &mut builder.settings.ports {
        let held = |p: &Priority| ttl_classes.lossless_bits() & p.bit() != 0;
        port.lossless = Priority::EACH.map(|p| viq.filter(|_| held(&p)));
        port.upstream = ttl_classes.upstream();
    }
    builder.settings.ports[0].host_priority = Some(p(6));
    builder.forwarding[0].trust.trusted = false;
    builder.tags.ttl_classes = Some(ttl_classes);
    builder.build()
}

#[test]
fn a_pause_of_a_nic_holds_every_class_that_goes_to_it_and_no_other_pause_does() {
    let mut rig = rig_with_nic();
    let nic = |pfc: Pfc| pfc.to_frame(MacAddress([2, 0, 0, 1, 9, 9]));
    rig.arrive(1, &nic(Pfc::default().with(p(6), 0xFFFF).with(p(3), 0)));
    rig.turn();
    for ttl in [64, 63, 62] {
        rig.arrive(2, &udp(2, 1, ttl).bytes());
    }
    rig.settle();
    assert_eq!(rig.sent(1).len(), 0, "classes 1 to 3 are held, though 3 was told to go on");
    rig.arrive(1, &nic(Pfc::default().with(p(3), 0).with(p(4), 0).with(p(5), 0)));
    rig.settle();
    assert_eq!(rig.sent(1).len(), 0, "the NIC does not mean our classes");
    rig.arrive(1, &nic(Pfc::default().with(p(6), 0)));
    rig.settle();
    assert_eq!(rig.sent(1).len(), 3);
    rig.arrive(1, &nic(Pfc::default().with(p(3), 0xFFFF).with(p(4), 9).with(p(5), 9)));
    rig.arrive(2, &udp(2, 1, 62).bytes());
    rig.settle();
    assert_eq!(rig.sent(1).len(), 1);
}

#[test]
fn a_nic_is_paused_in_its_own_priority_and_switches_in_theirs() {
    let mut rig = rig_with_nic();
    let busy = Pfc::default().with(p(3), 0xFFFF).with(p(4), 0xFFFF).to_frame(port_mac(9));
    rig.arrive(3, &busy);
    rig.turn();
    for _ in 0..30 {
        rig.arrive(1, &udp(1, 3, 64).bytes());
        rig.arrive(2, &udp(2, 3, 63).bytes());
    }
    rig.settle();
    let told = |rig: &mut Rig, number| pauses(rig, number).last().map(|&(bits, _)| bits);
    assert_eq!((told(&mut rig, 1), told(&mut rig, 2)), (Some(1 << 6), Some(1 << 3)));
    rig.arrive(3, &Pfc::default().with(p(3), 0).with(p(4), 0).to_frame(port_mac(9)));
    rig.settle();
    assert_eq!(pauses(&mut rig, 1), [(1 << 6, [0; 8])], "XON in the same priority");
    assert!(Priority::all().all(|p| rig.report(1).counters.lossless_dropped(p) == 0));
}

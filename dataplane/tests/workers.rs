//! Ports of different workers: frames, releases and news cross, and nothing is lost on the way.

use dataplane::control_rings::HANDOFF_FRAMES;
use dataplane::ids::Priority;
use dataplane::testing::wire::{Udp, host_mac, sequence};
use dataplane::testing::{Rig, RigBuilder};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;

fn load(rig: &mut Rig, dscp: u8, from_sequence: u32, count: u32) {
    let frame = Udp { frame_bytes: 1_000, ..Udp::routed(1, 2, dscp) };
    rig.arrive_numbered(1, &frame, from_sequence..from_sequence + count);
}

fn order(rig: &mut Rig) -> Vec<u32> {
    rig.sent(2).iter().map(|frame| sequence(frame)).collect()
}

#[test]
fn frames_cross_in_order_and_their_bytes_come_back() {
    let mut rig = RigBuilder::routed(2).owned_by(2, 1).build();
    load(&mut rig, 26, 0, 19);
    rig.settle();
    assert_eq!(order(&mut rig), (0..19).collect::<Vec<_>>());
    rig.turn();
    assert_eq!(rig.report(1).queues[3].viq_bytes, 0, "released by the other worker");
    let totals = rig.totals();
    assert_eq!((totals.handoff_tx, totals.handoff_rx, totals.held), (19, 19, 0));
}

#[test]
fn a_pause_at_one_worker_reaches_the_upstream_of_another() {
    let mut rig = RigBuilder::routed(2).owned_by(2, 1).build();
    let priority = Priority::new(3).unwrap();
    let mac = MacAddress([2, 0, 0, 1, 2, 2]);
    rig.arrive(2, &Pfc::default().with(priority, 0xFFFF).to_frame(mac));
    rig.turn();
    load(&mut rig, 26, 0, 40);
    rig.settle();
    assert_eq!(rig.sent(1).len(), 1, "XOFF");
    assert_eq!(rig.report(1).queues[3].viq_bytes, 40_000);
    assert_eq!(rig.report(2).queues[3].veq_frames, 40);
    rig.arrive(2, &Pfc::default().with(priority, 0).to_frame(mac));
    rig.settle();
    rig.settle();
    assert_eq!(order(&mut rig), (0..40).collect::<Vec<_>>());
    assert_eq!(rig.sent(1).len(), 1, "XON");
    assert_eq!(rig.report(1).queues[3].viq_bytes, 0);
}

#[test]
fn a_worker_that_stands_still_costs_no_lossless_frame() {
    let mut builder = RigBuilder::routed(2).owned_by(2, 1);
    let viq = builder.settings.ports[0].lossless[3].as_mut().unwrap();
    viq.headroom_bytes = 3_000_000;
    builder.settings.buffer.size_bytes += 6_000_000;
    let mut rig = builder.build();
    let count = 2 * u32::try_from(HANDOFF_FRAMES).unwrap();
    load(&mut rig, 26, 0, count);
    for _ in 0..100 {
        let now = rig.now;
        rig.workers[0].turn(now);
    }
    assert_eq!(rig.totals().dropped, 0, "what the ring does not take waits");
    rig.settle();
    rig.settle();
    assert_eq!(order(&mut rig), (0..count).collect::<Vec<_>>());
}

#[test]
fn addresses_learnt_by_one_worker_are_known_to_the_other() {
    let mut rig = RigBuilder::bridged(3).owned_by(2, 1).owned_by(3, 1).build();
    rig.arrive(1, &Udp::bridged(1, 9, 0).bytes());
    rig.settle();
    let _ = (rig.sent(2), rig.sent(3));
    rig.arrive(2, &Udp::bridged(2, 1, 0).bytes());
    rig.settle();
    assert_eq!((rig.sent(1).len(), rig.sent(3).len()), (1, 0));
}

#[test]
fn lossy_frames_dropped_at_another_workers_queue_are_released_too() {
    let mut rig = RigBuilder::routed(2).owned_by(2, 1).build();
    rig.port(2).takes_frames = Some(0);
    load(&mut rig, 0, 0, 150);
    rig.settle();
    rig.turn();
    assert_eq!(rig.report(1).queues[0].viq_bytes, 100_000, "what the queue holds");
    let totals = rig.totals();
    assert_eq!((totals.dropped, totals.held), (50, 100));
}

/// The worker of the forger knows when the station came, not when it was heard last.
#[test]
fn the_worker_that_hears_a_station_keeps_it() {
    const HOLD_NS: u64 = 1_000_000;
    let mut builder = RigBuilder::bridged(3).owned_by(2, 1).owned_by(3, 2);
    builder.settings.mac_table.hold_ns = HOLD_NS;
    let mut rig = builder.build();
    let hello = |from| Udp { src_mac: host_mac(1, 1), ..Udp::bridged(from, 9, 0) }.bytes();
    // The station is heard at a third of the hold time, the forger somewhat later.
    for _ in 0..10 {
        rig.arrive(1, &hello(1));
        rig.settle();
        rig.wait(HOLD_NS / 3);
    }
    for _ in 0..6 {
        rig.arrive(1, &hello(1));
        rig.settle();
        rig.arrive(2, &hello(2));
        rig.settle();
        rig.settle();
        (1..=3).for_each(|port| _ = rig.sent(port));
        for from in [2, 3] {
            rig.arrive(from, &Udp { dst_mac: host_mac(1, 1), ..Udp::bridged(from, 1, 0) }.bytes());
        }
        rig.settle();
        assert_eq!([1, 2, 3].map(|port| rig.sent(port).len()), [2, 0, 0]);
        rig.wait(HOLD_NS / 3);
    }
    let mac = rig.report(2).mac;
    assert!(mac.moves <= 2, "once in each hold time: {mac:?}");
    assert_eq!(mac.moves + mac.held_frames, 6);
    // It falls silent, and moves for good.
    rig.wait(2 * HOLD_NS);
    rig.arrive(2, &hello(2));
    rig.settle();
    rig.settle();
    (1..=3).for_each(|port| _ = rig.sent(port));
    rig.arrive(3, &Udp { dst_mac: host_mac(1, 1), ..Udp::bridged(3, 1, 0) }.bytes());
    rig.settle();
    assert_eq!([1, 2].map(|port| rig.sent(port).len()), [0, 1]);
}

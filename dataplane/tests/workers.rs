//! Ports of different workers: frames, releases and news cross, and nothing is lost on the way.

use dataplane::control_rings::HANDOFF_FRAMES;
use dataplane::ids::Priority;
use dataplane::testing::wire::{Udp, sequence};
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

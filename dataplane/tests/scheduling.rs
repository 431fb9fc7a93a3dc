//! Which queue of a port sends next, and when, through a whole worker.

use dataplane::testing::{Rig, RigBuilder};

/// Port 2 is blocked, with 90 frames waiting for it in class 3 and 90 in class 4, which have these
/// quanta.
fn blocked(quanta_bytes: [u32; 2]) -> Rig {
    let mut builder = RigBuilder::routed(2);
    for (class, quantum_bytes) in [3, 4].into_iter().zip(quanta_bytes) {
        builder.settings.scheduler.quantum_bytes[class] = quantum_bytes;
        builder.settings.ports[0].lossless[class].as_mut().unwrap().headroom_bytes = 80_000;
    }
    let mut rig = builder.build();
    rig.port(2).takes_frames = Some(0);
    rig.load(1, 2, 26, 90);
    rig.load(1, 2, 27, 90);
    rig.settle();
    rig
}

#[test]
fn dwrr_shares_follow_the_weights_once_a_blocked_port_is_released() {
    let mut rig = blocked([3 * 1514, 1514]);
    rig.port(2).takes_frames = Some(80);
    rig.settle();
    let first: Vec<Vec<u8>> = rig.sent(2);
    let of_3 = first.iter().filter(|frame| frame[15] >> 2 == 26).count();
    assert!((58..=62).contains(&of_3), "three quarters of 80: {of_3}");
    rig.port(2).takes_frames = None;
    rig.settle();
    assert_eq!(first.len() + rig.sent(2).len(), 180, "and all arrive");
}

#[test]
fn dwrr_shares_hold_frame_by_frame_on_a_port_that_takes_one_at_a_time() {
    let mut rig = blocked([3_000, 1_000]);
    rig.port(2).room_frames = Some(1);
    for _ in 0..80 {
        rig.port(2).takes_frames = Some(1);
        rig.turn();
    }
    let order: Vec<u8> = rig.sent(2).iter().map(|frame| frame[15] >> 2).collect();
    assert_eq!(order, [26, 26, 26, 27].repeat(20));
}

#[test]
fn a_paced_port_sends_at_its_speed() {
    let mut builder = RigBuilder::routed(2);
    builder.settings.ports[1].paced = true;
    let mut rig = builder.build();
    rig.wait(1_000_000);
    rig.load(1, 2, 26, 55);
    for _ in 0..20 {
        rig.turn();
        rig.wait(1_000);
    }
    // 1,024 bytes on the wire at 10G are 819.2 ns; a port that was idle may catch up on 200 us.
    assert_eq!(rig.sent(2).len(), 55);
    rig.load(1, 2, 26, 55);
    let mut counts = Vec::new();
    for _ in 0..400 {
        rig.turn();
        rig.wait(819);
        counts.push(rig.sent(2).len());
    }
    assert_eq!(counts.iter().sum::<usize>(), 55);
}

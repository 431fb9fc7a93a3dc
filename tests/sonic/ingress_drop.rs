//! When a frame of a lossless priority group finds no buffer.

use crate::dut::{self, Dut, POOL, PROFILE, cost, received};
use crate::model::{Mmu, Profile};
use crate::probe;

const BYTES: usize = 64;

fn drops(dut: &Dut, group: u8) -> u64 {
    dut.risen(&format!("p1 lossless_drops.headroom_overrun[{group}]"))
}

/// IngressDropProbing.
#[test]
fn qos_ingress_drop_probe() {
    for (group, bytes, dynamic_th) in [(3, 64, -3), (4, 64, 0), (3, 1_000, 2), (4, 1_514, -6)] {
        let profile = Profile { dynamic_th, ..PROFILE };
        let is_over = |frames| {
            let mut dut = Dut::new(dut::builder(2, profile, POOL));
            dut.block(2);
            dut.send(1, 2, group, bytes, frames);
            drops(&dut, group) > 0
        };
        let expected = Mmu::new(profile, POOL, 1).frames_to_drop(cost(bytes));
        assert_eq!(probe::threshold(is_over), expected, "{profile:?}, {bytes} bytes");
    }
}

/// PGDropTest: the same switch, filled and drained again and again. Theirs wants three iterations
/// of four right within a margin; here all are right to the frame.
#[test]
fn qos_sai_pg_drop() {
    const MARGIN: u32 = 20;
    let to_drop = Mmu::new(PROFILE, POOL, 1).frames_to_drop(cost(BYTES));
    let mut dut = Dut::new(dut::builder(2, PROFILE, POOL));
    for iteration in 0..10 {
        dut.moved();
        dut.block(2);
        dut.send(1, 2, 4, BYTES, to_drop + MARGIN);
        assert_eq!(drops(&dut, 4), u64::from(MARGIN + 1), "iteration {iteration}");
        assert_eq!(drops(&dut, 3), 0);
        dut.release(2);
        assert_eq!(dut.left(2).len(), to_drop as usize - 1);
    }
    assert_eq!(dut.rig.totals().held, 0);
}

/// The same with a receive ring: what headroom cannot hold waits there, and nothing is dropped.
#[test]
fn with_a_receive_ring_nothing_is_dropped_at_all() {
    let to_drop = Mmu::new(PROFILE, POOL, 1).frames_to_drop(cost(BYTES));
    let mut dut = Dut::with_rx_rings(dut::builder(2, PROFILE, POOL));
    dut.block(2);
    dut.send(1, 2, 4, BYTES, 10 * to_drop);
    assert!(dut.queue(1, 4).tx_paused);
    assert_eq!(dut.rig.totals().dropped, 0);
    dut.release(2);
    assert_eq!(dut.left(2).len(), 10 * to_drop as usize);
}

/// PgMinThresholdTest: a lossy group without a reserve loses, a lossless one with a reserve does
/// not, even though other groups have used up the pool.
#[test]
fn qos_sai_pg_min_threshold() {
    const BYTES: usize = 1_000;
    let profile = Profile { size: 10_000, dynamic_th: 3, ..PROFILE };
    let mut dut = Dut::new(dut::builder(3, profile, POOL));
    dut.block(3);
    // The pool is used up by port 2.
    let frames = Mmu::new(profile, POOL, 1).frames_to_drop(cost(BYTES)) - 1;
    dut.send(2, 3, 3, BYTES, frames);
    dut.moved();

    let queue_frames = dut.rig.builder.settings.buffer.lossy_queue_bytes / 1_000;
    dut.send(1, 3, dut::LOSSY_DSCP, BYTES, queue_frames + 30);
    let mut expected = received(1, 0, BYTES, queue_frames + 30);
    expected.push("p3 drop.tail_drop +30".to_owned());
    assert_eq!(dut.moved(), expected, "the lossy group");

    dut.send(1, 3, 3, BYTES, profile.size / 1_000);
    let reserved = received(1, 3, BYTES, profile.size / 1_000);
    assert_eq!(dut.moved(), reserved, "no drop within the reserve, and no XOFF");
}

//! Lossy queues: what is over their limit is dropped at the egress, and nobody is ever paused.

use crate::dut::{self, Dut, LOSSY_DSCP, POOL, PROFILE, both, received};
use crate::probe;
use dataplane::testing::wire::Udp;

const BYTES: usize = 1_000;
/// Frames that a lossy queue holds: its limit is in bytes of frames.
const FRAMES: u32 = 100;

fn blocked(ports: u8) -> Dut {
    let mut builder = dut::builder(ports, PROFILE, POOL);
    let buffer = &mut builder.settings.buffer;
    assert_eq!(buffer.lossy_queue_bytes, FRAMES * 1_000);
    // The limit of all lossy traffic together is far away.
    (buffer.lossy_bytes, buffer.size_bytes) = (2_000_000, buffer.size_bytes + 2_000_000);
    let mut dut = Dut::new(builder);
    dut.block(ports);
    dut
}

/// LossyQueueTest.
#[test]
fn qos_sai_lossy_queue() {
    let mut dut = blocked(2);
    dut.send(1, 2, LOSSY_DSCP, BYTES, FRAMES);
    assert_eq!(dut.moved(), received(1, 0, BYTES, FRAMES), "short of a drop");
    dut.send(1, 2, LOSSY_DSCP, BYTES, 5);
    let mut expected = received(1, 0, BYTES, 5);
    expected.push("p2 drop.tail_drop +5".to_owned());
    assert_eq!(dut.moved(), expected, "no PFC, and no drop at the ingress");
    // The switch is not full for others: another queue of the port, and another port.
    dut.send(1, 2, 1, BYTES, 5);
    assert_eq!(dut.moved(), received(1, 1, BYTES, 5));
    dut.release(2);
    assert_eq!(dut.left(2).len(), FRAMES as usize + 5);
}

/// EgressDropProbing.
#[test]
fn qos_egress_drop_probe() {
    for bytes in [64, 300, 1_000, 1_514] {
        let is_over = |frames| {
            let mut dut = blocked(2);
            dut.send(1, 2, LOSSY_DSCP, bytes, frames);
            assert_eq!(dut.risen("p1 pfc.tx_frames"), 0);
            dut.risen("p2 drop.tail_drop") > 0
        };
        let frames = FRAMES * 1_000 / u32::try_from(bytes).unwrap();
        assert_eq!(probe::threshold(is_over), frames + 1, "{bytes} bytes");
    }
}

/// LossyQueueVoqTest: the flows of one port share one limit here; a chip with virtual output queues
/// may give each its own.
#[test]
fn qos_sai_lossy_queue_voq() {
    for flows in [1_u16, 2] {
        let mut dut = blocked(2);
        for flow in 0..flows {
            let src_port = 49_152 + flow;
            let frame = Udp { frame_bytes: BYTES, src_port, ..Udp::routed(1, 2, LOSSY_DSCP) };
            dut.rig.arrive_numbered(1, &frame, 0..FRAMES / u32::from(flows));
            dut.rig.settle();
        }
        assert_eq!(dut.moved(), received(1, 0, BYTES, FRAMES));
        dut.send(1, 2, LOSSY_DSCP, BYTES, 3);
        let mut expected = received(1, 0, BYTES, 3);
        expected.push("p2 drop.tail_drop +3".to_owned());
        assert_eq!(dut.moved(), expected);
    }
}

/// `dynamic_th` of a lossy queue: alone it ends at a / (1 + a) of the pool, and beside one that is
/// full at its part of what that leaves.
#[test]
fn a_dynamic_limit_moves_with_what_is_left() {
    const POOL_FRAMES: u32 = 120;
    for (alpha_log2, alone, beside) in [(-1, 40, 27), (0, 60, 30), (1, 80, 27)] {
        let mut builder = dut::builder(3, PROFILE, POOL);
        let buffer = &mut builder.settings.buffer;
        (buffer.lossy_bytes, buffer.size_bytes) = (120_000, buffer.size_bytes + 120_000);
        (buffer.lossy_queue_bytes, buffer.lossy_queue_alpha_log2) = (u32::MAX, Some(alpha_log2));
        let mut dut = Dut::new(builder);
        for (port, held) in [(2, alone), (3, beside)] {
            dut.block(port);
            // The port of the first frame looked free.
            for count in [1, POOL_FRAMES - 1] {
                dut.send(1, port, LOSSY_DSCP, BYTES, count);
            }
            let mut expected = received(1, 0, BYTES, POOL_FRAMES);
            expected.push(format!("p{port} drop.tail_drop +{}", POOL_FRAMES - held));
            assert_eq!(dut.moved(), expected, "2^{alpha_log2}");
        }
    }
}

/// LossyQueueVoqMultiSrcTest: the same with frames of two ports.
#[test]
fn qos_sai_lossy_queue_voq_multi_src() {
    let mut dut = blocked(3);
    for from in [1, 2] {
        dut.send(from, 3, LOSSY_DSCP, BYTES, FRAMES / 2);
    }
    assert_eq!(
        dut.moved(),
        both(received(1, 0, BYTES, FRAMES / 2), &received(2, 0, BYTES, FRAMES / 2))
    );
    for from in [1, 2] {
        dut.send(from, 3, LOSSY_DSCP, BYTES, 4);
    }
    let received = both(received(1, 0, BYTES, 4), &received(2, 0, BYTES, 4));
    assert_eq!(dut.moved(), both(received, &["p3 drop.tail_drop +8".to_owned()]));
}

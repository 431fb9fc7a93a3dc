//! Watermarks of egress queues, and of the pool that lossy queues share.

use crate::dut::{self, Dut, LOSSY_DSCP, POOL, PROFILE, cost};
use crate::model::Mmu;
use crate::pg_watermarks::pool_of;

/// QSharedWatermarkTest, both profiles: 0 before, then what waits; a queue that is full keeps its
/// watermark. A queue counts the bytes of frames, without rounding.
#[test]
fn qos_sai_q_shared_watermark() {
    const BYTES: u32 = 1_000;
    let lossless = Mmu::new(PROFILE, POOL, 1).frames_to_drop(cost(BYTES as usize)) - 1;
    let settings = dut::builder(2, PROFILE, POOL).settings.buffer;
    let lossy = settings.lossy_queue_bytes / BYTES;
    for (dscp, queue, frames_max) in [(3, 3, lossless), (LOSSY_DSCP, 0, lossy)] {
        let mut dut = Dut::new(dut::builder(2, PROFILE, POOL));
        assert_eq!(dut.queue(2, queue).veq_peak_bytes, 0);
        dut.block(2);
        let quarter = frames_max / 4;
        let mut sent = 0;
        for step in [1, quarter, quarter, quarter, quarter, quarter] {
            dut.send(1, 2, dscp, BYTES as usize, step);
            sent += step;
            let expected = sent.min(frames_max) * BYTES;
            assert_eq!(dut.queue(2, queue).veq_peak_bytes, expected, "queue {queue}");
        }
        assert!(sent > frames_max, "the queue was full");
        dut.release(2);
        let queue_after = dut.queue(2, queue);
        assert_eq!((queue_after.veq_bytes, queue_after.veq_peak_bytes), (0, frames_max * BYTES));
        let others = (0..8).filter(|&p| p != queue).map(|p| dut.queue(2, p).veq_peak_bytes);
        assert_eq!(others.sum::<u32>(), 0, "of no other queue");
    }
}

/// QWatermarkAllPortTest: the same frames for each queue of each port, and each has the watermark.
#[test]
fn qos_sai_q_watermark_all_ports() {
    const PORTS: u8 = 16;
    const FRAMES: u32 = 20;
    let mut dut = Dut::new(dut::builder(PORTS, PROFILE, POOL));
    for to in 2..=PORTS {
        dut.block(to);
        for dscp in [8, 3, 4, 46] {
            dut.send(1, to, dscp, 500, FRAMES);
        }
        dut.release(to);
    }
    for to in 2..=PORTS {
        let peaks = [0, 1, 2, 3, 4, 5, 6, 7].map(|queue| dut.queue(to, queue).veq_peak_bytes);
        let filled = FRAMES * 500;
        assert_eq!(peaks, [filled, 0, 0, filled, filled, filled, 0, 0], "port {to}");
    }
    assert_eq!(dut.rig.totals().dropped, 0);
}

/// BufferPoolWatermarkTest, lossy.
#[test]
fn qos_sai_buffer_pool_watermark_lossy() {
    const BYTES: usize = 1_000;
    let mut dut = Dut::new(dut::builder(3, PROFILE, POOL));
    assert_eq!(pool_of(&dut).lossy.peak_bytes, 0);
    let mut most = 0;
    for frames in [1, 20, 40, 60, 10] {
        dut.block(3);
        dut.send(1, 3, LOSSY_DSCP, BYTES, frames);
        dut.send(2, 3, 1, BYTES, frames);
        dut.release(3);
        most = most.max(u64::from(2 * frames * cost(BYTES)));
        assert_eq!(pool_of(&dut).lossy.peak_bytes, most);
    }
    assert_eq!(pool_of(&dut).shared.peak_bytes, 0);
}

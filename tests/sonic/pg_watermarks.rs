//! Watermarks of priority groups: what is shared, and headroom. Theirs allow a margin of cells;
//! here each is exact to the byte.

use crate::dut::{self, Dut, LOSSY_DSCP, POOL, PROFILE, cost};
use crate::model::{Charge, Mmu};

/// PGSharedWatermarkTest, lossless: 0 within the reserve, then what was sent beyond it, up to the
/// limit. What exceeds the limit is headroom, and does not raise it.
#[test]
fn qos_sai_pg_shared_watermark_lossless() {
    for bytes in [64, 1_000] {
        let mut mmu = Mmu::new(PROFILE, POOL, 1);
        let mut dut = Dut::new(dut::builder(2, PROFILE, POOL));
        let shared = |dut: &Dut| i128::from(dut.queue(1, 3).shared_peak_bytes);
        assert_eq!(dut.queue(1, 3).viq_peak_bytes, 0, "0 before");
        dut.block(2);
        let reserved = PROFILE.size / cost(bytes);
        dut.send(1, 2, 3, bytes, reserved);
        (0..reserved).for_each(|_| _ = mmu.arrive(0, cost(bytes)));
        assert_eq!(shared(&dut), 0);
        assert_eq!(dut.queue(1, 3).viq_peak_bytes, reserved * cost(bytes));

        // First one frame, then quarters, as theirs does.
        let quarter = (mmu.frames_to_xoff(cost(bytes)) - reserved) / 4;
        let mut step = 1;
        while mmu.groups[0].headroom == 0 {
            let peak = mmu.shared_bytes();
            assert_eq!(shared(&dut), peak);
            (0..step).for_each(|_| _ = mmu.arrive(0, cost(bytes)));
            dut.send(1, 2, 3, bytes, step);
            step = quarter;
        }
        let full = mmu.shared_bytes();
        assert_eq!(shared(&dut), full);
        dut.send(1, 2, 3, bytes, quarter);
        assert_eq!(shared(&dut), full, "headroom is not shared");

        dut.release(2);
        assert_eq!((dut.queue(1, 3).viq_bytes, shared(&dut)), (0, full), "it stays");
        let others = (0..8).filter(|&p| p != 3).map(|p| dut.queue(1, p).viq_peak_bytes);
        assert_eq!(others.sum::<u32>(), 0, "of no other group");
    }
}

/// Watermarks that are read are cleared: new ones begin at what is held.
#[test]
fn watermarks_begin_again_when_they_are_read() {
    const BYTES: usize = 1_000;
    let mut mmu = Mmu::new(PROFILE, POOL, 1);
    let to_drop = mmu.frames_to_drop(cost(BYTES));
    let mut dut = Dut::new(dut::builder(2, PROFILE, POOL));
    dut.block(2);
    dut.send(1, 2, 3, BYTES, to_drop);
    mmu.frames_of(0, cost(BYTES));
    let [shared, headroom] =
        [mmu.shared_bytes(), mmu.groups[0].headroom].map(|it| u32::try_from(it).unwrap());
    let peaks = |it: dataplane::report::QueueGauges| {
        [it.shared_peak_bytes, it.headroom_peak_bytes, it.viq_peak_bytes, it.veq_peak_bytes]
    };
    let all = PROFILE.size + shared + headroom;
    let full = [shared, headroom, all, 0];
    assert_eq!(peaks(dut.take_watermarks(1, 3)), full);
    assert_eq!(peaks(dut.take_watermarks(1, 3)), full, "it is all held still");
    assert_eq!(peaks(dut.take_watermarks(2, 3)), [0, 0, 0, all]);
    dut.release(2);
    assert_eq!(peaks(dut.take_watermarks(1, 3)), full, "it was, since the last report");
    assert_eq!(peaks(dut.take_watermarks(1, 3)), [0; 4]);
    dut.block(2);
    dut.send(1, 2, 3, BYTES, 5);
    assert_eq!(peaks(dut.take_watermarks(1, 3)), [2_000, 0, 5_000, 0]);
    assert_eq!(peaks(dut.take_watermarks(2, 3)), [0, 0, 0, 5_000]);
}

/// PGSharedWatermarkTest, lossy: no reserve, so each frame counts, up to the limit of the queue.
#[test]
fn qos_sai_pg_shared_watermark_lossy() {
    const BYTES: usize = 64;
    let mut dut = Dut::new(dut::builder(2, PROFILE, POOL));
    dut.block(2);
    let frames_max = dut.rig.builder.settings.buffer.lossy_queue_bytes / 64;
    let mut sent = 0;
    for step in [1, frames_max / 4, frames_max / 4, frames_max / 4, frames_max] {
        dut.send(1, 2, LOSSY_DSCP, BYTES, step);
        sent += step;
        let held = sent.min(frames_max);
        // The lossy traffic of the whole switch has a limit as well.
        let held =
            held.min(u32::try_from(dut.rig.builder.settings.buffer.lossy_bytes).unwrap() / 256);
        // A frame is charged before its queue refuses it.
        let most = if sent > held { held + 1 } else { held };
        let peak = dut.queue(1, 0).viq_peak_bytes;
        assert!((held * 256..=most * 256).contains(&peak), "{peak} after {sent} frames");
    }
}

/// PGHeadroomWatermarkTest: 0 until XOFF, then what was sent since, and full at the first drop.
#[test]
fn qos_sai_pg_headroom_watermark() {
    for bytes in [64, 1_000] {
        let mut mmu = Mmu::new(PROFILE, POOL, 1);
        let mut dut = Dut::new(dut::builder(2, PROFILE, POOL));
        dut.block(2);
        let before = mmu.frames_to_xoff(cost(bytes)) - 1;
        dut.send(1, 2, 4, bytes, before);
        (0..before).for_each(|_| _ = mmu.arrive(0, cost(bytes)));
        assert_eq!(dut.queue(1, 4).headroom_peak_bytes, 0);
        let quarter = PROFILE.xoff / cost(bytes) / 4;
        let mut is_full = false;
        for step in [1, quarter, quarter, quarter, quarter, quarter] {
            for _ in 0..step {
                is_full |= mmu.arrive(0, cost(bytes)) == Charge::Dropped;
            }
            dut.send(1, 2, 4, bytes, step);
            let peak = dut.queue(1, 4).headroom_peak_bytes;
            assert_eq!(i128::from(peak), mmu.groups[0].headroom);
        }
        assert!(is_full);
        assert_eq!(dut.queue(1, 4).headroom_peak_bytes, PROFILE.xoff / cost(bytes) * cost(bytes));
        assert_eq!(dut.queue(1, 3).headroom_peak_bytes, 0, "of no other group");
        dut.release(2);
        assert_eq!(dut.queue(1, 4).headroom_bytes, 0);
    }
}

/// BufferPoolWatermarkTest: the pool's watermark is what groups share beyond their reserves. Its
/// lossy half is in `queue_watermarks`.
#[test]
fn qos_sai_buffer_pool_watermark_lossless() {
    const BYTES: usize = 1_000;
    let mut mmu = Mmu::new(PROFILE, POOL, 2);
    let mut dut = Dut::new(dut::builder(3, PROFILE, POOL));
    let pool = |dut: &Dut| i128::from(pool_of(dut).shared.peak_bytes);
    assert_eq!(pool(&dut), 0);
    let reserved = PROFILE.size / cost(BYTES);
    let quarter = (mmu.frames_to_xoff(cost(BYTES)) - reserved) / 4;
    let mut peak = 0;
    // Fill, release, and fill again with more: the watermark is the most of all rounds.
    let mut frames = reserved;
    for more in [1, quarter, quarter, quarter, quarter, quarter] {
        dut.block(3);
        for (g, from) in [(0, 1), (1, 2)] {
            dut.send(from, 3, 3, BYTES, frames);
            (0..frames).for_each(|_| _ = mmu.arrive(g, cost(BYTES)));
            peak = mmu.shared_bytes().max(peak);
        }
        dut.release(3);
        assert_eq!(pool(&dut), peak, "{frames} frames each");
        mmu = Mmu::new(PROFILE, POOL, 2);
        frames += more;
    }
    assert!(peak > 0);
    assert_eq!(pool_of(&dut).lossy.peak_bytes, 0);
}

/// The pool as the only worker reports it.
pub(crate) fn pool_of(dut: &Dut) -> dataplane::buffer::Pool {
    let mut report = Box::<dataplane::report::Report>::default();
    dut.rig.workers[0].report(&mut report, dut.rig.now);
    report.pool
}

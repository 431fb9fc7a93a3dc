//! The headroom of all priority groups together: each its own, so that the pool is as large as
//! their sum, SONiC's with an over-subscription of one; and half of that for all of them.

use crate::dut::{self, Dut, LOSSLESS, POOL, PROFILE, cost, received};
use crate::model::{Charge, Mmu};
use crate::probe;
use dataplane::report::Report;

const BYTES: usize = 1_000;
/// Ports that receive; one more sends, and is blocked.
const SOURCES: u8 = 5;
const OUT: u8 = SOURCES + 1;

fn groups() -> Vec<(u8, u8)> {
    (1..=SOURCES).flat_map(|port| LOSSLESS.map(|group| (port, group))).collect()
}

/// A switch all of whose groups have been paused by the least frames, and its model. Says so of
/// each that it is paused by just the frame that the model says.
fn all_paused() -> (Dut, Mmu) {
    all_paused_with(None)
}

/// The same of a switch whose groups share so many bytes of headroom.
fn all_paused_with(headroom_pool_bytes: Option<u64>) -> (Dut, Mmu) {
    let mut builder = dut::builder(OUT, PROFILE, POOL);
    if let Some(bytes) = headroom_pool_bytes {
        let settings = &mut builder.settings;
        let own = settings.headroom_bytes();
        // What is shared below the thresholds stays.
        settings.buffer.size_bytes = settings.buffer.size_bytes - own + bytes;
        settings.buffer.headroom_pool_bytes = headroom_pool_bytes;
    }
    let mut dut = Dut::new(builder);
    let mut mmu = Mmu::new(PROFILE, POOL, groups().len());
    dut.block(OUT);
    for (g, &(from, group)) in groups().iter().enumerate() {
        while !mmu.groups[g].is_paused {
            assert!(!dut.queue(from, group).tx_paused, "port {from}, group {group}");
            mmu.arrive(g, cost(BYTES));
            dut.send(from, OUT, group, BYTES, 1);
        }
        assert!(dut.queue(from, group).tx_paused, "port {from}, group {group}");
        assert!(dut.xoffs(from, group) > 0);
    }
    (dut, mmu)
}

/// The most headroom that was in use, of all groups together.
fn watermark(dut: &Dut) -> u32 {
    let peak = |&(port, group): &(u8, u8)| dut.queue(port, group).headroom_peak_bytes;
    groups().iter().map(peak).sum()
}

/// HdrmPoolSizeTest, with its watermark (testQosSaiHeadroomPoolWatermark): no group drops until all
/// headroom is used, and the next frame of the last group is dropped.
#[test]
fn qos_sai_headroom_pool_size_and_watermark() {
    let (mut dut, mut mmu) = all_paused();
    let used = |mmu: &Mmu| mmu.groups.iter().map(|group| group.headroom).sum::<i128>();
    assert_eq!(i128::from(watermark(&dut)), used(&mmu));
    for (g, &(from, group)) in groups().iter().enumerate() {
        dut.moved();
        let before = mmu.clone();
        let mut frames = 0;
        while mmu.arrive(g, cost(BYTES)) != Charge::Dropped {
            frames += 1;
        }
        assert!(frames > 0, "{before:?}");
        dut.send(from, OUT, group, BYTES, frames);
        assert_eq!(dut.moved(), received(from, group, BYTES, frames), "no drop");
        assert_eq!(i128::from(watermark(&dut)), used(&mmu), "port {from}, group {group}");
    }
    let full = watermark(&dut);
    assert_eq!(full, 10 * 40_000, "whole frames fill every headroom");

    let (last_port, last_group) = groups()[groups().len() - 1];
    dut.send(last_port, OUT, last_group, BYTES, 1);
    let lost = format!("p{last_port} lossless_drops.headroom_overrun[{last_group}]");
    assert_eq!(dut.risen(&lost), 1);
    dut.send(last_port, OUT, last_group, BYTES, 10);
    let moved = dut.moved();
    let drops: Vec<&String> = moved.iter().filter(|line| line.contains("drop")).collect();
    let port = format!("p{last_port} drop.headroom_overrun +11");
    assert_eq!(
        drops,
        [&port, &format!("{lost} +11")],
        "of this group only, and none at the egress"
    );
    assert_eq!(watermark(&dut), full, "what is dropped raises no watermark");
}

/// HeadroomPoolProbing: each group's headroom found by search, after the one before was filled.
/// Their sum is the pool.
#[test]
fn qos_headroom_pool_probe() {
    let mut pool = 0;
    for (port, group) in groups() {
        let is_over = |frames| {
            let (mut dut, _) = all_paused();
            dut.send(port, OUT, group, BYTES, frames);
            dut.rig.totals().dropped > 0
        };
        let (_, mut mmu) = all_paused();
        let g = groups().iter().position(|it| *it == (port, group)).unwrap();
        let expected = mmu.frames_of(g, cost(BYTES));
        let found = probe::threshold(is_over) - 1;
        assert_eq!(found, expected, "port {port}, group {group}");
        pool += found;
    }
    let in_use: i128 = all_paused().1.groups.iter().map(|group| group.headroom).sum();
    assert_eq!(i128::from(pool) * 1_000 + in_use, 10 * 40_000);
}

/// test_shared_headroom_pool_configure, in the data path: groups that share half of their headroom
/// lose nothing until that is used up, whoever has it; then each loses, also one that has none yet.
/// What leaves is there for all again.
#[test]
fn shared_headroom_pool() {
    let pool_bytes = 5 * 40_000;
    let (mut dut, mmu) = all_paused_with(Some(pool_bytes));
    let in_use: i128 = mmu.groups.iter().map(|group| group.headroom).sum();
    let in_pool = |dut: &Dut| {
        let mut report = Box::<Report>::default();
        dut.rig.workers[0].report(&mut report, dut.rig.now);
        report.pool.headroom
    };
    assert_eq!(i128::from(in_pool(&dut).bytes), in_use);
    dut.moved();

    // Four groups take all that they may, a frame after the other; the fifth what is left.
    let mut left =
        u32::try_from(pool_bytes).unwrap() / 1_000 - u32::try_from(in_use).unwrap() / 1_000;
    for (g, &(from, group)) in groups().iter().enumerate().take(5) {
        let own = 40 - u32::try_from(mmu.groups[g].headroom).unwrap() / 1_000;
        let frames = own.min(left);
        left -= frames;
        dut.send(from, OUT, group, BYTES, frames);
        assert_eq!(dut.moved(), received(from, group, BYTES, frames), "no drop");
    }
    assert_eq!((left, in_pool(&dut).bytes), (0, pool_bytes), "whole frames fill it");

    for &(from, group) in &groups() {
        dut.send(from, OUT, group, BYTES, 1);
        let lost = format!("p{from} lossless_drops.headroom_overrun[{group}]");
        assert_eq!(dut.risen(&lost), 1, "port {from}, group {group}");
    }
    assert_eq!(in_pool(&dut).bytes, pool_bytes);
    dut.release(OUT);
    assert_eq!((in_pool(&dut).bytes, in_pool(&dut).peak_bytes), (0, pool_bytes));
    dut.moved();
    dut.block(OUT);
    let (from, group) = groups()[9];
    dut.send(from, OUT, group, BYTES, 41);
    assert!(in_pool(&dut).bytes > 0 && dut.rig.totals().dropped == 10, "as before");
}

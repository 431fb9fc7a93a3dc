//! The headroom of all priority groups together. Each group has its own here, so the pool is as
//! large as their sum: SONiC's with an over-subscription of one.

use crate::dut::{self, Dut, LOSSLESS, POOL, PROFILE, cost, received};
use crate::model::{Charge, Mmu};
use crate::probe;

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
    let mut dut = Dut::new(dut::builder(OUT, PROFILE, POOL));
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

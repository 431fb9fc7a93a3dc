//! When XON goes out.

use crate::dut::{self, Dut, MS, POOL, PROFILE, cost};
use crate::model::{Mmu, Profile};
use crate::probe;

/// Group, frame length and profile: `xon_1` to `xon_4`.
const XON: [(u8, usize, Profile); 4] = [
    (3, 64, PROFILE),
    (4, 64, PROFILE),
    (3, 1_000, Profile { dynamic_th: 0, xon_offset: 20_000, ..PROFILE }),
    (4, 1_514, Profile { size: 0, dynamic_th: -1, ..PROFILE }),
];

/// How many frames pause a group, and how many of them have to leave to resume it.
fn thresholds(bytes: usize, profile: Profile) -> (u32, u32) {
    let mmu = Mmu::new(profile, POOL, 1);
    let to_xoff = mmu.frames_to_xoff(cost(bytes));
    (to_xoff, mmu.frames_to_xon(cost(bytes), to_xoff))
}

/// PFCXonTest: frames of one group wait at three blocked ports. The release of the second leaves
/// the group one frame short of XON; that of the third resumes it for good.
#[test]
fn qos_sai_pfc_xon_limit() {
    for (group, bytes, profile) in XON {
        let (to_xoff, to_xon) = thresholds(bytes, profile);
        let mut dut = Dut::new(dut::builder(4, profile, POOL));
        (2..=4).for_each(|number| dut.block(number));
        dut.send(1, 2, group, bytes, to_xoff - to_xon);
        dut.send(1, 3, group, bytes, to_xon - 1);
        assert_eq!(dut.xoffs(1, group), 0, "before the last frame");
        dut.send(1, 4, group, bytes, 1);
        assert_eq!(dut.xoffs(1, group), 1);

        dut.moved();
        dut.release(3);
        dut.pass(4 * MS);
        assert!(dut.xoffs(1, group) > 0, "still paused, and told so again");
        assert_eq!(dut.risen(&format!("p1 pfc.tx_xon[{group}]")), 0);

        dut.moved();
        dut.release(4);
        let expected = [
            "p1 pfc.tx_frames +1".to_owned(),
            format!("p1 pfc.tx_xon[{group}] +1"),
            format!("p4 tx_bytes[{group}] +{bytes}"),
            format!("p4 tx_frames[{group}] +1"),
        ];
        assert_eq!(dut.moved(), expected);
        dut.seconds(30);
        assert_eq!(dut.moved(), [""; 0], "no PFC from then on, and never a drop");
    }
}

/// PfcXonProbing: how many frames have to leave before the group resumes, found by search.
#[test]
fn qos_pfc_xon_probe() {
    for (group, bytes, profile) in XON {
        let (to_xoff, to_xon) = thresholds(bytes, profile);
        let is_resumed = |frames: u32| {
            let mut dut = Dut::new(dut::builder(3, profile, POOL));
            (2..=3).for_each(|number| dut.block(number));
            let frames = frames.min(to_xoff);
            dut.send(1, 2, group, bytes, frames);
            dut.send(1, 3, group, bytes, to_xoff - frames);
            assert_eq!(dut.xoffs(1, group), 1);
            dut.release(2);
            !dut.queue(1, group).tx_paused
        };
        assert_eq!(probe::threshold(is_resumed), to_xon, "{profile:?}, {bytes} bytes");
    }
}

/// XonHysteresisTest: several groups of several ports wait at several ports. The last is paused,
/// and stays so when the first port is released; when all are, it resumes.
#[test]
fn qos_sai_xon_hysteresis() {
    const BYTES: usize = 1_000;
    // `xon_hysteresis_1` to `_3`: the last group's port, and how far XON is below the limit.
    for (last, xon_offset) in [(2_u8, 10_000), (3, 20_000), (4, 30_000)] {
        let profile = Profile { dynamic_th: 0, xon_offset, ..PROFILE };
        let mut dut = Dut::new(dut::builder(6, profile, POOL));
        let mut mmu = Mmu::new(profile, POOL, usize::from(last));
        (5..=6).for_each(|number| dut.block(number));
        for from in 1..last {
            dut.send(from, 5, 3, BYTES, 10);
            (0..10).for_each(|_| _ = mmu.arrive(usize::from(from - 1), cost(BYTES)));
        }
        let g = usize::from(last - 1);
        while !mmu.groups[g].is_paused {
            assert_eq!(dut.xoffs(last, 3), 0);
            dut.send(last, 6, 3, BYTES, 1);
            mmu.arrive(g, cost(BYTES));
        }
        assert_eq!(dut.xoffs(last, 3), 1);

        // The limit rises by what the other groups give back, which is less than the offset.
        dut.release(5);
        for from in 1..last {
            (0..10).for_each(|_| mmu.depart(usize::from(from - 1), cost(BYTES)));
        }
        assert!(mmu.groups[g].is_paused && dut.queue(last, 3).tx_paused);
        assert_eq!(dut.risen(&format!("p{last} pfc.tx_xon[3]")), 0);

        dut.release(6);
        assert!(!dut.queue(last, 3).tx_paused);
        dut.moved();
        dut.seconds(8);
        assert_eq!(dut.moved(), [""; 0]);
        assert_eq!(dut.rig.totals().dropped, 0);
    }
}

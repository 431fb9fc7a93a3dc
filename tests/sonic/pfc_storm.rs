//! A pause that lasts, while headroom is in use.

use crate::dut::{self, Dut, MS, POOL, PROFILE, cost};
use crate::model::{Mmu, Profile};

const BYTES: usize = 1_000;

/// PfcStormTestWithSharedHeadroom: two ports have headroom in use while the peer of the egress port
/// storms. When the storm and the blockade are over, all frames leave, and for 30 seconds no PFC
/// goes out and nothing is dropped.
#[test]
fn pfc_storm_with_shared_headroom_occupancy() {
    // `xon_1` to `xon_4`.
    let profiles = [
        (3, PROFILE),
        (4, PROFILE),
        (3, Profile { dynamic_th: 0, ..PROFILE }),
        (4, Profile { xon_offset: 10_000, ..PROFILE }),
    ];
    for (group, profile) in profiles {
        let mut mmu = Mmu::new(profile, POOL, 2);
        let mut dut = Dut::new(dut::builder(3, profile, POOL));
        dut.block(3);
        let mut frames = 0;
        for (g, from) in [(0, 1), (1, 2)] {
            while mmu.groups[g].headroom < 20_000 {
                mmu.arrive(g, cost(BYTES));
                dut.send(from, 3, group, BYTES, 1);
                frames += 1;
            }
            assert_eq!(i128::from(dut.queue(from, group).headroom_bytes), mmu.groups[g].headroom);
        }
        // The storm: a pause every millisecond, for a second.
        for _ in 0..1_000 {
            dut.hear_pfc(3, 1 << group, 0xFFFF);
            dut.pass(MS);
        }
        dut.release(3);
        assert_eq!(dut.left(3).len(), 0, "the storm holds them");
        assert!(dut.xoffs(1, group) > 0 && dut.xoffs(2, group) > 0);
        dut.pass(4 * MS);
        assert_eq!(dut.left(3).len(), frames, "the last pause has run out");
        assert!(!dut.queue(1, group).tx_paused && !dut.queue(2, group).tx_paused);

        dut.moved();
        dut.seconds(30);
        assert_eq!(dut.moved(), [""; 0]);
        assert_eq!((dut.rig.totals().dropped, dut.rig.totals().held), (0, 0));
    }
}

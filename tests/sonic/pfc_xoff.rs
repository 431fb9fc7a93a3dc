//! When XOFF goes out.

use crate::dut::{self, Dut, MS, POOL, PROFILE, both, cost, received};
use crate::model::{Mmu, Profile};
use crate::probe;

/// Group, frame length and profile: SONiC's `xoff_1` to `xoff_4` are two groups of two ports.
const XOFF: [(u8, usize, Profile); 4] = [
    (3, 64, PROFILE),
    (4, 64, PROFILE),
    (3, 1_000, Profile { dynamic_th: 0, ..PROFILE }),
    (4, 1_514, Profile { size: 0, dynamic_th: -2, ..PROFILE }),
];

fn blocked(profile: Profile) -> Dut {
    let mut dut = Dut::new(dut::builder(2, profile, POOL));
    dut.block(2);
    dut
}

/// The counters of one XOFF frame.
fn xoff(number: u8, group: u8) -> Vec<String> {
    vec![
        format!("p{number} pfc.tx_frames +1"),
        format!("p{number} pfc.tx_pauses[{group}] +1"),
        format!("p{number} pfc.tx_xoff[{group}] +1"),
    ]
}

/// PFCtest. Theirs allows a margin of frames at each threshold; here each is exact.
#[test]
fn qos_sai_pfc_xoff_limit() {
    for (group, bytes, profile) in XOFF {
        let mmu = Mmu::new(profile, POOL, 1);
        let (to_xoff, to_drop) = (mmu.frames_to_xoff(cost(bytes)), mmu.frames_to_drop(cost(bytes)));
        let mut dut = blocked(profile);

        dut.send(1, 2, group, bytes, to_xoff - 1);
        assert_eq!(dut.moved(), received(1, group, bytes, to_xoff - 1), "short of XOFF");

        dut.send(1, 2, group, bytes, 1);
        assert_eq!(dut.moved(), both(received(1, group, bytes, 1), &xoff(1, group)));

        dut.send(1, 2, group, bytes, to_drop - to_xoff - 1);
        let rest = received(1, group, bytes, to_drop - to_xoff - 1);
        assert_eq!(dut.moved(), rest, "short of a drop");
        dut.pass(4 * MS);
        let refreshed = dut.xoffs(1, group);
        let refreshes = ["frames", &format!("xoff[{group}]")]
            .map(|what| format!("p1 pfc.tx_{what} +{refreshed}"));
        assert_eq!(dut.moved(), refreshes, "XOFF is kept up, and nothing else happens");
        assert!(refreshed > 0);

        dut.send(1, 2, group, bytes, 1);
        let overrun = [
            "p1 drop.headroom_overrun +1".to_owned(),
            format!("p1 lossless_drops.headroom_overrun[{group}] +1"),
        ];
        assert_eq!(dut.moved(), both(received(1, group, bytes, 1), &overrun));
    }
}

/// PfcXoffProbing.
#[test]
fn qos_pfc_xoff_probe() {
    for (group, bytes, profile) in XOFF {
        let is_over = |frames| {
            let mut dut = blocked(profile);
            dut.send(1, 2, group, bytes, frames);
            dut.xoffs(1, group) > 0
        };
        let expected = Mmu::new(profile, POOL, 1).frames_to_xoff(cost(bytes));
        assert_eq!(probe::threshold(is_over), expected, "{profile:?}, {bytes} bytes");
    }
}

/// LosslessVoq: two ports fill one queue, with one flow each or two, and both are paused at the
/// same fill.
#[test]
fn qos_sai_lossless_voq() {
    use dataplane::testing::wire::Udp;
    const BYTES: usize = 1_000;
    for flows in [1_u16, 2] {
        let mut mmu = Mmu::new(PROFILE, POOL, 2);
        let mut dut = Dut::new(dut::builder(3, PROFILE, POOL));
        dut.block(3);
        let mut rounds = 0;
        loop {
            let mut expected = [false; 2];
            for g in 0..2 {
                let from = u8::try_from(g + 1).unwrap();
                let src_port = 49_152 + rounds % flows;
                let frame = Udp { frame_bytes: BYTES, src_port, ..Udp::routed(from, 3, 3) };
                dut.rig.arrive(from, &frame.bytes());
                dut.rig.settle();
                mmu.arrive(g, cost(BYTES));
                expected = [0, 1].map(|g: usize| mmu.groups[g].is_paused);
                let paused = [1, 2].map(|number| dut.queue(number, 3).tx_paused);
                assert_eq!(paused, expected, "{flows} flows, round {rounds}, port {from}");
            }
            rounds += 1;
            if expected == [true; 2] {
                break;
            }
        }
        let count = u32::from(rounds);
        let mut expected = both(received(1, 3, BYTES, count), &received(2, 3, BYTES, count));
        expected = both(expected, &both(xoff(1, 3), &xoff(2, 3)));
        assert_eq!(dut.moved(), expected, "no drop, in or out");
    }
}

/// SharedResSizeTest: groups fill one after the other. Frames are of one group and one port at a
/// time; the last group is paused when the pool is nearly used up, no sooner.
#[test]
fn qos_sai_shared_reservation_size() {
    const BYTES: usize = 1_000;
    // `shared_res_size_1` and `_2`: how many ports there are, and how many frames each group gets.
    for (ports, frames) in [(2_u8, 70), (4, 35)] {
        let profile = Profile { dynamic_th: 3, ..PROFILE };
        let groups: Vec<(u8, u8)> =
            (1..=ports).flat_map(|port| dut::LOSSLESS.map(|group| (port, group))).collect();
        let mut mmu = Mmu::new(profile, POOL, groups.len());
        let (first_out, last_out) = (ports + 1, ports + 2);
        let mut dut = Dut::new(dut::builder(ports + 2, profile, POOL));
        dut.block(first_out);
        dut.block(last_out);
        let last = groups.len() - 1;
        for (g, &(from, group)) in groups[..last].iter().enumerate() {
            dut.send(from, first_out, group, BYTES, frames);
            (0..frames).for_each(|_| _ = mmu.arrive(g, cost(BYTES)));
        }
        let (from, group) = groups[last];
        assert!(!mmu.groups.iter().any(|group| group.is_paused), "nobody is to be paused yet");
        while !mmu.groups[last].is_paused {
            assert_eq!(dut.xoffs(from, group), 0, "at {} shared bytes", mmu.shared_bytes());
            dut.send(from, last_out, group, BYTES, 1);
            mmu.arrive(last, cost(BYTES));
        }
        assert!(mmu.shared_bytes() > i128::from(POOL) * 8 / 9 - 2 * 1_000, "{mmu:?}");
        for (g, &(port, group)) in groups.iter().enumerate() {
            let is_paused = dut.queue(port, group).tx_paused;
            assert_eq!(is_paused, mmu.groups[g].is_paused, "port {port}, group {group}");
        }
        assert_eq!(dut.rig.totals().dropped, 0);
        dut.release(last_out);
        dut.release(first_out);
        dut.moved();
        dut.pass(4 * MS);
        assert_eq!(dut.moved(), [""; 0], "nobody is paused any more");
        assert_eq!((dut.rig.totals().dropped, dut.rig.totals().held), (0, 0));
    }
}

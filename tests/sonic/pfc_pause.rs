//! What a received pause stops and what it does not: `tests/qos/test_pfc_pause.py` and
//! `tests/pfc_asym`.

use crate::dut::{self, Dut, LOSSLESS, MS, POOL, PROFILE, received};

/// A DSCP of each priority.
const DSCPS: [u8; 7] = [8, 1, 5, 3, 4, 46, 48];

/// Each lossless class, paused, beside each other class: the paused one delivers nothing for as
/// long as pauses come, the other everything.
#[test]
fn pfc_pause_lossless() {
    for class in LOSSLESS {
        for background in DSCPS.into_iter().filter(|&dscp| dscp != class) {
            let mut dut = Dut::new(dut::builder(2, PROFILE, POOL));
            for _ in 0..50 {
                dut.hear_pfc(2, 1 << class, 0xFFFF);
                dut.send(1, 2, class, 100, 2);
                dut.send(1, 2, background, 100, 2);
                dut.pass(MS);
            }
            let left = dut.left(2);
            assert!(left.iter().all(|frame| dut::dscp_of(frame) == background));
            assert_eq!((left.len(), dut.rig.totals().held), (100, 100));
            dut.pass(4 * MS);
            assert_eq!(dut.left(2).len(), 100, "later, all of it");
            assert_eq!(dut.rig.totals().dropped, 0);
        }
    }
}

/// Without pauses every class passes.
#[test]
fn no_pfc() {
    for class in LOSSLESS {
        for background in DSCPS.into_iter().filter(|&dscp| dscp != class) {
            let mut dut = Dut::new(dut::builder(2, PROFILE, POOL));
            dut.send(1, 2, class, 100, 50);
            dut.send(1, 2, background, 100, 50);
            assert_eq!((dut.left(2).len(), dut.rig.totals().held), (100, 0));
            assert_eq!(dut.rig.report(2).counters.pfc, Default::default());
        }
    }
}

/// PfcAsymOffOnTxTest: buffers full of every class, and PFC goes out for the lossless ones only.
/// That is so with asymmetric PFC and without.
#[test]
fn pfc_asym_tx_pfc() {
    const SERVERS: u8 = 4;
    let mut dut = Dut::new(dut::builder(SERVERS + 1, PROFILE, POOL));
    dut.block(SERVERS + 1);
    for server in 1..=SERVERS {
        for dscp in LOSSLESS {
            dut.send(server, SERVERS + 1, dscp, 1_000, 400);
        }
        let counters = dut.rig.report(server).counters;
        assert!(counters.drops.iter().sum::<u64>() > 0, "the ingress is full");
        assert!(counters.pfc.tx_xoff[3] > 0 && counters.pfc.tx_xoff[4] > 0);
    }
    for server in 1..=SERVERS {
        for dscp in DSCPS.into_iter().filter(|dscp| !LOSSLESS.contains(dscp)) {
            dut.send(server, SERVERS + 1, dscp, 1_000, 400);
        }
        let xoff = dut.rig.report(server).counters.pfc.tx_xoff;
        let lossy: u64 =
            (0..8).filter(|&p| !LOSSLESS.contains(&p)).map(|p| xoff[usize::from(p)]).sum();
        assert_eq!(lossy, 0, "server {server}");
    }
}

/// PfcAsymOffRxTest: all eight classes are paused at every server, and only the lossless ones stop.
#[test]
fn pfc_asym_off_rx_pause_frames() {
    const SERVERS: u8 = 4;
    let from = SERVERS + 1;
    let mut dut = Dut::new(dut::builder(from, PROFILE, POOL));
    for server in 1..=SERVERS {
        dut.hear_pfc(server, 0xFF, 0xFFFF);
    }
    dut.moved();
    for dscp in DSCPS.into_iter().filter(|dscp| !LOSSLESS.contains(dscp)) {
        for server in 1..=SERVERS {
            dut.send(from, server, dscp, 1_000, 60);
            assert_eq!(dut.left(server).len(), 60, "DSCP {dscp}");
        }
    }
    assert!(!dut.moved().iter().any(|line| line.contains("drop")));
    for server in 1..=SERVERS {
        dut.send(from, server, 3, 1_000, 20);
        assert_eq!(dut.left(server).len(), 0);
    }
    dut.moved();
    for server in 1..=SERVERS {
        dut.send(from, server, 3, 1_000, 100);
        assert_eq!(dut.left(server).len(), 0);
    }
    let full = dut.moved();
    assert!(full.iter().any(|line| line.starts_with(&format!("p{from} drop.headroom_overrun"))));
    assert!(received(from, 3, 1_000, 400).iter().all(|line| full.contains(line)), "{full:?}");
}

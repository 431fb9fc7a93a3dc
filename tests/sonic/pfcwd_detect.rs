//! When a storm is found, and when it is none: `tests/pfcwd/test_pfcwd_function.py`.

use crate::dut::{MS, port};
use crate::pfcwd::{self, DETECTION_MS, detected, restored, storm, storms, watched};
use dataplane::control_rings::Command;
use dataplane::pfc::watchdog::Action;
use std::sync::Arc;

/// test_pfcwd_port_toggle: after a storm that is over, the port goes down and up, and there is no
/// storm.
#[test]
fn pfcwd_port_toggle() {
    let mut dut = watched(2, Action::Drop);
    detected(&mut dut, &[(2, 1 << 3)]);
    restored(&mut dut, &[(2, 1 << 3)]);
    for up in [false, true] {
        dut.rig.command(|| Command::Link(port(2), up));
        dut.rig.settle();
    }
    dut.pass(2 * DETECTION_MS * MS);
    assert_eq!(storms(&dut, 2, 3), (1, 1));
    dut.send(1, 2, 3, 64, 5);
    assert_eq!(dut.left(2).len(), 5);
}

/// The port goes down in the middle of a storm: that ends it, and it is found anew.
#[test]
fn pfcwd_port_toggle_during_a_storm() {
    let mut dut = watched(2, Action::Drop);
    detected(&mut dut, &[(2, 1 << 3)]);
    for up in [false, true] {
        dut.rig.command(|| Command::Link(port(2), up));
        dut.rig.settle();
    }
    assert!(!dut.queue(2, 3).stormed);
    storm(&mut dut, &[(2, 1 << 3)], DETECTION_MS - 1);
    assert!(!dut.queue(2, 3).stormed);
    storm(&mut dut, &[(2, 1 << 3)], 2);
    assert!(dut.queue(2, 3).stormed);
    assert_eq!(storms(&dut, 2, 3).0, 2);
}

/// test_pfcwd_no_traffic: theirs, of one vendor, wants no storm where there is no traffic; SONiC's
/// test plan says the opposite. Here a storm is one without traffic too: a pause without end is a
/// fault, whether or not a frame has met it yet.
#[test]
fn pfcwd_no_traffic() {
    let mut dut = watched(2, Action::Drop);
    detected(&mut dut, &[(2, 1 << 4)]);
    assert_eq!(storms(&dut, 2, 4), (1, 0));
    restored(&mut dut, &[(2, 1 << 4)]);
    assert_eq!((storms(&dut, 2, 4), dut.rig.totals().dropped), ((1, 1), 0));
}

/// test_pfcwd_mmu_change: the tables change while a queue storms, and are changed back, with 3 and
/// 4 in turn. Buffer thresholds are fixed at the start of a switch here; what can change leaves a
/// storm as it is.
#[test]
fn pfcwd_mmu_change() {
    let mut dut = watched(3, Action::Drop);
    for (epoch, (queue, other)) in (1..).zip([(3, 4), (4, 3), (3, 4), (4, 3)]) {
        let stormed = [(2, 1 << queue)];
        detected(&mut dut, &stormed);
        let snapshot = Arc::new(dut.rig.builder.snapshot(epoch));
        dut.rig.command(|| Command::Install(Arc::clone(&snapshot)));
        dut.moved();
        dut.send(1, 2, queue, 64, 10);
        assert_eq!(dut.risen("p2 drop.watchdog"), 10);
        dut.send(1, 2, other, 64, 10);
        assert_eq!((dut.risen("p2 drop.watchdog"), dut.left(2).len()), (10, 10));
        restored(&mut dut, &stormed);
        dut.send(1, 2, queue, 64, 10);
        assert_eq!(dut.left(2).len(), 10);
    }
    assert_eq!((storms(&dut, 2, 3), storms(&dut, 2, 4)), ((2, 2), (2, 2)));
}

/// A pause of less than the detection time costs nothing (PFCWD_BASIC of the test plan).
#[test]
fn a_short_storm_is_none() {
    let mut dut = watched(2, Action::Drop);
    dut.hear_pfc(2, 1 << 3, 0xFFFF);
    dut.send(1, 2, 3, 64, pfcwd::FRAMES);
    storm(&mut dut, &[(2, 1 << 3)], DETECTION_MS - 1);
    dut.hear_pfc(2, 1 << 3, 0);
    assert_eq!(dut.left(2).len(), pfcwd::FRAMES as usize);
    assert_eq!((storms(&dut, 2, 3), dut.rig.totals().dropped), ((0, 0), 0));
}

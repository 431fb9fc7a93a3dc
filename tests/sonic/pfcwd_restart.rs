//! The watchdog over a restart: `tests/pfcwd/test_pfcwd_warm_reboot.py`. A switch that restarts
//! starts with empty queues and without a storm; `restart` of the end-to-end tests has the restart
//! itself, under load. What is here: a storm is found before and after one, whenever it begins.

use crate::pfcwd::{DETECTION_MS, FRAMES, detected, restored, storm, storms, watched};
use dataplane::pfc::watchdog::Action;

const STORMED: [(u8, u8); 1] = [(2, 1 << 3)];

/// `no_storm`: storms before and after the restart, none during it.
#[test]
fn pfcwd_wb_no_storm() {
    for action in [Action::Drop, Action::Forward] {
        for _ in ["before", "after"] {
            let mut dut = watched(2, action);
            detected(&mut dut, &STORMED);
            restored(&mut dut, &STORMED);
            assert_eq!(storms(&dut, 2, 3), (1, 1));
            dut.send(1, 2, 3, 64, FRAMES);
            assert_eq!(dut.left(2).len(), FRAMES as usize);
        }
    }
}

/// `storm`: one storm, from before the restart until after it. The new switch finds it after the
/// detection time, and its end.
#[test]
fn pfcwd_wb_storm() {
    let mut before = watched(2, Action::Drop);
    detected(&mut before, &STORMED);
    drop(before);
    let mut after = watched(2, Action::Drop);
    storm(&mut after, &STORMED, DETECTION_MS - 1);
    assert!(!after.queue(2, 3).stormed, "it has to be found anew");
    storm(&mut after, &STORMED, 2);
    assert!(after.queue(2, 3).stormed);
    after.send(1, 2, 3, 64, FRAMES);
    assert_eq!(after.rig.totals().dropped, u64::from(FRAMES));
    restored(&mut after, &STORMED);
    after.send(1, 2, 3, 64, FRAMES);
    assert_eq!((after.left(2).len(), storms(&after, 2, 3)), (FRAMES as usize, (1, 1)));
}

/// `async_storm`: a storm that begins and ends at any time. What is left of it after the restart is
/// a storm if that lasts for the detection time.
#[test]
fn pfcwd_wb_async_storm() {
    for left_ms in [1, 100, DETECTION_MS - 1, DETECTION_MS + 1, 3 * DETECTION_MS] {
        let mut after = watched(2, Action::Drop);
        storm(&mut after, &STORMED, left_ms);
        // The last pause runs for 3.4 ms more, and counts.
        let is_storm = left_ms + 3 > DETECTION_MS;
        after.pass(4 * crate::dut::MS);
        assert_eq!(after.queue(2, 3).stormed, is_storm, "{left_ms} ms");
        restored(&mut after, &STORMED);
        let times = u64::from(is_storm);
        assert_eq!(storms(&after, 2, 3), (times, times), "{left_ms} ms");
    }
}

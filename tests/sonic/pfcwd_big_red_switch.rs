//! SONiC's big red switch: its database has it, its tests do not.

use crate::pfcwd::{FRAMES, watched};
use dataplane::control_rings::Command;
use dataplane::pfc::watchdog::Action;

#[test]
fn the_big_red_switch_drops_lossless_frames_at_all_ports() {
    let mut dut = watched(3, Action::Alert);
    dut.rig.command(|| Command::BigRedSwitch(true));
    dut.moved();
    dut.send(1, 2, 3, 64, FRAMES);
    dut.send(2, 3, 4, 64, FRAMES);
    dut.send(3, 1, 0, 64, FRAMES);
    let kept = |line: &String| line.contains("drop") || line.contains("tx_frames[");
    let moved: Vec<String> = dut.moved().into_iter().filter(kept).collect();
    let expected = [
        "p1 drop.watchdog +100",
        "p1 lossless_drops.watchdog[3] +100",
        "p1 tx_frames[1] +100",
        "p2 drop.watchdog +100",
        "p2 lossless_drops.watchdog[4] +100",
    ];
    assert_eq!(moved, expected);

    dut.rig.command(|| Command::BigRedSwitch(false));
    dut.moved();
    dut.send(1, 2, 3, 64, FRAMES);
    dut.send(2, 3, 4, 64, FRAMES);
    assert_eq!([1, 2, 3].map(|number| dut.left(number).len()), [100, 100, 100]);
    assert!(!dut.moved().iter().any(|line| line.contains("drop")));
}

//! What is done about a storm: `tests/pfcwd/test_pfcwd_function.py` and `test_pfcwd_cli.py`.

use crate::dut::{Dut, MS};
use crate::pfcwd::{FRAMES, detected, restored, storms, watched};
use dataplane::pfc::watchdog::Action;

/// A storm in queue 3 of port 2. What becomes of frames by the stormed queue and into its group,
/// and that other queues, groups and ports lose nothing.
fn acts(action: Action, expected: &[String]) -> Dut {
    let mut dut = watched(3, action);
    detected(&mut dut, &[(2, 1 << 3)]);
    dut.moved();
    dut.send(1, 2, 3, 64, FRAMES);
    dut.send(2, 3, 3, 64, FRAMES);
    let kept = |line: &String| line.contains("drop") || line.contains("tx_frames[");
    let moved: Vec<String> = dut.moved().into_iter().filter(kept).collect();
    assert_eq!(moved, expected);
    dut.left(3);
    dut.left(2);

    dut.send(1, 2, 4, 64, FRAMES);
    dut.send(2, 3, 4, 64, FRAMES);
    dut.send(1, 3, 3, 64, FRAMES);
    let lost: Vec<String> = dut.moved().into_iter().filter(|line| line.contains("drop")).collect();
    assert_eq!(lost, [""; 0], "another queue, another group, another port");
    assert_eq!((dut.left(2).len(), dut.left(3).len()), (100, 200));
    dut
}

/// After the storm everything passes.
fn passes(dut: &mut Dut) {
    restored(dut, &[(2, 1 << 3)]);
    dut.left(2);
    dut.moved();
    dut.send(1, 2, 3, 64, FRAMES);
    dut.send(2, 3, 3, 64, FRAMES);
    assert_eq!((dut.left(2).len(), dut.left(3).len()), (100, 100));
    assert!(!dut.moved().iter().any(|line| line.contains("drop")));
    assert_eq!(storms(dut, 2, 3), (1, 1));
}

/// test_pfcwd_actions with `drop`: all of the queue and all of the group.
#[test]
fn pfcwd_actions_drop() {
    let expected = ["p2 drop.watchdog +200", "p2 lossless_drops.watchdog[3] +200"];
    let mut dut = acts(Action::Drop, &expected.map(String::from));
    passes(&mut dut);
}

/// With `forward`: nothing is lost, and the pause is ignored.
#[test]
fn pfcwd_actions_forward() {
    let expected = ["p2 tx_frames[3] +100", "p3 tx_frames[3] +100"];
    let mut dut = acts(Action::Forward, &expected.map(String::from));
    passes(&mut dut);
}

/// With `alert`: nothing is lost, and the pause is obeyed.
#[test]
fn pfcwd_actions_alert() {
    let mut dut = acts(Action::Alert, &["p3 tx_frames[3] +100".to_owned()]);
    restored(&mut dut, &[(2, 1 << 3)]);
    assert_eq!(dut.left(2).len(), FRAMES as usize, "what waited");
    assert_eq!((storms(&dut, 2, 3), dut.rig.totals().dropped), ((1, 1), 0));
}

/// test_pfcwd_actions, its case without an action of its own: the buffer is full before the storm
/// is found; what waits is dropped then, and nobody is paused any more.
#[test]
fn pfcwd_actions_with_a_full_buffer() {
    let mut dut = watched(3, Action::Drop);
    dut.hear_pfc(2, 1 << 3, 0xFFFF);
    dut.send(1, 2, 3, 1_000, 60);
    let held = dut.rig.totals().held;
    assert!(dut.queue(1, 3).tx_paused && held > 40, "{held} frames wait");
    let lost_before = dut.rig.totals().dropped;
    detected(&mut dut, &[(2, 1 << 3)]);
    assert_eq!(dut.rig.totals().dropped - lost_before, held, "what waited");
    assert!(!dut.queue(1, 3).tx_paused);
    assert_eq!(dut.queue(1, 3).viq_bytes, 0);
    passes(&mut dut);
}

/// test_pfcwd_storm_during_traffic: frames flow by the queue before, during and after the storm.
#[test]
fn pfcwd_storm_during_traffic() {
    for action in [Action::Drop, Action::Forward] {
        let mut dut = watched(2, action);
        // A frame every second millisecond: what waits until the storm is found fits the headroom.
        let flow = |dut: &mut Dut, ms: u64, is_paused: bool| {
            for ms in 0..ms {
                if is_paused {
                    dut.hear_pfc(2, 1 << 3, 0xFFFF);
                }
                if ms % 2 == 0 {
                    dut.send(1, 2, 3, 64, 1);
                }
                dut.pass(MS);
            }
            dut.left(2).len() as u64
        };
        assert_eq!(flow(&mut dut, 100, false), 50, "before");
        assert_eq!(flow(&mut dut, 100, true), 0, "not yet a storm: they wait");
        let until_found = flow(&mut dut, 301, true);
        assert!(dut.queue(2, 3).stormed);
        let before = dut.risen("p2 drop.watchdog");
        let in_storm = flow(&mut dut, 200, true);
        let dropped = dut.risen("p2 drop.watchdog") - before;
        let expected = match action {
            Action::Drop => ((0, 201), (0, 100)),
            Action::Forward | Action::Alert => ((201, 0), (100, 0)),
        };
        assert_eq!(((until_found, before), (in_storm, dropped)), expected);
        restored(&mut dut, &[(2, 1 << 3)]);
        assert_eq!(flow(&mut dut, 100, false), 50, "after");
        assert_eq!(dut.rig.totals().dropped, before + dropped);
    }
}

/// test_pfcwd_multi_port: one port storms, then a second one too, in the same queue or in another;
/// each loses its own queue only.
#[test]
fn pfcwd_multi_port() {
    for (first, second) in [(3, 3), (3, 4)] {
        let mut dut = watched(4, Action::Drop);
        let is_dropped = |dut: &mut Dut, to: u8, queue: u8| {
            dut.moved();
            dut.send(1, to, queue, 64, 10);
            let dropped = dut.risen(&format!("p{to} drop.watchdog"));
            assert_eq!(dropped + dut.left(to).len() as u64, 10);
            dropped == 10
        };
        detected(&mut dut, &[(2, 1 << first)]);
        for (to, queue) in [2, 3, 4].into_iter().flat_map(|to| [(to, 3), (to, 4)]) {
            assert_eq!(is_dropped(&mut dut, to, queue), (to, queue) == (2, first));
        }
        detected(&mut dut, &[(2, 1 << first), (3, 1 << second)]);
        for (to, queue) in [2, 3, 4].into_iter().flat_map(|to| [(to, 3), (to, 4)]) {
            let is_stormed = (to, queue) == (2, first) || (to, queue) == (3, second);
            assert_eq!(is_dropped(&mut dut, to, queue), is_stormed, "port {to}, queue {queue}");
        }
        restored(&mut dut, &[(2, 1 << first), (3, 1 << second)]);
        assert_eq!((storms(&dut, 2, first), storms(&dut, 3, second)), ((1, 1), (1, 1)));
        for (to, queue) in [(2, first), (3, second)] {
            assert!(!is_dropped(&mut dut, to, queue));
        }
    }
}

/// test_pfcwd_show_stat: what `show pfcwd stats` has: storms found and over, and frames sent and
/// dropped at the queue during the storm.
#[test]
fn pfcwd_show_stat() {
    let mut dut = watched(3, Action::Drop);
    detected(&mut dut, &[(2, 1 << 3)]);
    let (found, over) = storms(&dut, 2, 3);
    assert_eq!((found - over, dut.queue(2, 3).stormed), (1, true));
    dut.moved();
    dut.send(1, 2, 3, 64, FRAMES);
    assert_eq!(
        dut.risen("p2 lossless_drops.watchdog[3]"),
        u64::from(FRAMES),
        "dropped on the way out"
    );
    dut.send(2, 3, 3, 64, FRAMES);
    assert_eq!(dut.risen("p2 drop.watchdog"), 2 * u64::from(FRAMES), "and on the way in");
    restored(&mut dut, &[(2, 1 << 3)]);
    assert_eq!(storms(&dut, 2, 3), (1, 1));
}

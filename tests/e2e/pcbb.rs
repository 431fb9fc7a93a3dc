//! `make pcbb`: a dual-ToR pair and its T1 switches deadlock by bounced frames, and with SONiC's
//! remapping of them they do not.

use crate::can_run;
use crate::script::{Script, assert_said};
use nix::sys::signal::Signal;

/// What it shows of the first part, whatever the second may be.
const FROZEN: [&str; 8] = [
    "dscp = \"uniform\"",
    "tor-a waits for t1-",
    "tor-b waits for t1-",
    "yes  without: it freezes; ",
    "yes  without: it is frozen still when the sources have stopped",
    "yes  without: ToRs and T1s wait for each other in a cycle, say the switches themselves",
    "yes  without: bounced frames stay in priority 3",
    "yes  without: 0 lossless drops; sent = delivered + held, to the frame",
];

#[test]
fn bounced_frames_deadlock_in_their_priority_and_not_in_another() {
    if !can_run() {
        return;
    }
    let said = Script::start("pcbb", &["--seconds", "5"]).end(0);
    assert_said(&said, &FROZEN);
    let parts = [
        "dscp = \"pipe\"",
        "priority_group = \"inner\"",
        "yes  with: every server gets its frames all the time",
        "yes  with: bounced frames go in priority 2",
        "yes  with: it is overloaded as before; every host is paused, and switches pause switches",
        "yes  with: when the sources stop it runs empty",
        "yes  with: 0 lossless drops; each flow arrives whole and in order, in DSCP 3",
    ];
    assert_said(&said, &parts);
    assert!(!said.contains("  NO "), "{said}");
}

#[test]
fn without_the_remapping_it_says_no() {
    if !can_run() {
        return;
    }
    let said = Script::start("pcbb", &["--no-remap", "--seconds", "12"]).end(1);
    assert_said(&said, &FROZEN);
    let parts = [
        "NO   with: bounced frames go in priority 2",
        "NO   with: when the sources stop it runs empty",
        "NO   with: 0 lossless drops; each flow arrives whole and in order, in DSCP 3",
    ];
    assert_said(&said, &parts);
}

#[test]
fn a_pair_that_is_stopped_leaves_nothing_behind() {
    if !can_run() {
        return;
    }
    for (moment, signal) in
        [("1. Without remapping", Signal::SIGINT), ("the sources have stopped", Signal::SIGTERM)]
    {
        Script::start("pcbb", &[]).stop_at(moment, signal);
    }
}

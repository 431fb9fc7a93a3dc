//! `make knot`: three switches deadlock, and with the compiled rules they do not.

use crate::can_run;
use crate::script::{Script, assert_said};
use nix::sys::signal::Signal;

/// How many lines of its judgment say `answer`.
fn answers(said: &str, answer: &str) -> usize {
    let judged = said.lines().skip_while(|line| *line != "As it should be?");
    judged.filter(|line| line.starts_with(&format!("  {answer}"))).count()
}

/// What it shows of the first part, whatever the second may be.
const FROZEN: [&str; 14] = [
    "NOT deadlock-free: 3 buffers form a dependency cycle",
    "A waits for B: ",
    "B waits for C: ",
    "C waits for A: ",
    "meanwhile A pauses C",
    // `knotless top` of switch A.
    "waits: ",
    "came in by from-C class 1, which pauses its peer for ",
    // `knotless why` of switch A.
    "deadlock: A:3 > B:3 > C:3 > A:3",
    "the cycle closed at ",
    "yes  plain PFC: the ring freezes; ",
    "it is frozen still, its pauses refreshed",
    "yes  plain PFC: `knotless why` names the cycle that `verify` names, and when it closed",
    "yes  plain PFC: the flight recorder of the switch that closed it has that moment",
    "yes  plain PFC: 0 lossless drops; sent = delivered + held, to the frame",
];

#[test]
fn the_ring_freezes_with_plain_pfc_and_flows_with_the_rules() {
    if !can_run() {
        return;
    }
    let said = Script::start("knot", &["--seconds", "4"]).end(0);
    assert_said(&said, &FROZEN);
    let parts = [
        "`knotless verify` says                    A:3 > B:3 > C:3 > A:3   deadlock-free",
        "yes  rules: every flow flows, and tags rise on the way",
        "yes  rules: when the sources stop it runs empty",
        "yes  rules: 0 lossless drops; each flow arrives whole and in order",
    ];
    assert_said(&said, &parts);
    assert_eq!((answers(&said, "yes"), answers(&said, "NO ")), (13, 0), "{said}");
}

#[test]
fn without_the_rules_it_says_no() {
    if !can_run() {
        return;
    }
    let said = Script::start("knot", &["--no-rules", "--seconds", "4"]).end(1);
    assert_said(&said, &FROZEN);
    let parts = [
        "NO   rules: `knotless verify` proves that no cycle can be",
        "NO   rules: every flow flows, and tags rise on the way",
        "NO   rules: when the sources stop it runs empty",
        "NO   rules: 0 lossless drops; each flow arrives whole and in order",
    ];
    assert_said(&said, &parts);
}

#[test]
fn a_knot_that_is_stopped_leaves_nothing_behind() {
    if !can_run() {
        return;
    }
    for (moment, signal) in [
        ("1. Plain PFC", Signal::SIGINT),
        ("the sources have stopped", Signal::SIGTERM),
        ("2. The rules", Signal::SIGINT),
    ] {
        Script::start("knot", &[]).stop_at(moment, signal);
    }
}

//! `make demo`, shortened: it shows what it promises, and leaves nothing behind however it ends.

use crate::can_run;
use crate::script::{Script, assert_said};
use nix::sys::signal::Signal;

#[test]
fn the_demo_keeps_its_promises() {
    if !can_run() {
        return;
    }
    let said = Script::start("demo", &["--seconds", "2"]).end(0);
    let parts = [
        "traceroute from h1 to h3: 10.1.1.1, then 10.1.3.2",
        "lossless drops 0",
        "Opcode: Class Based Flow Control [CBFC] Pause (0x0101)",
        "CBFC Class Enable Vector: 0x0008, C3",
        "tail_drop",
        "yes  0 lossless drops",
    ];
    assert_said(&said, &parts);
    assert!(!said.contains("NO "), "{said}");
}

#[test]
fn a_demo_that_is_stopped_leaves_nothing_behind() {
    if !can_run() {
        return;
    }
    for (moment, signal) in [("Hosts reach", Signal::SIGINT), ("of overload", Signal::SIGTERM)] {
        Script::start("demo", &["--seconds", "60"]).stop_at(moment, signal);
    }
}

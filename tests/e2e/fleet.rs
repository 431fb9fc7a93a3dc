//! `make fleet`: proven rollouts while things fail, with nothing lost and nothing left behind.

use crate::can_run;
use crate::script::{Script, assert_said};
use nix::sys::signal::Signal;

#[test]
fn the_fleet_stops_and_goes_on_as_it_says() {
    if !can_run() {
        return;
    }
    let said = Script::start("fleet", &[]).end(0);
    let parts = [
        "a switch hangs: rollout stops",
        "all three die",
        "half is cut off",
        "no cycle at any moment",
    ];
    assert_said(&said, &parts);
    assert!(!said.contains("NO "), "{said}");
}

#[test]
fn a_fleet_that_is_stopped_leaves_nothing_behind() {
    if !can_run() {
        return;
    }
    Script::start("fleet", &[]).stop_at("revision 2 is in the store", Signal::SIGTERM);
}

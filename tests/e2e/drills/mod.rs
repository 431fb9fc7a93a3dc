//! Failure drills: what happens to a switch under load when something around it fails. Each says by
//! sequence numbers what was lost, and what the operator sees.
//!
//! | file | what fails |
//! |---|---|
//! | `crash` | the switch itself: kill -9 |
//! | `memory` | hugepages are gone |
//! | `disk` | the disk is full |
//! | `flood` | the control socket is flooded |
//! | `clock` | the wall clock jumps |
//! | `hang` | a worker hangs |
//! | `flaps` | a link goes down and up |

mod clock;
mod crash;
mod disk;
mod flaps;
mod flood;
mod hang;
mod memory;

use crate::process::Running;
use crate::switch::Switch;
use crate::taps::{all_ended, sent_and_lost};

/// Ends a drill in which nothing may be lost of what h1 sent to h2 in priority 3, and the switch
/// after it. Returns how many frames that were.
fn end_without_loss(mut switch: Switch, senders: Vec<Running>, receivers: Vec<Running>) -> u64 {
    let reports = all_ended(&mut switch, senders, receivers);
    let (sent, lost) = sent_and_lost(&reports, 1, 2, 3);
    assert_eq!(lost, 0);
    assert_eq!(switch.stats().lossless_dropped(), 0);
    switch.stop();
    sent
}

/// Says how a drill went: a row of the table in `docs/troubleshooting.md`.
fn tell(drill: &str, happened: &str, lost: &str, seen: &str) {
    println!("| {drill} | {happened} | {lost} | {seen} |");
}

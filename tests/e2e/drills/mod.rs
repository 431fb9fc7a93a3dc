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

/// Says how a drill went: a row of the table in `docs/troubleshooting.md`.
fn tell(drill: &str, happened: &str, lost: &str, seen: &str) {
    println!("| {drill} | {happened} | {lost} | {seen} |");
}

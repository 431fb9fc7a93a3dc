//! The real program between real hosts: network namespaces on `net_tap` ports, foreign tools at the
//! ends. `make e2e` runs it, as root; see `privilege`.
//!
//! Nothing outlives a test. Namespaces hang on file descriptors of this process and all others are
//! killed when it dies, so even a test that is itself killed leaves nothing behind but a directory
//! in `/tmp`.
//!
//! | file | idea |
//! |---|---|
//! | `namespace`, `process`, `host` | what a test is made of |
//! | `switch` | a running `knotless run` and its control socket |
//! | `lab` | three hosts around one switch |
//! | `taps` | one switch on taps that stay without it |
//! | `drills` | what happens when something around a switch fails |
//! | `account` | where every frame of a test has gone |
//! | `pfc_frames` | flow control as tshark sees it |
//! | `script` | a script of `make`, with a lab of its own |
//! | `privilege` | what a test needs here, failed or skipped without |
//! | `examples` | the shipped examples under an overload, and what the figure of losses says |
//! | the rest | the tests |

mod account;
mod capture;
mod chain;
mod demo;
mod drills;
mod examples;
mod fleet;
mod forwarding;
mod host;
mod host_taps;
mod jumbo;
mod knot;
mod lab;
mod lifecycle;
mod namespace;
mod neighbor;
mod overload;
mod parity;
mod pauses;
mod pcbb;
mod pfc_frames;
#[path = "../../switch/tests/privilege/mod.rs"]
mod privilege;
mod probes;
mod process;
mod queues;
mod raw_frames;
mod reload;
mod restart;
mod roce;
mod routing;
mod script;
mod sflow;
mod stopped;
mod switch;
mod switched;
mod taps;
mod ways_out;
mod why;

use privilege::can_run;

/// How long a test keeps up its load, in seconds: `short`, or a minute if `KNOTLESS_LONG` is 1.
fn load_seconds(short: u64) -> u64 {
    if std::env::var("KNOTLESS_LONG").is_ok_and(|long| long == "1") { 60 } else { short }
}

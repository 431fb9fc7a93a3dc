//! The real program between real hosts: network namespaces on `net_tap` ports, foreign tools at the
//! ends. `make e2e` runs it, as root; without, every test says so and does nothing.
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
//! | `account` | where every frame of a test has gone |
//! | `capture` | flow control as tshark sees it |
//! | `script` | a script of `make`, with a lab of its own |
//! | the rest | the tests |

mod account;
mod capture;
mod chain;
mod demo;
mod forwarding;
mod host;
mod jumbo;
mod knot;
mod lab;
mod lifecycle;
mod namespace;
mod neighbor;
mod overload;
mod pauses;
mod process;
mod reload;
mod script;
mod switch;
mod switched;
mod ways_out;

/// Whether these tests can run here; says why if they cannot.
fn can_run() -> bool {
    let missing = if !nix::unistd::geteuid().is_root() {
        "network namespaces and tap devices need root"
    } else if !std::path::Path::new("/dev/net/tun").exists() {
        "there is no /dev/net/tun for tap devices"
    } else {
        return true;
    };
    eprintln!("skipped: {missing}");
    false
}

/// How long a test keeps up its load, in seconds: `short`, or a minute if `KNOTLESS_LONG` is 1.
fn load_seconds(short: u64) -> u64 {
    if std::env::var("KNOTLESS_LONG").is_ok_and(|long| long == "1") { 60 } else { short }
}

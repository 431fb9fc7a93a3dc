//! What a test needs that makes network namespaces and taps.

use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};

/// What is missing here, if anything is.
fn missing() -> Option<&'static str> {
    if !nix::unistd::geteuid().is_root() {
        Some("network namespaces and taps need root")
    } else if !std::path::Path::new("/dev/net/tun").exists() {
        Some("there is no /dev/net/tun for taps (modprobe tun, or map it in)")
    } else {
        None
    }
}

/// Whether the test can run here.
///
/// Where it cannot it fails, or, if KNOTLESS_SKIP_ROOT is 1, is skipped with a line of its own.
/// That goes to stderr itself, which libtest does not capture; the last one counts them all.
pub(crate) fn can_run() -> bool {
    static SKIPPED: AtomicU32 = AtomicU32::new(0);
    let Some(missing) = missing() else { return true };
    let may_skip = std::env::var("KNOTLESS_SKIP_ROOT").is_ok_and(|skip| skip == "1");
    assert!(may_skip, "{missing}; run it as root, or set KNOTLESS_SKIP_ROOT=1 to skip such tests");
    let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    // Nobody reads stderr: that is their choice.
    let _unread = writeln!(std::io::stderr(), "skipped, {count} by now: {test}: {missing}");
    false
}

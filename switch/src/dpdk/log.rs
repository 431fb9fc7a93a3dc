//! DPDK's log, captured instead of printed: the messages of a failed call become the cause in its
//! error.

use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::sync::{Mutex, PoisonError};

/// Lines kept; a failing probe logs a handful, a babbling driver must not grow without bound.
const LINES_MAX: usize = 32;

/// The lines that the EAL adds after the driver's error.
const NO_NEWS: [&str; 2] = ["EAL: Driver cannot attach the device", "EAL: Failed to attach device"];

static LINES: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

/// Sends errors to [`take`] and everything below to nowhere. Call before `rte_eal_init`, which
/// otherwise prints its greeting.
pub(super) fn capture_errors() {
    // SAFETY: sets a global of DPDK's logging, which no other thread uses before the EAL starts.
    unsafe { dpdk_sys::rte_log_set_global_level(dpdk_sys::RTE_LOG_ERR) };
    // SAFETY: `keep` is a function for the rest of the process, and is callable from any thread.
    let opened = unsafe { dpdk_sys::shim_rte_openlog_callback(Some(keep)) };
    // Without a stream DPDK logs to stderr: more output, but nothing is lost.
    debug_assert_eq!(opened, 0, "fopencookie fails only without memory");
}

/// What was logged since the last call, one line of text, empty if nothing was.
pub(super) fn take() -> String {
    take_lines().join("; ")
}

/// The same, line by line.
pub(super) fn take_lines() -> Vec<String> {
    std::mem::take(&mut *LINES.lock().unwrap_or_else(PoisonError::into_inner)).into()
}

/// Forgets what was logged so far, so that [`take`] speaks of what comes next only.
pub(super) fn forget() {
    LINES.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// `stdio` calls this with finished lines, from whichever thread logged.
unsafe extern "C" fn keep(_unused: *mut c_void, text: *const c_char, length: usize) -> isize {
    // SAFETY: stdio passes a buffer of `length` initialized bytes that stays put during the call.
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
    let text = String::from_utf8_lossy(bytes);
    let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    for line in text.lines().map(without_origin).filter(|line| is_news(line)) {
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line.to_owned());
    }
    isize::try_from(length).unwrap_or(isize::MAX)
}

fn is_news(line: &str) -> bool {
    !line.is_empty() && !NO_NEWS.iter().any(|start| line.starts_with(start))
}

/// Drops the C function's name that many drivers print first (`eth_x_open(): cause`).
fn without_origin(line: &str) -> &str {
    match line.split_once("(): ") {
        Some((origin, cause)) if !origin.contains('/') => cause.trim(),
        _ => line.trim(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_loses_its_c_function_and_nothing_else() {
        assert_eq!(without_origin("open_rx_pcap(): Couldn't open x\n"), "Couldn't open x");
        assert_eq!(
            without_origin("EAL: Bus (virtio) probe failed."),
            "EAL: Bus (virtio) probe failed."
        );
        assert_eq!(without_origin("cannot read /a/b(): c"), "cannot read /a/b(): c");
    }

    #[test]
    fn only_the_last_lines_are_kept_and_taking_empties() {
        for number in 0..100 {
            let text =
                format!("line {number}\n\nEAL: Failed to attach device on primary process\n");
            // SAFETY: pointer and length of a live string.
            let kept = unsafe { keep(std::ptr::null_mut(), text.as_ptr().cast(), text.len()) };
            assert_eq!(usize::try_from(kept), Ok(text.len()));
        }
        let taken = take();
        assert!(taken.starts_with("line 68; line 69"), "{taken}");
        assert!(taken.ends_with("; line 99"), "{taken}");
        assert_eq!(take(), "");
    }
}

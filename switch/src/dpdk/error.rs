//! Errors of DPDK, one line each: the cause and what to do.

use std::ffi::{CStr, CString, NulError};

/// An error of the DPDK layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DpdkError {
    /// [`Eal::init`](super::eal::Eal::init) was called before: DPDK allows it once a process.
    #[error("DPDK was started before, or failed to: a process can do so only once")]
    AlreadyInitialized,
    /// The EAL did not start.
    #[error("DPDK cannot start: {cause}")]
    Init {
        /// DPDK's message.
        cause: String,
    },
    /// Hugepages were demanded and there are not enough free ones.
    #[error(
        "{needed_mb} MB of hugepages are needed and {free_mb} MB are free; raise vm.nr_hugepages \
         by {missing_pages} (pages of 2 MB), or allow plain memory"
    )]
    Hugepages {
        /// The request.
        needed_mb: u32,
        /// What is free.
        free_mb: u32,
        /// 2 MB pages that would fill the gap.
        missing_pages: u32,
    },
    /// A mempool could not be made.
    #[error("buffer pool `{name}` of {frames} frames: {cause}")]
    Pool {
        /// The pool's name.
        name: String,
        /// Its number of frames.
        frames: u32,
        /// What is wrong, and what would be right.
        cause: String,
    },
    /// A device could not be opened, configured or started.
    #[error("device `{device}`: {cause}; {advice}")]
    Device {
        /// The device string as given.
        device: String,
        /// What is wrong.
        cause: String,
        /// What would be right.
        advice: String,
    },
    /// A thread could not be registered with the EAL.
    #[error("this thread cannot become an lcore: {cause}")]
    Thread {
        /// DPDK's message.
        cause: String,
    },
    /// A string for DPDK contains
    #[error("`{text}` holds a NUL byte, which DPDK cannot take")]
    Nul {
        /// The text, NUL bytes shown escaped.
        text: String,
    },
}

impl From<NulError> for DpdkError {
    fn from(error: NulError) -> Self {
        let text = String::from_utf8_lossy(&error.into_vec()).escape_default().to_string();
        Self::Nul { text }
    }
}

/// `text` as a C string.
pub(super) fn c_string(text: &str) -> Result<CString, DpdkError> {
    Ok(CString::new(text)?)
}

/// The text of an errno, given as DPDK returns it: negative or positive.
pub(super) fn errno_text(errno: i32) -> String {
    // SAFETY: rte_strerror takes any number and returns a NUL-terminated string that stays valid
    // until this thread's next call.
    let text = unsafe { dpdk_sys::rte_strerror(errno.saturating_abs()) };
    // SAFETY: as above, and it is copied before any other call.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The text of this thread's `rte_errno`.
pub(super) fn last_errno_text() -> String {
    // SAFETY: reads a thread-local integer.
    errno_text(unsafe { dpdk_sys::shim_rte_errno() })
}

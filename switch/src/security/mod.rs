//! What the process may still do once its ports are open.
//!
//! A switch needs many rights to open its ports: it makes taps, locks memory, binds NICs. It needs
//! few of them to forward frames, and a fault in the code that reads foreign frames should find as
//! few as possible. So, before the first frame is received:
//!
//! - every thread gives up its capabilities for good, but for the few that the open ports need
//!   (`capabilities`, `each_thread`);
//! - no thread can gain any by executing a program (`no_new_privs`, an empty bounding set);
//! - every thread has a filter of system calls, and a worker's is the tightest (`syscalls`,
//!   `filters`).

mod capabilities;
mod capability_set;
#[allow(unsafe_code)]
mod each_thread;
mod filters;
mod syscalls;

pub(crate) use filters::ThreadKind;

use capability_set::CapabilitySet;
use config::SwitchConfig;
use config::switch::Capabilities;
use filters::Filters;
use std::fmt;
use std::io;

/// Why the rights cannot be given up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecurityError {
    /// A thread did not give up its capabilities.
    #[error(
        "thread {thread} ({number}) does not give up its capabilities: {error}; \
         set [security] capabilities = \"keep\" to run without this"
    )]
    Capabilities {
        /// Its name.
        thread: String,
        /// Its number in the kernel.
        number: i32,
        /// The error.
        error: io::Error,
    },
    /// The calling thread cannot give up its own.
    #[error("cannot give up capabilities: {0}")]
    OwnThread(io::Error),
    /// The threads of this process are not in `/proc`.
    #[error("cannot read /proc/self: {0}; it tells which capabilities each thread has")]
    Proc(io::Error),
    /// A filter cannot be installed.
    #[error(
        "cannot install a filter of system calls: {0}; set [security] seccomp = \"off\" to run \
         without"
    )]
    Seccomp(#[from] seccompiler::Error),
}

/// Forbids this thread, and those that it starts from now on, to gain rights by executing a
/// program.
pub(crate) fn forbid_new_privileges() {
    // Linux has it since 3.5; installing a filter fails without it.
    let _refused = nix::sys::prctl::set_no_new_privs();
}

/// What a switch has left; by default all that it had.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rights {
    /// What the control thread keeps; `None` if nothing was given up.
    capabilities: Option<CapabilitySet>,
    /// The filters for threads that get one of their own, if there are filters.
    filters: Option<Filters>,
}

impl Rights {
    /// Restricts the calling thread, which does what `kind` says, for good, and the threads that it
    /// starts from now on.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn restrict_thread(&self, kind: ThreadKind) -> Result<(), SecurityError> {
        if self.capabilities.is_some() {
            // It was started by the control thread and has what that one kept.
            each_thread::leave(CapabilitySet::default()).map_err(SecurityError::OwnThread)?;
        }
        self.filters.as_ref().map_or(Ok(()), |filters| Ok(filters.install(kind)?))
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.capabilities {
            None => f.write_str("capabilities kept")?,
            Some(none) if none == CapabilitySet::default() => f.write_str("no capabilities")?,
            Some(some) => write!(f, "{some} of the control thread")?,
        }
        let calls = if self.filters.is_some() { "filtered" } else { "not filtered" };
        write!(f, "; system calls {calls}")
    }
}

/// Gives up what the open ports of `config` do not need, in all threads. Called once all of them
/// are open and before any frame is received.
///
/// # Errors
/// A thread keeps its rights.
pub(crate) fn lock_down(config: &SwitchConfig) -> Result<Rights, SecurityError> {
    let capabilities = match config.security.capabilities {
        Capabilities::Drop => Some(each_thread::limit(CapabilitySet::needed_by(config))?),
        Capabilities::Keep => None,
    };
    let filters = Filters::compile(config)?;
    if let Some(filters) = &filters {
        filters.install_in_all_threads()?;
    }
    Ok(Rights { filters, capabilities })
}

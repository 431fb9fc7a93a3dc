//! Memory in pages of 2 MB, for networks larger than what a CPU remembers of 4 KB ones.
//!
//! A large network touches a few cache lines of each of thousands of places, so it waits for page
//! tables as much as for memory. glibc asks for huge pages if told so before the process starts,
//! and where the system gives them to those who ask (`transparent_hugepage` is `madvise`, the
//! default of most), that is all it takes.

use std::convert::Infallible;
use std::env;
use std::io;
#[cfg(unix)]
use std::process::Command;

/// What tells glibc, and what it is told.
const TUNABLES: &str = "GLIBC_TUNABLES";
/// Blocks of less than 32 MB lie together, since glibc asks for none for those of their own.
const ASK_FOR_HUGE_PAGES: &str = "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=33554432";

/// Starts this process anew with huge pages, before it has done anything. Returns if it has them,
/// if somebody tunes glibc otherwise, or if it cannot: then all goes on, only slower.
pub fn ask() {
    if cfg!(all(target_os = "linux", target_env = "gnu")) && env::var_os(TUNABLES).is_none() {
        // Nothing depends on it.
        drop(restart());
    }
}

/// # Errors
/// The process could not be replaced.
#[cfg(unix)]
fn restart() -> io::Result<Infallible> {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(env::current_exe()?);
    let mut arguments = env::args_os();
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    Err(command.args(arguments).env(TUNABLES, ASK_FOR_HUGE_PAGES).exec())
}

/// # Errors
/// Always: there is no such thing here.
#[cfg(not(unix))]
fn restart() -> io::Result<Infallible> {
    Err(io::ErrorKind::Unsupported.into())
}

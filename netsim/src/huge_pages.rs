//! Memory in pages of 2 MB, for networks whose memory exceeds the reach of the CPU's TLB with pages
//! of 4 KB.
//!
//! A large network touches a few cache lines in each of thousands of places, so it waits for page
//! tables as much as for memory. glibc asks for huge pages if a tunable is set before the process
//! starts. That suffices where the system gives them on request (`transparent_hugepage` is
//! `madvise`, the default of most).

use std::convert::Infallible;
use std::env;
use std::io;
#[cfg(unix)]
use std::process::Command;

/// The environment variable that glibc reads, and its value.
const TUNABLES: &str = "GLIBC_TUNABLES";
/// Blocks of less than 32 MB share one area: glibc asks for no huge pages for blocks with areas of
/// their own.
const ASK_FOR_HUGE_PAGES: &str = "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=33554432";

/// Restarts this process with huge pages. Call it before all else. Returns if the process has them,
/// if the variable is set otherwise, or if the restart fails; the program then runs without, only
/// slower.
pub fn ask() {
    if cfg!(all(target_os = "linux", target_env = "gnu")) && env::var_os(TUNABLES).is_none() {
        // The program also runs without.
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

/// Always: this system has no such call.
#[cfg(not(unix))]
fn restart() -> io::Result<Infallible> {
    Err(io::ErrorKind::Unsupported.into())
}

//! Threads that are known by their names.
//!
//! A thread of [`std::thread::Builder`] takes its name itself, some time after it was started.
//! Until then it has the name of the thread that started it. Which threads keep capabilities
//! follows from their names ([`security`](crate::security)): one that was looked at too early lost
//! them.

use crossbeam::channel::bounded;
use std::io;
use std::thread::{self, JoinHandle};

/// Starts a thread that does `work`. It has its name when this returns.
///
/// # Errors
/// The kernel has no thread left.
pub(crate) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let (tell, has_begun) = bounded(0);
    let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
        let _always_heard = tell.send(());
        drop(tell);
        work();
    })?;
    let _always_told = has_begun.recv();
    Ok(thread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Whether the kernel knows a thread of this process by this name.
    fn is_there(name: &str) -> bool {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("comm")));
        names.flatten().any(|found| found.trim() == name)
    }

    #[test]
    fn a_thread_has_its_name_once_it_is_started() {
        for number in 0..300 {
            let name = format!("named-{number}");
            let (end, is_over) = bounded::<()>(0);
            let thread = spawn(&name, move || {
                let _is_over = is_over.recv();
            });
            assert!(is_there(&name), "{name}");
            drop(end);
            thread.unwrap().join().unwrap();
        }
    }
}

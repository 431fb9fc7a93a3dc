//! One switch per name: a lock beside the control socket.

use crate::side_files::{open_lock, with_suffix};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The lock of a control socket; released when dropped.
#[derive(Debug)]
pub(crate) struct InstanceLock {
    path: PathBuf,
    _locked: File,
}

/// Why the lock was not acquired.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstanceLockError {
    /// Another process holds it.
    #[error(
        "a switch is already running on {}{}; stop it (`knotless ctl stop`), or give this one \
         another name or [control] socket",
        socket.display(),
        pid.as_ref().map(|pid| format!(", process {pid}")).unwrap_or_default()
    )]
    Running {
        /// Its socket.
        socket: PathBuf,
        /// Its process id, if it is in the lock file.
        pid: Option<u32>,
    },
    /// The directory of the socket cannot be made.
    #[error(
        "cannot create {} for the control socket: {error}; run as root, or set [control] socket \
         to a path that this user can write",
        directory.display()
    )]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The lock cannot be made.
    #[error(
        "cannot write {}: {error}; run as root, or set [control] socket to a path that this user \
         can write",
        path.display()
    )]
    Lock {
        /// The lock.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

impl InstanceLock {
    /// Acquires the lock of `socket`.
    ///
    /// # Errors
    /// Another process holds the lock, or it cannot be created.
    pub(crate) fn acquire(socket: &Path) -> Result<Self, InstanceLockError> {
        if let Some(directory) = socket.parent().filter(|path| !path.as_os_str().is_empty()) {
            fs::DirBuilder::new().recursive(true).mode(0o755).create(directory).map_err(
                |error| InstanceLockError::Directory { directory: directory.to_owned(), error },
            )?;
        }
        let path = lock_path(socket);
        let failed = |error| InstanceLockError::Lock { path: path.clone(), error };
        loop {
            let mut file = open_lock(&path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(InstanceLockError::Running {
                        socket: socket.to_owned(),
                        pid: read_pid(&mut file),
                    });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // The previous holder may have removed the file after this process opened it; then the
            // locked file is not the one at the path.
            if is_still(&file, &path) {
                write_pid(&mut file).map_err(failed)?;
                return Ok(Self { path, _locked: file });
            }
        }
    }
}

impl Drop for InstanceLock {
    /// Removes the file before the lock is released, so that no other process locks a file that is
    /// about to be removed.
    fn drop(&mut self) {
        let _gone_already = fs::remove_file(&self.path);
    }
}

/// `SOCKET.lock`.
fn lock_path(socket: &Path) -> PathBuf {
    with_suffix(socket, ".lock")
}

fn is_still(file: &File, path: &Path) -> bool {
    let identity = |of: &fs::Metadata| (of.dev(), of.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => identity(&ours) == identity(&there),
        _ => false,
    }
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_locked_once() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("new/dir/a.sock");
        let first = InstanceLock::acquire(&socket).unwrap();
        let error = InstanceLock::acquire(&socket).unwrap_err().to_string();
        let own = format!("process {}", std::process::id());
        assert!(error.contains("already running") && error.contains(&own), "{error}");
        assert!(error.contains("new/dir/a.sock"), "{error}");

        let other = InstanceLock::acquire(&directory.path().join("b.sock"));
        assert!(other.is_ok(), "another socket is another switch");
        drop(first);
        assert!(!lock_path(&socket).exists());
        assert!(InstanceLock::acquire(&socket).is_ok(), "the first has gone");
    }

    #[test]
    fn the_lock_file_of_a_dead_process_is_reused() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("a.sock");
        fs::write(lock_path(&socket), "4194305\n").unwrap();
        let instance_lock = InstanceLock::acquire(&socket).unwrap();
        let pid = fs::read_to_string(lock_path(&socket)).unwrap();
        assert_eq!(pid.trim(), std::process::id().to_string());
        drop(instance_lock);
    }

    #[test]
    fn a_link_in_the_place_of_the_lock_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (precious, socket) =
            (directory.path().join("precious"), directory.path().join("a.sock"));
        fs::write(&precious, "as it was").unwrap();
        std::os::unix::fs::symlink(&precious, lock_path(&socket)).unwrap();
        let error = InstanceLock::acquire(&socket).unwrap_err().to_string();
        assert!(error.starts_with("cannot write ") && error.contains("a.sock.lock"), "{error}");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "as it was");
    }

    #[test]
    fn a_directory_that_cannot_be_created_is_named() {
        let error =
            InstanceLock::acquire(Path::new("/proc/no/such/a.sock")).unwrap_err().to_string();
        assert!(error.starts_with("cannot create /proc/no/such"), "{error}");
        assert!(error.contains("[control] socket"), "{error}");
    }
}

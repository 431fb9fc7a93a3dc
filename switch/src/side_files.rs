//! Files beside another one, with its name and a suffix.

use nix::libc;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// `FILE` with `suffix` behind its whole name.
pub(crate) fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// `FILE.lock`, opened and made if it is not there; nobody is locked out yet.
///
/// # Errors
/// It cannot be written, or a symbolic link is there: where the folder is another user's, it may
/// lead to a file of root's.
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
}

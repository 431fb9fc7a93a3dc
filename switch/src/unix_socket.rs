//! Unix sockets on which the switch listens.

use nix::sys::stat::{Mode, umask};
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Listens at `path`, where nothing may be but the socket of a process that has ended. From the
/// first moment on the socket has the permissions that `mask`, a umask, leaves of 0777.
///
/// # Errors
/// The socket cannot be made there: something else is there, or a process listens.
pub(crate) fn listen(path: &Path, mask: u32) -> io::Result<UnixListener> {
    remove_stale(path)?;
    let before = umask(Mode::from_bits_truncate(mask));
    let bound = UnixListener::bind(path);
    umask(before);
    let listener = bound?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(file) if file.file_type().is_socket() => {
            if UnixStream::connect(path).is_ok() {
                let what = "another process listens there";
                return Err(io::Error::new(io::ErrorKind::AddrInUse, what));
            }
            fs::remove_file(path)
        }
        Ok(_) => Err(io::Error::new(io::ErrorKind::AlreadyExists, "something else is there")),
        Err(_) => Ok(()),
    }
}

//! The socket on which metrics are served.

use crate::unix_socket;
use config::switch::MetricsAddress;
use std::fmt;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// What is taken from a unix socket's permissions: its user and its group may connect (0660).
const UNIX_MASK: u32 = 0o117;

/// The socket cannot be made: one line.
#[derive(Debug, thiserror::Error)]
#[error("metrics at {address}: {error}; set [metrics] listen to another address")]
pub(crate) struct ListenError {
    address: MetricsAddress,
    error: io::Error,
}

/// A socket that listens. Nobody accepts yet.
#[derive(Debug)]
pub(crate) struct MetricsListener {
    pub(super) socket: Socket,
    /// The unix socket's file.
    file: Option<SocketFile>,
}

/// A listening socket that does not block.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpListener, SocketAddr),
    Unix(UnixListener),
}

impl MetricsListener {
    /// Listens at `address`.
    ///
    /// # Errors
    /// The address or the path is in use or not allowed.
    pub(crate) fn bind(address: &MetricsAddress) -> Result<Self, ListenError> {
        let bound = match address {
            MetricsAddress::Tcp(at) => tcp(*at),
            MetricsAddress::Unix(path) => unix(path),
        };
        bound.map_err(|error| ListenError { address: address.clone(), error })
    }

    /// The socket, and its file, which lives as long as it is served.
    pub(super) fn into_parts(self) -> (Socket, Option<SocketFile>) {
        (self.socket, self.file)
    }
}

impl fmt::Display for MetricsListener {
    /// What the switch says at its start.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.socket, &self.file) {
            (Socket::Tcp(_, at), _) if at.ip().is_loopback() => {
                write!(f, "http://{at}/metrics, for this machine")
            }
            (Socket::Tcp(_, at), _) => {
                write!(f, "http://{at}/metrics, for everybody who can reach this address")
            }
            (Socket::Unix(_), Some(file)) => {
                write!(f, "unix socket {}, for its user and group", file.path.display())
            }
            (Socket::Unix(_), None) => f.write_str("a unix socket"),
        }
    }
}

fn tcp(address: SocketAddr) -> io::Result<MetricsListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let at = listener.local_addr()?;
    Ok(MetricsListener { socket: Socket::Tcp(listener, at), file: None })
}

fn unix(path: &Path) -> io::Result<MetricsListener> {
    let listener = unix_socket::listen(path, UNIX_MASK)?;
    let file = SocketFile { path: path.to_owned(), identity: identity(path) };
    Ok(MetricsListener { socket: Socket::Unix(listener), file: Some(file) })
}

/// The file of a unix socket. It is removed at the end, unless another file is there by then.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            let _gone_already = fs::remove_file(&self.path);
        }
    }
}

/// Device and number of the file at `path`.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

//! The socket of a `net_memif` server: free, in use, or left by a process that has ended.

use super::device_args::DeviceArgs;
use super::owners::Owners;
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, connect, socket};
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;

/// Another process serves the socket.
#[derive(Debug, thiserror::Error)]
#[error("the socket {path} is served by {owners}")]
pub(super) struct SocketInUse {
    path: String,
    owners: Owners,
}

/// The driver's default.
const SOCKET_DEFAULT: &str = "/run/memif.sock";

/// Whether the device of `args` can serve its socket. One that a dead process left is removed; one
/// that this process serves is shared by its ports, which differ by their id.
pub(super) fn check_socket(args: &DeviceArgs) -> Result<(), SocketInUse> {
    // `slave` and `master` are the driver's older words.
    if !matches!(args.value("role"), Some("server" | "master")) {
        return Ok(());
    }
    let path = args.value("socket").unwrap_or(SOCKET_DEFAULT);
    let is_abstract = args.value("socket-abstract").is_none_or(|it| it != "no");
    let state = if is_abstract { abstract_state(path) } else { path_state(path) };
    match state {
        State::Free => Ok(()),
        State::Stale => {
            // If it cannot be removed, the driver reports that it cannot be bound.
            let _stays = fs::remove_file(path);
            Ok(())
        }
        State::Served => {
            let owners = Owners::of_socket(path, is_abstract);
            if owners.is_this_process() {
                return Ok(());
            }
            Err(SocketInUse { path: path.to_owned(), owners })
        }
    }
}

/// The state of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Served,
    /// A socket file whose server has ended.
    Stale,
}

/// An abstract name is free exactly if it can be bound: it ends with its server.
fn abstract_state(name: &str) -> State {
    let Ok(address) = UnixAddr::new_abstract(name.as_bytes()) else { return State::Free };
    let bound = client(SockType::SeqPacket).and_then(|it| bind(it.as_raw_fd(), &address));
    if bound == Err(Errno::EADDRINUSE) { State::Served } else { State::Free }
}

/// A file is asked by a connection of another type than memif's, which the kernel refuses without
/// telling the server: DPDK's aborts when a client hangs up at once.
fn path_state(path: &str) -> State {
    let is_socket = fs::metadata(path).is_ok_and(|it| it.file_type().is_socket());
    let (true, Ok(address)) = (is_socket, UnixAddr::new(path)) else { return State::Free };
    match client(SockType::Stream).and_then(|it| connect(it.as_raw_fd(), &address)) {
        Err(Errno::ECONNREFUSED) => State::Stale,
        Ok(()) | Err(Errno::EPROTOTYPE | Errno::EAGAIN) => State::Served,
        Err(_) => State::Free,
    }
}

fn client(kind: SockType) -> Result<OwnedFd, Errno> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    socket(AddressFamily::Unix, kind, flags, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{Backlog, listen};
    use std::path::Path;

    fn serve(path: &Path) -> OwnedFd {
        let flags = SockFlag::SOCK_CLOEXEC;
        let server = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None).unwrap();
        bind(server.as_raw_fd(), &UnixAddr::new(path).unwrap()).unwrap();
        listen(&server, Backlog::new(4).unwrap()).unwrap();
        server
    }

    #[test]
    fn a_socket_without_a_server_is_removed_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.sock");
        let text = |role: &str| {
            format!("net_memif0,role={role},socket={},socket-abstract=no", path.display())
        };
        let check = |role: &str| check_socket(&DeviceArgs::parse(&text(role)).unwrap());
        check("server").unwrap();
        let served = serve(&path);
        check("server").unwrap();
        assert!(path.exists(), "this process serves it");
        drop(served);
        check("client").unwrap();
        assert!(path.exists(), "a client removes nothing");
        check("server").unwrap();
        assert!(!path.exists(), "its server is gone");
        fs::write(&path, "a file").unwrap();
        check("server").unwrap();
        assert!(path.exists(), "no socket");
    }

    #[test]
    fn an_abstract_name_is_in_use_while_it_is_bound() {
        let name = format!("knotless-memif-test-{}", std::process::id());
        assert_eq!(abstract_state(&name), State::Free);
        let server = client(SockType::SeqPacket).unwrap();
        bind(server.as_raw_fd(), &UnixAddr::new_abstract(name.as_bytes()).unwrap()).unwrap();
        assert_eq!(abstract_state(&name), State::Served);
        assert!(Owners::of_socket(&name, true).is_this_process());
        drop(server);
        assert_eq!(abstract_state(&name), State::Free);
    }
}

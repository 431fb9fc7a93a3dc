//! The groups of the process at the other end of a socket.

use nix::libc;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// The most groups that a process can be in (`NGROUPS_MAX`).
const GROUPS_MAX: usize = 65_536;

/// The supplementary groups that the client had when it connected.
///
/// # Errors
/// The kernel does not tell; before Linux 4.13 it cannot.
pub(super) fn peer_groups(client: &UnixStream) -> io::Result<Vec<u32>> {
    let mut groups = vec![0_u32; 64];
    loop {
        let room = size_of_val(&groups[..]);
        let mut bytes = libc::socklen_t::try_from(room).map_err(io::Error::other)?;
        // SAFETY: an open socket, room for `bytes` octets, and their number.
        let status = unsafe {
            libc::getsockopt(
                client.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut bytes,
            )
        };
        let error = io::Error::last_os_error();
        if status == 0 {
            groups.truncate(bytes as usize / size_of::<u32>());
            return Ok(groups);
        }
        if error.raw_os_error() != Some(libc::ERANGE) || groups.len() >= GROUPS_MAX {
            return Err(error);
        }
        groups.resize(GROUPS_MAX, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_the_groups_of_this_process() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut told = peer_groups(&ours).unwrap();
        let mut own: Vec<u32> =
            nix::unistd::getgroups().unwrap().into_iter().map(|group| group.as_raw()).collect();
        told.sort_unstable();
        own.sort_unstable();
        assert_eq!(told, own);
    }
}

//! An open queue of a tap: the ioctls of `/dev/net/tun` that the switch itself uses, for taps that
//! are ports and for those that the host has of ports.

use nix::libc::{self, ifreq};
use std::ffi::{CStr, c_int, c_uint, c_ulong};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

const CLONE_DEVICE: &str = "/dev/net/tun";

/// What DPDK's driver asks for, to the bit: the kernel keeps the flags that the first queue came
/// with. (The driver wants `struct tun_pi` in front of each frame, so not `IFF_NO_PI`.)
const FLAGS: c_int = libc::IFF_TAP | libc::IFF_MULTI_QUEUE;

/// A queue of a tap. While it is open the tap exists, and it tells the tap's name and network
/// namespace wherever that has been moved. Of a tap that DPDK drives it takes no frames.
#[derive(Debug)]
pub(crate) struct Queue(File);

impl Queue {
    /// Makes the tap `name`, or the next free one if `name` ends with `%d`.
    ///
    /// # Errors
    /// `ResourceBusy` if an interface has that name.
    pub(crate) fn create(name: &str) -> io::Result<Self> {
        Self::attach(name, FLAGS | libc::IFF_TUN_EXCL)
    }

    /// Makes the tap `name`, whose only queue this is: [`Self::read`] and [`Self::write`] take and
    /// give bare frames, and do not wait.
    ///
    /// # Errors
    /// `ResourceBusy` if an interface has that name.
    pub(crate) fn create_only(name: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK);
        let queue = Self(options.open(CLONE_DEVICE)?);
        let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_TUN_EXCL;
        queue.request(libc::TUNSETIFF, &mut request(name, flags)?)?;
        Ok(queue)
    }

    /// The next frame that the kernel sends; its length.
    ///
    /// # Errors
    /// `WouldBlock` if there is none.
    pub(crate) fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        (&self.0).read(into)
    }

    /// Has the kernel receive `frame`.
    ///
    /// # Errors
    /// The interface is down.
    pub(crate) fn write(&self, frame: &[u8]) -> io::Result<usize> {
        (&self.0).write(frame)
    }

    /// Opens the tap `name`, which exists.
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        Self::attach(name, FLAGS)
    }

    fn attach(name: &str, flags: c_int) -> io::Result<Self> {
        let queue = Self(OpenOptions::new().read(true).write(true).open(CLONE_DEVICE)?);
        queue.request(libc::TUNSETIFF, &mut request(name, flags)?)?;
        // Frames are spread over the attached queues; this one is not read, so it is detached.
        queue.request(libc::TUNSETQUEUE, &mut request(name, libc::IFF_DETACH_QUEUE)?)?;
        Ok(queue)
    }

    /// The tap's name now.
    ///
    /// # Errors
    /// `EBADFD` if the tap was deleted.
    pub(crate) fn name(&self) -> io::Result<String> {
        let mut answer = request("", 0)?;
        self.request(libc::TUNGETIFF, &mut answer)?;
        let name = answer.ifr_name.map(c_char_byte);
        let name = CStr::from_bytes_until_nul(&name).map_err(io::Error::other)?;
        Ok(name.to_string_lossy().into_owned())
    }

    /// The network namespace where the tap is now (Linux 5.11).
    pub(crate) fn namespace(&self) -> io::Result<OwnedFd> {
        // SAFETY: the file is open; this request takes no argument.
        let fd = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TUNGETDEVNETNS, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel made this descriptor for this call, so nobody else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Takes the carrier of the interface up or down, in whatever network namespace it is (Linux
    /// 5.0).
    pub(crate) fn set_carrier(&self, up: bool) -> io::Result<()> {
        let carrier = c_uint::from(up);
        // SAFETY: the file is open; this request reads one unsigned integer.
        let status =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::TUNSETCARRIER, &raw const carrier) };
        if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn request(&self, number: c_ulong, argument: &mut ifreq) -> io::Result<()> {
        // SAFETY: the file is open, and the requests made here read and write one `ifreq`.
        let status = unsafe { libc::ioctl(self.0.as_raw_fd(), number, argument) };
        if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn request(name: &str, flags: c_int) -> io::Result<ifreq> {
    // SAFETY: plain integers, bytes and pointers, for which zeros are a value.
    let mut request: ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays 0: it ends the name.
    if name.len() >= request.ifr_name.len() || name.contains('\0') {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("an interface's name has up to {} bytes", request.ifr_name.len() - 1),
        ));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(flags)
        .unwrap_or_else(|_| u16::try_from(flags).unwrap_or_default().cast_signed());
    Ok(request)
}

const fn c_char_byte(character: std::ffi::c_char) -> u8 {
    character.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_not_fit_are_refused_and_none_is_cut() {
        assert!(request("a-name-of-15-bt", FLAGS).is_ok());
        for name in ["a-name-of-16-byt", "a\0b"] {
            assert_eq!(request(name, FLAGS).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn the_flag_of_exclusive_use_fits_the_field() {
        let request = request("kt0", FLAGS | libc::IFF_TUN_EXCL).unwrap();
        // SAFETY: the flags were written last.
        let flags = unsafe { request.ifr_ifru.ifru_flags }.cast_unsigned();
        assert_eq!(c_int::from(flags), FLAGS | libc::IFF_TUN_EXCL);
    }
}

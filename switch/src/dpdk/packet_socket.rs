//! The socket of a `net_af_packet` device, which counts the frames lost to a full ring: DPDK's
//! driver does not read it before 23.11.

use super::device_args::DeviceArgs;
use nix::libc;
use nix::net::if_::if_nametoindex;
use std::fs;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// The socket, by a duplicated descriptor. Must be dropped before the device is closed.
#[derive(Debug)]
pub(super) struct PacketSocket {
    socket: OwnedFd,
    dropped_frames: AtomicU64,
}

impl PacketSocket {
    /// The socket of the device of `args`, if it is of that kind, just opened by this process.
    pub(super) fn of(args: &DeviceArgs) -> Option<Self> {
        if !args.is_of("net_af_packet") {
            return None;
        }
        let index = i32::try_from(if_nametoindex(args.value("iface")?).ok()?).ok()?;
        let fds = fs::read_dir("/proc/self/fd").ok()?.flatten();
        let fds = fds.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
        let fd = fds.into_iter().find(|&fd| bound_to(fd) == Some(index))?;
        // SAFETY: a packet socket bound to an interface that this process claimed for one device,
        // whose driver keeps it open until the device is closed.
        let socket = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned().ok()?;
        let socket = Self { socket, dropped_frames: AtomicU64::new(0) };
        // Frames from before the ring existed do not count.
        socket.read_and_reset();
        Some(socket)
    }

    /// Frames that found the ring full. The kernel's counter is reset by reading: a driver that
    /// reads it, too, counts the frames that it reads, and each frame is reported once.
    pub(super) fn dropped_frames(&self) -> u64 {
        let more = self.read_and_reset();
        self.dropped_frames.fetch_add(more, Ordering::Relaxed) + more
    }

    /// The kernel's count since the last read.
    fn read_and_reset(&self) -> u64 {
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = libc::socklen_t::try_from(size_of_val(&stats)).unwrap_or_default();
        // SAFETY: the socket is open; the kernel writes at most `length` bytes of `stats`, which is
        // plain integers.
        let status = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut length,
            )
        };
        if status == 0 { u64::from(stats.tp_drops) } else { 0 }
    }
}

/// The interface that the socket `fd` is bound to, if it is a packet socket.
fn bound_to(fd: RawFd) -> Option<i32> {
    // SAFETY: plain integers, for which zeros are a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    let mut length = libc::socklen_t::try_from(size_of_val(&address)).ok()?;
    // SAFETY: the kernel writes at most `length` bytes of `address`; a number that is no open
    // socket is an error.
    let status = unsafe { libc::getsockname(fd, (&raw mut address).cast(), &raw mut length) };
    let is_packet = status == 0 && i32::from(address.sll_family) == libc::AF_PACKET;
    is_packet.then_some(address.sll_ifindex)
}

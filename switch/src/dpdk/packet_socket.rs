//! The socket of a `net_af_packet` device, which counts the frames lost to a full ring: DPDK's
//! driver does not read it before 23.11. And the link of its interface.

use super::device_args::DeviceArgs;
use super::netlink::Rtnetlink;
use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{getsockopt, sockopt};
use std::fs;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// The socket, by a duplicated descriptor. Must be dropped before the device is closed.
#[derive(Debug)]
pub(super) struct PacketSocket {
    socket: OwnedFd,
    interface: String,
    dropped_frames: AtomicU64,
}

impl PacketSocket {
    /// The socket of the device of `args`, if it is of that kind, just opened by this process.
    pub(super) fn of(args: &DeviceArgs) -> Option<Self> {
        if !args.is_of("net_af_packet") {
            return None;
        }
        let interface = args.value("iface")?.to_owned();
        let index = i32::try_from(if_nametoindex(interface.as_str()).ok()?).ok()?;
        let fd = sockets_on(Some(index)).next()?;
        // SAFETY: a packet socket bound to an interface that this process claimed for one device,
        // whose driver keeps it open until the device is closed.
        let socket = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned().ok()?;
        let socket = Self { socket, interface, dropped_frames: AtomicU64::new(0) };
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

    /// Sets the interface up or down, unless it has an address: then it is the host's, too. It
    /// takes CAP_NET_ADMIN. Whether it could.
    pub(super) fn set_interface(&self, up: bool) -> bool {
        if is_used_by_host(&self.interface) {
            return false;
        }
        // A socket that was bound while the interface was down fails once, at its next call: the
        // driver would count frames as lost that wait in its ring.
        self.clear_errors();
        let set = Rtnetlink::open().and_then(|rtnetlink| rtnetlink.set_up(&self.interface, up));
        self.clear_errors();
        set.is_ok()
    }

    /// Whether the interface is set up and passes frames. The driver says that its link is up,
    /// whatever the interface is.
    pub(super) fn is_link_up(&self) -> bool {
        // SAFETY: plain integers, bytes and pointers, for which zeros are a value.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        // The last byte stays 0: it ends the name.
        let room = request.ifr_name.len() - 1;
        for (to, from) in request.ifr_name.iter_mut().take(room).zip(self.interface.bytes()) {
            *to = from.cast_signed();
        }
        // SAFETY: the socket is open, and the request reads and writes one `ifreq`.
        let status =
            unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCGIFFLAGS, &raw mut request) };
        // SAFETY: the kernel has written the flags, and zeros are flags, too.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        const UP: libc::c_int = libc::IFF_UP | libc::IFF_RUNNING;
        status == 0 && libc::c_int::from(flags) & UP == UP
    }

    /// Clears the pending errors of all sockets of the device.
    fn clear_errors(&self) {
        for fd in sockets_on(bound_to(self.socket.as_raw_fd())) {
            // SAFETY: a packet socket of the driver, open until the device is closed.
            let socket = unsafe { BorrowedFd::borrow_raw(fd) };
            let _cleared = getsockopt(&socket, sockopt::SocketError);
        }
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

/// The packet sockets of this process that are bound to the interface `index`.
fn sockets_on(index: Option<i32>) -> impl Iterator<Item = RawFd> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let fds = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    let fds: Vec<RawFd> = fds.collect();
    fds.into_iter().filter(move |&fd| index.is_some() && bound_to(fd) == index)
}

/// Whether `interface` has an address, other than the link-local one that every interface has.
fn is_used_by_host(interface: &str) -> bool {
    let all = getifaddrs().into_iter().flatten();
    let mut addresses =
        all.filter(|one| one.interface_name == interface).filter_map(|one| one.address);
    addresses.any(|address| match (address.as_sockaddr_in(), address.as_sockaddr_in6()) {
        (Some(_), _) => true,
        (None, Some(address)) => !address.ip().is_unicast_link_local(),
        (None, None) => false,
    })
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

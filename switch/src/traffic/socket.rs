//! Whole Ethernet frames to and from a Linux interface: an AF_PACKET socket.
//!
//! `nix` and `socket2` make every system call. The options below are declared with the macro that
//! `nix` exports for the purpose; each has the type that packet(7) documents for it, all of plain
//! integers.

use super::TrafficError;
use super::interface::Interface;
use arrayvec::ArrayVec;
use dataplane::limits::FRAME_BYTES_MAX;
use dataplane::wire::{MacAddress, ethernet};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, LinkAddr, MsgFlags, MultiHeaders, RecvMsg, UnknownCmsg,
    bind, getsockopt, recv, recvmmsg, sendmmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;
use nix::{cmsg_space, getsockopt_impl, libc, setsockopt_impl, sockopt_impl};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd};

/// `ETH_P_ALL`.
const EVERY_ETHERTYPE: u16 = 3;
/// Frames that go through one system call.
pub(crate) const SOCKET_BURST_MAX: usize = 64;
/// Room for one received frame: the longest the switch carries, and a VLAN tag.
const SLOT_BYTES: usize = FRAME_BYTES_MAX + 16;

/// From `linux/if_packet.h`; `libc` lacks it.
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// From `linux/if_packet.h`: the auxiliary data contain a VLAN tag.
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;

/// `libc` types the two kinds of membership wider than the field they go into.
const PACKET_MR_MULTICAST: u16 = 0;
const PACKET_MR_PROMISC: u16 = 1;
const _: () = assert!(PACKET_MR_MULTICAST as libc::c_int == libc::PACKET_MR_MULTICAST);
const _: () = assert!(PACKET_MR_PROMISC as libc::c_int == libc::PACKET_MR_PROMISC);

sockopt_impl!(
    /// Joins a multicast group of the interface, or makes it promiscuous.
    AddMembership, SetOnly, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, libc::packet_mreq
);
sockopt_impl!(
    /// Bypasses the queueing discipline: the driver's result for a frame then becomes the result of
    /// sending it.
    QdiscBypass, SetOnly, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, bool
);
sockopt_impl!(
    /// Does not receive what this machine itself sends on the interface.
    IgnoreOutgoing, SetOnly, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, bool
);
sockopt_impl!(
    /// Passes the VLAN tag that the kernel removed, with each frame.
    Auxdata, SetOnly, libc::SOL_PACKET, libc::PACKET_AUXDATA, bool
);
sockopt_impl!(
    /// Frames received and dropped since it was last asked.
    Statistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats
);

/// What a socket receives besides frames to the interface's own address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listen {
    /// Nothing at all: it only sends.
    Nothing,
    /// MAC control frames, and those only.
    MacControl,
    /// Every frame, for any address.
    Everything,
}

impl Listen {
    const fn ethertype(self) -> u16 {
        match self {
            Self::Nothing => 0,
            Self::MacControl => ethernet::MAC_CONTROL,
            Self::Everything => EVERY_ETHERTYPE,
        }
    }

    /// The membership that makes a device let the frames through.
    fn membership(self, interface: &Interface) -> Option<libc::packet_mreq> {
        let mut request = libc::packet_mreq {
            mr_ifindex: interface.index(),
            mr_type: PACKET_MR_PROMISC,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        match self {
            Self::Nothing => return None,
            Self::MacControl => {
                request.mr_type = PACKET_MR_MULTICAST;
                request.mr_alen = 6;
                request.mr_address[..6].copy_from_slice(&MacAddress::MAC_CONTROL.0);
            }
            Self::Everything => {}
        }
        Some(request)
    }
}

/// A socket that is bound to one interface.
pub(crate) struct PacketSocket {
    socket: Socket,
    interface: String,
    sending: MultiHeaders<LinkAddr>,
}

impl PacketSocket {
    /// Opens a socket on `interface` that receives according to `listen`.
    ///
    /// # Errors
    /// The system refuses a raw socket (it takes CAP_NET_RAW).
    pub(crate) fn open(interface: &Interface, listen: Listen) -> Result<Self, TrafficError> {
        let doing =
            |what| move |source: Errno| TrafficError::System { what, source: source.into() };
        let protocol = Protocol::from(i32::from(listen.ethertype().to_be()));
        let socket = Socket::new_raw(Domain::PACKET, Type::RAW, Some(protocol))
            .map_err(|source| TrafficError::System { what: "open a packet socket", source })?;
        // The address of an interface carries protocol 0, which leaves the socket's as it is.
        bind(socket.as_raw_fd(), &interface.link).map_err(doing("bind to the interface"))?;
        if let Some(membership) = listen.membership(interface) {
            setsockopt(&socket, AddMembership, &membership).map_err(doing("join the group"))?;
        }
        setsockopt(&socket, IgnoreOutgoing, &true).map_err(doing("ignore outgoing frames"))?;
        let sending = MultiHeaders::preallocate(SOCKET_BURST_MAX, None);
        Ok(Self { socket, interface: interface.name.clone(), sending })
    }

    /// Sets the receive buffer to `bytes`, beyond the kernel's usual limit. In a user namespace
    /// that is not allowed, and the buffer is as large as that limit (`net.core.rmem_max`); what it
    /// loses is counted in any case.
    ///
    /// # Errors
    /// The kernel refuses both.
    pub(crate) fn set_receive_buffer(&self, bytes: usize) -> Result<(), TrafficError> {
        let forced = setsockopt(&self.socket, sockopt::RcvBufForce, &bytes);
        let set = match forced {
            Err(Errno::EPERM) => setsockopt(&self.socket, sockopt::RcvBuf, &bytes),
            other => other,
        };
        set.map_err(|source| self.failed("enlarge the receive buffer", source))
    }

    /// Leaves out the queueing discipline when sending; see [`PacketSocket::send`].
    ///
    /// # Errors
    /// The kernel does not support it.
    pub(crate) fn set_qdisc_bypass(&self) -> Result<(), TrafficError> {
        setsockopt(&self.socket, QdiscBypass, &true)
            .map_err(|source| self.failed("bypass the queueing discipline", source))
    }

    /// Sends frames from the front of `frames`, and returns how many the kernel accepted: 0 if it
    /// has no room for the first now. With the queueing discipline bypassed, accepted means that
    /// the driver took the frame.
    ///
    /// # Errors
    /// The interface is down or gone, or a frame is longer than its MTU.
    pub(crate) fn send(&mut self, frames: &[&[u8]]) -> Result<usize, TrafficError> {
        let slices: ArrayVec<[IoSlice<'_>; 1], SOCKET_BURST_MAX> =
            frames.iter().take(SOCKET_BURST_MAX).map(|frame| [IoSlice::new(frame)]).collect();
        let nowhere_else = [None::<LinkAddr>; SOCKET_BURST_MAX];
        let no_control: [ControlMessage<'_>; 0] = [];
        let accepted = sendmmsg(
            self.socket.as_raw_fd(),
            &mut self.sending,
            slices.iter(),
            nowhere_else,
            no_control,
            MsgFlags::MSG_DONTWAIT,
        )
        .map(Iterator::count);
        match accepted {
            Ok(accepted) => Ok(accepted),
            Err(Errno::ENOBUFS | Errno::EAGAIN | Errno::EINTR | Errno::ENOMEM) => Ok(0),
            Err(Errno::EMSGSIZE) => Err(TrafficError::FrameTooLong {
                interface: self.interface.clone(),
                bytes: frames.first().map_or(0, |frame| frame.len()),
            }),
            Err(source) => Err(self.failed("send", source)),
        }
    }

    /// Receives one frame into `buffer`, cut to its length; `None` if none has arrived.
    ///
    /// # Errors
    /// The interface is down or gone.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> Result<Option<usize>, TrafficError> {
        match recv(self.socket.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(bytes) => Ok(Some(bytes.min(buffer.len()))),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
            Err(source) => Err(self.failed("receive", source)),
        }
    }

    /// Sleeps until a frame arrives, `timeout_ns` at most. A signal ends it early.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub(crate) fn wait(&self, timeout_ns: u64) -> Result<(), TrafficError> {
        let mut polled = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(timeout_ns));
        match ppoll(&mut polled, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(source) => Err(self.failed("wait", source)),
        }
    }

    /// Frames the kernel had for this socket since the last call, and how many of them it dropped
    /// because the receive buffer was full.
    ///
    /// # Errors
    /// The system call fails.
    pub(crate) fn take_statistics(&self) -> Result<SocketStatistics, TrafficError> {
        let statistics = getsockopt(&self.socket, Statistics)
            .map_err(|source| self.failed("read the socket's statistics", source))?;
        Ok(SocketStatistics {
            frames: u64::from(statistics.tp_packets),
            dropped: u64::from(statistics.tp_drops),
        })
    }

    fn failed(&self, what: &'static str, source: Errno) -> TrafficError {
        match source {
            Errno::ENETDOWN | Errno::ENXIO | Errno::ENODEV => {
                TrafficError::InterfaceDown { interface: self.interface.clone() }
            }
            source => TrafficError::System { what, source: source.into() },
        }
    }
}

/// The result of [`PacketSocket::take_statistics`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SocketStatistics {
    /// Frames that matched, dropped ones included.
    pub frames: u64,
    /// Frames for which the receive buffer had no room.
    pub dropped: u64,
}

/// One received frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    /// The frame without its FCS, and without the outer VLAN tag that the kernel took off.
    pub bytes: &'a [u8],
    /// That VLAN tag: priority, drop eligibility and VLAN id.
    pub tci: Option<u16>,
    /// CLOCK_REALTIME when the kernel got it, in ns.
    pub realtime_ns: Option<u64>,
    /// Whether it was longer than the switch's longest, and cut.
    pub cut: bool,
}

/// Buffers for received frames, with timestamps and VLAN tags.
pub(crate) struct ReceiveRing {
    headers: MultiHeaders<LinkAddr>,
    slots: Vec<u8>,
}

impl ReceiveRing {
    /// Buffers for [`SOCKET_BURST_MAX`] frames from `socket`, which from now on passes timestamps
    /// and VLAN tags.
    ///
    /// # Errors
    /// The kernel does not support it.
    pub(crate) fn new(socket: &PacketSocket) -> Result<Self, TrafficError> {
        setsockopt(&socket.socket, sockopt::ReceiveTimestampns, &true)
            .map_err(|source| socket.failed("ask for receive stamps", source))?;
        setsockopt(&socket.socket, Auxdata, &true)
            .map_err(|source| socket.failed("ask for VLAN tags", source))?;
        let control = cmsg_space!(TimeSpec, libc::tpacket_auxdata);
        Ok(Self {
            headers: MultiHeaders::preallocate(SOCKET_BURST_MAX, Some(control)),
            slots: vec![0; SOCKET_BURST_MAX * SLOT_BYTES],
        })
    }

    /// Passes each frame that has arrived on `socket` to `each`, at most a burst, and returns their
    /// number. Never blocks.
    ///
    /// # Errors
    /// The interface is down or gone.
    pub(crate) fn receive(
        &mut self,
        socket: &PacketSocket,
        mut each: impl FnMut(Received<'_>),
    ) -> Result<usize, TrafficError> {
        let mut free = self.slots.chunks_mut(SLOT_BYTES);
        let mut slots: [[IoSliceMut<'_>; 1]; SOCKET_BURST_MAX] =
            std::array::from_fn(|_| [IoSliceMut::new(free.next().unwrap_or_default())]);
        let flags = MsgFlags::MSG_DONTWAIT;
        let fd = socket.socket.as_raw_fd();
        let messages = match recvmmsg(fd, &mut self.headers, slots.iter_mut(), flags, None) {
            Ok(messages) => messages,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(0),
            Err(source) => return Err(socket.failed("receive", source)),
        };
        let mut count = 0;
        for message in messages {
            count += 1;
            each(received(&message));
        }
        Ok(count)
    }
}

fn received<'a>(message: &RecvMsg<'_, 'a, LinkAddr>) -> Received<'a> {
    let mut frame = Received {
        bytes: message.iovs().next().unwrap_or_default(),
        tci: None,
        realtime_ns: None,
        cut: message.flags.contains(MsgFlags::MSG_TRUNC),
    };
    for control in message.cmsgs().into_iter().flatten() {
        match control {
            ControlMessageOwned::ScmTimestampns(stamp) => {
                let seconds = u64::try_from(stamp.tv_sec()).unwrap_or(0);
                let nanoseconds = u64::try_from(stamp.tv_nsec()).unwrap_or(0);
                frame.realtime_ns = Some(seconds * 1_000_000_000 + nanoseconds);
            }
            ControlMessageOwned::Unknown(unknown) => {
                frame.tci = frame.tci.or_else(|| vlan_of(&unknown))
            }
            _ => {}
        }
    }
    frame
}

/// The VLAN tag in a `struct tpacket_auxdata`: u32 status, length and captured length, u16 offsets
/// of the two headers, then u16 tci and tpid, all in the machine's byte order.
fn vlan_of(message: &UnknownCmsg) -> Option<u16> {
    let header = &message.cmsg_header;
    if header.cmsg_level != libc::SOL_PACKET || header.cmsg_type != libc::PACKET_AUXDATA {
        return None;
    }
    let status = message.data_bytes.first_chunk::<4>()?;
    let tci = message.data_bytes.get(16..18)?;
    let valid = u32::from_ne_bytes(*status) & TP_STATUS_VLAN_VALID != 0;
    valid.then(|| u16::from_ne_bytes([tci[0], tci[1]]))
}

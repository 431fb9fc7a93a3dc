//! Attributes of one interface from rtnetlink, in this network namespace or in another.
//!
//! Another namespace is addressed by an id that this one assigns to it (`RTM_NEWNSID`), so no
//! thread has to enter it: entering needs `CAP_SYS_ADMIN`, the id only the `CAP_NET_ADMIN` that a
//! tap needs anyway. Only the needed attributes are decoded: one that a newer kernel changes must
//! not hide the link.

use crate::rtnetlink::Connection;
use netlink_packet_core::{DecodeError, NLM_F_ACK, NetlinkBuffer, NlasIterator};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkHeader, LinkMessage, Stats64};
use netlink_packet_route::nsid::{NsidAttribute, NsidMessage};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Attributes of `RTM_NEWLINK` (`linux/if_link.h`).
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
/// Attributes inside `IFLA_LINKINFO`.
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
/// Attributes of the kind `tun` inside `IFLA_INFO_DATA`.
const IFLA_TUN_TYPE: u16 = 3;
const IFLA_TUN_PERSIST: u16 = 6;
const IFLA_TUN_MULTI_QUEUE: u16 = 7;
const IFLA_TUN_NUM_QUEUES: u16 = 8;
const IFLA_TUN_NUM_DISABLED_QUEUES: u16 = 9;
/// `IFF_TAP`, as `IFLA_TUN_TYPE` has it.
const TYPE_TAP: u8 = 2;

const RTM_NEWLINK: u16 = 16;
const RTM_NEWNSID: u16 = 88;
/// Length of the fixed part of link and of namespace messages.
const LINK_HEADER_BYTES: usize = 16;
const NSID_HEADER_BYTES: usize = 4;
/// `NETNSA_NSID`.
const NETNSA_NSID: u16 = 1;
/// No id is given yet, or the kernel is to choose one.
const NSID_NONE: i32 = -1;

/// A sample of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Interface {
    /// Whether it is set up and passes frames (`IFF_UP` and `IFF_RUNNING`).
    pub(super) is_running: bool,
    /// Its transmit queue's length: for a tap, the frames that wait for its reader.
    pub(super) tx_queue_frames: u32,
    /// Frames that it dropped instead of transmitting them.
    pub(super) tx_dropped_frames: u64,
    /// Its kind, such as `tun` or `veth`; a physical one has none.
    pub(super) kind: Option<String>,
    /// What else there is to know if its kind is `tun`.
    pub(super) tun: Tun,
}

/// A tun or tap device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tun {
    /// Whether it carries Ethernet frames, as a tap does, and not IP packets.
    pub(super) is_tap: bool,
    /// Whether it persists without an open descriptor.
    pub(super) is_persistent: bool,
    /// Whether it may be opened several times.
    pub(super) has_multi_queue: bool,
    /// How often it is open.
    pub(super) open_queues: u32,
}

/// A connection to rtnetlink.
#[derive(Debug)]
pub(super) struct Rtnetlink(Connection);

impl Rtnetlink {
    /// Connects, in the network namespace of the calling thread.
    pub(super) fn open() -> io::Result<Self> {
        Connection::open().map(Self)
    }

    /// The interface `name`, in the namespace with the id `nsid` or in this one.
    pub(super) fn interface(&self, name: &str, nsid: Option<i32>) -> io::Result<Interface> {
        let mut request = LinkMessage::default();
        request.attributes.extend(nsid.map(LinkAttribute::IfNetnsId));
        request.attributes.push(LinkAttribute::IfName(name.to_owned()));
        let answer = self.0.ask(RouteNetlinkMessage::GetLink(request), 0)?;
        decode_interface(&answer).map_err(io::Error::other)
    }

    /// Sets the transmit queue's length of the interface `name`, which is in our namespace.
    pub(super) fn set_tx_queue_frames(&self, name: &str, frames: u32) -> io::Result<()> {
        let mut request = LinkMessage::default();
        request.attributes.push(LinkAttribute::IfName(name.to_owned()));
        request.attributes.push(LinkAttribute::TxQueueLen(frames));
        self.0.ask(RouteNetlinkMessage::SetLink(request), NLM_F_ACK).map(drop)
    }

    /// Sets the interface `name`, which is in our namespace, up or down.
    pub(super) fn set_up(&self, name: &str, up: bool) -> io::Result<()> {
        let mut request = LinkMessage::default();
        request.header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
        request.header.change_mask = LinkFlags::Up;
        request.attributes.push(LinkAttribute::IfName(name.to_owned()));
        self.0.ask(RouteNetlinkMessage::SetLink(request), NLM_F_ACK).map(drop)
    }

    /// Our id of a network namespace, which is given one if it has none.
    pub(super) fn nsid(&self, namespace: BorrowedFd<'_>) -> io::Result<i32> {
        let known = self.known_nsid(namespace)?;
        if known != NSID_NONE {
            return Ok(known);
        }
        let mut request = namespace_message(namespace);
        request.attributes.push(NsidAttribute::Id(NSID_NONE));
        match self.0.ask(RouteNetlinkMessage::NewNsId(request), NLM_F_ACK) {
            Ok(_) => {}
            // Another process has just assigned one.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        self.known_nsid(namespace)
    }

    fn known_nsid(&self, namespace: BorrowedFd<'_>) -> io::Result<i32> {
        let request = RouteNetlinkMessage::GetNsId(namespace_message(namespace));
        decode_nsid(&self.0.ask(request, 0)?).map_err(io::Error::other)
    }
}

fn namespace_message(namespace: BorrowedFd<'_>) -> NsidMessage {
    let mut message = NsidMessage::default();
    message.attributes.push(NsidAttribute::Fd(namespace.as_raw_fd().cast_unsigned()));
    message
}

fn decode_interface(answer: &[u8]) -> Result<Interface, DecodeError> {
    let payload = payload(answer, RTM_NEWLINK)?;
    let flags = LinkHeader::parse(payload)?.flags;
    let mut interface = Interface {
        is_running: flags.contains(LinkFlags::Up | LinkFlags::Running),
        ..Interface::default()
    };
    for attribute in NlasIterator::new(payload.get(LINK_HEADER_BYTES..).unwrap_or_default()) {
        let attribute = attribute?;
        let value = attribute.value();
        match attribute.kind() {
            IFLA_TXQLEN => interface.tx_queue_frames = number(value),
            IFLA_STATS64 => interface.tx_dropped_frames = Stats64::parse(value)?.tx_dropped,
            IFLA_LINKINFO => decode_kind(value, &mut interface)?,
            _ => {}
        }
    }
    Ok(interface)
}

fn decode_kind(attributes: &[u8], interface: &mut Interface) -> Result<(), DecodeError> {
    for attribute in NlasIterator::new(attributes) {
        let attribute = attribute?;
        let value = attribute.value();
        match attribute.kind() {
            IFLA_INFO_KIND => {
                let kind = String::from_utf8_lossy(value);
                interface.kind = Some(kind.trim_end_matches('\0').to_owned());
            }
            // The kind stands before its data.
            IFLA_INFO_DATA if interface.kind.as_deref() == Some("tun") => {
                interface.tun = decode_tun(value)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn decode_tun(attributes: &[u8]) -> Result<Tun, DecodeError> {
    let mut tun = Tun::default();
    for attribute in NlasIterator::new(attributes) {
        let attribute = attribute?;
        let value = attribute.value();
        match attribute.kind() {
            IFLA_TUN_TYPE => tun.is_tap = value == [TYPE_TAP],
            IFLA_TUN_PERSIST => tun.is_persistent = value == [1],
            IFLA_TUN_MULTI_QUEUE => tun.has_multi_queue = value == [1],
            IFLA_TUN_NUM_QUEUES | IFLA_TUN_NUM_DISABLED_QUEUES => tun.open_queues += number(value),
            _ => {}
        }
    }
    Ok(tun)
}

fn decode_nsid(answer: &[u8]) -> Result<i32, DecodeError> {
    let payload = payload(answer, RTM_NEWNSID)?;
    for attribute in NlasIterator::new(payload.get(NSID_HEADER_BYTES..).unwrap_or_default()) {
        let attribute = attribute?;
        if attribute.kind() == NETNSA_NSID {
            return Ok(number(attribute.value()).cast_signed());
        }
    }
    Ok(NSID_NONE)
}

/// The length of the payload of a message of this type.
fn payload(answer: &[u8], message_type: u16) -> Result<&[u8], DecodeError> {
    let message = NetlinkBuffer::new_checked(answer)?;
    if message.message_type() != message_type {
        return Err(DecodeError::from("rtnetlink answered with another message"));
    }
    Ok(message.payload())
}

/// A number of 32 bits; 0 if it is cut short.
fn number(value: &[u8]) -> u32 {
    value.first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtnetlink::tests::framed;

    /// `RTM_NEWLINK` of a persistent, multi-queue tap that is up, as Linux 6.18 sends it, without
    /// the attributes that are not read.
    fn tap_message(flags: u32) -> Vec<u8> {
        let attribute = |kind: u16, value: &[u8]| {
            let length = u16::try_from(4 + value.len()).unwrap();
            let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
            bytes.extend(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let tun = [
            attribute(IFLA_TUN_TYPE, &[TYPE_TAP]),
            attribute(IFLA_TUN_PERSIST, &[1]),
            attribute(IFLA_TUN_MULTI_QUEUE, &[1]),
            attribute(IFLA_TUN_NUM_QUEUES, &2_u32.to_ne_bytes()),
            attribute(IFLA_TUN_NUM_DISABLED_QUEUES, &1_u32.to_ne_bytes()),
        ];
        let info = [attribute(IFLA_INFO_KIND, b"tun\0"), attribute(IFLA_INFO_DATA, &tun.concat())];
        let mut stats = vec![0; 25 * 8];
        stats[7 * 8..8 * 8].copy_from_slice(&77_u64.to_ne_bytes());
        let mut message = vec![0, 0, 1, 0, 5, 0, 0, 0];
        message.extend(flags.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(attribute(IFLA_TXQLEN, &2_000_u32.to_ne_bytes()));
        message.extend(attribute(IFLA_STATS64, &stats));
        message.extend(attribute(IFLA_LINKINFO, &info.concat()));
        framed(RTM_NEWLINK, &message)
    }

    #[test]
    fn a_tap_is_read_from_its_link_message() {
        const UP: u32 = 1;
        const RUNNING: u32 = 0x40;
        let interface = decode_interface(&tap_message(UP | RUNNING)).unwrap();
        let tun = Tun { is_tap: true, is_persistent: true, has_multi_queue: true, open_queues: 3 };
        let expected = Interface {
            is_running: true,
            tx_queue_frames: 2_000,
            tx_dropped_frames: 77,
            kind: Some("tun".to_owned()),
            tun,
        };
        assert_eq!(interface, expected);
        for flags in [0, UP, RUNNING] {
            assert!(!decode_interface(&tap_message(flags)).unwrap().is_running, "{flags}");
        }
    }

    #[test]
    fn messages_cut_short_are_errors_or_lack_what_was_cut() {
        let whole = tap_message(1);
        for length in 0..whole.len() {
            let mut cut = whole[..length].to_vec();
            let _no_panic = decode_interface(&cut);
            if let Some(field) = cut.first_chunk_mut() {
                *field = u32::try_from(length).unwrap().to_ne_bytes();
            }
            let _no_panic = decode_interface(&cut);
            let _no_panic = decode_nsid(&cut);
        }
        assert!(decode_interface(&framed(RTM_NEWNSID, &[0; 32])).is_err(), "another message");
    }

    #[test]
    fn the_loopback_is_found_here_and_by_an_id_of_our_own_namespace() {
        let rtnetlink = Rtnetlink::open().unwrap();
        let here = rtnetlink.interface("lo", None).unwrap();
        assert_eq!(here.tun, Tun::default());
        let missing = rtnetlink.interface("knotless-none", None).unwrap_err();
        assert_eq!(missing.raw_os_error(), Some(nix::libc::ENODEV));
    }
}

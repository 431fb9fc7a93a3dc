//! What the switch asks of rtnetlink about the TAPs: it sets them up, gives them addresses, and
//! reads all addresses of this network namespace.
//!
//! rtnetlink waits for the kernel's global lock of all interfaces, which may be held for long. So
//! the control thread never calls it: at the start nothing runs yet, and later
//! [`watch`](super::watch) has a thread of its own.

use crate::rtnetlink::{Connection, error_of};
use dataplane::wire::MacAddress;
use ipnet::IpNet;
use netlink_packet_core::{
    DecodeError, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REPLACE, NLMSG_DONE,
    NLMSG_ERROR, NetlinkBuffer, NlasIterator,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::libc;
use std::io;
use std::net::IpAddr;

/// `struct ifaddrmsg` (`linux/if_addr.h`), and the attributes after it.
const ADDRESS_HEADER_BYTES: usize = 8;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_FLAGS: u16 = 8;
/// Another station has the address (RFC 4862, 5.4): the kernel does not use it.
const IFA_F_DADFAILED: u32 = 0x08;
/// `RTM_NEWADDR`
const RTM_NEWADDR: u16 = 20;
/// Times that such a dump is asked for again at once.
const DUMPS_MAX: usize = 8;

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InterfaceAddress {
    /// The interface.
    pub(super) index: u32,
    /// The address, with its network.
    pub(super) net: IpNet,
}

/// A connection to rtnetlink.
#[derive(Debug)]
pub(super) struct Rtnetlink(Connection);

impl Rtnetlink {
    /// Connects, in the network namespace of the calling thread.
    pub(super) fn open() -> io::Result<Self> {
        Connection::open().map(Self)
    }

    /// Gives an interface its MAC address and MTU.
    pub(super) fn set_link(&self, index: u32, mac: MacAddress, mtu: u16) -> io::Result<()> {
        let mut request = LinkMessage::default();
        request.header.index = index;
        request.attributes.push(LinkAttribute::Address(mac.0.to_vec()));
        request.attributes.push(LinkAttribute::Mtu(mtu.into()));
        self.change(RouteNetlinkMessage::SetLink(request), 0)
    }

    /// Sets an interface up.
    pub(super) fn set_up(&self, index: u32) -> io::Result<()> {
        let mut request = LinkMessage::default();
        request.header.index = index;
        request.header.flags = LinkFlags::Up;
        request.header.change_mask = LinkFlags::Up;
        self.change(RouteNetlinkMessage::SetLink(request), 0)
    }

    /// Adds an address, which may be there.
    pub(super) fn add_address(&self, address: InterfaceAddress) -> io::Result<()> {
        let message = RouteNetlinkMessage::NewAddress(address_message(address));
        self.change(message, NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Removes an address, which may be gone.
    pub(super) fn remove_address(&self, address: InterfaceAddress) -> io::Result<()> {
        match self.change(RouteNetlinkMessage::DelAddress(address_message(address)), 0) {
            Err(error) if error.raw_os_error() == Some(libc::EADDRNOTAVAIL) => Ok(()),
            other => other,
        }
    }

    /// All addresses of this network namespace, of both IP versions.
    pub(super) fn addresses(&self) -> io::Result<Vec<InterfaceAddress>> {
        for _ in 1..DUMPS_MAX {
            if let Some(addresses) = self.dump()? {
                return Ok(addresses);
            }
        }
        Ok(self.dump()?.unwrap_or_default())
    }

    /// One dump; `None` if the addresses changed meanwhile.
    fn dump(&self) -> io::Result<Option<Vec<InterfaceAddress>>> {
        self.0.send(RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP)?;
        let (mut addresses, mut is_whole) = (Vec::new(), true);
        loop {
            let bytes = self.0.receive()?;
            for message in messages(&bytes) {
                let message = message.map_err(io::Error::other)?;
                is_whole &= message.flags() & NLM_F_DUMP_INTR == 0;
                match message.message_type() {
                    NLMSG_DONE => return Ok(is_whole.then_some(addresses)),
                    NLMSG_ERROR => return Err(error_of(message.payload()).unwrap_or_else(closed)),
                    RTM_NEWADDR => {
                        let address = decode_address(message.payload());
                        addresses.extend(address.map_err(io::Error::other)?);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Sends a change, and waits for its acknowledgement.
    fn change(&self, request: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let answer = self.0.ask(request, NLM_F_ACK | flags)?;
        match NetlinkBuffer::new_checked(&answer).map_err(io::Error::other)?.message_type() {
            NLMSG_ERROR => Ok(()),
            _ => Err(io::Error::other("rtnetlink answered with another message")),
        }
    }
}

fn closed() -> io::Error {
    io::Error::other("rtnetlink gave no answer")
}

fn address_message(InterfaceAddress { index, net }: InterfaceAddress) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family =
        if net.addr().is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    message.header.prefix_len = net.prefix_len();
    message.header.index = index;
    message.attributes.push(AddressAttribute::Local(net.addr()));
    message.attributes.push(AddressAttribute::Address(net.addr()));
    message
}

/// The messages of one datagram.
fn messages(bytes: &[u8]) -> impl Iterator<Item = Result<NetlinkBuffer<&[u8]>, DecodeError>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let message = NetlinkBuffer::new_checked(rest);
        let length = message.as_ref().map_or(rest.len(), |it| it.length() as usize);
        rest = rest.get(length.next_multiple_of(4).max(4)..).unwrap_or_default();
        Some(message)
    })
}

/// The address of `RTM_NEWADDR`; `None` if it is one that the kernel does not use. Only what is
/// needed is decoded: an attribute that a newer kernel changes must not hide an address.
fn decode_address(payload: &[u8]) -> Result<Option<InterfaceAddress>, DecodeError> {
    let Some(&[family, prefix_length, flags, _, a, b, c, d]) =
        payload.first_chunk::<ADDRESS_HEADER_BYTES>()
    else {
        return Err(DecodeError::from("an address without its header"));
    };
    let (mut address, mut local, mut flags) = (None, None, u32::from(flags));
    for attribute in NlasIterator::new(payload.get(ADDRESS_HEADER_BYTES..).unwrap_or_default()) {
        let attribute = attribute?;
        let value = attribute.value();
        match attribute.kind() {
            IFA_ADDRESS => address = decode_ip(family, value),
            IFA_LOCAL => local = decode_ip(family, value),
            IFA_FLAGS => flags = value.first_chunk().map_or(flags, |it| u32::from_ne_bytes(*it)),
            _ => {}
        }
    }
    // Of a link of two ends `IFA_ADDRESS` is the peer's; IPv6 has no `IFA_LOCAL` otherwise.
    let net = local.or(address).and_then(|ip| IpNet::new(ip, prefix_length).ok());
    let is_used = flags & IFA_F_DADFAILED == 0;
    let index = u32::from_ne_bytes([a, b, c, d]);
    Ok(net.filter(|_| is_used).map(|net| InterfaceAddress { index, net }))
}

fn decode_ip(family: u8, value: &[u8]) -> Option<IpAddr> {
    match i32::from(family) {
        libc::AF_INET => value.first_chunk::<4>().map(|octets| IpAddr::from(*octets)),
        libc::AF_INET6 => value.first_chunk::<16>().map(|octets| IpAddr::from(*octets)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(4 + value.len()).unwrap();
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn payload(family: i32, prefix_length: u8, attributes: &[Vec<u8>]) -> Vec<u8> {
        let family = u8::try_from(family).unwrap();
        [vec![family, prefix_length, 0, 0], 9_u32.to_ne_bytes().to_vec(), attributes.concat()]
            .concat()
    }

    fn net(text: &str) -> InterfaceAddress {
        InterfaceAddress { index: 9, net: text.parse().unwrap() }
    }

    #[test]
    fn an_address_is_read_with_its_network() {
        let own = attribute(IFA_LOCAL, &[10, 0, 0, 1]);
        let peer = attribute(IFA_ADDRESS, &[10, 0, 0, 2]);
        let four = payload(libc::AF_INET, 24, &[peer, own]);
        assert_eq!(decode_address(&four).unwrap(), Some(net("10.0.0.1/24")));
        let octets = "2001:db8::7".parse::<std::net::Ipv6Addr>().unwrap().octets();
        let six = |flags: u32| {
            let flags = attribute(IFA_FLAGS, &flags.to_ne_bytes());
            payload(libc::AF_INET6, 64, &[attribute(IFA_ADDRESS, &octets), flags])
        };
        assert_eq!(decode_address(&six(0x40)).unwrap(), Some(net("2001:db8::7/64")));
        assert_eq!(decode_address(&six(0x40 | IFA_F_DADFAILED)).unwrap(), None, "a duplicate");
        assert_eq!(decode_address(&payload(libc::AF_INET, 33, &[])).unwrap(), None);
        assert_eq!(
            decode_address(&payload(7, 24, &[attribute(IFA_LOCAL, &[9; 4])])).unwrap(),
            None
        );
    }

    #[test]
    fn what_is_cut_short_is_an_error_or_no_address() {
        let whole = payload(libc::AF_INET, 24, &[attribute(IFA_LOCAL, &[10, 0, 0, 1])]);
        for length in 0..whole.len() {
            assert!(!matches!(decode_address(&whole[..length]), Ok(Some(_))), "{length}");
        }
        for bytes in [&[0; 3][..], &[0xFF; 40], &[0; 40]] {
            assert!(messages(bytes).count() <= bytes.len());
        }
    }

    #[test]
    fn the_loopback_has_its_address_here() {
        let addresses = Rtnetlink::open().unwrap().addresses().unwrap();
        for address in addresses.iter().filter(|one| one.net.addr().is_loopback()) {
            assert_eq!(address.index, nix::net::if_::if_nametoindex("lo").unwrap());
        }
        let absent = InterfaceAddress { index: 1 << 30, ..net("10.0.0.1/24") };
        assert!(Rtnetlink::open().unwrap().add_address(absent).is_err());
    }
}

//! From the content of a frame to the netlink messages in it: routes and next hops as
//! `rtnetlink`(7) and `linux/nexthop.h` lay them out, in this machine's byte order.
//!
//! `netlink-packet-core` walks the attributes. The messages are read here, because
//! `netlink-packet-route` knows no next-hop messages and skips attributes that it cannot read.

use ipnet::IpNet;
use netlink_packet_core::{NLA_HEADER_SIZE, NlaBuffer, NlasIterator};
use std::net::IpAddr;

const HEADER_BYTES: usize = 16;
const RTM_NEWROUTE: u16 = 24;
const RTM_DELROUTE: u16 = 25;
const RTM_NEWNEXTHOP: u16 = 104;
const RTM_DELNEXTHOP: u16 = 105;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

const ROUTE_HEADER_BYTES: usize = 12;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_MULTIPATH: u16 = 9;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;
const RTA_ENCAP: u16 = 22;
const RTA_NH_ID: u16 = 30;
/// `struct rtnexthop`: length, flags, weight less 1, interface.
const MEMBER_BYTES: usize = 8;

const NEXT_HOP_HEADER_BYTES: usize = 8;
const NHA_ID: u16 = 1;
const NHA_GROUP: u16 = 2;
const NHA_BLACKHOLE: u16 = 4;
const NHA_OIF: u16 = 5;
const NHA_GATEWAY: u16 = 6;
const NHA_ENCAP: u16 = 8;
const NHA_FDB: u16 = 11;
/// `struct nexthop_grp`: number, weight less 1, and 3 bytes more.
const GROUP_MEMBER_BYTES: usize = 8;

/// Types of routes.
pub(super) const RTN_UNICAST: u8 = 1;
pub(super) const RTN_BLACKHOLE: u8 = 6;
pub(super) const RTN_UNREACHABLE: u8 = 7;
pub(super) const RTN_PROHIBIT: u8 = 8;

/// Why a message cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NetlinkError {
    /// A length that does not fit what is around it.
    #[error("a netlink message of {length} bytes where {there} are left")]
    Length {
        /// What the message says.
        length: usize,
        /// What there is.
        there: usize,
    },
    /// A message too short for what it is.
    #[error("a netlink message of type {0} that ends within its header")]
    Short(u16),
    /// An attribute cut short, or of a length that its type does not have.
    #[error("attribute {attribute} of a message of type {kind} has a wrong length")]
    Attribute {
        /// The message's type.
        kind: u16,
        /// The attribute's type; 0 if even that cannot be read.
        attribute: u16,
    },
    /// An address family that is not IP.
    #[error("a route of address family {0}")]
    Family(u8),
    /// A prefix that is longer than its address.
    #[error("a prefix of {0} bits")]
    PrefixLength(u8),
    /// A next hop without a number.
    #[error("a next hop without a number")]
    NoNumber,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A route is added or replaced.
    NewRoute(RouteMessage),
    /// A route is removed.
    DelRoute(RouteMessage),
    /// A next hop is added or replaced.
    NewNextHop(u32, NextHop),
    /// A next hop is removed.
    DelNextHop(u32),
    /// Something else, such as a label-switched path.
    Other(u16),
}

/// What a message says of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RouteMessage {
    pub(super) prefix: IpNet,
    pub(super) table: u32,
    /// Who gave it to zebra.
    pub(super) protocol: u8,
    /// `RTN_UNICAST` and so on.
    pub(super) kind: u8,
    pub(super) ways: Ways,
}

/// Where a route leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ways {
    /// By the next hop with this number.
    Number(u32),
    /// By these.
    Paths(Vec<RawPath>),
    /// In a way that is not understood: with labels, or by its source address.
    Unsupported,
}

/// A path as the kernel would have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawPath {
    pub(super) gateway: Option<IpAddr>,
    pub(super) interface: Option<u32>,
    /// 1 to 256.
    pub(super) weight: u16,
}

/// What a number stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NextHop {
    Path(RawPath),
    Blackhole,
    /// Numbers with weights.
    Group(Vec<(u32, u16)>),
    Unsupported,
}

/// Takes the first message off `content`; `None` at its end. Its own bytes come with it.
///
/// # Errors
/// The message cannot be read, and so nothing behind it.
pub(super) fn take<'a>(
    content: &mut &'a [u8],
) -> Result<Option<(Message, &'a [u8])>, NetlinkError> {
    if content.is_empty() {
        return Ok(None);
    }
    let there = content.len();
    let length = u32_at(content, 0).ok_or(NetlinkError::Length { length: 0, there })? as usize;
    let wrong = NetlinkError::Length { length, there };
    let bytes = content.get(..length).filter(|_| length >= HEADER_BYTES).ok_or(wrong)?;
    // The next message begins at a multiple of four.
    *content = content.get(length.next_multiple_of(4)..).unwrap_or_default();
    let kind = u16_at(bytes, 4).ok_or(wrong)?;
    let body = &bytes[HEADER_BYTES..];
    let message = match kind {
        RTM_NEWROUTE => Message::NewRoute(route(kind, body)?),
        RTM_DELROUTE => Message::DelRoute(route(kind, body)?),
        RTM_NEWNEXTHOP => {
            let (number, next_hop) = next_hop(kind, body)?;
            Message::NewNextHop(number, next_hop)
        }
        RTM_DELNEXTHOP => Message::DelNextHop(next_hop(kind, body)?.0),
        other => Message::Other(other),
    };
    Ok(Some((message, bytes)))
}

fn route(kind: u16, body: &[u8]) -> Result<RouteMessage, NetlinkError> {
    let Some(&[family, length, source_length, _, table, protocol, _, route_kind, ..]) =
        body.first_chunk::<ROUTE_HEADER_BYTES>()
    else {
        return Err(NetlinkError::Short(kind));
    };
    let mut destination = match family {
        AF_INET => IpAddr::from([0_u8; 4]),
        AF_INET6 => IpAddr::from([0_u8; 16]),
        other => return Err(NetlinkError::Family(other)),
    };
    let mut table = u32::from(table);
    let (mut number, mut paths) = (None, Vec::new());
    let mut only = RawPath { gateway: None, interface: None, weight: 1 };
    let mut is_supported = source_length == 0;
    for attribute in NlasIterator::new(&body[ROUTE_HEADER_BYTES..]) {
        let attribute = Attribute::of(kind, attribute.ok())?;
        match attribute.kind {
            RTA_DST => destination = attribute.address(family)?,
            RTA_TABLE => table = attribute.u32()?,
            RTA_NH_ID => number = Some(attribute.u32()?),
            RTA_MULTIPATH => paths = members(family, &attribute)?,
            RTA_ENCAP => is_supported = false,
            _ => only.read(family, &attribute)?,
        }
    }
    if paths.is_empty() {
        paths.push(only);
    }
    let prefix = IpNet::new(destination, length).map_err(|_| NetlinkError::PrefixLength(length))?;
    let ways = match number {
        _ if !is_supported => Ways::Unsupported,
        Some(number) => Ways::Number(number),
        None => Ways::Paths(paths),
    };
    Ok(RouteMessage { prefix: prefix.trunc(), table, protocol, kind: route_kind, ways })
}

impl RawPath {
    /// Reads an attribute of a path, if it is one.
    fn read(&mut self, family: u8, attribute: &Attribute<'_>) -> Result<(), NetlinkError> {
        match attribute.kind {
            RTA_GATEWAY => self.gateway = Some(attribute.address(family)?),
            RTA_OIF => self.interface = Some(attribute.u32()?),
            // The gateway's own family, and the address (RFC 8950).
            RTA_VIA => {
                let family = u16_at(attribute.value, 0).ok_or_else(|| attribute.wrong())?;
                let family = u8::try_from(family).map_err(|_| attribute.wrong())?;
                let value = attribute.value.get(2..).unwrap_or_default();
                self.gateway = Some(Attribute { value, ..*attribute }.address(family)?);
            }
            _ => {}
        }
        Ok(())
    }
}

fn members(family: u8, attribute: &Attribute<'_>) -> Result<Vec<RawPath>, NetlinkError> {
    let (mut paths, mut rest) = (Vec::new(), attribute.value);
    while !rest.is_empty() {
        let length = usize::from(u16_at(rest, 0).ok_or_else(|| attribute.wrong())?);
        let member = rest.get(..length).ok_or_else(|| attribute.wrong())?;
        let Some(&[_, _, _, less, ..]) = member.first_chunk::<MEMBER_BYTES>() else {
            return Err(attribute.wrong());
        };
        let interface = u32_at(member, 4).filter(|&interface| interface != 0);
        let mut path = RawPath { gateway: None, interface, weight: u16::from(less) + 1 };
        for nested in NlasIterator::new(&member[MEMBER_BYTES..]) {
            path.read(family, &Attribute::of(attribute.message, nested.ok())?)?;
        }
        paths.push(path);
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(paths)
}

fn next_hop(kind: u16, body: &[u8]) -> Result<(u32, NextHop), NetlinkError> {
    if body.len() < NEXT_HOP_HEADER_BYTES {
        return Err(NetlinkError::Short(kind));
    }
    let mut number = None;
    let mut path = RawPath { gateway: None, interface: None, weight: 1 };
    let mut other = None;
    for attribute in NlasIterator::new(&body[NEXT_HOP_HEADER_BYTES..]) {
        let attribute = Attribute::of(kind, attribute.ok())?;
        match attribute.kind {
            NHA_ID => number = Some(attribute.u32()?),
            NHA_GROUP => other = Some(NextHop::Group(group(&attribute)?)),
            NHA_BLACKHOLE => other = Some(NextHop::Blackhole),
            NHA_OIF => path.interface = Some(attribute.u32()?),
            // Some messages of FRR 8.4 have the family of the routes that use the next hop.
            NHA_GATEWAY => path.gateway = Some(attribute.any_address()?),
            NHA_ENCAP | NHA_FDB => other = Some(NextHop::Unsupported),
            _ => {}
        }
    }
    let number = number.ok_or(NetlinkError::NoNumber)?;
    Ok((number, other.unwrap_or(NextHop::Path(path))))
}

fn group(attribute: &Attribute<'_>) -> Result<Vec<(u32, u16)>, NetlinkError> {
    let chunks = attribute.value.chunks(GROUP_MEMBER_BYTES);
    let member = |chunk: &[u8]| {
        let number = u32_at(chunk, 0)?;
        let [_, _, _, _, less, _, _, _] = *chunk.first_chunk::<GROUP_MEMBER_BYTES>()?;
        Some((number, u16::from(less) + 1))
    };
    chunks.map(|chunk| member(chunk).ok_or_else(|| attribute.wrong())).collect()
}

/// An attribute of a message.
#[derive(Clone, Copy)]
struct Attribute<'a> {
    message: u16,
    kind: u16,
    value: &'a [u8],
}

impl<'a> Attribute<'a> {
    fn of(message: u16, attribute: Option<NlaBuffer<&'a [u8]>>) -> Result<Self, NetlinkError> {
        let unread = NetlinkError::Attribute { kind: message, attribute: 0 };
        let attribute = attribute.ok_or(unread)?;
        let (kind, end) = (attribute.kind(), usize::from(attribute.length()));
        let value = attribute.into_inner().get(NLA_HEADER_SIZE..end).ok_or(unread)?;
        Ok(Self { message, kind, value })
    }

    const fn wrong(&self) -> NetlinkError {
        NetlinkError::Attribute { kind: self.message, attribute: self.kind }
    }

    fn u32(&self) -> Result<u32, NetlinkError> {
        let bytes = <[u8; 4]>::try_from(self.value).map_err(|_| self.wrong())?;
        Ok(u32::from_ne_bytes(bytes))
    }

    /// An address whose family its length tells.
    fn any_address(&self) -> Result<IpAddr, NetlinkError> {
        self.address(if self.value.len() == 4 { AF_INET } else { AF_INET6 })
    }

    fn address(&self, family: u8) -> Result<IpAddr, NetlinkError> {
        match family {
            AF_INET => <[u8; 4]>::try_from(self.value).map(IpAddr::from).ok(),
            AF_INET6 => <[u8; 16]>::try_from(self.value).map(IpAddr::from).ok(),
            _ => None,
        }
        .ok_or_else(|| self.wrong())
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

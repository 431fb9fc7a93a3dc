//! A received frame, read and checked until its payload.

use super::crc::{ICRC_BYTES, icrc};
use super::encapsulation::UDP_PORT;
use super::opcode::{Kind, Opcode};
use super::transport::{TransportHeaders, is_default_partition, version_of};
use dataplane::wire::telemetry::{self, Stack};
use dataplane::wire::{be16, ethernet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why a frame is no packet that an endpoint can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPacket {
    /// Not RoCEv2 at all: another protocol or port.
    Foreign,
    /// The IP header breaks a rule, or the IPv4 checksum is wrong.
    IpHeader,
    /// A fragment.
    Fragment,
    /// A length that contradicts another, or headers cut short, or payload where none may be.
    Length,
    /// A transport version other than 0.
    TransportVersion,
    /// Not the default partition.
    Partition,
    /// An operation code of another service.
    Opcode,
    /// SEND with invalidate, which is not offered.
    Invalidate,
    /// The invariant CRC is wrong.
    Icrc,
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub(crate) headers: TransportHeaders,
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    pub(crate) is_ce: bool,
    /// What switches have written into it, or into the packet that it acknowledges.
    pub(crate) telemetry: Option<Stack>,
    /// Bytes before the payload.
    pub(crate) payload_at: usize,
    /// Bytes of payload, without pad.
    pub(crate) payload_bytes: u32,
}

/// What IP says.
struct Ip {
    source: IpAddr,
    destination: IpAddr,
    is_ce: bool,
    /// Where UDP begins.
    udp_at: usize,
    /// Bytes from UDP on.
    udp_bytes: usize,
}

impl Packet {
    /// The number of the queue pair that it is for.
    pub const fn queue_pair(&self) -> u32 {
        self.headers.destination
    }

    /// What it belongs to.
    pub const fn kind(&self) -> Kind {
        self.headers.opcode.kind
    }

    /// Whether a switch on its path has marked it Congestion Experienced.
    pub const fn is_ce(&self) -> bool {
        self.is_ce
    }

    /// Reads a frame of `frame_bytes`, without FCS, of which `stored` is the first part: all of it,
    /// or at least the headers. The CRC is checked if all is there and `checks_icrc`.
    ///
    /// # Errors
    /// The frame is none that this endpoint can take.
    pub fn parse(stored: &[u8], frame_bytes: usize, checks_icrc: bool) -> Result<Self, BadPacket> {
        let (ethertype, ip_at) = match be16(stored, 12) {
            Some(0x8100) => (be16(stored, 16), 18),
            ethertype => (ethertype, 14),
        };
        let ip = match ethertype {
            Some(ethernet::IPV4) => ipv4(stored, ip_at)?,
            Some(ethernet::IPV6) => ipv6(stored, ip_at)?,
            _ => return Err(BadPacket::Foreign),
        };
        let telemetry_bytes = match be16(stored, ip.udp_at + 2) {
            Some(UDP_PORT) => 0,
            Some(telemetry::UDP_PORT) => telemetry::BYTES,
            _ => return Err(BadPacket::Foreign),
        };
        let said_bytes = usize::from(be16(stored, ip.udp_at + 4).ok_or(BadPacket::Length)?);
        if said_bytes != ip.udp_bytes || ip.udp_at + ip.udp_bytes > frame_bytes {
            return Err(BadPacket::Length);
        }
        let transport_at = ip.udp_at + 8 + telemetry_bytes;
        let around_bytes = 8 + telemetry_bytes + ICRC_BYTES;
        let part_bytes = ip.udp_bytes.checked_sub(around_bytes).ok_or(BadPacket::Length)?;
        let transport = stored.get(transport_at..).ok_or(BadPacket::Length)?;
        if part_bytes < 12 || transport.len() < 12 {
            return Err(BadPacket::Length);
        }
        if version_of(transport) != 0 {
            return Err(BadPacket::TransportVersion);
        }
        if !is_default_partition(transport) {
            return Err(BadPacket::Partition);
        }
        let read = TransportHeaders::read(transport, part_bytes);
        let unknown = |code| match Opcode::is_invalidate(code) {
            true => BadPacket::Invalidate,
            false => BadPacket::Opcode,
        };
        let (headers, headers_bytes) = read.map_err(unknown)?.ok_or(BadPacket::Length)?;
        let mut after = part_bytes - headers_bytes;
        let mut telemetry = match telemetry_bytes {
            0 => None,
            _ => stored.get(ip.udp_at + 8..).and_then(Stack::read),
        };
        if headers.opcode.kind == Kind::Acknowledge && after == telemetry::BYTES {
            telemetry = Some(
                transport.get(headers_bytes..).and_then(Stack::read).ok_or(BadPacket::Length)?,
            );
            after = 0;
        }
        let payload_bytes = after.checked_sub(usize::from(headers.pad)).ok_or(BadPacket::Length)?;
        // Payload and pad are a multiple of four; only some packets have any.
        if after % 4 != 0 || after > 0 && !headers.opcode.has_payload() {
            return Err(BadPacket::Length);
        }
        let icrc_at = transport_at + part_bytes;
        if checks_icrc && let Some(found) = stored.get(icrc_at..icrc_at + ICRC_BYTES) {
            let wanted = icrc(&stored[ip_at..icrc_at]).ok_or(BadPacket::Length)?;
            if found != wanted {
                return Err(BadPacket::Icrc);
            }
        }
        Ok(Self {
            headers,
            source: ip.source,
            destination: ip.destination,
            is_ce: ip.is_ce,
            telemetry,
            payload_at: transport_at + headers_bytes,
            payload_bytes: u32::try_from(payload_bytes).map_err(|_| BadPacket::Length)?,
        })
    }
}

fn ipv4(stored: &[u8], at: usize) -> Result<Ip, BadPacket> {
    let header: &[u8; 20] =
        stored.get(at..).and_then(<[u8]>::first_chunk).ok_or(BadPacket::Length)?;
    if header[9] != 17 {
        return Err(BadPacket::Foreign);
    }
    // Options would move UDP; no RoCE endpoint sends them.
    if header[0] != 0x45 {
        return Err(BadPacket::IpHeader);
    }
    let halves =
        header.chunks_exact(2).map(|half| u32::from(u16::from_be_bytes([half[0], half[1]])));
    let sum: u32 = halves.sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    if (folded & 0xFFFF) + (folded >> 16) != 0xFFFF {
        return Err(BadPacket::IpHeader);
    }
    if u16::from_be_bytes([header[6], header[7]]) & 0x3FFF != 0 {
        return Err(BadPacket::Fragment);
    }
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    Ok(Ip {
        source: Ipv4Addr::new(header[12], header[13], header[14], header[15]).into(),
        destination: Ipv4Addr::new(header[16], header[17], header[18], header[19]).into(),
        is_ce: header[1] & 3 == 3,
        udp_at: at + 20,
        udp_bytes: total.checked_sub(20).ok_or(BadPacket::Length)?,
    })
}

fn ipv6(stored: &[u8], at: usize) -> Result<Ip, BadPacket> {
    let header: &[u8; 40] =
        stored.get(at..).and_then(<[u8]>::first_chunk).ok_or(BadPacket::Length)?;
    if header[0] >> 4 != 6 {
        return Err(BadPacket::IpHeader);
    }
    if header[6] != 17 {
        return Err(BadPacket::Foreign);
    }
    let address = |from: usize| {
        let octets: [u8; 16] = header[from..from + 16].try_into().unwrap_or_default();
        IpAddr::from(Ipv6Addr::from(octets))
    };
    Ok(Ip {
        source: address(8),
        destination: address(24),
        is_ce: header[1] >> 4 & 3 == 3,
        udp_at: at + 40,
        udp_bytes: usize::from(u16::from_be_bytes([header[4], header[5]])),
    })
}

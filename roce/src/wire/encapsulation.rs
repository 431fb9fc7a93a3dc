//! Ethernet, IP and UDP around the transport headers: written once a connection, completed for
//! each packet.

use crate::settings::Peer;
use dataplane::wire::{MacAddress, ethernet, telemetry};
use std::net::IpAddr;

/// The UDP port of RoCEv2.
pub const UDP_PORT: u16 = 4791;
/// Source ports are of the dynamic range, as RoCE NICs choose them.
const SOURCE_PORT_FIRST: u16 = 0xC000;
const HOPS: u8 = 64;
const UDP: u8 = 17;
const UDP_BYTES: usize = 8;
/// Ethernet with a tag, IPv6, UDP.
const BYTES_MAX: usize = 18 + 40 + UDP_BYTES;

/// The headers before the transport headers.
#[derive(Clone, Debug)]
pub(crate) struct Encapsulation {
    bytes: [u8; BYTES_MAX],
    bytes_len: usize,
    ip_at: usize,
    is_v6: bool,
    /// The IPv4 header's sum, without service and length.
    sum: u32,
}

impl Encapsulation {
    /// Headers for packets from `mac` and `ip` to `peer`, with the tag `tci`; their source port is
    /// derived from `entropy`, so that queue pairs spread over paths. An address of the other
    /// family than ours becomes an IPv4-mapped one, which the peer's check of sources refuses.
    pub(crate) fn new(
        mac: MacAddress,
        ip: IpAddr,
        tci: Option<u16>,
        entropy: u32,
        peer: &Peer,
    ) -> Self {
        let mut bytes = [0; BYTES_MAX];
        let mut len = 0;
        let mut put = |part: &[u8]| {
            bytes[len..len + part.len()].copy_from_slice(part);
            len += part.len();
        };
        put(&peer.mac.0);
        put(&mac.0);
        if let Some(tci) = tci {
            put(&0x8100_u16.to_be_bytes());
            put(&tci.to_be_bytes());
        }
        let is_v6 = match (ip, peer.ip) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                put(&ethernet::IPV4.to_be_bytes());
                // Don't fragment.
                put(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, HOPS, UDP, 0, 0]);
                put(&source.octets());
                put(&destination.octets());
                false
            }
            (source, destination) => {
                put(&ethernet::IPV6.to_be_bytes());
                put(&[0x60, 0, 0, 0, 0, 0, UDP, HOPS]);
                put(&v6(source));
                put(&v6(destination));
                true
            }
        };
        let entropy = (entropy ^ entropy >> 14) & 0x3FFF;
        let source_port = SOURCE_PORT_FIRST | u16::try_from(entropy).unwrap_or(0);
        put(&source_port.to_be_bytes());
        put(&UDP_PORT.to_be_bytes());
        // Length, and no checksum: the invariant CRC protects the packet.
        put(&[0, 0, 0, 0]);
        let ip_at = if tci.is_some() { 18 } else { 14 };
        let halves = bytes[ip_at..ip_at + 20].chunks_exact(2);
        let sum = halves.map(|half| u32::from(u16::from_be_bytes([half[0], half[1]]))).sum();
        Self { bytes, bytes_len: len, ip_at, is_v6, sum }
    }

    /// Bytes before the transport headers, or before telemetry.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes_len
    }

    /// Writes the headers to the front of `head`, for `after_udp` bytes after UDP, with telemetry
    /// and CRC.
    #[inline]
    pub(crate) fn write(
        &self,
        head: &mut [u8],
        service: u8,
        after_udp: usize,
        has_telemetry: bool,
    ) {
        head[..self.bytes_len].copy_from_slice(&self.bytes[..self.bytes_len]);
        let udp_bytes = low16(UDP_BYTES + after_udp);
        let ip = self.ip_at;
        if self.is_v6 {
            head[ip] |= service >> 4;
            head[ip + 1] = service << 4;
            head[ip + 4..ip + 6].copy_from_slice(&udp_bytes.to_be_bytes());
        } else {
            let total = 20 + udp_bytes;
            head[ip + 1] = service;
            head[ip + 2..ip + 4].copy_from_slice(&total.to_be_bytes());
            let sum = self.sum + u32::from(service) + u32::from(total);
            let folded = (sum & 0xFFFF) + (sum >> 16);
            let folded = (folded & 0xFFFF) + (folded >> 16);
            let [_, _, high, low] = (!folded).to_be_bytes();
            head[ip + 10..ip + 12].copy_from_slice(&[high, low]);
        }
        let udp = self.bytes_len - UDP_BYTES;
        head[udp + 4..udp + 6].copy_from_slice(&udp_bytes.to_be_bytes());
        if has_telemetry {
            head[udp + 2..udp + 4].copy_from_slice(&telemetry::UDP_PORT.to_be_bytes());
        }
    }
}

fn v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

/// Packets are at most 4,096 bytes of payload and their headers.
fn low16(bytes: usize) -> u16 {
    u16::try_from(bytes).unwrap_or(u16::MAX)
}

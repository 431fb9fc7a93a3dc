//! Frames made by hand for tests: small, obvious, independent of the parser.

use crate::wire::MacAddress;
use alloc::vec::Vec;

/// Address of host `n` on test port `port` (counted from 1): 10.0.`port`.`n`.
pub const fn host_v4(port: u8, n: u8) -> [u8; 4] {
    [10, 0, port, n]
}

/// MAC address of host `n` on test port `port`.
pub const fn host_mac(port: u8, n: u8) -> MacAddress {
    MacAddress([0x02, 0, 0, 1, port, n])
}

/// MAC address of the switch's own test port `port`.
pub const fn port_mac(port: u8) -> MacAddress {
    MacAddress([0x02, 0, 0, 0, 0, port])
}

/// A UDP frame, as a struct to be changed where a test wants it otherwise.
#[derive(Clone, Debug)]
pub struct Udp {
    /// Destination MAC address.
    pub dst_mac: MacAddress,
    /// Source MAC address.
    pub src_mac: MacAddress,
    /// VLAN tags, outermost first.
    pub tags: Vec<u16>,
    /// Source address.
    pub src: [u8; 4],
    /// Destination address.
    pub dst: [u8; 4],
    /// DSCP and ECN.
    pub tos: u8,
    /// Time to live.
    pub ttl: u8,
    /// UDP source port.
    pub src_port: u16,
    /// Length of the whole frame in bytes.
    pub frame_bytes: usize,
    /// A number in the payload, to tell frames apart.
    pub sequence: u32,
    /// Whether it has room for in-band telemetry, before the number.
    pub has_telemetry: bool,
}

impl Udp {
    /// From host 1 of port `from` to host 1 of port `to`, routed, with `dscp`, 64 bytes less the
    /// FCS.
    pub fn routed(from: u8, to: u8, dscp: u8) -> Self {
        Self {
            dst_mac: port_mac(from),
            src_mac: host_mac(from, 1),
            tags: Vec::new(),
            src: host_v4(from, 1),
            dst: host_v4(to, 1),
            tos: dscp << 2,
            ttl: 64,
            src_port: 49_152,
            frame_bytes: 60,
            sequence: 0,
            has_telemetry: false,
        }
    }

    /// From host 1 of port `from` straight to host 1 of port `to`, bridged.
    pub fn bridged(from: u8, to: u8, dscp: u8) -> Self {
        Self { dst_mac: host_mac(to, 1), ..Self::routed(from, to, dscp) }
    }

    /// The frame.
    pub fn bytes(&self) -> Vec<u8> {
        let mut frame = Vec::with_capacity(self.frame_bytes);
        frame.extend_from_slice(&self.dst_mac.0);
        frame.extend_from_slice(&self.src_mac.0);
        for tci in &self.tags {
            frame.extend_from_slice(&[0x81, 0x00]);
            frame.extend_from_slice(&tci.to_be_bytes());
        }
        frame.extend_from_slice(&[0x08, 0x00]);
        let ip = frame.len();
        let total = u16::try_from(self.frame_bytes - ip).expect("an IP packet is below 64 KiB");
        frame.extend_from_slice(&[0x45, self.tos]);
        frame.extend_from_slice(&total.to_be_bytes());
        frame.extend_from_slice(&[0, 0, 0x40, 0, self.ttl, 17, 0, 0]);
        frame.extend_from_slice(&self.src);
        frame.extend_from_slice(&self.dst);
        let checksum = header_checksum(&frame[ip..]);
        frame[ip + 10..ip + 12].copy_from_slice(&checksum.to_be_bytes());
        frame.extend_from_slice(&self.src_port.to_be_bytes());
        let port: u16 = if self.has_telemetry { 4799 } else { 4791 };
        frame.extend_from_slice(&port.to_be_bytes());
        frame.extend_from_slice(&(total - 20).to_be_bytes());
        frame.extend_from_slice(&[0, 0]);
        if self.has_telemetry {
            frame.extend_from_slice(&[0; 42]);
        }
        frame.extend_from_slice(&self.sequence.to_be_bytes());
        frame.resize(self.frame_bytes, 0xA5);
        frame
    }
}

/// The frame that carries the IP packet of `inner`, an untagged frame, in a tunnel: an outer header
/// with this TOS octet and TTL, from one address to another.
pub fn in_tunnel(
    inner: &[u8],
    (tos, ttl): (u8, u8),
    (source, destination): ([u8; 4], [u8; 4]),
) -> Vec<u8> {
    let packet = &inner[14..];
    let is_v6 = packet[0] >> 4 == 6;
    let inner_bytes = if is_v6 {
        40 + u16::from_be_bytes([packet[4], packet[5]])
    } else {
        u16::from_be_bytes([packet[2], packet[3]])
    };
    let total = (inner_bytes + 20).to_be_bytes();
    let mut header = alloc::vec![0x45, tos, total[0], total[1], 0, 0, 0x40, 0, ttl];
    header.extend([if is_v6 { 41 } else { 4 }, 0, 0]);
    header.extend(source);
    header.extend(destination);
    let checksum = header_checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&checksum);
    [&inner[..12], &[0x08, 0x00], &header, packet].concat()
}

/// The sequence number that [`Udp::bytes`] put into an untagged frame.
pub fn sequence(frame: &[u8]) -> u32 {
    frame[42..46].iter().fold(0, |number, &octet| number << 8 | u32::from(octet))
}

/// RFC 791's checksum over a header whose checksum field is zero.
pub fn header_checksum(header: &[u8]) -> u16 {
    let sum: u32 =
        header.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
    let sum = (sum & 0xFFFF) + (sum >> 16);
    !u16::try_from((sum & 0xFFFF) + (sum >> 16)).expect("folded to 16 bits")
}

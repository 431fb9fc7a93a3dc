//! The invariant CRC (Annex A17.3.3): CRC-32 over what no router changes.

use crc32fast::Hasher;
use dataplane::wire::{be16, telemetry};

/// Bytes of the invariant CRC, after payload and pad.
pub(crate) const ICRC_BYTES: usize = 4;
/// Where the local route header of InfiniBand would stand, whose fields all may change.
const DUMMY_LRH: [u8; 8] = [0xFF; 8];
/// The longest IP header and UDP.
const HEADERS_BYTES_MAX: usize = 40 + 8;

/// The invariant CRC of a packet, as it stands on the wire: `packet` is what stands from the IP
/// header on until the pad. `None` if it holds no whole IP, UDP and base transport header.
pub(crate) fn icrc(packet: &[u8]) -> Option<[u8; ICRC_BYTES]> {
    let is_v6 = packet.first()? >> 4 == 6;
    let ip_bytes = if is_v6 { 40 } else { usize::from(packet[0] & 0x0F) * 4 };
    if !(20..=40).contains(&ip_bytes) {
        return None;
    }
    let headers_bytes = ip_bytes + 8;
    let mut headers = [0xFF; HEADERS_BYTES_MAX];
    headers[..headers_bytes].copy_from_slice(packet.get(..headers_bytes)?);
    // What changes on the way counts as ones: service, flow label, hops, checksums.
    let masked: &[usize] = if is_v6 { &[1, 2, 3, 7] } else { &[1, 8, 10, 11] };
    for &at in masked {
        headers[at] = 0xFF;
    }
    if is_v6 {
        headers[0] |= 0x0F;
    }
    headers[ip_bytes + 6..headers_bytes].fill(0xFF);
    // Switches write telemetry, so it is not covered.
    let has_telemetry = be16(packet, ip_bytes + 2) == Some(telemetry::UDP_PORT);
    let bth_at = headers_bytes + if has_telemetry { telemetry::BYTES } else { 0 };
    let mut bth: [u8; 12] = *packet.get(bth_at..)?.first_chunk()?;
    // FECN, BECN and reserved bits.
    bth[4] = 0xFF;
    let mut crc = Hasher::new();
    crc.update(&DUMMY_LRH);
    crc.update(&headers[..headers_bytes]);
    crc.update(&bth);
    crc.update(packet.get(bth_at + 12..)?);
    Some(crc.finalize().to_le_bytes())
}

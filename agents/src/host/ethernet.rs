//! Ethernet headers, with or without VLAN tags, for reading and for writing.

use super::interface::Interface;
use alloc::vec;
use alloc::vec::Vec;
use dataplane::l2::Vid;
use dataplane::limits::FRAME_BYTES_MIN;
use dataplane::wire::ethernet::{self, HEADER_BYTES, TAG_BYTES};
use dataplane::wire::{MacAddress, be16};
use smoltcp::wire::EthernetProtocol;

/// The PCP of frames that the switch originates, except echo replies: network control, as DSCP CS6.
const CONTROL_PCP: u8 = 6;
/// VLAN tags that are skipped, as on the packet path. The outermost gives the VLAN.
const TAGS_MAX: usize = 2;

/// A received frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming<'a> {
    pub(super) destination: MacAddress,
    pub(super) source: MacAddress,
    /// Tag control information of the outermost tag. 0 without a tag; VID 0 is no VLAN.
    pub(super) tci: u16,
    pub(super) ethertype: EthernetProtocol,
    /// The bytes behind the header and the tags, with the padding.
    pub(super) payload: &'a [u8],
}

impl<'a> Incoming<'a> {
    /// Reads `bytes`. `None` if they end before the payload, or if the source is not the address of
    /// a single station.
    pub(super) fn open(bytes: &'a [u8]) -> Option<Self> {
        let (&destination, rest) = bytes.split_first_chunk()?;
        let (&source, mut rest) = rest.split_first_chunk()?;
        let (destination, source) = (MacAddress(destination), MacAddress(source));
        if !is_station(source) {
            return None;
        }
        let mut tci = None;
        let mut ethertype = be16(rest, 0)?;
        for _ in 0..TAGS_MAX {
            if ethertype != ethernet::VLAN && ethertype != ethernet::SERVICE_VLAN {
                break;
            }
            tci = tci.or_else(|| be16(rest, 2));
            rest = rest.get(TAG_BYTES..)?;
            ethertype = be16(rest, 0)?;
        }
        Some(Self {
            destination,
            source,
            tci: tci.unwrap_or_default(),
            ethertype: ethertype.into(),
            payload: rest.get(2..)?,
        })
    }
}

/// Whether `mac` can be the address of a single station: neither a group nor all zeros.
pub(super) fn is_station(mac: MacAddress) -> bool {
    !mac.is_multicast() && mac != MacAddress::default()
}

/// The Ethernet header of a frame to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    destination: MacAddress,
    source: MacAddress,
    vlan: Option<Vid>,
    pcp: u8,
}

impl Outgoing {
    /// From `interface` to `destination`, in the VLAN of the interface, with the PCP of network
    /// control.
    pub(super) fn new(interface: &Interface, destination: MacAddress) -> Self {
        let Interface { mac: source, vlan, .. } = *interface;
        Self { destination, source, vlan, pcp: CONTROL_PCP }
    }

    /// From `interface` to the sender of `incoming`, with the PCP of `incoming`.
    pub(super) fn reply(interface: &Interface, incoming: &Incoming<'_>) -> Self {
        Self { pcp: ethernet::pcp(incoming.tci), ..Self::new(interface, incoming.source) }
    }

    /// The frame with this header. `fill` writes the payload, which is `payload_bytes` zeros at
    /// first.
    pub(super) fn frame(
        self,
        ethertype: EthernetProtocol,
        payload_bytes: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Vec<u8> {
        let tag_bytes = if self.vlan.is_some() { TAG_BYTES } else { 0 };
        let start = HEADER_BYTES + tag_bytes;
        let end = start + payload_bytes;
        // A tagged frame must have the minimum length after a switch removes the tag.
        let mut bytes = vec![0; end.max(FRAME_BYTES_MIN + tag_bytes)];
        bytes[0..6].copy_from_slice(&self.destination.0);
        bytes[6..12].copy_from_slice(&self.source.0);
        if let Some(vlan) = self.vlan {
            let tci = ethernet::with_pcp(vlan.value(), self.pcp);
            bytes[12..14].copy_from_slice(&ethernet::VLAN.to_be_bytes());
            bytes[14..16].copy_from_slice(&tci.to_be_bytes());
        }
        bytes[start - 2..start].copy_from_slice(&u16::from(ethertype).to_be_bytes());
        fill(&mut bytes[start..end]);
        bytes
    }
}

//! The headers that frames leave with, written over those that they came with.

use super::{lanes_of, of_bits};
use crate::frame::Frame;
use crate::wire::ethernet;
use wide::u32x8;

/// Octets of the two MAC addresses.
const MACS: usize = 12;

/// The Ethernet header that the frames of a pair leave with, and their outcome group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Header {
    pub(super) macs: [u8; MACS],
    pub(super) tag: [u8; ethernet::TAG_BYTES],
    pub(super) has_tag: bool,
    /// Whether the ethertype in front of the IP header has to be written.
    pub(super) has_new_type: bool,
    /// Whether an outer header comes in front of the IP header.
    pub(super) in_tunnel: bool,
    /// What the frame grows by at its front.
    pub(super) grows_bytes: i8,
    pub(super) group: u8,
}

impl Header {
    /// Makes room in front of the frames whose lanes are set. Returns those that have it.
    #[inline(never)]
    pub(super) fn grow<F: Frame>(&self, is_it: u32x8, frames: &mut [F]) -> u32x8 {
        let bytes = usize::try_from(self.grows_bytes).unwrap_or(0);
        let mut grown = 0;
        for lane in lanes_of(is_it.to_bitmask()) {
            let has_room = frames.get_mut(lane).is_some_and(|frame| frame.grow_front(bytes));
            grown |= u32::from(has_room) << lane;
        }
        of_bits(grown)
    }

    /// Writes the tag, or removes it, and the first 12 octets of the IP header. The MAC addresses
    /// stay those of the frame.
    #[inline(always)]
    pub(super) fn write_bridged<F: Frame>(&self, frame: &mut F, ip: [u32; 3]) {
        let tag = ethernet::TAG_BYTES;
        if self.grows_bytes < 0 {
            if let Some(header) = frame.head_mut().get_mut(..MACS + tag) {
                header.copy_within(..MACS, tag);
            }
            let _ = frame.shrink_front(tag);
        }
        let Some(header) = frame.head_mut().first_chunk_mut::<30>() else { return };
        if self.grows_bytes > 0 {
            header.copy_within(tag..tag + MACS, 0);
        }
        let mut l3 = ethernet::HEADER_BYTES;
        if self.has_tag {
            header[MACS..MACS + tag].copy_from_slice(&self.tag);
            l3 += tag;
        }
        write_ip(&mut header[l3..], ip);
    }

    /// Writes this header and the first 12 octets of the IP header.
    #[inline(always)]
    pub(super) fn write<F: Frame>(&self, frame: &mut F, ip: [u32; 3]) {
        if self.grows_bytes < 0 {
            let _ = frame.shrink_front(usize::from(self.grows_bytes.unsigned_abs()));
        }
        // What comes out of a tunnel is IPv4.
        let ethertype = self.has_new_type.then_some(ethernet::IPV4);
        if let Some(header) = self.write_ethernet(frame, ethertype) {
            write_ip(header, ip);
        }
    }

    /// Writes the Ethernet header, of which the ethertype of the packet may stay as it is. Returns
    /// what is behind it.
    #[inline(always)]
    pub(super) fn write_ethernet<'a, F: Frame>(
        &self,
        frame: &'a mut F,
        ethertype: Option<u16>,
    ) -> Option<&'a mut [u8]> {
        let head = frame.head_mut();
        *head.first_chunk_mut()? = self.macs;
        let mut l3 = ethernet::HEADER_BYTES;
        if self.has_tag {
            *head.get_mut(MACS..)?.first_chunk_mut()? = self.tag;
            l3 += ethernet::TAG_BYTES;
        }
        if let Some(ethertype) = ethertype {
            head.get_mut(l3 - 2..l3)?.copy_from_slice(&ethertype.to_be_bytes());
        }
        head.get_mut(l3..)
    }
}

/// Writes the MAC addresses, if they change, and the first 12 octets of the IP header of a frame
/// without a tag.
#[inline(always)]
pub(super) fn write_plain<F: Frame>(
    frame: &mut F,
    macs: Option<&[u8; MACS]>,
    [first, second, third]: [u32; 3],
) {
    if let Some(head) = frame.head_mut().first_chunk_mut::<26>() {
        if let Some(macs) = macs {
            head[..MACS].copy_from_slice(macs);
        }
        head[14..18].copy_from_slice(&first.to_le_bytes());
        head[18..22].copy_from_slice(&second.to_le_bytes());
        head[22..26].copy_from_slice(&third.to_le_bytes());
    }
}

/// Writes the first 12 octets of the IP header.
#[inline(always)]
pub(super) fn write_ip(header: &mut [u8], ip: [u32; 3]) {
    let Some(header) = header.first_chunk_mut::<12>() else { return };
    for (octets, word) in header.as_chunks_mut::<4>().0.iter_mut().zip(ip) {
        *octets = word.to_le_bytes();
    }
}

//! The headers that frames leave with, written over those that they came with.

use super::{lanes_of, of_bits};
use crate::frame::Frame;
use crate::wire::ethernet;
use wide::{u32x4, u32x8};

/// Octets of the two MAC addresses.
const MACS: usize = 12;

/// The first octets of an IP header: all that forwarding changes of IPv4 and IPv6, up to a whole
/// register.
pub(super) type IpStart = [u8; 16];

const IP_START: usize = size_of::<IpStart>();

/// The Ethernet header that the frames of a pair leave with, and their outcome group.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
pub(super) struct Header {
    /// The MAC addresses, and the tag or four octets that are 0.
    start: u32x4,
    has_tag: bool,
    /// Whether the ethertype in front of the IP header has to be written.
    pub(super) has_new_type: bool,
    /// Whether an outer header comes in front of the IP header.
    pub(super) in_tunnel: bool,
    /// What the frame grows by at its front.
    pub(super) grows_bytes: i8,
    pub(super) group: u8,
}

impl Header {
    /// With these MAC addresses, and a VLAN tag with this tag control information.
    pub(super) fn new(macs: [u8; MACS], tci: Option<u16>) -> Self {
        let [a, b, c] = bytemuck::pod_read_unaligned(&macs);
        let tag = tci.map_or([0; 2], |tci| [ethernet::VLAN, tci].map(u16::to_be));
        let start = u32x4::new([a, b, c, bytemuck::cast(tag)]);
        Self { start, has_tag: tci.is_some(), ..Self::default() }
    }

    /// Whether frames with this header and no tag are written where they came.
    pub(super) const fn is_plain(&self) -> bool {
        self.stays() && !self.has_tag
    }

    /// Whether frames with this header and a tag are written where they came.
    pub(super) const fn is_tagged(&self) -> bool {
        self.stays() && self.has_tag
    }

    const fn stays(&self) -> bool {
        self.grows_bytes == 0 && !self.in_tunnel
    }

    /// Makes room in front of the frames whose lanes are set. Returns those that have it.
    #[cold]
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

    /// Writes the MAC addresses, unless the frame is bridged, and the start of the IP header. The
    /// header [is plain](Self::is_plain).
    #[inline(always)]
    pub(super) fn write_plain<F: Frame, const IS_BRIDGED: bool>(&self, frame: &mut F, ip: IpStart) {
        const END: usize = ethernet::HEADER_BYTES + IP_START;
        const ADDRESSES: u32x4 = u32x4::new([u32::MAX, u32::MAX, u32::MAX, 0]);
        let Some(head) = frame.head_mut().first_chunk_mut::<END>() else { return };
        if !IS_BRIDGED && let Some(start) = head.first_chunk_mut::<16>() {
            // One register: two writes of 8 and 4 octets take longer.
            *start = bytemuck::cast(ADDRESSES.select(self.start, bytemuck::cast(*start)));
        }
        head[ethernet::HEADER_BYTES..].copy_from_slice(&ip);
    }

    /// Writes the MAC addresses, the tag and the start of the IP header. The header
    /// [is tagged](Self::is_tagged).
    #[inline(always)]
    pub(super) fn write_tagged<F: Frame>(&self, frame: &mut F, ip: IpStart) {
        const L3: usize = ethernet::HEADER_BYTES + ethernet::TAG_BYTES;
        let Some(head) = frame.head_mut().first_chunk_mut::<{ L3 + IP_START }>() else { return };
        head[..MACS + ethernet::TAG_BYTES].copy_from_slice(&self.octets());
        head[L3..].copy_from_slice(&ip);
    }

    #[inline(always)]
    fn octets(&self) -> [u8; MACS + ethernet::TAG_BYTES] {
        bytemuck::cast(self.start)
    }

    /// Writes the tag, or removes it, and the start of the IP header. The MAC addresses stay those
    /// of the frame.
    #[inline(always)]
    pub(super) fn write_bridged<F: Frame>(&self, frame: &mut F, ip: IpStart) {
        let tag = ethernet::TAG_BYTES;
        if self.grows_bytes < 0 {
            if let Some(header) = frame.head_mut().get_mut(..MACS + tag) {
                header.copy_within(..MACS, tag);
            }
            let _ = frame.shrink_front(tag);
        }
        const END: usize = ethernet::HEADER_BYTES + ethernet::TAG_BYTES + IP_START;
        let Some(header) = frame.head_mut().first_chunk_mut::<END>() else { return };
        if self.grows_bytes > 0 {
            header.copy_within(tag..tag + MACS, 0);
        }
        let mut l3 = ethernet::HEADER_BYTES;
        if self.has_tag {
            header[MACS..MACS + tag].copy_from_slice(&self.octets()[MACS..]);
            l3 += tag;
        }
        write_ip(&mut header[l3..], ip);
    }

    /// Writes this header and the start of the IP header.
    #[inline(always)]
    pub(super) fn write<F: Frame>(&self, frame: &mut F, ip: IpStart) {
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
        let octets = self.octets();
        let mut l3 = ethernet::HEADER_BYTES;
        if self.has_tag {
            *head.first_chunk_mut()? = octets;
            l3 += ethernet::TAG_BYTES;
        } else {
            head.get_mut(..MACS)?.copy_from_slice(&octets[..MACS]);
        }
        if let Some(ethertype) = ethertype {
            head.get_mut(l3 - 2..l3)?.copy_from_slice(&ethertype.to_be_bytes());
        }
        head.get_mut(l3..)
    }
}

/// Writes the start of the IP header.
#[inline(always)]
pub(super) fn write_ip(header: &mut [u8], ip: IpStart) {
    if let Some(start) = header.first_chunk_mut() {
        *start = ip;
    }
}

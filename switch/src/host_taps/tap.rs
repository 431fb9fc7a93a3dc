//! One TAP: frames to and from the kernel, without the VLAN tag that the port's wire has.

use crate::tap_queue::Queue;
use dataplane::wire::ethernet;
use std::io;
use std::sync::Arc;

/// Both MAC addresses.
const ADDRESSES_BYTES: usize = 12;
/// The PCP of network control, as the switch's own frames have it (IEEE 802.1Q, table I-2).
const CONTROL_PCP: u8 = 7;

/// The kernel's interface of a port.
#[derive(Debug)]
pub(super) struct Tap {
    /// Its name when it was made.
    pub(super) name: String,
    pub(super) queue: Arc<Queue>,
    /// The VLAN that the port's frames are tagged with, and the kernel's are not.
    pub(super) vlan: Option<u16>,
    pub(super) counters: TapCounters,
}

/// Frames that passed a TAP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TapCounters {
    /// To the kernel.
    pub(super) to_host_frames: u64,
    /// Not taken by the kernel: its interface is down.
    pub(super) to_host_lost_frames: u64,
    /// From the kernel.
    pub(super) from_host_frames: u64,
}

impl Tap {
    /// Gives a frame that the port received to the kernel. `scratch` is used for a copy.
    pub(super) fn deliver(&mut self, frame: &[u8], scratch: &mut Vec<u8>) {
        let frame = match untagged(frame, self.vlan) {
            Some(rest) => {
                scratch.clear();
                scratch.extend_from_slice(frame.get(..ADDRESSES_BYTES).unwrap_or_default());
                scratch.extend_from_slice(rest);
                scratch.as_slice()
            }
            None => frame,
        };
        match self.queue.write(frame) {
            Ok(_) => self.counters.to_host_frames += 1,
            Err(_) => self.counters.to_host_lost_frames += 1,
        }
    }

    /// The next frame that the kernel sends, as it is to leave by the port.
    pub(super) fn receive<'a>(&mut self, bytes: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let room = bytes.get_mut(ethernet::TAG_BYTES..).unwrap_or_default();
        let length = self.queue.read(room)?;
        self.counters.from_host_frames += 1;
        Ok(tagged(bytes, length, self.vlan))
    }
}

/// What follows the addresses of `frame` without its first VLAN tag, if it has one that says the
/// VLAN of the port, or no VLAN but a priority.
fn untagged(frame: &[u8], vlan: Option<u16>) -> Option<&[u8]> {
    let &[a, b, c, d] = frame.get(ADDRESSES_BYTES..)?.first_chunk::<{ ethernet::TAG_BYTES }>()?;
    let vid = ethernet::vid(u16::from_be_bytes([c, d]));
    let is_ours = u16::from_be_bytes([a, b]) == ethernet::VLAN && (vid == 0 || vlan == Some(vid));
    is_ours.then(|| frame.get(ADDRESSES_BYTES + ethernet::TAG_BYTES..)).flatten()
}

/// The frame of `length` that stands in `bytes` behind the room for a tag, with the tag of `vlan`.
fn tagged(bytes: &mut [u8], length: usize, vlan: Option<u16>) -> &[u8] {
    let end = ethernet::TAG_BYTES + length;
    match vlan {
        Some(vlan) if length >= ADDRESSES_BYTES => {
            bytes.copy_within(ethernet::TAG_BYTES..ethernet::TAG_BYTES + ADDRESSES_BYTES, 0);
            let tag = [ethernet::VLAN, ethernet::with_pcp(vlan, CONTROL_PCP)].map(u16::to_be_bytes);
            let at = ADDRESSES_BYTES..ADDRESSES_BYTES + ethernet::TAG_BYTES;
            if let Some(place) = bytes.get_mut(at) {
                place.copy_from_slice(tag.as_flattened());
            }
            bytes.get(..end).unwrap_or_default()
        }
        _ => bytes.get(ethernet::TAG_BYTES..end).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x08, 0x06, 0xAA, 0xBB];

    fn with_tag(tci: u16) -> Vec<u8> {
        let tag = [ethernet::VLAN, tci].map(u16::to_be_bytes);
        [&PLAIN[..12], tag.as_flattened(), &PLAIN[12..]].concat()
    }

    #[test]
    fn the_kernel_sees_neither_the_tag_of_the_port_nor_a_priority_tag() {
        for (tci, vlan) in [(7, Some(7)), (0xE007, Some(7)), (0xE000, None), (0, Some(7))] {
            let frame = with_tag(tci);
            assert_eq!(untagged(&frame, vlan), Some(&PLAIN[12..]), "{tci:#x} {vlan:?}");
        }
        for (tci, vlan) in [(7, None), (8, Some(7))] {
            assert_eq!(untagged(&with_tag(tci), vlan), None, "another VLAN stays");
        }
        assert_eq!(untagged(&PLAIN, Some(7)), None);
        assert_eq!(untagged(&PLAIN[..13], Some(7)), None);
    }

    #[test]
    fn what_the_kernel_sends_leaves_with_the_tag_of_the_port() {
        let mut bytes = [vec![0; 4], PLAIN.to_vec()].concat();
        assert_eq!(tagged(&mut bytes.clone(), PLAIN.len(), None), PLAIN);
        assert_eq!(tagged(&mut bytes, PLAIN.len(), Some(7)), with_tag(0xE007));
        let mut short = [vec![0; 4], PLAIN[..5].to_vec()].concat();
        assert_eq!(tagged(&mut short, 5, Some(7)), &PLAIN[..5], "no frame, but no panic");
    }
}

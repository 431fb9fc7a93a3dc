//! Rewrite: writes the headers of the transmitted frame.
//!
//! Reads: the offset of the IP header, the new tag, the adjacency or the egress port's VLAN
//! tagging. Writes: the frame. Counts: nothing. It runs on reception, while the headers are in the
//! cache, not on transmission.

use crate::fib::Adjacency;
use crate::frame::Frame;
use crate::wire::parse::{Kind, Parsed};
use crate::wire::{ethernet, ipv4, ipv6};

/// Sets DSCP (if `dscp` is given) and TTL of the IP header.
#[inline(always)]
pub(crate) fn ip(head: &mut [u8], parsed: &Parsed, dscp: Option<u8>, ttl: u8) {
    let tos = dscp.map_or(parsed.tos, |dscp| dscp << 2 | parsed.tos & 0b11);
    let Some(ip) = head.get_mut(usize::from(parsed.l3)..) else { return };
    match parsed.kind {
        Kind::Ipv4 => {
            if let Some(header) = ip.first_chunk_mut() {
                ipv4::set_tos_and_ttl(header, tos, ttl);
            }
        }
        Kind::Ipv6 => {
            if let Some(header) = ip.first_chunk_mut() {
                ipv6::set_class_and_hops(header, tos, ttl);
            }
        }
        _ => {}
    }
}

/// Replaces the Ethernet header and VLAN tags of a routed frame by the header of `adjacency`, with
/// or without a VLAN tag. Returns the IP header's new offset; `None` if there is no room in front
/// of the frame.
#[inline(always)]
pub(crate) fn ethernet_routed<F: Frame>(
    frame: &mut F,
    parsed: &Parsed,
    adjacency: &Adjacency,
    pcp: u8,
) -> Option<u8> {
    if usize::from(parsed.l3) == ethernet::HEADER_BYTES && adjacency.vlan.is_none() {
        frame.head_mut().first_chunk_mut::<12>()?.copy_from_slice(adjacency.macs());
        return Some(parsed.l3);
    }
    ethernet_resized(frame, parsed, adjacency, pcp)
}

#[inline(never)]
fn ethernet_resized<F: Frame>(
    frame: &mut F,
    parsed: &Parsed,
    adjacency: &Adjacency,
    pcp: u8,
) -> Option<u8> {
    let ethertype = if parsed.kind == Kind::Ipv4 { ethernet::IPV4 } else { ethernet::IPV6 };
    let l3 = ethernet_bytes(adjacency);
    resize_front(frame, usize::from(parsed.l3), l3)?;
    write_ethernet(frame.head_mut().get_mut(..l3)?, adjacency, pcp, ethertype);
    u8::try_from(l3).ok()
}

/// The same for a frame that enters a tunnel: its IP header comes behind `outer`, of IPv4. Returns
/// the offset of that.
pub(crate) fn encapsulated<F: Frame>(
    frame: &mut F,
    parsed: &Parsed,
    outer: &[u8; ipv4::HEADER_BYTES],
    adjacency: &Adjacency,
    pcp: u8,
) -> Option<u8> {
    let l3 = ethernet_bytes(adjacency);
    resize_front(frame, usize::from(parsed.l3), l3 + outer.len())?;
    let (ethernet, rest) = frame.head_mut().split_at_mut_checked(l3)?;
    write_ethernet(ethernet, adjacency, pcp, ethernet::IPV4);
    rest.get_mut(..outer.len())?.copy_from_slice(outer);
    u8::try_from(l3).ok()
}

/// Takes the outer header, of IPv4 without options, away from a frame whose inner header is at
/// `inner_l3`; a frame for which that is 0 has none. Its Ethernet header stays, with the ethertype
/// of the inner packet.
pub(crate) fn strip_outer<F: Frame>(frame: &mut F, inner_l3: u8) {
    let l3 = usize::from(inner_l3);
    let head = frame.head_mut();
    let Some(start) = l3.checked_sub(ipv4::HEADER_BYTES).filter(|_| l3 < head.len()) else {
        return;
    };
    let is_v6 = head[l3] >> 4 == 6;
    head.copy_within(..start, ipv4::HEADER_BYTES);
    let ethertype = if is_v6 { ethernet::IPV6 } else { ethernet::IPV4 };
    head[l3 - 2..l3].copy_from_slice(&ethertype.to_be_bytes());
    let is_shorter = frame.shrink_front(ipv4::HEADER_BYTES);
    debug_assert!(is_shorter, "the outer header was in the head");
}

/// Bytes of the Ethernet header in front of a frame for `adjacency`.
const fn ethernet_bytes(adjacency: &Adjacency) -> usize {
    let tag_bytes = if adjacency.vlan.is_some() { ethernet::TAG_BYTES } else { 0 };
    ethernet::HEADER_BYTES + tag_bytes
}

/// Writes the Ethernet header of a frame for `adjacency`, as long as [`ethernet_bytes`] says.
fn write_ethernet(header: &mut [u8], adjacency: &Adjacency, pcp: u8, ethertype: u16) {
    header[..12].copy_from_slice(adjacency.macs());
    if let Some(vlan) = adjacency.vlan {
        header[12..14].copy_from_slice(&ethernet::VLAN.to_be_bytes());
        header[14..16].copy_from_slice(&ethernet::with_pcp(vlan.value(), pcp).to_be_bytes());
    }
    let end = header.len();
    header[end - 2..].copy_from_slice(&ethertype.to_be_bytes());
}

/// Tags or untags a bridged frame for its egress port: `Some(tci)` tagged, `None` untagged. Only
/// the outermost tag changes. Returns the change of the frame's length in bytes, or `None` if there
/// is no room.
pub(crate) fn vlan_form<F: Frame>(frame: &mut F, parsed: &Parsed, tci: Option<u16>) -> Option<i8> {
    const MACS: usize = 12;
    let tag = ethernet::TAG_BYTES;
    match (parsed.is_tagged(), tci) {
        (false, None) => Some(0),
        (true, Some(tci)) => {
            frame.head_mut().get_mut(MACS + 2..MACS + 4)?.copy_from_slice(&tci.to_be_bytes());
            Some(0)
        }
        (false, Some(tci)) => {
            if !frame.grow_front(tag) {
                return None;
            }
            let header = frame.head_mut().get_mut(..MACS + 2 * tag)?;
            header.copy_within(tag..tag + MACS, 0);
            header[MACS..MACS + 2].copy_from_slice(&ethernet::VLAN.to_be_bytes());
            header[MACS + 2..MACS + 4].copy_from_slice(&tci.to_be_bytes());
            Some(4)
        }
        (true, None) => {
            frame.head_mut().get_mut(..MACS + tag)?.copy_within(..MACS, tag);
            frame.shrink_front(tag).then_some(-4)
        }
    }
}

/// Moves the start of the frame so that the byte at offset `from` is at offset `to`.
fn resize_front<F: Frame>(frame: &mut F, from: usize, to: usize) -> Option<()> {
    let done = match from.cmp(&to) {
        core::cmp::Ordering::Less => frame.grow_front(to - from),
        core::cmp::Ordering::Equal => true,
        core::cmp::Ordering::Greater => frame.shrink_front(from - to),
    };
    done.then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PortId;
    use crate::l2::Vid;
    use crate::testing::TestFrame;
    use crate::wire::MacAddress;
    use crate::wire::parse::parse;
    use std::vec::Vec;

    fn frame(tags: &[u16]) -> TestFrame {
        let mut bytes: Vec<u8> = (1..=12).collect();
        for tci in tags {
            bytes.extend(ethernet::VLAN.to_be_bytes());
            bytes.extend(tci.to_be_bytes());
        }
        bytes.extend(ethernet::IPV6.to_be_bytes());
        bytes.extend([0x60, 0, 0, 0, 0, 0, 17, 64]);
        bytes.resize(bytes.len() + 32, 0xAB);
        TestFrame::new(&bytes)
    }

    fn adjacency(vlan: Option<u16>) -> Adjacency {
        let (dst, src) = (MacAddress([0xD; 6]), MacAddress([0x5; 6]));
        Adjacency::new(PortId::default(), vlan.and_then(Vid::new), 1514, dst, src)
    }

    #[test]
    fn a_routed_frame_takes_the_form_of_its_egress_whatever_it_came_with() {
        for tags in [&[][..], &[0x2005], &[0x2005, 0x4006]] {
            for vlan in [None, Some(77)] {
                let mut frame = frame(tags);
                let parsed = parse(frame.head(), frame.len());
                let l3 = ethernet_routed(&mut frame, &parsed, &adjacency(vlan), 3).unwrap();
                let after = parse(frame.head(), frame.len());
                assert_eq!((after.kind, after.l3, after.ttl), (Kind::Ipv6, l3, 64));
                assert_eq!(frame.head()[..12], [[0xD; 6], [0x5; 6]].concat());
                assert_eq!(frame.len(), usize::from(l3) + 40);
                assert_eq!(after.is_tagged().then_some(after.tci), vlan.map(|vid| 3 << 13 | vid));
            }
        }
    }

    #[test]
    fn a_bridged_frame_gains_changes_or_loses_only_its_outer_tag() {
        for (tags, tci, expected, moved) in [
            (&[][..], None, &[][..], 0),
            (&[], Some(0x6005), &[0x6005], 4),
            (&[0x0005], Some(0x6005), &[0x6005], 0),
            (&[0x0005], None, &[], -4),
            (&[0x0005, 0x0007], None, &[0x0007], -4),
        ] {
            let mut bridged = frame(tags);
            let parsed = parse(bridged.head(), bridged.len());
            assert_eq!(vlan_form(&mut bridged, &parsed, tci), Some(moved));
            assert_eq!(bridged.head(), frame(expected).head(), "{tags:04x?} to {expected:04x?}");
        }
    }

    #[test]
    fn without_room_in_front_the_answer_is_none() {
        let mut tight = frame(&[]);
        while tight.grow_front(1) {}
        let front = tight.len() - frame(&[]).len();
        assert!(front > 0);
        tight.head_mut().copy_within(front.., 0);
        let parsed = parse(tight.head(), tight.len());
        assert_eq!(vlan_form(&mut tight, &parsed, Some(5)), None);
        assert_eq!(ethernet_routed(&mut tight, &parsed, &adjacency(Some(5)), 0), None);
    }
}

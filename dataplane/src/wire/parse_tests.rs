//! Tests of the parser: one golden a kind, every cut of each, and arbitrary bytes.

use super::*;
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

fn ethernet(tags: &[u16], ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    for tci in tags {
        frame.extend(ethernet::VLAN.to_be_bytes());
        frame.extend(tci.to_be_bytes());
    }
    frame.extend(ethertype.to_be_bytes());
    frame.extend(payload);
    frame
}

/// An IPv4 header of `words` words, with a checksum that holds, and a UDP header.
fn ipv4_udp(words: u8, fragment: u16) -> Vec<u8> {
    let mut ip = vec![0x40 | words, 0x68, 0, words * 4 + 8, 0, 1, 0, 0, 64, 17, 0, 0];
    ip[6..8].copy_from_slice(&fragment.to_be_bytes());
    ip.extend([10, 0, 0, 1, 10, 0, 1, 2]);
    ip.resize(usize::from(words) * 4, 1);
    let sum: u32 = ip.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
    let sum = !u16::try_from((sum & 0xFFFF) + (sum >> 16)).unwrap();
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip.extend([0xC0, 0x01, 0x12, 0xB7, 0, 8, 0, 0]);
    ip
}

fn ipv6_udp() -> Vec<u8> {
    let mut ip = vec![0x66, 0x8F, 0xFF, 0xFF, 0, 8, 17, 3];
    ip.resize(40, 9);
    ip.extend([0xC0, 0x01, 0x12, 0xB7, 0, 8, 0, 0]);
    ip
}

#[test]
fn ipv4_with_and_without_options_and_tags() {
    for (tags, l3) in [(&[][..], 14), (&[0x6005], 18), (&[0x6005, 0x2006], 22)] {
        for words in [5, 6, 15] {
            let frame = ethernet(tags, ethernet::IPV4, &ipv4_udp(words, 0));
            let parsed = parse(&frame, frame.len());
            let tci = tags.first().copied().unwrap_or(NO_TAG);
            assert_eq!(parsed, Parsed { kind: Kind::Ipv4, l3, tos: 0x68, ttl: 64, tci });
            let ports = flow_ports(&frame, parsed.kind, usize::from(l3));
            assert_eq!(ports, FlowPorts { protocol: 17, ports: (0xC001, 4791) });
        }
    }
}

#[test]
fn ipv6_class_and_hops() {
    let frame = ethernet(&[], ethernet::IPV6, &ipv6_udp());
    let parsed = parse(&frame, frame.len());
    assert_eq!(parsed, Parsed { kind: Kind::Ipv6, l3: 14, tos: 0x68, ttl: 3, tci: NO_TAG });
    let ports = flow_ports(&frame, parsed.kind, 14);
    assert_eq!(ports, FlowPorts { protocol: 17, ports: (0xC001, 4791) });
}

#[test]
fn fragments_hash_alike_whether_they_show_ports_or_not() {
    for fragment in [0x2000, 0x2001, 0x00B9] {
        let frame = ethernet(&[], ethernet::IPV4, &ipv4_udp(5, fragment));
        let ports = flow_ports(&frame, Kind::Ipv4, 14);
        assert_eq!(ports, FlowPorts { protocol: 17, ports: (0, 0) }, "{fragment:04x}");
    }
    let frame = ethernet(&[], ethernet::IPV4, &ipv4_udp(5, 0x4000));
    assert_eq!(flow_ports(&frame, Kind::Ipv4, 14).ports.0, 0xC001, "don't-fragment is no fragment");
}

#[test]
fn each_contradiction_has_its_reason() {
    let good = ethernet(&[], ethernet::IPV4, &ipv4_udp(5, 0));
    let broken = |at: usize, value: u8| {
        let mut frame = good.clone();
        frame[at] = value;
        parse(&frame, frame.len()).kind
    };
    assert_eq!(broken(14, 0x55), Kind::Bad(DropReason::BadHeader), "version 5");
    assert_eq!(broken(14, 0x44), Kind::Bad(DropReason::BadHeader), "header of 16 bytes");
    assert_eq!(broken(17, 19), Kind::Bad(DropReason::BadHeader), "total below header");
    assert_eq!(broken(17, 200), Kind::Bad(DropReason::Truncated), "total beyond frame");
    assert_eq!(broken(22, 63), Kind::Bad(DropReason::BadChecksum), "checksum");
    let mut v6 = ethernet(&[], ethernet::IPV6, &ipv6_udp());
    v6[14] = 0x50;
    assert_eq!(parse(&v6, v6.len()).kind, Kind::Bad(DropReason::BadHeader), "version 5");
}

#[test]
fn other_ethertypes() {
    for (ethertype, kind) in [
        (ethernet::ARP, Kind::Arp),
        (ethernet::MAC_CONTROL, Kind::MacControl),
        (ethernet::LLDP, Kind::Lldp),
        (0x0100, Kind::Other),
    ] {
        let frame = ethernet(&[], ethertype, &[0; 46]);
        assert_eq!(parse(&frame, frame.len()).kind, kind, "{ethertype:04x}");
    }
    let triple = ethernet(&[1, 2, 3], ethernet::IPV4, &ipv4_udp(5, 0));
    assert_eq!(parse(&triple, triple.len()).kind, Kind::Other, "a third tag is not looked through");
}

#[test]
fn the_reserved_vid_with_all_bits_set_still_counts_as_a_tag() {
    let frame = ethernet(&[0xFFFF], ethernet::IPV4, &ipv4_udp(5, 0));
    let parsed = parse(&frame, frame.len());
    assert!(parsed.is_tagged());
    assert_eq!(ethernet::vid(parsed.tci), 0xFFF);
}

#[test]
fn every_cut_of_every_kind_is_truncated_or_complete() {
    for whole in [
        ethernet(&[5, 6], ethernet::IPV4, &ipv4_udp(15, 0)),
        ethernet(&[5], ethernet::IPV6, &ipv6_udp()),
    ] {
        for length in 0..whole.len() {
            let kind = parse(&whole[..length], length).kind;
            assert_eq!(kind, Kind::Bad(DropReason::Truncated), "{length} bytes");
        }
    }
}

#[test]
fn a_frame_in_pieces_counts_its_whole_length() {
    let mut whole = ethernet(&[], ethernet::IPV4, &ipv4_udp(5, 0));
    whole[16..18].copy_from_slice(&9000_u16.to_be_bytes());
    whole[24..26].copy_from_slice(&[0, 0]);
    let sum: u32 =
        whole[14..34].chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
    let sum = !u16::try_from((sum & 0xFFFF) + (sum >> 16)).unwrap();
    whole[24..26].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(parse(&whole, 9014).kind, Kind::Ipv4);
    assert_eq!(parse(&whole, 9013).kind, Kind::Bad(DropReason::Truncated));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_and_offsets_stay_inside(
        bytes in proptest::collection::vec(any::<u8>(), 0..120), more in 0_usize..9000,
        ethertype in prop::sample::select(vec![0x0800_u16, 0x86DD, 0x8100, 0x88A8, 0x8808, 0x0806]),
    ) {
        let mut bytes = bytes;
        if bytes.len() >= 14 {
            bytes[12..14].copy_from_slice(&ethertype.to_be_bytes());
        }
        let parsed = parse(&bytes, bytes.len() + more);
        if let Kind::Ipv4 | Kind::Ipv6 = parsed.kind {
            prop_assert!(usize::from(parsed.l3) + 20 <= bytes.len());
        }
        flow_ports(&bytes, parsed.kind, usize::from(parsed.l3));
    }
}

//! What each kind of frame is classified as, and how its policers behave.

use super::*;
use std::vec::Vec;

fn frame(to: [u8; 6], ethertype: u16, rest: &[u8]) -> Vec<u8> {
    let mut bytes = [&to[..], &[2, 0, 0, 0, 0, 9], &ethertype.to_be_bytes(), rest].concat();
    bytes.resize(bytes.len().max(60), 0);
    bytes
}

const UNICAST: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// An IPv4 packet without options, with these first bytes behind its header.
fn ipv4(protocol: u8, ttl: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(20 + payload.len()).unwrap().to_be_bytes();
    let mut header =
        [0x45, 0, length[0], length[1], 0, 0, 0, 0, ttl, protocol, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
    let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let sum = !u16::try_from((sum & 0xFFFF) + (sum >> 16)).unwrap();
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [&header[..], payload].concat()
}

fn ipv6(next: u8, hop_limit: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [0x60, 0, 0, 0, length[0], length[1], next, hop_limit];
    [&head[..], &[0xFE; 32], payload].concat()
}

/// The two ports of TCP or UDP, and what follows.
fn ports(source: u16, destination: u16) -> Vec<u8> {
    [&source.to_be_bytes()[..], &destination.to_be_bytes(), &[0; 16]].concat()
}

#[test]
fn each_protocol_has_its_class() {
    use HostClass::{ArpNd, Bfd, Bgp, Icmp, Isis, Lldp, Local, Ospf, Other};
    let group = [0x01, 0x00, 0x5E, 0, 0, 5];
    let cases = [
        (ArpNd, "arp", frame([0xFF; 6], 0x0806, &[0; 28])),
        (ArpNd, "solicitation", frame([0x33; 6], 0x86DD, &ipv6(58, 255, &[135; 24]))),
        (ArpNd, "router advertisement", frame([0x33; 6], 0x86DD, &ipv6(58, 255, &[134; 24]))),
        (Icmp, "echo v6", frame(UNICAST, 0x86DD, &ipv6(58, 64, &[128; 24]))),
        (Icmp, "echo v4", frame(UNICAST, 0x0800, &ipv4(1, 64, &[8; 8]))),
        (Local, "58 in IPv4 is nothing", frame(UNICAST, 0x0800, &ipv4(58, 64, &[135; 8]))),
        (Bgp, "to the server", frame(UNICAST, 0x0800, &ipv4(6, 1, &ports(40_000, 179)))),
        (Bgp, "from the server", frame(UNICAST, 0x86DD, &ipv6(6, 1, &ports(179, 40_000)))),
        (Local, "ssh", frame(UNICAST, 0x0800, &ipv4(6, 64, &ports(40_000, 22)))),
        (Local, "179 of UDP", frame(UNICAST, 0x0800, &ipv4(17, 64, &ports(179, 179)))),
        (Bfd, "control", frame(UNICAST, 0x0800, &ipv4(17, 255, &ports(50_000, 3784)))),
        (Bfd, "echo", frame(UNICAST, 0x86DD, &ipv6(17, 255, &ports(50_000, 3785)))),
        (Local, "routed", frame(UNICAST, 0x0800, &ipv4(17, 254, &ports(50_000, 3784)))),
        (Bfd, "multihop", frame(UNICAST, 0x0800, &ipv4(17, 60, &ports(50_000, 4784)))),
        (Ospf, "hello", frame(group, 0x0800, &ipv4(89, 1, &[0; 24]))),
        (Ospf, "hello v3", frame([0x33; 6], 0x86DD, &ipv6(89, 1, &[0; 24]))),
        (Other, "mdns", frame(group, 0x0800, &ipv4(17, 255, &ports(5_353, 5_353)))),
        (Isis, "level 1", frame([1, 0x80, 0xC2, 0, 0, 0x14], 100, &[0xFE, 0xFE, 3])),
        (Isis, "over point-to-point", frame([9, 0, 0x2B, 0, 0, 5], 100, &[0xFE, 0xFE, 3])),
        (Other, "lacp", frame([1, 0x80, 0xC2, 0, 0, 2], 0x8809, &[1])),
        (Lldp, "lldp", frame([1, 0x80, 0xC2, 0, 0, 14], 0x88CC, &[2, 7])),
    ];
    for (class, name, bytes) in cases {
        assert_eq!(HostClass::of(PuntReason::Host, &bytes, bytes.len()), class, "{name}");
        let tagged = [&bytes[..12], &[0x81, 0, 0, 7], &bytes[12..]].concat();
        assert_eq!(
            HostClass::of(PuntReason::ForUs, &tagged, tagged.len()),
            class,
            "{name}, tagged"
        );
        let exception = HostClass::of(PuntReason::TtlExpired, &bytes, bytes.len());
        assert_eq!(exception, HostClass::Exception, "{name}");
        for end in 0..bytes.len() {
            let _no_panic = HostClass::of(PuntReason::ForUs, &bytes[..end], bytes.len());
        }
    }
}

#[test]
fn a_class_or_a_queue_that_floods_spends_its_own_share() {
    let rate = PoliceRate { per_second: 1_000, burst: 10 };
    let mut policers = HostPolicers::new(&[rate; HostClass::COUNT], 2);
    let now = Instant::from_ns(5);
    let mut passed = |slot, class, free| {
        (0..1_000_000).filter(|_| policers.admits(slot, class, free, now)).count()
    };
    assert_eq!(passed(0, HostClass::Local, PUNT_FRAMES), 10);
    assert_eq!(passed(0, HostClass::Bfd, PUNT_FRAMES), 10, "another class");
    assert_eq!(passed(1, HostClass::Local, PUNT_FRAMES), 10, "another receive queue");
}

/// Beside the ring stands a list that names the holder of each place.
#[test]
fn classes_that_fill_the_ring_leave_places_to_the_others() {
    let rate = PoliceRate { per_second: u32::MAX, burst: u32::MAX };
    let mut policers = HostPolicers::new(&[rate; HostClass::COUNT], 2);
    let mut ring: VecDeque<(usize, HostClass)> = VecDeque::new();
    let mut put = |ring: &mut VecDeque<_>, holder: (usize, HostClass)| {
        let (slot, class) = holder;
        let free = PUNT_FRAMES - ring.len();
        let held = ring.iter().filter(|&&other| other == holder).count();
        let is_admitted = policers.admits(slot, class, free, Instant::from_ns(5));
        assert_eq!(is_admitted, held < free * class.places_per_free(), "{holder:?} of {free}");
        if is_admitted {
            policers.pass(slot, class);
            ring.push_back(holder);
        }
        is_admitted
    };
    let floods = [HostClass::Local, HostClass::Exception, HostClass::Other, HostClass::Bgp];
    for round in 0..100 {
        for class in floods {
            while put(&mut ring, (0, class)) {}
        }
        // Its other classes, and then all classes of another queue.
        for &class in HostClass::ALL.iter().filter(|class| !floods.contains(class)) {
            assert!(put(&mut ring, (0, class)), "{class:?}");
        }
        for &class in HostClass::ALL {
            assert!(put(&mut ring, (1, class)), "{class:?} of another queue");
        }
        // The control thread takes some: at the least four times what the others send.
        ring.drain(..ring.len().min(64 + round * 7 % 200));
    }
}

#[test]
fn every_class_has_a_place_and_a_name_of_its_own() {
    for (index, &class) in HostClass::ALL.iter().enumerate() {
        assert_eq!(class as usize, index);
    }
    assert_eq!(HostClass::ALL.first().map(|class| class.name()), Some("arp_nd"));
}

//! ARP: which requests are answered, and which updates are accepted.

use super::*;
use ArpOperation::{Reply, Request};

const ALL: MacAddress = MacAddress::BROADCAST;

#[test]
fn only_requests_for_an_address_of_the_same_port_are_answered() {
    for target in ["10.0.2.1", "10.0.1.2", "10.0.1.255", "10.9.9.9"] {
        let mut bench = Bench::new();
        let request = arp(Request, (HOST, "10.0.1.9"), target, ALL);
        assert_eq!(bench.receive(1, &request), (Outcome::NotForUs, vec![]), "{target}");
        assert_eq!(bench.counted(), [("not_for_us", 1)]);
        assert_eq!(
            bench.state(at(1, "10.0.1.9")),
            None,
            "a request for another address adds no neighbor"
        );
    }
}

#[test]
fn a_request_for_our_address_adds_the_sender() {
    let mut bench = Bench::new();
    let request = arp(Request, (HOST, "10.0.1.9"), "10.0.1.1", ALL);
    let (outcome, outputs) = bench.receive(1, &request);
    assert_eq!(outcome, Outcome::ArpAnswered);
    let up = Output::NeighborUp { neighbor: at(1, "10.0.1.9"), mac: HOST };
    assert_eq!((&outputs[0], sent(&outputs).len(), outputs.len()), (&up, 1, 2));
    assert_eq!(bench.counted(), [("arp_answered", 1), ("neighbors_up", 1)]);

    let again = bench.receive(1, &request);
    assert_eq!((again.0, again.1.len()), (Outcome::ArpAnswered, 1), "nothing new but the answer");
    assert_eq!(bench.counted(), [("arp_answered", 1)]);
}

#[test]
fn a_sender_from_another_link_is_answered_and_not_learned() {
    let mut bench = Bench::new();
    let request = arp(Request, (HOST, "192.0.2.5"), "10.0.1.1", ALL);
    assert_eq!(bench.receive(1, &request).0, Outcome::ArpAnswered);
    assert_eq!(bench.agent.neighbors(bench.now).count(), 0);
    assert_eq!(bench.counted(), [("arp_answered", 1)]);
}

#[test]
fn a_claim_of_our_address_is_refused() {
    let claims = [
        arp(Reply, (HOST, "10.0.1.1"), "10.0.1.9", ALL),
        arp(Request, (HOST, "10.0.1.1"), "10.0.1.1", ALL),
        arp(Request, (HOST, "10.0.1.1"), "10.0.1.9", ALL),
        arp(Reply, (HOST, "10.0.2.1"), "10.0.1.1", ours(1)),
    ];
    for (index, update) in claims.into_iter().enumerate() {
        let mut bench = Bench::new();
        assert_eq!(bench.receive(1, &update), (Outcome::Spoofed, vec![]), "{index}");
        assert_eq!(bench.counted(), [("spoofed", 1)]);
        assert_eq!(bench.agent.neighbors(bench.now).count(), 0);
    }
}

#[test]
fn a_claim_of_our_mac_address_is_refused() {
    let mut bench = Bench::new();
    introduce(&mut bench, 1);
    bench.counted();
    let mut update = arp(Reply, (ours(1), "10.0.1.9"), "10.0.1.1", ours(1));
    assert_eq!(bench.receive(1, &update), (Outcome::Spoofed, vec![]), "a loop, or a forger");
    update[6..12].copy_from_slice(&OTHER.0);
    assert_eq!(bench.receive(1, &update), (Outcome::Spoofed, vec![]), "in the ARP header only");
    assert_eq!(bench.counted(), [("spoofed", 2)]);
    assert_eq!(bench.state(at(1, "10.0.1.9")), Some((NeighborState::Stale, Some(HOST))));
}

#[test]
fn replies_without_a_request_are_ignored() {
    let mut bench = Bench::new();
    for update in [
        arp(Reply, (HOST, "10.0.1.9"), "10.0.1.1", ours(1)),
        arp(Reply, (HOST, "10.0.1.9"), "10.0.1.9", ALL),
    ] {
        assert_eq!(bench.receive(1, &update), (Outcome::Unsolicited, vec![]));
    }
    assert_eq!(bench.counted(), [("unsolicited", 2)]);
    assert_eq!(bench.agent.neighbors(bench.now).count(), 0);
}

#[test]
fn a_new_mac_address_of_a_neighbor_takes_effect_at_once() {
    let moves = [
        arp(Request, (OTHER, "10.0.1.9"), "10.0.1.9", ALL),
        arp(Reply, (OTHER, "10.0.1.9"), "10.0.1.9", ALL),
        arp(Request, (OTHER, "10.0.1.9"), "10.0.1.77", ALL),
        arp(Reply, (OTHER, "10.0.1.9"), "10.0.1.1", ours(1)),
    ];
    for (index, frame) in moves.into_iter().enumerate() {
        let mut bench = Bench::new();
        introduce(&mut bench, 1);
        bench.counted();
        let up = Output::NeighborUp { neighbor: at(1, "10.0.1.9"), mac: OTHER };
        assert_eq!(bench.receive(1, &frame), (Outcome::NeighborHeard, vec![up]), "{index}");
        assert_eq!(bench.counted(), [("neighbor_heard", 1), ("neighbors_moved", 1)]);
    }
}

#[test]
fn a_neighbor_of_one_port_is_not_one_of_another() {
    let mut bench = Bench::new();
    introduce(&mut bench, 1);
    bench.counted();
    let elsewhere = arp(Request, (OTHER, "10.0.1.9"), "10.0.1.9", ALL);
    assert_eq!(bench.receive(2, &elsewhere), (Outcome::NotForUs, vec![]));
    assert_eq!(bench.state(at(1, "10.0.1.9")), Some((NeighborState::Stale, Some(HOST))));
}

#[test]
fn malformed_packets_are_counted_and_dropped() {
    let sound = arp(Request, (HOST, "10.0.1.9"), "10.0.1.1", ALL);
    let with = |at: usize, byte: u8| {
        let mut frame = sound.clone();
        frame[at] = byte;
        frame
    };
    let cases = [
        ("cut short", sound[..41].to_vec(), Outcome::Malformed),
        ("no header", sound[..13].to_vec(), Outcome::Malformed),
        ("no bytes", vec![], Outcome::Malformed),
        ("hardware that is not Ethernet", with(15, 6), Outcome::Malformed),
        ("a protocol that is not IPv4", with(16, 0x86), Outcome::Malformed),
        ("hardware addresses of 255 bytes", with(18, 255), Outcome::Malformed),
        ("an unknown operation", with(21, 9), Outcome::Unsupported),
        ("a group as sender", with(22, 3), Outcome::Malformed),
        ("a group as source", with(6, 3), Outcome::Malformed),
        ("a multicast sender address", with(28, 224), Outcome::Malformed),
        ("the broadcast address as sender", with(31, 255), Outcome::Malformed),
        ("for another station", with(0, 2), Outcome::NotForUs),
    ];
    for (name, frame, expected) in cases {
        let mut bench = Bench::new();
        assert_eq!(bench.receive(1, &frame), (expected, vec![]), "{name}");
        assert_eq!(bench.counted(), [(expected.name(), 1)], "{name}");
    }
}

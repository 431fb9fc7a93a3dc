//! Frames on the wire, compared byte for byte with those of another implementation.

use super::golden::*;
use super::*;
use PuntReason::{ForUs, NoRoute, TooBig, TtlExpired};

pub(super) fn bytes(hex: &str) -> Vec<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| digit(&pair[0]).unwrap() << 4 | digit(&pair[1]).unwrap()).collect()
}

#[test]
fn requests_are_answered_as_scapy_does() {
    let cases = [
        ("ARP", 1, ForUs, ARP_REQUEST, ARP_REPLY),
        ("ARP in a VLAN", 3, ForUs, ARP_REQUEST_VLAN, ARP_REPLY_VLAN),
        ("ARP with a priority tag", 1, ForUs, ARP_REQUEST_PRIORITY, ARP_REPLY),
        ("ARP probe", 1, ForUs, ARP_PROBE, ARP_PROBE_REPLY),
        ("solicitation", 1, ForUs, SOLICITATION, ADVERTISEMENT),
        ("link-local", 1, ForUs, SOLICITATION_LINK_LOCAL, ADVERTISEMENT_LINK_LOCAL),
        ("duplicate check", 1, ForUs, DUPLICATE_CHECK, ADVERTISEMENT_TO_ALL),
        ("ping", 1, ForUs, PING, PONG),
        ("ping of another port's address", 1, ForUs, PING6, PONG6),
        ("ping in a VLAN", 3, ForUs, PING_VLAN, PONG_VLAN),
        ("ping with the last TTL", 1, TtlExpired, PING, PONG),
        ("traceroute", 1, TtlExpired, TRACEROUTE, TIME_EXCEEDED),
        ("traceroute -6", 1, TtlExpired, TRACEROUTE6, TIME_EXCEEDED6),
        ("traceroute to us", 1, ForUs, UDP_TO_US, PORT_UNREACHABLE),
        ("traceroute -6 to us", 1, ForUs, UDP6_TO_US, PORT_UNREACHABLE6),
        ("no route", 1, NoRoute, TCP_SYN, NET_UNREACHABLE),
        ("no route, IPv6", 1, NoRoute, TCP_SYN6, NO_ROUTE6),
        ("too big", 1, TooBig, TCP_SYN, FRAGMENTATION_NEEDED),
        ("too big, IPv6", 1, TooBig, TCP_SYN6, PACKET_TOO_BIG6),
    ];
    for (name, number, reason, question, answer) in cases {
        let mut bench = Bench::new();
        let next_hop = (reason == TooBig).then(|| at(2, "10.0.2.9"));
        let (_, outputs) = bench.punt(number, reason, &bytes(question), next_hop);
        assert_eq!(sent(&outputs), [(number, &bytes(answer)[..])], "{name}");
    }
}

#[test]
fn requests_are_sent_as_scapy_does() {
    for (target, frame, question, answer, probe) in [
        ("10.0.2.9", TCP_SYN, ARP_OUR_REQUEST, ARP_HOST_REPLY, ARP_OUR_PROBE),
        ("2001:db8:2::9", TCP_SYN6, OUR_SOLICITATION, HOST_ADVERTISEMENT, OUR_PROBE),
    ] {
        let mut bench = Bench::new();
        let (pending, outputs) = bench.unresolved(&bytes(frame), at(2, target));
        assert_eq!((pending, sent(&outputs)), (Outcome::Pending, vec![(2, &bytes(question)[..])]));

        let up = Output::NeighborUp { neighbor: at(2, target), mac: HOST };
        let released = Output::Release { port: port(1), frame: bytes(frame) };
        let received = bench.receive(2, &bytes(answer));
        assert_eq!(received, (Outcome::NeighborHeard, vec![up, released]), "{target}");

        let probed = Output::Send { port: port(2), frame: bytes(probe) };
        assert_eq!(bench.wait(60), [(60, probed)], "{target}");
    }
}

#[test]
fn unreachable_hosts_are_reported_as_scapy_does() {
    for (target, frame, report) in
        [("10.0.2.9", TCP_SYN, HOST_UNREACHABLE), ("2001:db8:2::9", TCP_SYN6, ADDRESS_UNREACHABLE6)]
    {
        let mut bench = Bench::new();
        bench.unresolved(&bytes(frame), at(2, target));
        let last = bench.wait(3).pop();
        assert_eq!(
            last,
            Some((3, Output::Send { port: port(1), frame: bytes(report) })),
            "{target}"
        );
    }
}

#[test]
fn a_new_agent_announces_each_address_once() {
    let mut agent = HostAgent::new(interfaces(), AgentSettings::default());
    let outputs: Vec<_> = core::iter::from_fn(|| agent.poll_output()).collect();
    let first_port = [ARP_ANNOUNCEMENT, ADVERTISEMENT_TO_ALL].map(bytes);
    assert_eq!(sent(&outputs)[..2], [(1, &first_port[0][..]), (1, &first_port[1][..])]);
    let ports: Vec<_> = sent(&outputs).into_iter().map(|(number, _)| number).collect();
    assert_eq!(ports, [1, 1, 1, 2, 2, 2, 3, 3, 3], "IPv4, IPv6 and link-local each");
    assert_eq!(agent.counters().announcements_sent, 9);
}

#[test]
fn vlans_are_kept_apart_as_the_packet_path_does() {
    let untagged = bytes(ARP_REQUEST);
    let service_tagged = |tci| {
        let mut frame = tagged(&untagged, tci);
        frame[12..14].copy_from_slice(&[0x88, 0xA8]);
        frame
    };
    let cases = [
        ("a priority", tagged(&untagged, 0xE000), Outcome::ArpAnswered),
        ("a priority twice", tagged(&tagged(&untagged, 0), 0xE000), Outcome::ArpAnswered),
        ("a service tag with a priority", service_tagged(0xE000), Outcome::ArpAnswered),
        ("another VLAN", tagged(&untagged, 7), Outcome::NoInterface),
        ("another VLAN behind a tag", tagged(&tagged(&untagged, 0), 7), Outcome::NoInterface),
        ("the reserved VLAN", tagged(&untagged, 0xFFFF), Outcome::NoInterface),
        ("three tags", tagged(&tagged(&tagged(&untagged, 0), 0), 0), Outcome::Unsupported),
        (
            "half a tag",
            untagged[..12].iter().copied().chain([0x81, 0, 0]).collect(),
            Outcome::Malformed,
        ),
    ];
    for (name, frame, expected) in cases {
        assert_eq!(Bench::new().receive(1, &frame).0, expected, "{name}");
    }
    assert_eq!(Bench::new().receive(4, &untagged).0, Outcome::NoInterface);

    // Port 3 sends in VLAN 7 only, and accepts frames without the tag.
    let mut to_port_3 = bytes(ARP_REQUEST_VLAN);
    to_port_3.drain(12..16);
    let (_, outputs) = Bench::new().receive(3, &to_port_3);
    assert_eq!(sent(&outputs), [(3, &bytes(ARP_REPLY_VLAN)[..])]);
}

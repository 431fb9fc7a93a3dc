//! ICMP: what an error quotes, when none is sent, and the rate limit.

use super::*;
use crate::host::NextHop;
use smoltcp::wire::{Icmpv4Packet, Icmpv4Repr, Icmpv6DstUnreachable, NdiscRepr};

const TO_US: (MacAddress, MacAddress) = (HOST, MacAddress([0x02, 0, 0, 0, 1, 1]));
const FAR: &str = "198.51.100.7";
const FAR6: &str = "2001:db8:ffff::7";

fn addresses(source: &str, destination: &str) -> (IpAddr, IpAddr) {
    (source.parse().unwrap(), destination.parse().unwrap())
}

fn icmp4(source: &str, destination: &str, message: &[u8]) -> Vec<u8> {
    let mut bytes = message.to_vec();
    Icmpv4Packet::new_unchecked(&mut bytes[..]).fill_checksum();
    ip(TO_US, addresses(source, destination), (IpProtocol::Icmp, 64), &bytes)
}

fn echo4(destination: &str, data_bytes: usize) -> Vec<u8> {
    let data = vec![0x5A; data_bytes];
    let repr = Icmpv4Repr::EchoRequest { ident: 1, seq_no: 2, data: &data };
    let mut bytes = vec![0; repr.buffer_len()];
    let mut message = Icmpv4Packet::new_unchecked(&mut bytes[..]);
    repr.emit(&mut message, &ChecksumCapabilities::default());
    ip(TO_US, addresses("10.0.1.9", destination), (IpProtocol::Icmp, 64), &bytes)
}

fn echo6(destination: &str, data_bytes: usize) -> Vec<u8> {
    let data = vec![0x5A; data_bytes];
    let repr = Icmpv6Repr::EchoRequest { ident: 1, seq_no: 2, data: &data };
    icmp6(TO_US, (v6("2001:db8:1::9"), v6(destination)), 64, &repr)
}

/// Sets flags and offset in the IPv4 header of a frame.
fn fragmented(mut frame: Vec<u8>, flags_and_offset: u16) -> Vec<u8> {
    frame[20..22].copy_from_slice(&flags_and_offset.to_be_bytes());
    Ipv4Packet::new_unchecked(&mut frame[14..]).fill_checksum();
    frame
}

/// Inserts a fragment header before the payload of an IPv6 frame.
fn fragmented6(frame: &[u8], offset_and_flag: u16) -> Vec<u8> {
    let [high, low] = offset_and_flag.to_be_bytes();
    let header = [frame[20], 0, high, low, 0, 0, 0, 1];
    let mut bytes = [&frame[..54], &header, &frame[54..]].concat();
    bytes[20] = 44;
    let length = u16::try_from(bytes.len() - 54).unwrap();
    bytes[18..20].copy_from_slice(&length.to_be_bytes());
    bytes
}

#[test]
fn echoes_are_answered_up_to_the_mtu_and_no_further() {
    for (frame, full) in [(echo4 as fn(&str, usize) -> Vec<u8>, 1472), (echo6, 1452)] {
        let ours = if full == 1472 { "10.0.1.1" } else { "2001:db8:1::1" };
        for data_bytes in [0, 1, 56, full] {
            let mut bench = Bench::new();
            let request = frame(ours, data_bytes);
            let (outcome, outputs) = bench.receive(1, &request);
            assert_eq!(outcome, Outcome::EchoAnswered, "{data_bytes}");
            assert_eq!(sent(&outputs)[0].1.len(), request.len().max(60), "{data_bytes}");
            assert_eq!(bench.counted(), [("echo_answered", 1)]);
        }
        let mut bench = Bench::new();
        assert_eq!(bench.receive(1, &frame(ours, full + 1)), (Outcome::TooBig, vec![]));
        assert_eq!(bench.counted(), [("too_big", 1)]);
    }
}

#[test]
fn an_address_on_no_port_is_ours_too() {
    let mut bench = Bench::new();
    let request = echo4("10.255.0.1", 8);
    assert_eq!(bench.receive(1, &request), (Outcome::NotForUs, vec![]));
    bench.agent.set_locals(vec!["10.255.0.1".parse().unwrap()]);
    bench.counted();
    let (outcome, outputs) = bench.receive(1, &request);
    assert_eq!(outcome, Outcome::EchoAnswered);
    let reply = &sent(&outputs)[0].1;
    assert_eq!((&reply[26..30], &reply[30..34]), (&[10, 255, 0, 1][..], &[10, 0, 1, 9][..]));
    assert_eq!(bench.counted(), [("echo_answered", 1)]);
}

#[test]
fn a_packet_too_big_for_a_tunnel_hears_of_what_is_left_of_the_mtu() {
    let mut bench = Bench::new();
    let frame = transit("10.0.1.9", FAR, 0);
    let next_hop = NextHop { neighbor: at(2, "10.0.2.9"), tunnel_bytes: 20 };
    let reason = PuntReason::TooBig;
    bench.agent.handle_frame(bench.now, port(1), reason, &frame, Some(next_hop));
    let outputs = bench.outputs();
    let error = &sent(&outputs)[0].1;
    // Fragmentation needed, with what is left of 1,400 in the last two octets of its header.
    assert_eq!(error[34..36], [3, 4]);
    assert_eq!(u16::from_be_bytes([error[40], error[41]]), 1380);
}

#[test]
fn echoes_that_are_not_for_us_alone_and_whole_are_not_answered() {
    let mut to_all = echo4("10.0.1.1", 8);
    to_all[..6].copy_from_slice(&[0xFF; 6]);
    let mut torn = echo4("10.0.1.1", 8);
    torn[36] ^= 1;
    let mut torn_header = echo4("10.0.1.1", 8);
    torn_header[24] ^= 1;
    let mut torn6 = echo6("2001:db8:1::1", 8);
    torn6[56] ^= 1;
    let from = |source| ip(TO_US, addresses(source, "10.0.1.1"), (IpProtocol::Icmp, 64), &[8; 16]);
    let cases = [
        ("to another", echo4("10.0.1.2", 8), Outcome::NotForUs),
        ("to all hosts", echo4("10.0.1.255", 8), Outcome::NotForUs),
        ("in a broadcast", to_all, Outcome::NotForUs),
        ("to all nodes", echo6("ff02::1", 8), Outcome::NotForUs),
        ("to another port's link-local", echo6("fe80::ff:fe00:201", 8), Outcome::NotForUs),
        ("checksum", torn, Outcome::Malformed),
        ("header checksum", torn_header, Outcome::Malformed),
        ("checksum, IPv6", torn6, Outcome::Malformed),
        ("from ourselves", from("10.0.2.1"), Outcome::Spoofed),
        ("from all", from("255.255.255.255"), Outcome::Malformed),
        ("from nobody", from("0.0.0.0"), Outcome::Malformed),
        ("from a loopback", from("127.0.0.1"), Outcome::Malformed),
        ("first fragment", fragmented(echo4("10.0.1.1", 8), 0x2000), Outcome::Fragment),
        ("later fragment", fragmented(echo4("10.0.1.1", 8), 0x0001), Outcome::Fragment),
        ("first fragment, IPv6", fragmented6(&echo6("2001:db8:1::1", 8), 1), Outcome::Fragment),
        ("later fragment, IPv6", fragmented6(&echo6("2001:db8:1::1", 8), 8), Outcome::Fragment),
        ("a reply", icmp4("10.0.1.9", "10.0.1.1", &[0; 16]), Outcome::Unsupported),
        ("a timestamp", icmp4("10.0.1.9", "10.0.1.1", &[13; 20]), Outcome::Unsupported),
        ("no message", icmp4("10.0.1.9", "10.0.1.1", &[8, 0, 0, 0]), Outcome::Malformed),
        (
            "TCP",
            ip(TO_US, addresses("10.0.1.9", "10.0.1.1"), (IpProtocol::Tcp, 64), &[0; 20]),
            Outcome::Unsupported,
        ),
    ];
    for (name, frame, expected) in cases {
        let mut bench = Bench::new();
        assert_eq!(bench.receive(1, &frame), (expected, vec![]), "{name}");
        assert_eq!(bench.counted(), [(expected.name(), 1)], "{name}");
    }
    let mut looped = echo4("10.0.1.1", 8);
    looped.copy_within(..6, 6);
    assert_eq!(
        Bench::new().receive(1, &looped),
        (Outcome::Spoofed, vec![]),
        "from our MAC address"
    );
    let atomic = fragmented6(&echo6("2001:db8:1::1", 8), 0);
    assert_eq!(Bench::new().receive(1, &atomic).0, Outcome::EchoAnswered, "RFC 6946");
}

#[test]
fn no_error_is_sent_where_the_rfcs_forbid_it() {
    let error4 = |kind: u8| icmp4("10.0.1.9", FAR, &[kind, 0, 0, 0, 0, 0, 0, 0, 0x45]);
    let inner = Ipv6Repr {
        src_addr: v6(FAR6),
        dst_addr: v6("2001:db8:1::9"),
        next_header: IpProtocol::Udp,
        payload_len: 0,
        hop_limit: 9,
    };
    let reason = Icmpv6DstUnreachable::NoRoute;
    let error6 = Icmpv6Repr::DstUnreachable { reason, header: inner, data: &[] };
    let mut to_all = transit("10.0.1.9", FAR, 0);
    to_all[..6].copy_from_slice(&[0xFF; 6]);
    let redirect6 = Icmpv6Repr::Ndisc(NdiscRepr::Redirect {
        target_addr: v6(FAR6),
        dest_addr: v6(FAR6),
        lladdr: None,
        redirected_hdr: None,
    });
    let cases = [
        ("destination unreachable", error4(3)),
        ("source quench", error4(4)),
        ("redirect", error4(5)),
        ("time exceeded", error4(11)),
        ("parameter problem", error4(12)),
        ("an undefined ICMP message", error4(200)),
        (
            "ICMP without a message",
            ip(TO_US, addresses("10.0.1.9", FAR), (IpProtocol::Icmp, 9), &[]),
        ),
        ("ICMPv6 error", icmp6(TO_US, (v6("2001:db8:1::9"), v6(FAR6)), 9, &error6)),
        ("ICMPv6 redirect", icmp6(TO_US, (v6("2001:db8:1::9"), v6(FAR6)), 9, &redirect6)),
        ("in a broadcast", to_all),
        ("to a group", transit("10.0.1.9", "239.1.1.1", 0)),
        ("to a group, IPv6", transit("2001:db8:1::9", "ff0e::1", 0)),
        ("to all", transit("10.0.1.9", "255.255.255.255", 0)),
        ("to the link's broadcast address", transit("10.0.1.9", "10.0.1.255", 0)),
        ("to the old broadcast address", transit("10.0.1.9", "10.0.1.0", 0)),
        ("from nobody", transit("0.0.0.0", FAR, 0)),
        ("from nobody, IPv6", transit("::", FAR6, 0)),
        ("from a group", transit("224.0.0.5", FAR, 0)),
        ("from a group, IPv6", transit("ff02::5", FAR6, 0)),
        ("from the link's broadcast address", transit("10.0.1.255", FAR, 0)),
        ("from a loopback", transit("127.0.0.1", FAR, 0)),
        ("from a reserved address", transit("240.0.0.1", FAR, 0)),
        ("from ourselves", transit("10.0.2.1", FAR, 0)),
        ("later fragment", fragmented(transit("10.0.1.9", FAR, 0), 0x0001)),
        ("later fragment, IPv6", fragmented6(&transit("2001:db8:1::9", FAR6, 0), 8)),
    ];
    for (name, frame) in cases {
        let mut bench = Bench::new();
        let ended = bench.punt(1, PuntReason::TtlExpired, &frame, None);
        assert_eq!(ended, (Outcome::TtlExpired, vec![]), "{name}");
        assert_eq!(bench.counted(), [("errors_withheld", 1), ("ttl_expired", 1)], "{name}");
    }
    for (name, frame) in [
        ("an echo request", echo4(FAR, 8)),
        ("an echo request, IPv6", echo6(FAR6, 8)),
        ("first fragment", fragmented(transit("10.0.1.9", FAR, 0), 0x2000)),
        ("first fragment, IPv6", fragmented6(&transit("2001:db8:1::9", FAR6, 0), 1)),
    ] {
        let mut bench = Bench::new();
        assert_eq!(bench.punt(1, PuntReason::TtlExpired, &frame, None).1.len(), 1, "{name}");
        assert_eq!(bench.counted(), [("errors_sent", 1), ("ttl_expired", 1)], "{name}");
    }
}

#[test]
fn errors_quote_what_they_may_and_no_padding() {
    let long = |ends, bytes| ip(TO_US, ends, (IpProtocol::Udp, 1), &vec![0xC3; bytes]);
    let quote = |frame: &[u8]| {
        let mut bench = Bench::new();
        let (_, outputs) = bench.punt(1, PuntReason::TtlExpired, frame, None);
        sent(&outputs)[0].1.to_vec()
    };
    let original = long(addresses("10.0.1.9", FAR), 1400);
    let error = quote(&original);
    assert_eq!(error[14 + 20 + 8..], original[14..][..28], "the header and eight bytes");

    let short = [long(addresses("10.0.1.9", FAR), 4), vec![0xEE; 30]].concat();
    let error = quote(&short);
    let packet = Ipv4Packet::new_checked(&error[14..]).unwrap();
    assert_eq!(packet.payload()[8..], short[14..][..24], "what there is, without padding");

    let original = long(addresses("2001:db8:1::9", FAR6), 1400);
    let error = quote(&original);
    assert_eq!(error.len(), 14 + 1280, "the least MTU");
    assert_eq!(error[14 + 40 + 8..], original[14..][..1232]);
    let ends = (v6("2001:db8:1::1"), v6("2001:db8:1::9"));
    assert!(Icmpv6Packet::new_checked(&error[54..]).unwrap().verify_checksum(&ends.0, &ends.1));
}

#[test]
fn errors_have_an_address_of_the_ingress_interface_or_of_the_switch() {
    let source_of = |bench: &mut Bench, frame: &[u8]| {
        let (_, outputs) = bench.punt(1, PuntReason::TtlExpired, frame, None);
        let frame = sent(&outputs).first().map(|(_, frame)| frame.to_vec())?;
        Some(match frame[14] >> 4 {
            4 => IpAddr::V4(Ipv4Packet::new_unchecked(&frame[14..]).src_addr()),
            _ => IpAddr::V6(Ipv6Packet::new_unchecked(&frame[14..]).src_addr()),
        })
    };
    let (far4, far6) = (transit("203.0.113.5", FAR, 0), transit("2001:db8:77::5", FAR6, 0));
    let near6 = transit("fe80::9", FAR6, 0);
    let mut numbered = Bench::new();
    let expected = |text: &str| text.parse::<IpAddr>().ok();
    assert_eq!(source_of(&mut numbered, &far4), expected("10.0.1.1"));
    assert_eq!(source_of(&mut numbered, &far6), expected("2001:db8:1::1"));
    assert_eq!(source_of(&mut numbered, &near6), expected("fe80::ff:fe00:101"));

    let mut links = interfaces();
    links[0].addresses.push("203.0.113.1/24".parse().unwrap());
    let mut renumbered = Bench::with(links, AgentSettings::default());
    assert_eq!(source_of(&mut renumbered, &far4), expected("203.0.113.1"), "the sender's network");

    let mut links = interfaces();
    links[0].addresses.clear();
    let mut unnumbered = Bench::with(links, AgentSettings::default());
    assert_eq!(source_of(&mut unnumbered, &far4), expected("10.0.2.1"));
    assert_eq!(source_of(&mut unnumbered, &far6), expected("2001:db8:2::1"));
    assert_eq!(source_of(&mut unnumbered, &near6), expected("fe80::ff:fe00:101"));

    let mut links = interfaces();
    links.iter_mut().for_each(|interface| interface.addresses.clear());
    let mut nameless = Bench::with(links, AgentSettings::default());
    assert_eq!(source_of(&mut nameless, &far4), None);
    assert_eq!(nameless.counted(), [("errors_withheld", 1), ("ttl_expired", 1)]);
    assert_eq!(source_of(&mut nameless, &far6), expected("fe80::ff:fe00:101"));
}

#[test]
fn errors_are_limited_at_each_interface() {
    let mut bench = Bench::new();
    let frame = transit("10.0.1.9", FAR, 0);
    for _ in 0..150 {
        bench.punt(1, PuntReason::NoRoute, &frame, None);
    }
    let expected = [("errors_limited", 50), ("errors_sent", 100), ("no_route", 150)];
    assert_eq!(bench.counted(), expected);
    bench.punt(2, PuntReason::NoRoute, &frame, None);
    assert_eq!(bench.counted(), [("errors_sent", 1), ("no_route", 1)], "a limit of its own");

    bench.agent.set_interfaces(interfaces());
    bench.punt(1, PuntReason::NoRoute, &frame, None);
    assert_eq!(bench.counted(), [("errors_limited", 1), ("no_route", 1)], "it is not forgotten");

    bench.wait(1);
    for _ in 0..150 {
        bench.punt(1, PuntReason::NoRoute, &frame, None);
    }
    assert_eq!(bench.counted(), expected, "a second later as before");
}

#[test]
fn a_packet_too_big_needs_a_next_hop_for_its_mtu() {
    let mut bench = Bench::new();
    let frame = transit("10.0.1.9", FAR, 0);
    let too_big = PuntReason::TooBig;
    assert_eq!(bench.punt(1, too_big, &frame, None), (Outcome::NoNextHop, vec![]));
    let nowhere = Some(at(9, "10.9.9.9"));
    assert_eq!(bench.punt(1, too_big, &frame, nowhere), (Outcome::NoInterface, vec![]));
    assert_eq!(bench.counted(), [("no_interface", 1), ("no_next_hop", 1)]);
}

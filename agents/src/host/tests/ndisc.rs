//! Neighbor discovery: which messages are answered, accepted, and refused as malformed.

use super::*;
use smoltcp::wire::{NdiscNeighborFlags as Flags, NdiscRepr};

const TO_GROUP: MacAddress = MacAddress([0x33, 0x33, 0xFF, 0, 0, 1]);
const HOST_IP: &str = "2001:db8:1::9";
const OUR_IP: &str = "2001:db8:1::1";
const OUR_GROUP: &str = "ff02::1:ff00:1";

fn link_address(mac: MacAddress) -> Option<smoltcp::wire::RawHardwareAddress> {
    Some(EthernetAddress(mac.0).into())
}

fn solicitation(source: &str, destination: &str, target: &str, mac: Option<MacAddress>) -> Vec<u8> {
    let lladdr = mac.and_then(link_address);
    let repr = Icmpv6Repr::Ndisc(NdiscRepr::NeighborSolicit { target_addr: v6(target), lladdr });
    icmp6((HOST, TO_GROUP), (v6(source), v6(destination)), 255, &repr)
}

fn advertisement(
    destination: &str,
    target: &str,
    flags: Flags,
    mac: Option<MacAddress>,
) -> Vec<u8> {
    let lladdr = mac.and_then(link_address);
    let target_addr = v6(target);
    let repr = Icmpv6Repr::Ndisc(NdiscRepr::NeighborAdvert { flags, target_addr, lladdr });
    icmp6((HOST, ours(1)), (v6(HOST_IP), v6(destination)), 255, &repr)
}

/// An agent that has sent a solicitation for `HOST_IP` and waits.
fn asking() -> Bench {
    let mut bench = Bench::new();
    let frame = transit("2001:db8:1::8", HOST_IP, 0);
    assert_eq!(bench.unresolved(&frame, at(1, HOST_IP)).0, Outcome::Pending);
    bench.counted();
    bench
}

fn our_link_local() -> alloc::string::String {
    format!("{}", interfaces()[0].link_local())
}

#[test]
fn the_link_local_address_follows_from_the_mac_address() {
    let example =
        Interface { mac: "34:56:78:9a:bc:de".parse().unwrap(), ..interfaces()[0].clone() };
    assert_eq!(example.link_local(), v6("fe80::3656:78ff:fe9a:bcde"), "RFC 4291, appendix A");
    assert!(example.owns(IpAddr::V6(v6("fe80::3656:78ff:fe9a:bcde"))));
}

#[test]
fn a_solicitation_adds_a_neighbor_only_with_its_mac_address() {
    let mut bench = Bench::new();
    let silent = solicitation(HOST_IP, OUR_IP, OUR_IP, None);
    let (outcome, outputs) = bench.receive(1, &silent);
    assert_eq!((outcome, outputs.len()), (Outcome::SolicitationAnswered, 1));
    assert_eq!(bench.state(at(1, HOST_IP)), None);

    let (outcome, outputs) =
        bench.receive(1, &solicitation(HOST_IP, OUR_GROUP, OUR_IP, Some(OTHER)));
    assert_eq!((outcome, outputs.len()), (Outcome::SolicitationAnswered, 2));
    assert_eq!(bench.state(at(1, HOST_IP)), Some((NeighborState::Stale, Some(OTHER))));
    assert_eq!(bench.counted(), [("neighbors_up", 1), ("solicitation_answered", 2)]);
}

#[test]
fn a_sender_from_another_link_is_answered_and_not_learned() {
    let mut bench = Bench::new();
    let frame = solicitation("2001:db8:99::5", OUR_GROUP, OUR_IP, Some(HOST));
    assert_eq!(bench.receive(1, &frame).0, Outcome::SolicitationAnswered);
    assert_eq!(bench.counted(), [("solicitation_answered", 1)]);
    assert_eq!(bench.agent.neighbors(bench.now).count(), 0);
}

#[test]
fn only_addresses_of_the_same_port_are_answered_for() {
    for target in ["2001:db8:2::1", "2001:db8:1::2", "fe80::ff:fe00:201"] {
        let mut bench = Bench::new();
        let frame = solicitation(HOST_IP, OUR_GROUP, target, Some(HOST));
        assert_eq!(bench.receive(1, &frame), (Outcome::NotForUs, vec![]), "{target}");
        assert_eq!(bench.counted(), [("not_for_us", 1)]);
    }
}

#[test]
fn a_claim_of_our_address_is_refused() {
    let link_local = our_link_local();
    let claims = [
        advertisement("ff02::1", OUR_IP, Flags::OVERRIDE, Some(HOST)),
        advertisement(&link_local, OUR_IP, Flags::SOLICITED, Some(HOST)),
        advertisement("ff02::1", OUR_IP, Flags::OVERRIDE, None),
        advertisement("ff02::1", &link_local, Flags::OVERRIDE, Some(HOST)),
        advertisement("ff02::1", "2001:db8:2::1", Flags::OVERRIDE, Some(HOST)),
        solicitation(OUR_IP, OUR_GROUP, HOST_IP, Some(HOST)),
    ];
    for (index, update) in claims.into_iter().enumerate() {
        let mut bench = Bench::new();
        assert_eq!(bench.receive(1, &update), (Outcome::Spoofed, vec![]), "{index}");
        assert_eq!(bench.counted(), [("spoofed", 1)]);
    }
}

#[test]
fn malformed_messages_change_no_neighbor() {
    let good = solicitation(HOST_IP, OUR_GROUP, OUR_IP, Some(HOST));
    let change = |at: usize, byte: u8| {
        let mut frame = good.clone();
        frame[at] = byte;
        let mut message = Icmpv6Packet::new_unchecked(&mut frame[54..]);
        message.fill_checksum(&v6(HOST_IP), &v6(OUR_GROUP));
        frame
    };
    let mut torn = good.clone();
    torn[14 + 40 + 2] ^= 0xFF;
    let answer = |flags, mac| advertisement(&our_link_local(), HOST_IP, flags, mac);
    let mut routed = answer(Flags::SOLICITED, Some(HOST));
    routed[14 + 7] = 254;
    let cases = [
        ("a hop limit of 254", change(14 + 7, 254)),
        ("an answer from another link", routed),
        ("a code", change(14 + 40 + 1, 1)),
        ("a wrong checksum", torn),
        ("an option without length", change(14 + 40 + 25, 0)),
        ("an option longer than the packet", change(14 + 40 + 25, 2)),
        (
            "an option with a group's address",
            solicitation(HOST_IP, OUR_GROUP, OUR_IP, Some(TO_GROUP)),
        ),
        ("a multicast target", solicitation(HOST_IP, OUR_GROUP, OUR_GROUP, Some(HOST))),
        ("a multicast source", solicitation("ff02::9", OUR_GROUP, OUR_IP, Some(HOST))),
        ("a duplicate check with a MAC address", solicitation("::", OUR_GROUP, OUR_IP, Some(HOST))),
        ("a duplicate check to our unicast address", solicitation("::", OUR_IP, OUR_IP, None)),
        ("an answer to all", advertisement("ff02::1", HOST_IP, Flags::SOLICITED, Some(HOST))),
        ("cut short", good[..14 + 40 + 20].to_vec()),
    ];
    for (name, frame) in cases {
        let mut bench = asking();
        assert_eq!(bench.receive(1, &frame), (Outcome::Malformed, vec![]), "{name}");
        assert_eq!(bench.counted(), [("malformed", 1)], "{name}");
        assert_eq!(bench.state(at(1, HOST_IP)), Some((NeighborState::Incomplete, None)), "{name}");
    }
}

#[test]
fn a_fragmented_message_is_refused_and_one_with_options_is_not() {
    let fast_path = solicitation(HOST_IP, OUR_GROUP, OUR_IP, Some(HOST));
    let behind = |next_header: u8, header: [u8; 8]| {
        let mut frame = [&fast_path[..54], &header, &fast_path[54..]].concat();
        frame[14 + 5] += 8;
        frame[14 + 6] = next_header;
        frame
    };
    let atomic_fragment = behind(44, [58, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(Bench::new().receive(1, &atomic_fragment).0, Outcome::Malformed, "RFC 6980");
    let padding_option = behind(0, [58, 0, 1, 4, 0, 0, 0, 0]);
    assert_eq!(Bench::new().receive(1, &padding_option).0, Outcome::SolicitationAnswered);
}

#[test]
fn an_awaited_answer_must_have_a_mac_address() {
    let mut bench = asking();
    let answer = |flags, mac| advertisement(&our_link_local(), HOST_IP, flags, mac);
    assert_eq!(bench.receive(1, &answer(Flags::SOLICITED, None)), (Outcome::NeighborHeard, vec![]));
    assert_eq!(bench.state(at(1, HOST_IP)), Some((NeighborState::Incomplete, None)));
    assert_eq!(
        bench.receive(1, &answer(Flags::SOLICITED, Some(HOST))).1.len(),
        2,
        "up, and released"
    );
    assert_eq!(bench.state(at(1, HOST_IP)), Some((NeighborState::Reachable, Some(HOST))));
}

#[test]
fn what_an_advertisement_changes_depends_on_its_flags() {
    use NeighborState::{Reachable, Stale};
    let (solicited, overriding) = (Flags::SOLICITED, Flags::OVERRIDE);
    // RFC 4861, 7.2.5, from REACHABLE at HOST: flags, the address in the option, and the result.
    let cases = [
        ("a proxy's answer is doubted", solicited, Some(OTHER), (Stale, HOST)),
        ("a proxy's announcement is doubted", Flags::empty(), Some(OTHER), (Stale, HOST)),
        ("an answer with another address", solicited | overriding, Some(OTHER), (Reachable, OTHER)),
        ("a move", overriding, Some(OTHER), (Stale, OTHER)),
        ("an answer", solicited | overriding, Some(HOST), (Reachable, HOST)),
        ("an answer without an address", solicited, None, (Reachable, HOST)),
        ("an announcement", overriding, Some(HOST), (Reachable, HOST)),
    ];
    for (name, flags, mac, (state, known)) in cases {
        let mut bench = asking();
        let destination = our_link_local();
        let first = advertisement(&destination, HOST_IP, solicited | overriding, Some(HOST));
        bench.receive(1, &first);
        let frame = advertisement(&destination, HOST_IP, flags, mac);
        let (outcome, outputs) = bench.receive(1, &frame);
        assert_eq!(outcome, Outcome::NeighborHeard, "{name}");
        assert_eq!(bench.state(at(1, HOST_IP)), Some((state, Some(known))), "{name}");
        assert_eq!(outputs.len(), usize::from(known == OTHER), "{name}: the route follows a move");
    }
}

#[test]
fn a_conflict_about_a_stale_neighbor_is_left_to_the_probes() {
    for flags in [Flags::SOLICITED, Flags::empty()] {
        let mut bench = Bench::new();
        bench.receive(1, &solicitation(HOST_IP, OUR_GROUP, OUR_IP, Some(HOST)));
        bench.counted();
        let proxy = advertisement(&our_link_local(), HOST_IP, flags, Some(OTHER));
        assert_eq!(bench.receive(1, &proxy), (Outcome::NeighborHeard, vec![]));
        assert_eq!(bench.counted(), [("neighbor_heard", 1)]);
        assert_eq!(bench.state(at(1, HOST_IP)), Some((NeighborState::Stale, Some(HOST))));
    }
}

#[test]
fn advertisements_without_a_solicitation_are_ignored() {
    let mut bench = Bench::new();
    let stranger = advertisement(&our_link_local(), "2001:db8:1::66", Flags::SOLICITED, Some(HOST));
    assert_eq!(bench.receive(1, &stranger), (Outcome::Unsolicited, vec![]));
    assert_eq!(bench.counted(), [("unsolicited", 1)]);
    assert_eq!(bench.agent.neighbors(bench.now).count(), 0);
}

#[test]
fn router_messages_and_redirects_are_not_supported() {
    let repr = Icmpv6Repr::Ndisc(NdiscRepr::RouterSolicit { lladdr: link_address(HOST) });
    let frame = icmp6((HOST, ours(1)), (v6("fe80::9"), v6(OUR_IP)), 255, &repr);
    assert_eq!(Bench::new().receive(1, &frame), (Outcome::Unsupported, vec![]));
}

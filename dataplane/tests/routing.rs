//! Routed frames through a whole worker: what comes out, which counters moved, and that no other
//! did.

use dataplane::control_rings::Command;
use dataplane::counters::DropReason;
use dataplane::fib::Route;
use dataplane::ids::PortId;
use dataplane::rules::{TagMatch, TcamEntry};
use dataplane::snapshot::PortMode;
use dataplane::testing::wire::{Udp, header_checksum, host_mac, host_v4, port_mac};
use dataplane::testing::{RigBuilder, TestFrame};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;
use std::sync::Arc;

/// What `frame`, routed out of port `to`, has to look like.
fn routed(frame: &Udp, to: u8, dscp: u8) -> Vec<u8> {
    let tos = dscp << 2 | frame.tos & 3;
    let (dst_mac, src_mac) = (host_mac(to, 1), port_mac(to));
    Udp { dst_mac, src_mac, ttl: frame.ttl - 1, tos, tags: Vec::new(), ..frame.clone() }.bytes()
}

fn ports(numbers: &[usize]) -> dataplane::rules::PortSet {
    numbers.iter().filter_map(|&number| PortId::from_number(number)).collect()
}

#[test]
fn a_frame_is_routed_with_new_macs_ttl_and_checksum() {
    let mut rig = RigBuilder::routed(3).build();
    let frame = Udp::routed(1, 2, 26);
    rig.arrive(1, &frame.bytes());
    rig.settle();
    assert_eq!(rig.sent(2), [routed(&frame, 2, 26)]);
    assert_eq!(
        rig.counters(),
        [
            "p1 rx_frames[3] = 1",
            "p1 rx_bytes[3] = 60",
            "p2 tx_frames[3] = 1",
            "p2 tx_bytes[3] = 60"
        ]
    );
    assert_eq!(rig.totals().sent, 1);
}

#[test]
fn each_dead_end_has_its_counter() {
    let cases: Vec<(Vec<u8>, &[&str])> = vec![
        (
            Udp { dst_mac: MacAddress([2, 9, 9, 9, 9, 9]), ..Udp::routed(1, 2, 0) }.bytes(),
            &["p1 rx_unclassified_frames = 1", "p1 drop.not_our_mac = 1"],
        ),
        (
            Udp { dst: [224, 0, 0, 9], ..Udp::routed(1, 2, 0) }.bytes(),
            &["p1 rx_unclassified_frames = 1", "p1 drop.unroutable = 1"],
        ),
        (
            Udp { src: [127, 0, 0, 1], ..Udp::routed(1, 2, 0) }.bytes(),
            &["p1 rx_unclassified_frames = 1", "p1 drop.unroutable = 1"],
        ),
        (
            Udp { src: [169, 254, 0, 1], ..Udp::routed(1, 2, 0) }.bytes(),
            &["p1 rx_frames[0] = 1", "p1 rx_bytes[0] = 60", "p1 drop.unroutable = 1"],
        ),
        (
            Udp { tags: vec![7], frame_bytes: 64, ..Udp::routed(1, 2, 0) }.bytes(),
            &["p1 rx_unclassified_frames = 1", "p1 drop.vlan_not_allowed = 1"],
        ),
        (
            Udp { frame_bytes: 1600, ..Udp::routed(1, 2, 0) }.bytes(),
            &["p1 rx_unclassified_frames = 1", "p1 drop.too_long = 1"],
        ),
        (
            Udp { dst: [192, 0, 2, 1], ..Udp::routed(1, 2, 0) }.bytes(),
            &["p1 rx_frames[0] = 1", "p1 rx_bytes[0] = 60", "p1 punted_frames = 1"],
        ),
        (
            Udp { ttl: 1, ..Udp::routed(1, 2, 0) }.bytes(),
            &["p1 rx_frames[0] = 1", "p1 rx_bytes[0] = 60", "p1 punted_frames = 1"],
        ),
        (
            Udp { dst: host_v4(2, 99), ..Udp::routed(1, 2, 0) }.bytes(),
            &["p1 rx_frames[0] = 1", "p1 rx_bytes[0] = 60", "p1 punted_frames = 1"],
        ),
        (
            Udp { dst: [10, 0, 2, 254], ..Udp::routed(1, 2, 0) }.bytes(),
            &["p1 rx_frames[0] = 1", "p1 rx_bytes[0] = 60", "p1 punted_frames = 1"],
        ),
        (vec![1, 2, 3], &["p1 rx_unclassified_frames = 1", "p1 drop.truncated = 1"]),
    ];
    for (frame, expected) in cases {
        let mut rig = RigBuilder::routed(2).build();
        rig.arrive(1, &frame);
        rig.settle();
        assert_eq!(rig.counters(), expected, "{frame:02x?}");
        rig.totals();
    }
}

#[test]
fn why_a_frame_is_punted_is_said() {
    use dataplane::punt::PuntReason;
    for (frame, reason) in [
        (Udp { ttl: 1, ..Udp::routed(1, 2, 0) }, PuntReason::TtlExpired),
        (Udp { dst: host_v4(2, 99), ..Udp::routed(1, 2, 0) }, PuntReason::Unresolved),
        (Udp { dst: [192, 0, 2, 1], ..Udp::routed(1, 2, 0) }, PuntReason::NoRoute),
        (Udp { dst: [10, 0, 2, 254], ttl: 1, ..Udp::routed(1, 2, 0) }, PuntReason::ForUs),
    ] {
        let mut rig = RigBuilder::routed(2).build();
        rig.arrive(1, &frame.bytes());
        rig.settle();
        let punted = rig.control[0].punted.pop().unwrap();
        assert_eq!((punted.reason, punted.port.number()), (reason, 1));
        assert_eq!(punted.frame, TestFrame::new(&frame.bytes()), "as it came");
        assert_eq!(rig.totals().punted, 1);
    }
}

#[test]
fn with_nobody_to_take_them_punted_frames_become_named_drops() {
    let mut rig = RigBuilder::routed(2).build();
    let ring = dataplane::limits::PUNT_FRAMES as u64;
    for _ in 0..ring + 5 {
        rig.arrive(1, &Udp { ttl: 1, ..Udp::routed(1, 2, 0) }.bytes());
    }
    rig.settle();
    assert_eq!(rig.dropped(1, DropReason::TtlExpired), 5);
    assert_eq!(rig.totals().punted, ring);
}

#[test]
fn vlan_tags_come_and_go_with_the_ports() {
    let mut builder = RigBuilder::routed(2);
    let vlan = dataplane::l2::Vid::new(100);
    builder.forwarding[0].mode = PortMode::Routed { vlan };
    let mut rig = builder.build();
    let tagged = Udp { tags: vec![0xA000 | 100], frame_bytes: 64, ..Udp::routed(1, 2, 26) };
    rig.arrive(1, &tagged.bytes());
    rig.settle();
    assert_eq!(rig.sent(2), [routed(&Udp { frame_bytes: 60, ..tagged }, 2, 26)]);
}

#[test]
fn rules_raise_keep_and_demote_and_the_queue_follows_the_new_tag() {
    let mut builder = RigBuilder::routed(3);
    let tag = |value| TagMatch { value, mask: 63 };
    let entry = |value, from: usize, to: usize, new_tag| TcamEntry {
        tag: tag(value),
        in_ports: ports(&[from]),
        out_ports: ports(&[to]),
        new_tag: dataplane::ids::Tag::from_low_bits(new_tag),
    };
    builder.rules = Some(vec![entry(1, 1, 2, 1), entry(1, 1, 3, 2)]);
    let mut rig = builder.build();
    let (keep, raise) = (Udp::routed(1, 2, 26), Udp::routed(1, 3, 26));
    let (demote, lossy) = (Udp::routed(1, 2, 27), Udp::routed(1, 2, 46));
    for frame in [&keep, &raise, &demote, &lossy] {
        rig.arrive(1, &frame.bytes());
    }
    rig.settle();
    assert_eq!(rig.sent(3), [routed(&raise, 3, 27)], "tag 2 is DSCP 27");
    let sent = [routed(&keep, 2, 26), routed(&demote, 2, 0), routed(&lossy, 2, 46)];
    assert_eq!(rig.sent(2), sent, "no entry is lossy; lossy traffic is not asked");
    assert_eq!(
        rig.counters(),
        [
            "p1 rx_frames[0] = 1",
            "p1 rx_frames[3] = 2",
            "p1 rx_frames[4] = 1",
            "p1 rx_bytes[0] = 60",
            "p1 rx_bytes[3] = 120",
            "p1 rx_bytes[4] = 60",
            "p1 raised_frames = 1",
            "p1 demoted_frames = 1",
            "p2 tx_frames[0] = 2",
            "p2 tx_frames[3] = 1",
            "p2 tx_bytes[0] = 120",
            "p2 tx_bytes[3] = 60",
            "p3 tx_frames[4] = 1",
            "p3 tx_bytes[4] = 60",
        ]
    );
}

#[test]
fn an_untrusted_port_is_re_marked_to_the_initial_tag() {
    let mut builder = RigBuilder::routed(2);
    builder.forwarding[0].trust.trusted = false;
    let mut rig = builder.build();
    let frame = Udp { tos: 27 << 2 | 0b10, ..Udp::routed(1, 2, 0) };
    rig.arrive(1, &frame.bytes());
    rig.settle();
    assert_eq!(rig.sent(2), [routed(&frame, 2, 26)], "the ECN bits stay");
    assert_eq!(rig.report(1).counters.remarked_frames, 1);
}

#[test]
fn options_and_odd_checksums_survive_the_rewrite() {
    let mut rig = RigBuilder::routed(2).build();
    let mut bytes = Udp { frame_bytes: 100, ..Udp::routed(1, 2, 26) }.bytes();
    bytes[14] = 0x48;
    bytes[34..46].copy_from_slice(&[0x94, 4, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0]);
    bytes[24..26].copy_from_slice(&[0, 0]);
    let sum = header_checksum(&bytes[14..46]);
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    rig.arrive(1, &bytes);
    rig.settle();
    let sent = rig.sent(2).remove(0);
    let mut zeroed = sent.clone();
    zeroed[24..26].copy_from_slice(&[0, 0]);
    assert_eq!(header_checksum(&zeroed[14..46]).to_be_bytes(), sent[24..26]);
    assert_eq!((sent[22], &sent[26..]), (63, &bytes[26..]));
}

#[test]
fn a_swap_between_two_bursts_loses_and_reorders_nothing() {
    let mut rig = RigBuilder::routed(2).build();
    let mut sequence = 0;
    for epoch in 1..=1_000 {
        for _ in 0..7 {
            rig.arrive(1, &Udp { sequence, ..Udp::routed(1, 2, 26) }.bytes());
            sequence += 1;
        }
        let snapshot = Arc::new(rig.builder.snapshot(epoch));
        rig.command(|| Command::Install(Arc::clone(&snapshot)));
        rig.turn();
        let retired = rig.control[0].replies.pop().unwrap();
        assert!(
            matches!(retired, dataplane::control_rings::Reply::Retired(old) if old.epoch == epoch - 1)
        );
    }
    let order: Vec<u32> =
        rig.sent(2).iter().map(|frame| dataplane::testing::wire::sequence(frame)).collect();
    assert_eq!(order, (0..sequence).collect::<Vec<_>>());
    assert_eq!(rig.totals().dropped, 0);
}

#[test]
fn frames_of_the_control_thread_are_sent_and_received_again() {
    let mut rig = RigBuilder::routed(2).build();
    let frame = Udp::routed(1, 2, 26);
    let id = PortId::from_number(1).unwrap();
    let bytes = frame.bytes();
    rig.command(|| Command::Receive(id, TestFrame::new(&bytes)));
    rig.command(|| Command::Send(id, TestFrame::new(&[9; 60])));
    rig.settle();
    assert_eq!(rig.sent(2), [routed(&frame, 2, 26)]);
    assert_eq!(rig.sent(1), [[9; 60]]);
    let totals = rig.totals();
    assert_eq!((totals.injected, totals.sent), (2, 2));
}

/// `tests/fuzz/found/drivers/an-empty-frame-to-send`: the two drivers sent it at different times.
#[test]
fn a_frame_of_the_control_thread_without_a_whole_header_is_dropped() {
    let mut rig = RigBuilder::routed(2).build();
    let id = PortId::from_number(1).unwrap();
    for length in [0, 13, 14] {
        rig.command(|| Command::Send(id, TestFrame::new(&[9; 14][..length])));
    }
    rig.settle();
    assert_eq!(rig.sent(1), [[9; 14]]);
    assert_eq!(rig.dropped(1, DropReason::Truncated), 2);
    let totals = rig.totals();
    assert_eq!((totals.injected, totals.sent, totals.dropped), (3, 1, 2));
}

/// IPv6 from `source` to the switch's own MAC address at port 1, without a payload.
fn v6(source: &str, destination: &str) -> Vec<u8> {
    let octets = |text: &str| text.parse::<std::net::Ipv6Addr>().unwrap().octets();
    let mut frame = [port_mac(1).0, host_mac(1, 1).0].concat();
    frame.extend([0x86, 0xDD, 0x60, 0, 0, 0, 0, 0, 59, 64]);
    frame.extend([octets(source), octets(destination)].concat());
    frame.resize(60, 0);
    frame
}

#[test]
fn v6_from_nobody_this_host_a_group_or_a_link_is_not_routed() {
    let drops = |source| {
        let mut rig = RigBuilder::routed(2).build();
        rig.arrive(1, &v6(source, "2001:db8::1"));
        rig.settle();
        rig.totals();
        rig.dropped(1, DropReason::Unroutable)
    };
    for source in ["::", "::1", "ff02::1", "fe80::1", "febf:ffff::1"] {
        assert_eq!(drops(source), 1, "{source}");
    }
    for source in ["::2", "2001:db8::2", "fe7f::1", "fec0::1"] {
        assert_eq!(drops(source), 0, "{source}");
    }
}

/// RFC 3704, 2.2: a frame enters only where its source is reached.
#[test]
fn a_port_that_checks_sources_takes_only_those_that_are_reached_by_it() {
    let mut builder = RigBuilder::routed(3);
    builder.forwarding[0].checks_source = true;
    let via = |number| std::net::IpAddr::from(host_v4(number, 1));
    let prefix = |text: &str| text.parse().unwrap();
    let paths = Route::Via(vec![via(1), via(3)]);
    builder.routes.set_route(prefix("10.8.0.0/16"), paths).unwrap();
    builder.routes.set_route(prefix("10.9.0.0/16"), Route::Blackhole).unwrap();
    let mut rig = builder.build();
    let from = |src| Udp { src, ..Udp::routed(1, 2, 26) };
    let allowed = [[10, 0, 1, 1], [10, 0, 1, 77], [10, 8, 4, 4]];
    let forged = [[10, 0, 2, 1], [10, 0, 1, 254], [10, 9, 0, 1], [192, 0, 2, 1]];
    for src in allowed.into_iter().chain(forged).cycle().take(7 * 9) {
        rig.arrive(1, &from(src).bytes());
    }
    rig.settle();
    let sent = rig.sent(2);
    let expected = allowed.repeat(9).into_iter().map(|src| routed(&from(src), 2, 26));
    assert_eq!(sent, expected.collect::<Vec<_>>());
    let counters = rig.counters();
    assert!(counters.contains(&"p1 drop.source_check = 36".to_owned()), "{counters:?}");
    // Another port does not check.
    rig.arrive(3, &Udp { src: [192, 0, 2, 1], ..Udp::routed(3, 2, 26) }.bytes());
    rig.settle();
    assert_eq!(rig.sent(2).len(), 1);
}

/// RFC 1812, 5.3.4: what came as a broadcast of the link is not forwarded, one by one or many.
#[test]
fn a_unicast_packet_in_a_broadcast_frame_is_not_routed() {
    for (checks_source, count) in [(false, 1), (false, 64), (true, 1), (true, 64)] {
        let mut builder = RigBuilder::routed(2);
        builder.forwarding[0].checks_source = checks_source;
        let mut rig = builder.build();
        for _ in 0..count {
            let mut frame = Udp::routed(1, 2, 26).bytes();
            frame[..6].fill(0xFF);
            rig.arrive(1, &frame);
        }
        rig.settle();
        assert_eq!(rig.sent(2).len(), 0, "{checks_source} {count}");
        assert_eq!(rig.dropped(1, DropReason::Unroutable), count);
    }
}

#[test]
fn a_port_that_checks_sources_obeys_pauses_and_answers_its_hosts() {
    let mut builder = RigBuilder::routed(2);
    builder.forwarding[0].checks_source = true;
    let mut rig = builder.build();
    let priority = dataplane::ids::Priority::new(3).unwrap();
    let xoff = Pfc::default().with(priority, 0xFFFF).to_frame(MacAddress([2, 0, 0, 1, 2, 2]));
    rig.arrive(1, &xoff);
    rig.arrive(2, &Udp::routed(2, 1, 26).bytes());
    rig.settle();
    assert_eq!(rig.sent(1).len(), 0, "paused");
    let to_us = Udp { dst: [10, 0, 1, 254], ..Udp::routed(1, 1, 0) };
    for src in [[10, 0, 1, 1], [169, 254, 0, 1], [10, 0, 2, 1]] {
        rig.arrive(1, &Udp { src, ..to_us.clone() }.bytes());
    }
    rig.settle();
    assert_eq!(rig.totals().punted, 2, "a link-local address is on every link");
}

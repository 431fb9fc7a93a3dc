//! IP-in-IP tunnels: frames as they are on the wire, built here octet by octet, and the counters.

use dataplane::control_rings::Command;
use dataplane::counters::DropReason;
use dataplane::fib::Route;
use dataplane::ids::Tag;
use dataplane::punt::PuntReason;
use dataplane::testing::wire::{Udp, header_checksum, host_mac, host_v4, in_tunnel, port_mac};
use dataplane::testing::{Rig, RigBuilder};
use dataplane::tunnel::{Tunnel, TunnelId, TunnelMode, TunnelPriorityGroup};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

const LOCAL: [u8; 4] = [10, 255, 0, 1];
/// Host 1 of port 3.
const REMOTE: [u8; 4] = [10, 0, 3, 1];
/// Ethernet, and an outer header.
const ETHERNET: usize = 14;
const OUTER: usize = 20;

/// Tag 1 (DSCP 26) is tag 2 (DSCP 27) in the tunnel.
fn tunnel() -> Tunnel {
    let mut outer_tag = core::array::from_fn(|tag| Tag::from_low_bits(u8::try_from(tag).unwrap()));
    outer_tag[1] = Tag::from_low_bits(2);
    Tunnel {
        local: LOCAL.into(),
        remote: Some(REMOTE.into()),
        any_remote: true,
        dscp: TunnelMode::Pipe,
        ttl: TunnelMode::Pipe,
        outer_tag,
        priority_group: TunnelPriorityGroup::Outer,
    }
}

/// Three ports; 10.9.0.0/16 is behind the tunnel.
fn builder(tunnel: Tunnel) -> RigBuilder {
    let mut builder = RigBuilder::routed(3);
    builder.routes.set_locals([IpAddr::from(LOCAL)]);
    let route = Route::Tunnel { id: TunnelId::from_index(0).unwrap(), remote: REMOTE.into() };
    builder.routes.set_route("10.9.0.0/16".parse().unwrap(), route).unwrap();
    builder.tunnels = vec![tunnel];
    builder
}

/// For 10.9.0.7, which is behind the tunnel.
fn for_tunnel(dscp: u8) -> Udp {
    Udp { dst: [10, 9, 0, 7], ..Udp::routed(1, 2, dscp) }
}

/// `frame` with the MAC addresses of one that leaves port `number` for its host 1.
fn leaves(number: u8, mut frame: Vec<u8>) -> Vec<u8> {
    frame[..6].copy_from_slice(&host_mac(number, 1).0);
    frame[6..12].copy_from_slice(&port_mac(number).0);
    frame
}

fn forwarded(udp: &Udp) -> Udp {
    Udp { ttl: udp.ttl - 1, ..udp.clone() }
}

/// The counters of frames, without those of bytes.
fn counters(rig: &Rig) -> Vec<String> {
    rig.counters().into_iter().filter(|line| !line.contains("bytes")).collect()
}

#[test]
fn a_route_into_a_tunnel_adds_a_header_and_the_outer_tag_tells_the_queue() {
    let mut rig = builder(tunnel()).build();
    let udp = Udp { tos: 26 << 2 | 0b10, frame_bytes: 300, ..for_tunnel(26) };
    rig.arrive(1, &udp.bytes());
    rig.settle();
    let inner = forwarded(&udp).bytes();
    let expected = in_tunnel(&inner, (27 << 2 | 0b10, 64), (LOCAL, REMOTE));
    assert_eq!(rig.sent(3), [leaves(3, expected)]);
    assert_eq!(
        counters(&rig),
        ["p1 rx_frames[3] = 1", "p1 raised_frames = 1", "p3 tx_frames[4] = 1"]
    );
    assert_eq!(rig.totals().imbalance(), 0);
}

#[test]
fn a_uniform_ttl_is_copied_out_and_a_padded_frame_keeps_its_padding() {
    let mut rig = builder(Tunnel { ttl: TunnelMode::Uniform, ..tunnel() }).build();
    let udp = Udp { frame_bytes: 46, ttl: 9, ..for_tunnel(0) };
    let mut frame = udp.bytes();
    frame.resize(60, 0x77);
    rig.arrive(1, &frame);
    rig.settle();
    let mut inner = forwarded(&udp).bytes();
    inner.resize(60, 0x77);
    assert_eq!(rig.sent(3), [leaves(3, in_tunnel(&inner, (0, 8), (LOCAL, REMOTE)))]);
}

/// What leaves port 2 of a frame that came out of the tunnel at port 1.
fn out_of_tunnel(tunnel: Tunnel, inner: &Udp, tos: u8, ttl: u8) -> (Vec<Vec<u8>>, Vec<String>) {
    let mut rig = builder(tunnel).build();
    rig.arrive(1, &in_tunnel(&inner.bytes(), (tos, ttl), (REMOTE, LOCAL)));
    rig.settle();
    assert_eq!(rig.totals().imbalance(), 0);
    (rig.sent(2), counters(&rig))
}

#[test]
fn a_pipe_keeps_the_inner_dscp_and_the_outer_one_tells_the_viq() {
    let inner = Udp::routed(1, 2, 26);
    let (sent, counters) = out_of_tunnel(tunnel(), &inner, 27 << 2, 3);
    assert_eq!(sent, [leaves(2, forwarded(&inner).bytes())]);
    assert_eq!(counters, ["p1 rx_frames[4] = 1", "p2 tx_frames[3] = 1"]);
    // The map of the tunnel says the same of the inner DSCP, whatever the outer one is.
    let by_inner = Tunnel { priority_group: TunnelPriorityGroup::Inner, ..tunnel() };
    let (sent, counters) = out_of_tunnel(by_inner, &inner, 0, 3);
    assert_eq!(sent, [leaves(2, forwarded(&inner).bytes())]);
    // What counts as received is the VIQ's.
    assert_eq!(counters, ["p1 rx_frames[4] = 1", "p2 tx_frames[3] = 1"]);
}

#[test]
fn a_uniform_tunnel_copies_dscp_ttl_and_congestion_in() {
    let uniform = Tunnel { dscp: TunnelMode::Uniform, ttl: TunnelMode::Uniform, ..tunnel() };
    let inner = Udp { tos: 26 << 2 | 0b10, ..Udp::routed(1, 2, 26) };
    let (sent, counters) = out_of_tunnel(uniform, &inner, 27 << 2 | 0b11, 33);
    let expected = Udp { tos: 27 << 2 | 0b11, ttl: 32, ..inner };
    assert_eq!(sent, [leaves(2, expected.bytes())]);
    assert_eq!(counters, ["p1 rx_frames[4] = 1", "p2 tx_frames[4] = 1"]);
}

#[test]
fn a_frame_that_came_lossy_stays_lossy_and_keeps_its_marking() {
    let inner = Udp::routed(1, 2, 26);
    let (sent, counters) = out_of_tunnel(tunnel(), &inner, 0, 3);
    assert_eq!(sent, [leaves(2, forwarded(&inner).bytes())]);
    assert_eq!(counters, ["p1 rx_frames[0] = 1", "p2 tx_frames[0] = 1"]);
}

/// An IPv6 packet of 60 octets for `target`, from port 1.
fn v6(target: [u8; 16]) -> Vec<u8> {
    let mut frame = [port_mac(1).0, host_mac(1, 1).0].concat();
    frame.extend([0x86, 0xDD, 0x66, 0x80, 0, 0, 0, 20, 17, 64]);
    frame.extend([0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
    frame.extend(target);
    frame.resize(ETHERNET + 60, 0x5A);
    frame
}

#[test]
fn ipv6_goes_through_a_tunnel_of_ipv4() {
    let target: [u8; 16] = [0x20, 1, 0xD, 0xB8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let prefix = "2001:db8:2::/64".parse().unwrap();
    let mut far = builder(tunnel());
    let route = Route::Tunnel { id: TunnelId::from_index(0).unwrap(), remote: REMOTE.into() };
    far.routes.set_route(prefix, route).unwrap();
    let mut near = builder(tunnel());
    near.routes.set_route(prefix, Route::Via(vec![host_v4(2, 1).into()])).unwrap();
    let (mut far, mut near) = (far.build(), near.build());
    far.arrive(1, &v6(target));
    far.settle();
    let sent = far.sent(3);
    let mut inner = v6(target);
    inner[ETHERNET + 7] = 63;
    // Traffic class 0x68 is DSCP 26.
    let outer = in_tunnel(&inner, (27 << 2, 64), (LOCAL, REMOTE));
    assert_eq!(sent, [leaves(3, outer)]);
    // The other end is a switch of the same kind.
    let mut arrives = in_tunnel(&inner, (27 << 2, 64), (REMOTE, LOCAL));
    arrives[..6].copy_from_slice(&port_mac(1).0);
    near.arrive(1, &arrives);
    near.settle();
    inner[ETHERNET + 7] = 62;
    assert_eq!(near.sent(2), [leaves(2, inner)]);
}

/// Damage to a frame that comes out of a tunnel, and what is counted.
#[test]
fn an_inner_packet_that_is_none_is_dropped_with_its_reason() {
    let whole = in_tunnel(&Udp::routed(1, 2, 26).bytes(), (27 << 2, 9), (REMOTE, LOCAL));
    let inner = ETHERNET + OUTER;
    let with = |at: usize, octet: u8| {
        let mut frame = whole.clone();
        frame[at] = octet;
        frame
    };
    for (frame, reason) in [
        (with(inner, 0x65), DropReason::BadHeader),
        (with(inner + 8, 1), DropReason::BadChecksum),
        // Longer than the outer packet, in a frame with room for it.
        ([with(inner + 3, 0x80), vec![0; 100]].concat(), DropReason::Truncated),
        // Congestion was experienced, and the inner packet cannot say so (RFC 6040).
        (
            in_tunnel(&Udp::routed(1, 2, 26).bytes(), (27 << 2 | 0b11, 9), (REMOTE, LOCAL)),
            DropReason::BadHeader,
        ),
        (
            in_tunnel(
                &Udp { dst: [240, 0, 0, 1], ..Udp::routed(1, 2, 26) }.bytes(),
                (27 << 2, 9),
                (REMOTE, LOCAL),
            ),
            DropReason::Unroutable,
        ),
    ] {
        let mut rig = builder(tunnel()).build();
        rig.arrive(1, &frame);
        rig.settle();
        assert_eq!(rig.dropped(1, reason), 1, "{reason:?}: {:?}", counters(&rig));
        assert_eq!(rig.totals().imbalance(), 0);
        assert_eq!(counters(&rig).len(), 3, "{:?}", counters(&rig));
    }
}

/// The frames that the control thread got, with the reason.
fn punted(rig: &mut Rig) -> Vec<(PuntReason, Vec<u8>)> {
    let punted = core::iter::from_fn(|| rig.control[0].punted.pop().ok());
    punted
        .map(|punted| (punted.reason, dataplane::frame::Frame::head(&punted.frame).to_vec()))
        .collect()
}

#[test]
fn what_is_not_of_the_tunnel_is_for_the_switch_itself() {
    let only_remote = Tunnel { any_remote: false, ..tunnel() };
    let inner = Udp::routed(1, 2, 26).bytes();
    let stranger = in_tunnel(&inner, (0, 9), ([192, 0, 2, 7], LOCAL));
    let mut fragment = in_tunnel(&inner, (0, 9), (REMOTE, LOCAL));
    fragment[ETHERNET + 6] = 0x20;
    fragment[ETHERNET + 10..ETHERNET + 12].fill(0);
    let checksum = header_checksum(&fragment[ETHERNET..ETHERNET + OUTER]).to_be_bytes();
    fragment[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum);
    let plain = Udp { dst: LOCAL, ..Udp::routed(1, 2, 0) }.bytes();
    for frame in [stranger, fragment, plain] {
        let mut rig = builder(only_remote.clone()).build();
        rig.arrive(1, &frame);
        rig.settle();
        assert_eq!(punted(&mut rig), [(PuntReason::ForUs, frame)]);
    }
}

/// ICMP is for the sender of the inner packet, so the control thread gets that.
#[test]
fn what_cannot_go_on_after_the_tunnel_is_punted_without_the_outer_header() {
    let expired = Udp { ttl: 1, ..Udp::routed(1, 2, 26) };
    let nowhere = Udp { dst: [198, 51, 100, 1], ..Udp::routed(1, 2, 26) };
    for (inner, reason) in [(expired, PuntReason::TtlExpired), (nowhere, PuntReason::NoRoute)] {
        let mut rig = builder(tunnel()).build();
        rig.arrive(1, &in_tunnel(&inner.bytes(), (27 << 2, 9), (REMOTE, LOCAL)));
        rig.settle();
        assert_eq!(punted(&mut rig), [(reason, inner.bytes())]);
    }
}

#[test]
fn what_cannot_enter_a_tunnel_is_punted_as_it_came() {
    let expired = Udp { ttl: 1, ..for_tunnel(26) };
    // 1,514 octets with the outer header are the most.
    let too_big = Udp { frame_bytes: 1495, ..for_tunnel(26) };
    for (frame, reason) in [(expired, PuntReason::TtlExpired), (too_big, PuntReason::TooBig)] {
        let mut rig = builder(tunnel()).build();
        rig.arrive(1, &frame.bytes());
        rig.settle();
        assert_eq!(punted(&mut rig), [(reason, frame.bytes())]);
    }
    let mut rig = builder(tunnel()).build();
    rig.arrive(1, &Udp { frame_bytes: 1494, ..for_tunnel(26) }.bytes());
    rig.settle();
    assert_eq!(rig.sent(3).iter().map(Vec::len).collect::<Vec<_>>(), [1514]);
}

/// A lossless frame waits for its next hop in the VIQ of its outer header; the control thread is
/// asked for the inner destination, and the frame leaves as if it had not waited.
#[test]
fn a_frame_that_left_a_tunnel_waits_for_its_next_hop() {
    let inner = Udp { dst: host_v4(2, 9), ..Udp::routed(1, 2, 26) };
    let mut before = builder(tunnel());
    let mut rig = before.clone().build();
    rig.arrive(1, &in_tunnel(&inner.bytes(), (27 << 2, 9), (REMOTE, LOCAL)));
    rig.settle();
    assert_eq!(punted(&mut rig), [(PuntReason::Resolve, inner.bytes())]);
    assert_eq!(rig.report(1).queues[4].viq_bytes, 256, "the VIQ of priority 4 holds it");
    let mac = host_mac(2, 1);
    let port = dataplane::ids::PortId::from_number(2).unwrap();
    before.routes.set_neighbor(host_v4(2, 9).into(), port, mac).unwrap();
    let snapshot = Arc::new(before.snapshot(2));
    rig.command(|| Command::Install(Arc::clone(&snapshot)));
    rig.settle();
    assert_eq!(rig.sent(2), [leaves(2, forwarded(&inner).bytes())]);
    assert_eq!(rig.report(1).queues[4].viq_bytes, 0);
}

/// The way to the far end is unknown: the station that is asked for is on the way there.
#[test]
fn a_frame_waits_for_the_next_hop_of_its_tunnel() {
    let mut before = builder(tunnel());
    let port = dataplane::ids::PortId::from_number(3).unwrap();
    before.routes.remove_neighbor(REMOTE.into());
    let mut rig = before.clone().build();
    let udp = for_tunnel(26);
    rig.arrive(1, &udp.bytes());
    rig.settle();
    assert_eq!(punted(&mut rig), [(PuntReason::Resolve, udp.bytes())]);
    let stations = before.routes.next_hops(IpAddr::from(udp.dst));
    let asked: Vec<_> = stations.iter().map(|it| (it.address, it.interface.port)).collect();
    assert_eq!(asked, [(IpAddr::from(REMOTE), port)]);
    before.routes.set_neighbor(REMOTE.into(), port, host_mac(3, 1)).unwrap();
    let snapshot = Arc::new(before.snapshot(2));
    rig.command(|| Command::Install(Arc::clone(&snapshot)));
    rig.settle();
    let inner = forwarded(&udp).bytes();
    assert_eq!(rig.sent(3), [leaves(3, in_tunnel(&inner, (27 << 2, 64), (LOCAL, REMOTE)))]);
}

/// The far end is in a connected network, which wins over the default route into the tunnel.
#[test]
fn with_a_default_route_into_a_tunnel_its_far_end_is_asked_for() {
    let mut builder = builder(tunnel());
    builder.routes.set_route("0.0.0.0/0".parse().unwrap(), far_route()).unwrap();
    let stations = builder.routes.next_hops([198, 51, 100, 1].into());
    assert_eq!(stations.iter().map(|it| it.address).collect::<Vec<_>>(), [IpAddr::from(REMOTE)]);
}

#[test]
fn of_several_tunnels_the_one_of_the_source_takes_a_packet() {
    let others: Vec<Tunnel> = [1, 2]
        .map(|n| Tunnel { remote: Some(Ipv4Addr::new(10, 0, 3, n)), ..tunnel() })
        .into_iter()
        .collect();
    let tunnels = dataplane::tunnel::Tunnels::new(others);
    for (source, remote) in [([10, 0, 3, 1], 1), ([10, 0, 3, 2], 2), ([192, 0, 2, 1], 1)] {
        let found = tunnels.ending(source.into(), LOCAL.into()).unwrap();
        assert_eq!(found.remote, Some(Ipv4Addr::new(10, 0, 3, remote)));
    }
    assert!(tunnels.ending([10, 0, 3, 1].into(), [10, 255, 0, 2].into()).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Out of the far end comes what went into the near one, two hops older.
    #[test]
    fn what_goes_in_comes_out(
        frame_bytes in 46_usize..1490, ttl in 4_u8..=255, dscp in 0_u8..64, ecn in 0_u8..4,
        tags in proptest::collection::vec(0_u16..0x1000, 0..2), payload: u32, count in 1_usize..20,
    ) {
        let mut far = builder(tunnel());
        // Priority-tagged frames are taken, too.
        let tags: Vec<u16> = tags.iter().map(|tag| tag & 0xE000).collect();
        let udp = Udp {
            frame_bytes: frame_bytes + 4 * tags.len(), ttl, tos: dscp << 2 | ecn, tags,
            sequence: payload, ..for_tunnel(0)
        };
        far.routes.set_route("10.9.0.0/24".parse().unwrap(), far_route()).unwrap();
        let mut far = far.build();
        (0..count).for_each(|_| far.arrive(1, &udp.bytes()));
        far.settle();
        let sent = far.sent(3);
        prop_assert_eq!(sent.len(), count);
        let mut near = builder(Tunnel { local: REMOTE.into(), remote: Some(LOCAL.into()), ..tunnel() });
        near.routes.set_locals([IpAddr::from(REMOTE)]);
        near.routes.set_route("10.9.0.0/16".parse().unwrap(), Route::Via(vec![host_v4(2, 1).into()])).unwrap();
        let mut near = near.build();
        for mut arrives in sent {
            arrives[..6].copy_from_slice(&port_mac(1).0);
            near.arrive(1, &arrives);
        }
        near.settle();
        let inner = Udp { ttl: ttl - 2, tags: vec![], frame_bytes, ..udp };
        prop_assert_eq!(near.sent(2), vec![leaves(2, inner.bytes()); count]);
    }

    /// Octets of any kind behind an outer header: nothing panics, and each frame has one end.
    #[test]
    fn an_inner_packet_of_any_octets_has_an_end(
        octets in proptest::collection::vec(any::<u8>(), 0..90), protocol in proptest::sample::select(vec![4_u8, 41]),
        is_v4: bool,
    ) {
        let mut octets = octets;
        if let Some(first) = octets.first_mut() {
            *first = if is_v4 { 0x40 | *first & 0xF } else { 0x60 | *first & 0xF };
        }
        let mut frame = in_tunnel(&Udp::routed(1, 2, 26).bytes(), (27 << 2, 9), (REMOTE, LOCAL));
        frame.truncate(ETHERNET + OUTER);
        frame.extend(&octets);
        let total = u16::try_from(OUTER + octets.len()).unwrap().to_be_bytes();
        frame[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&total);
        frame[ETHERNET + 9] = protocol;
        frame[ETHERNET + 10..ETHERNET + 12].fill(0);
        let checksum = header_checksum(&frame[ETHERNET..ETHERNET + OUTER]).to_be_bytes();
        frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum);
        let mut rig = builder(tunnel()).build();
        rig.arrive(1, &frame);
        rig.settle();
        prop_assert_eq!(rig.totals().imbalance(), 0);
        let totals = rig.totals();
        prop_assert_eq!(totals.received, 1);
    }
}

fn far_route() -> Route {
    Route::Tunnel { id: TunnelId::from_index(0).unwrap(), remote: REMOTE.into() }
}

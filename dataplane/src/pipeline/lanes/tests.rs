//! Compares the fast path of eight frames with the generic path: for each frame that the fast path
//! takes, both must produce the same bytes and the same outcome; every other frame must be as it
//! came.

use super::eight::Eight;
use super::pairs::{Input, Pairs};
use super::routes::look_up;
use super::{EIGHTS, LANES, lanes_of};
use crate::fib::{Interface, Leaf, Route};
use crate::frame::Frame;
use crate::ids::{PortId, Priority, Tag};
use crate::l2::Vid;
use crate::limits::BURST_MAX;
use crate::pipeline::outcome::FrameOutcome;
use crate::pipeline::outcome_groups::OutcomeGroups;
use crate::pipeline::route;
use crate::rules::{PortSet, TagMatch, TcamEntry};
use crate::rx_queues::Ingress;
use crate::snapshot::{PortMode, Snapshot};
use crate::testing::wire::{Udp, header_checksum, host_mac, host_v4, in_tunnel, port_mac};
use crate::testing::{RigBuilder, TestFrame};
use crate::ttl_class::{Parity, TtlClasses};
use crate::tunnel::{Tunnel, TunnelId, TunnelMode, TunnelPriorityGroup};
use crate::wire::ethernet;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};
use std::vec;
use std::vec::Vec;
use wide::u32x8;

const CELL_BYTES: u32 = 256;
const FRAME_BYTES_MAX: u16 = 1514;
const LONGEST: u32 = 1514 + 2 * 4;
const INGRESS_VLAN: u16 = 100;

/// How the switch differs from case to case.
#[derive(Clone, Copy, Debug)]
struct Shape {
    trusted: bool,
    by: crate::pipeline::classify::ClassifyBy,
    /// Whether port 1 takes tagged frames, and port 3 sends them.
    vlans: [bool; 2],
    ttl_classes: bool,
    /// Whether there are tunnels, and how they are.
    tunnels: Option<[bool; 4]>,
}

/// The end of the tunnels here.
const LOCAL: [u8; 4] = [10, 255, 0, 1];
/// Their far ends: a station at port 3, and one behind ports 2 and 3.
const REMOTES: [[u8; 4]; 2] = [host_v4(3, 1), [10, 9, 1, 1]];

/// Networks behind them: 10.7/16 and 2001:db8:7::/48, and 10.6/16.
fn add_tunnels(
    builder: &mut RigBuilder,
    [is_uniform, has_uniform_ttl, goes_by_inner, is_any]: [bool; 4],
) {
    builder.routes.set_locals([IpAddr::from(LOCAL)]);
    let mut outer_tag = core::array::from_fn(|tag| Tag::from_low_bits(u8::try_from(tag).unwrap()));
    outer_tag[1] = Tag::from_low_bits(2);
    let mode = |is_uniform| if is_uniform { TunnelMode::Uniform } else { TunnelMode::Pipe };
    let tunnel = |remote: [u8; 4]| Tunnel {
        local: LOCAL.into(),
        remote: Some(remote.into()),
        any_remote: is_any,
        dscp: mode(is_uniform),
        ttl: mode(has_uniform_ttl),
        outer_tag,
        priority_group: if goes_by_inner {
            TunnelPriorityGroup::Inner
        } else {
            TunnelPriorityGroup::Outer
        },
    };
    builder.tunnels = REMOTES.map(tunnel).into();
    for (net, index) in [("10.7.0.0/16", 0), ("2001:db8:7::/48", 0), ("10.6.0.0/16", 1)] {
        let id = TunnelId::from_index(index).unwrap();
        let route = Route::Tunnel { id, remote: REMOTES[index].into() };
        builder.routes.set_route(net.parse().unwrap(), route).unwrap();
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    use crate::pipeline::classify::ClassifyBy;
    let by = prop::sample::select(vec![ClassifyBy::Dscp, ClassifyBy::Pcp, ClassifyBy::Port]);
    let tunnels = proptest::option::weighted(0.6, any::<[bool; 4]>());
    (any::<bool>(), by, any::<[bool; 2]>(), prop::bool::weighted(0.2), tunnels).prop_map(
        |(trusted, by, vlans, ttl_classes, tunnels)| Shape {
            trusted,
            by,
            vlans,
            ttl_classes,
            tunnels,
        },
    )
}

/// Three routed ports with IPv4 and IPv6, ECMP routes over two of them, and rules that keep, raise
/// and demote tags.
fn snapshot(shape: Shape) -> Snapshot {
    let mut builder = RigBuilder::routed(3);
    let id = |number| PortId::from_number(number).unwrap();
    let vlan = |is_tagged: bool, value| Vid::new(value).filter(|_| is_tagged);
    builder.forwarding[0].mode = PortMode::Routed { vlan: vlan(shape.vlans[0], INGRESS_VLAN) };
    builder.forwarding[0].trust.trusted = shape.trusted;
    builder.forwarding[0].trust.by = shape.by;
    if shape.ttl_classes {
        builder.tags.ttl_classes = Some(TtlClasses {
            ttl0: 64,
            priorities: [1, 3, 4, 5].map(Priority::from_low_bits).into_iter().collect(),
            parity: Parity::All,
        });
    }
    for number in 1..=3_u8 {
        for net in [std::format!("10.0.{number}.254/24"), v6(number, 0xFE) + "/64"] {
            builder.routes.set_interface(Interface {
                net: net.parse().unwrap(),
                port: id(number.into()),
                vlan: vlan(shape.vlans[1] && number == 3, 200),
                mac: port_mac(number),
                // Port 2 carries less than what arrives.
                frame_bytes_max: if number == 2 { 1000 } else { FRAME_BYTES_MAX },
            });
        }
        let station = (id(number.into()), host_mac(number, 1));
        for address in
            [IpAddr::V4(Ipv4Addr::from(host_v4(number, 1))), v6(number, 1).parse().unwrap()]
        {
            builder.routes.set_neighbor(address, station.0, station.1).unwrap();
        }
    }
    let both = |one: IpAddr, other: IpAddr| Route::Via(vec![one, other]);
    let v4 = |number| IpAddr::V4(Ipv4Addr::from(host_v4(number, 1)));
    let hosts_v6 = [2, 3].map(|number| v6(number, 1).parse().unwrap());
    builder.routes.set_route("10.9.0.0/16".parse().unwrap(), both(v4(2), v4(3))).unwrap();
    builder.routes.set_route("10.8.0.0/16".parse().unwrap(), Route::Blackhole).unwrap();
    builder
        .routes
        .set_route("2001:db8:9::/48".parse().unwrap(), both(hosts_v6[0], hosts_v6[1]))
        .unwrap();
    if let Some(how) = shape.tunnels {
        add_tunnels(&mut builder, how);
    }
    let entry = |tag, out, new_tag| TcamEntry {
        tag: TagMatch { value: tag, mask: 63 },
        in_ports: PortSet::from_iter([id(1)]),
        out_ports: PortSet::from_iter([id(out)]),
        new_tag: Tag::from_low_bits(new_tag),
    };
    builder.rules = Some(vec![entry(1, 2, 1), entry(1, 3, 2), entry(2, 2, 0)]);
    builder.snapshot(0)
}

fn v6(port: u8, host: u8) -> std::string::String {
    std::format!("2001:db8:{port}::{host:x}")
}

/// Takes a burst through the fast path. Returns each frame, with its outcome if it was taken.
fn fast(snapshot: &Snapshot, burst: &[Vec<u8>]) -> Vec<(Option<FrameOutcome>, TestFrame)> {
    let tables = &snapshot.ports[0];
    let (mut outcomes, mut pairs) = (OutcomeGroups::new(CELL_BYTES), Pairs::default());
    let from = Input { snapshot, tables, ingress: Ingress::first_of(PortId::FIRST) };
    let mut frames: Vec<TestFrame> = burst.iter().map(|bytes| TestFrame::new(bytes)).collect();
    let mut group_of = vec![None; burst.len()];
    let mut eights: [Eight; EIGHTS] = core::array::from_fn(|_| Eight::default());
    for (frames, eight) in frames.chunks(LANES).zip(&mut eights) {
        let heads = core::array::from_fn(|lane| frames.get(lane));
        *eight = Eight::classify::<_, false>(&tables.fast_path, &heads, LONGEST);
    }
    Eight::look_up_burst(&mut eights, &snapshot.fib, &frames);
    for ((frames, eight), group_of) in
        frames.chunks_mut(LANES).zip(&mut eights).zip(group_of.chunks_mut(LANES))
    {
        eight.pass_tunnels(snapshot, &tables.fast_path, frames);
        let mut groups = [0; LANES];
        let taken = pairs.take::<_, false>(from, eight, frames, &mut outcomes, &mut groups);
        lanes_of(taken).for_each(|lane| group_of[lane] = Some(groups[lane]));
    }
    pairs.add_to_groups(&mut outcomes);
    let mut sums = OutcomeGroups::new(CELL_BYTES);
    let mut all = Vec::new();
    for ((group, frame), bytes) in group_of.into_iter().zip(frames).zip(burst) {
        let frame_outcome = group.map(|group| FrameOutcome {
            outcome: outcomes.groups[usize::from(group)].outcome,
            rx_bytes: u16::try_from(bytes.len()).unwrap(),
            bytes: u16::try_from(frame.len()).unwrap(),
        });
        match &frame_outcome {
            Some(frame_outcome) => _ = sums.add(frame_outcome),
            None => assert_eq!(frame.head(), bytes, "a frame that is not taken is as it came"),
        }
        all.push((frame_outcome, frame));
    }
    let key = |group: &crate::pipeline::outcome::OutcomeGroup| group.outcome.key();
    outcomes.groups.sort_by_key(key);
    sums.groups.sort_by_key(key);
    assert_eq!(outcomes.groups, sums.groups, "the sums are those of the frames one by one");
    all
}

/// Takes one frame through the generic path.
fn generic_path(snapshot: &Snapshot, bytes: &[u8]) -> (FrameOutcome, TestFrame) {
    let mut frame = TestFrame::new(bytes);
    let tables = &snapshot.ports[0];
    let PortMode::Routed { vlan } = tables.mode else { panic!("port 1 is routed") };
    let ingress = Ingress::first_of(PortId::FIRST);
    let longest = usize::from(FRAME_BYTES_MAX);
    let frame_outcome = route::generic_path(snapshot, tables, vlan, ingress, longest, &mut frame);
    (frame_outcome, frame)
}

/// VLAN tags of a frame: mostly none or the port's.
fn tags() -> impl Strategy<Value = Vec<u16>> {
    prop_oneof![
        4 => Just(vec![]),
        4 => any::<u8>().prop_map(|pcp| vec![u16::from(pcp) << 12 | INGRESS_VLAN]),
        1 => Just(vec![0]),
        1 => Just(vec![3 << 13]),
        1 => Just(vec![7]),
        1 => Just(vec![INGRESS_VLAN, 5]),
    ]
}

/// Frames that the fast path takes, and frames that fail some condition of it.
fn frame_v4() -> impl Strategy<Value = Vec<u8>> {
    let destinations = vec![
        host_v4(2, 1),
        host_v4(3, 1),
        [10, 9, 1, 2],
        [10, 9, 7, 7],
        [10, 8, 1, 2],
        host_v4(2, 77),
        [10, 7, 1, 1],
        [10, 6, 1, 1],
        [10, 0, 1, 254],
        [224, 0, 0, 1],
        [192, 0, 2, 1],
    ];
    let udp = (
        prop::sample::select(destinations),
        prop::sample::select(vec![26_u8 << 2, 27 << 2, 26 << 2 | 3, 0, 46 << 2]),
        prop::sample::select(vec![0_u8, 1, 2, 3, 64, 255]),
        any::<u16>(),
        prop::sample::select(vec![60_usize, 61, 590, 1000, 1001, 1004, 1514, 1515, 1522, 1523]),
        prop::sample::select(vec![10_u8, 10, 10, 0, 127, 169, 224]),
    );
    (udp, tags(), change()).prop_map(
        |((dst, tos, ttl, src_port, frame_bytes, source), tags, change)| {
            let frame = Udp { dst, tos, ttl, src_port, frame_bytes, tags, ..Udp::routed(1, 2, 0) };
            let mut bytes = Udp { src: [source, 0, 1, 1], ..frame }.bytes();
            let l3 = frame_l3(&bytes);
            if let Some((at, octet, mend)) = change {
                bytes[at] = octet;
                if mend && l3 + 20 <= bytes.len() {
                    bytes[l3 + 10..l3 + 12].fill(0);
                    let sum = header_checksum(&bytes[l3..l3 + 20]).to_be_bytes();
                    bytes[l3 + 10..l3 + 12].copy_from_slice(&sum);
                }
            }
            bytes
        },
    )
}

/// Frames that come out of a tunnel, or would but for one octet.
fn frame_in_tunnel() -> impl Strategy<Value = Vec<u8>> {
    let any_inner = prop_oneof![4 => frame_v4(), 1 => frame_v6()];
    let inner = any_inner.prop_filter("no tag", |it| frame_l3(it) == ethernet::HEADER_BYTES);
    let tos = prop::sample::select(vec![26_u8 << 2, 27 << 2, 26 << 2 | 3, 27 << 2 | 1, 0]);
    let source = prop::sample::select(vec![REMOTES[0], REMOTES[1], host_v4(2, 77)]);
    let fields = (tos, prop::sample::select(vec![2_u8, 64, 255, 1]), source);
    let protocol = prop::sample::select(vec![4_u8, 4, 4, 41, 17]);
    let fragment = prop::sample::select(vec![0x4000_u16, 0x4000, 0, 0x2000, 7]);
    let cut = prop::sample::select(vec![0_usize, 0, 0, 5]);
    (inner, fields, protocol, fragment, cut).prop_map(
        |(inner, (tos, ttl, source), protocol, fragment, cut)| {
            let packet = &inner[ethernet::HEADER_BYTES..];
            let total = u16::try_from(20 + packet.len() - cut).unwrap();
            let mut header = vec![0x45, tos];
            header.extend([total, 0, fragment].map(u16::to_be_bytes).concat());
            header.extend([ttl, protocol, 0, 0]);
            header.extend([source, LOCAL].concat());
            let sum = header_checksum(&header).to_be_bytes();
            header[10..12].copy_from_slice(&sum);
            [&inner[..12], &[0x08, 0x00], &header[..], packet].concat()
        },
    )
}

/// The same for IPv6, and for frames that are cut short.
fn frame_v6() -> impl Strategy<Value = Vec<u8>> {
    let destinations: Vec<std::string::String> = vec![
        v6(2, 1),
        v6(3, 1),
        "2001:db8:9::5".into(),
        "2001:db8:7::5".into(),
        v6(1, 0xFE),
        "ff02::1".into(),
        "2a00::1".into(),
    ];
    let sources: Vec<std::string::String> = vec![
        v6(1, 1),
        v6(1, 1),
        v6(1, 1),
        "::".into(),
        "::1".into(),
        "fe80::1".into(),
        "ff02::1".into(),
    ];
    let fields = (
        prop::sample::select(destinations),
        prop::sample::select(sources),
        prop::sample::select(vec![26_u8 << 2, 27 << 2 | 1, 0, 46 << 2]),
        prop::sample::select(vec![0_u8, 1, 2, 64, 255]),
        any::<[u8; 3]>(),
        prop::sample::select(vec![8_usize, 20, 900, 1000, 1460, 1500]),
        prop::sample::select(vec![0_i32, 0, 0, 1, -3]),
    );
    (fields, tags(), change(), prop::sample::select(vec![0_usize, 0, 0, 0, 10, 40])).prop_map(
        |((dst, src, class, hops, [low, a, b], payload_bytes, more), tags, change, cut)| {
            let mut bytes = Udp { tags, ..Udp::routed(1, 2, 0) }.bytes();
            bytes.truncate(frame_l3(&bytes));
            let l3 = bytes.len();
            bytes[l3 - 2..].copy_from_slice(&ethernet::IPV6.to_be_bytes());
            bytes.extend([0x60 | class >> 4, class << 4 | low & 0xF, a, b]);
            let said = i32::try_from(payload_bytes).unwrap() + more;
            bytes.extend(u16::try_from(said).unwrap().to_be_bytes());
            bytes.extend([17, hops]);
            for address in [src, dst] {
                bytes.extend(address.parse::<std::net::Ipv6Addr>().unwrap().octets());
            }
            bytes.resize(l3 + 40 + payload_bytes, 0x5A);
            if let Some((at, octet, _)) = change {
                bytes[at] = octet;
            }
            bytes.truncate(bytes.len() - cut);
            bytes
        },
    )
}

/// An octet of the headers that is overwritten, and whether the checksum is mended for it.
fn change() -> impl Strategy<Value = Option<(usize, u8, bool)>> {
    proptest::option::weighted(0.3, (0_usize..44, any::<u8>(), any::<bool>()))
}

fn frame_l3(bytes: &[u8]) -> usize {
    let mut l3 = ethernet::HEADER_BYTES;
    while bytes[l3 - 2..l3] == ethernet::VLAN.to_be_bytes() {
        l3 += ethernet::TAG_BYTES;
    }
    l3
}

fn burst() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let any_frame = || prop_oneof![2 => frame_v4(), 1 => frame_v6(), 1 => frame_in_tunnel()];
    // Mostly bursts of one kind: all with a tag, or all without.
    let of_one_kind = any::<bool>().prop_flat_map(move |is_tagged| {
        let alike = any_frame().prop_filter("the other kind", move |bytes| {
            (frame_l3(bytes) > ethernet::HEADER_BYTES) == is_tagged
        });
        proptest::collection::vec(alike, 1..=BURST_MAX)
    });
    prop_oneof![of_one_kind, proptest::collection::vec(any_frame(), 1..=BURST_MAX)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn what_the_fast_path_takes_the_generic_path_makes_the_same_of(
        burst in burst(),
        shape in shape(),
    ) {
        let snapshot = snapshot(shape);
        for (bytes, (frame_outcome, frame)) in burst.iter().zip(fast(&snapshot, &burst)) {
            if let Some(frame_outcome) = frame_outcome {
                prop_assert_eq!((frame_outcome, frame), generic_path(&snapshot, bytes));
            }
        }
    }

    /// Random tables, and those of IPv6, are in the tests of `fib/compile.rs`; here lanes that end
    /// at different depths.
    #[test]
    fn lanes_find_what_single_keys_find(keys: [u32; LANES], few in 0_u8..4) {
        let mut builder = RigBuilder::routed(2);
        let gateway = || Route::Via(vec![IpAddr::V4(Ipv4Addr::from(host_v4(2, 1)))]);
        for net in ["0.0.0.0/1", "128.0.0.0/9", "10.9.0.0/16", "10.9.8.0/24", "10.9.8.7/32"] {
            builder.routes.set_route(net.parse().unwrap(), gateway()).unwrap();
        }
        for number in 0..u32::from(few) * 300 {
            let net = std::format!("{}/24", Ipv4Addr::from(number << 8 | 20 << 24));
            builder.routes.set_route(net.parse().unwrap(), Route::Blackhole).unwrap();
        }
        let fib = builder.snapshot(0).fib;
        let near = [0x0A09_0807, 0x0A09_0806, 0x0A09_0001, 0x0A08_0001, 0x1400_0501, 0x1401_0501];
        let keys: [u32; LANES] =
            core::array::from_fn(|lane| if keys[lane] % 3 == 0 { keys[lane] } else { near[lane % 6] });
        let found = look_up(fib.v4_trie(), [u32x8::new(keys)], u32x8::MAX).to_array();
        let one_by_one = keys.map(|key| fib.v4(key.to_be_bytes()));
        prop_assert_eq!(found.map(Leaf::from_bits), one_by_one.map(Some));
    }
}

#[test]
fn the_common_frames_are_taken() {
    use crate::pipeline::classify::ClassifyBy;
    for vlans in [[false; 2], [true; 2], [true, false], [false, true]] {
        let shape =
            Shape { trusted: true, by: ClassifyBy::Dscp, vlans, ttl_classes: false, tunnels: None };
        let snapshot = snapshot(shape);
        let tags = if vlans[0] { vec![3 << 13 | INGRESS_VLAN] } else { vec![] };
        let frame = |to, dscp| Udp { tags: tags.clone(), ..Udp::routed(1, to, dscp) };
        let mut burst: Vec<Vec<u8>> =
            [(2, 26), (3, 26), (2, 27), (2, 0)].map(|(to, dscp)| frame(to, dscp).bytes()).into();
        burst.push(Udp { dst: [10, 9, 3, 3], ..frame(2, 26) }.bytes());
        let mut v6_frame = frame(2, 0).bytes();
        let l3 = frame_l3(&v6_frame);
        v6_frame.truncate(l3);
        v6_frame[l3 - 2..].copy_from_slice(&ethernet::IPV6.to_be_bytes());
        v6_frame.extend([0x66, 0x80, 0, 0, 0, 0, 59, 64]);
        for address in [v6(1, 1), "2001:db8:9::1".into()] {
            v6_frame.extend(address.parse::<std::net::Ipv6Addr>().unwrap().octets());
        }
        burst.push(v6_frame);
        let taken = fast(&snapshot, &burst);
        assert!(taken.iter().all(|(outcome, _)| outcome.is_some()), "{vlans:?}: {taken:?}");
    }
}

/// Into a tunnel IPv4 and IPv6 by the fast path, also with equal-cost paths to the far end; out of
/// it IPv4.
#[test]
fn frames_of_tunnels_are_taken() {
    use crate::pipeline::classify::ClassifyBy;
    for bits in 0..16_u8 {
        let how = [0, 1, 2, 3].map(|bit| bits >> bit & 1 == 1);
        let shape = Shape {
            trusted: true,
            by: ClassifyBy::Dscp,
            vlans: [false, bits & 1 == 0],
            ttl_classes: false,
            tunnels: Some(how),
        };
        let snapshot = snapshot(shape);
        let mut burst = Vec::new();
        for dst in [[10, 7, 1, 2], [10, 6, 1, 2], host_v4(2, 1)] {
            burst.push(Udp { dst, ..Udp::routed(1, 2, 26) }.bytes());
        }
        for (dst, source) in [(host_v4(2, 1), REMOTES[0]), ([10, 9, 5, 5], REMOTES[1])] {
            let inner = Udp { dst, ..Udp::routed(1, 2, 26) }.bytes();
            burst.push(in_tunnel(&inner, (27 << 2, 64), (source, LOCAL)));
        }
        let taken = fast(&snapshot, &burst);
        for (bytes, (outcome, frame)) in burst.iter().zip(taken) {
            let outcome = outcome.unwrap_or_else(|| panic!("{how:?}: not taken: {bytes:02X?}"));
            assert_eq!((outcome, frame), generic_path(&snapshot, bytes));
        }
    }
}

//! Bridged bursts, which take the fast path eight frames at a time, against the same frames one by
//! one, which do not: the same frames leave, in the same order, and the same counters move.

use dataplane::control_rings::Command;
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::l2::{Vid, VidSet, VlanPort};
use dataplane::pipeline::classify::ClassifyBy;
use dataplane::report::MacPortCounts;
use dataplane::rules::{PortSet, TagMatch, TcamEntry};
use dataplane::settings::Threshold;
use dataplane::snapshot::{PortMode, StaticMac};
use dataplane::testing::wire::{Udp, header_checksum, host_mac};
use dataplane::testing::{Rig, RigBuilder};
use dataplane::ttl_class::{Parity, TtlClasses};
use dataplane::wire::MacAddress;
use dataplane::wire::ethernet;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;

const PORTS: u8 = 4;

/// How the switch differs from case to case.
#[derive(Clone, Copy, Debug)]
struct Shape {
    trusted: bool,
    by: ClassifyBy,
    has_rules: bool,
    has_ttl_classes: bool,
    /// Some stations are static, some ports check sources, and the others stay where they are.
    keeps_stations: bool,
    /// The MAC table has no room for all stations.
    is_small: bool,
}

/// Trusted ports without rules.
const PLAIN: Shape = Shape {
    trusted: true,
    by: ClassifyBy::Dscp,
    has_rules: false,
    has_ttl_classes: false,
    keeps_stations: false,
    is_small: false,
};

fn shape() -> impl Strategy<Value = Shape> {
    let by = select(vec![ClassifyBy::Dscp, ClassifyBy::Pcp, ClassifyBy::Port]);
    let rarely = || prop::bool::weighted(0.2);
    (any::<bool>(), by, any::<bool>(), rarely(), rarely(), rarely()).prop_map(
        |(trusted, by, has_rules, has_ttl_classes, keeps_stations, is_small)| Shape {
            trusted,
            by,
            has_rules,
            has_ttl_classes,
            keeps_stations,
            is_small,
        },
    )
}

fn vlan_port(native: Option<u16>, tagged: &[u16]) -> VlanPort {
    let mut vids = VidSet::default();
    tagged.iter().filter_map(|&vid| Vid::new(vid)).for_each(|vid| vids.insert(vid));
    VlanPort { native: native.and_then(Vid::new), tagged: vids }
}

/// Two trunks, one with a native VLAN, and two access ports.
fn rig(shape: Shape) -> Rig {
    let mut builder = RigBuilder::bridged(PORTS);
    let forms = [
        vlan_port(Some(20), &[30]),
        vlan_port(None, &[20, 30]),
        vlan_port(Some(20), &[]),
        vlan_port(Some(30), &[20]),
    ];
    for (port, form) in builder.forwarding.iter_mut().zip(forms) {
        port.mode = PortMode::Bridged(Box::new(form));
        port.trust.trusted = shape.trusted;
        port.trust.by = shape.by;
    }
    // The copies of a whole burst must not pause its port: single frames do not.
    for viq in builder.settings.ports.iter_mut().flat_map(|port| &mut port.lossless).flatten() {
        viq.threshold = Threshold::Static { xoff_bytes: 300_000 };
    }
    builder.settings.buffer.size_bytes += 2 * u64::from(PORTS) * 300_000;
    // Port 3 sends no long frames.
    builder.settings.ports[2].frame_bytes_max = 600;
    let id = |number| PortId::from_number(number).unwrap();
    let entry = |tag, out, new_tag| TcamEntry {
        tag: TagMatch { value: tag, mask: 63 },
        in_ports: (1..=usize::from(PORTS)).map(id).collect(),
        out_ports: PortSet::from_iter([id(out)]),
        new_tag: Tag::from_low_bits(new_tag),
    };
    if shape.has_rules {
        builder.rules = Some(vec![entry(1, 2, 1), entry(1, 3, 2), entry(2, 2, 0), entry(1, 1, 1)]);
    }
    if shape.has_ttl_classes {
        let priorities = [1, 3, 4, 5].map(Priority::from_low_bits).into_iter().collect();
        builder.tags.ttl_classes = Some(TtlClasses { ttl0: 64, priorities, parity: Parity::All });
    }
    if shape.keeps_stations {
        builder.settings.mac_table.hold_ns = 1_000_000;
        builder.forwarding[0].checks_source = true;
        builder.forwarding[3].checks_source = true;
        let vid = Vid::new(20).unwrap();
        let station = |number| StaticMac { vid, mac: host_mac(number, 1), port: id(number.into()) };
        builder.static_macs = vec![station(1), station(3)];
    }
    if shape.is_small {
        builder.settings.mac_table.entries_max = 12;
    }
    builder.build()
}

/// A frame of a burst that arrives at one port: mostly from a station there to one that is known.
#[derive(Clone, Debug)]
struct Sent {
    to: u8,
    host: u8,
    from_host: u8,
    dscp: u8,
    ttl: u8,
    tci: u16,
    frame_bytes: usize,
    is_v6: bool,
    other: Other,
}

#[derive(Clone, Copy, Debug)]
enum Other {
    No,
    Broadcast,
    UnknownStation,
    /// A station of another port sends here.
    Moved,
    NotIp,
    /// An octet is overwritten.
    Octet(usize, u8),
    NoTag,
    TwoTags,
}

/// Frames that are odd: none in most bursts.
fn other(is_odd: bool) -> BoxedStrategy<Other> {
    if !is_odd {
        return Just(Other::No).boxed();
    }
    let odd = vec![
        Other::Broadcast,
        Other::UnknownStation,
        Other::Moved,
        Other::NotIp,
        Other::NoTag,
        Other::TwoTags,
    ];
    prop_oneof![
        12 => Just(Other::No),
        1 => select(odd),
        1 => (0_usize..50, any::<u8>()).prop_map(|(at, octet)| Other::Octet(at, octet)),
    ]
    .boxed()
}

fn sent(is_odd: bool) -> impl Strategy<Value = Sent> {
    let lengths = if is_odd { vec![60, 61, 600, 604, 608, 612] } else { vec![60, 70, 500] };
    (
        (1..=PORTS, 1_u8..4, 1_u8..4),
        select(vec![26_u8, 27, 0, 46]),
        select(vec![0_u8, 1, 62, 63, 64]),
        (select(vec![20_u16, 20, 20, 30, 0]), 0_u16..16),
        select(lengths),
        prop::bool::weighted(0.3),
        other(is_odd),
    )
        .prop_map(
            |((to, host, from_host), dscp, ttl, (vid, high), frame_bytes, is_v6, other)| {
                let tci = high << 12 | vid;
                Sent { to, host, from_host, dscp, ttl, tci, frame_bytes, is_v6, other }
            },
        )
}

impl Sent {
    fn bytes(&self, from: u8, is_tagged: bool, sequence: u32) -> Vec<u8> {
        let to = if self.to == from { 1 + from % PORTS } else { self.to };
        let mut udp = Udp {
            dst_mac: host_mac(to, self.host),
            src_mac: host_mac(from, self.from_host),
            ttl: self.ttl,
            frame_bytes: self.frame_bytes,
            sequence,
            ..Udp::routed(from, to, self.dscp)
        };
        if is_tagged {
            udp.tags = vec![self.tci];
        }
        match self.other {
            Other::Broadcast => udp.dst_mac = MacAddress([0xFF; 6]),
            Other::UnknownStation => udp.dst_mac = host_mac(to, 99),
            Other::Moved => udp.src_mac = host_mac(to, self.from_host),
            Other::NoTag => udp.tags.clear(),
            Other::TwoTags => udp.tags = vec![self.tci, 5],
            Other::No | Other::NotIp | Other::Octet(..) => {}
        }
        let mut bytes = udp.bytes();
        let l3 = ethernet::HEADER_BYTES + 4 * udp.tags.len();
        if self.is_v6 && bytes.len() >= l3 + 40 {
            as_v6(&mut bytes[l3 - 2..], self.dscp, self.ttl);
        }
        match self.other {
            Other::NotIp => bytes[l3 - 2..l3].copy_from_slice(&[0x88, 0xB5]),
            Other::Octet(at, octet) => {
                bytes[at] = octet;
                if at % 2 == 0 {
                    bytes[l3 + 10..l3 + 12].fill(0);
                    let sum = header_checksum(&bytes[l3..l3 + 20]).to_be_bytes();
                    bytes[l3 + 10..l3 + 12].copy_from_slice(&sum);
                }
            }
            _ => {}
        }
        bytes
    }
}

/// Writes an ethertype and an IPv6 header over a frame, from the ethertype on.
fn as_v6(bytes: &mut [u8], dscp: u8, hops: u8) {
    let payload_bytes = u16::try_from(bytes.len() - 42).unwrap().to_be_bytes();
    let class = dscp << 2 | 1;
    bytes[..2].copy_from_slice(&ethernet::IPV6.to_be_bytes());
    bytes[2..10].copy_from_slice(&[
        0x60 | class >> 4,
        class << 4,
        0,
        0,
        payload_bytes[0],
        payload_bytes[1],
        59,
        hops,
    ]);
    bytes[10..42].fill(0x20);
}

/// A burst: the port that it comes in by, whether its frames have a tag, and the frames.
fn burst() -> impl Strategy<Value = (u8, bool, Vec<Sent>)> {
    let frames = prop_oneof![2 => Just(false), 1 => Just(true)]
        .prop_flat_map(|is_odd| vec(sent(is_odd), 1..=64));
    // In some bursts all frames go to one port.
    (1..=PORTS, any::<bool>(), frames, proptest::option::of(1..=PORTS)).prop_map(
        |(from, is_tagged, mut frames, only)| {
            frames.iter_mut().for_each(|frame| frame.to = only.unwrap_or(frame.to));
            (from, is_tagged, frames)
        },
    )
}

/// Port 3 leaves its VLAN; its stations are still in the MAC table.
fn leave_vlan(rig: &mut Rig) {
    rig.builder.forwarding[2].mode = PortMode::Bridged(Box::new(vlan_port(Some(40), &[])));
    let snapshot = Arc::new(rig.builder.snapshot(1));
    rig.command(|| Command::Install(Arc::clone(&snapshot)));
    rig.settle();
}

/// A switch to which every station has said in each VLAN where it is; what that made the switch
/// send is forgotten.
fn introduced(shape: Shape) -> Rig {
    let mut rig = rig(shape);
    for port in 1..=PORTS {
        for (host, tags) in
            (1..4).flat_map(|host| [vec![], vec![20], vec![30]].map(|tags| (host, tags)))
        {
            let hello = Udp { src_mac: host_mac(port, host), tags, ..Udp::bridged(port, 99, 0) };
            rig.arrive(port, &Udp { dst_mac: MacAddress([0xFF; 6]), ..hello }.bytes());
        }
    }
    rig.settle();
    (1..=PORTS).for_each(|port| _ = rig.sent(port));
    rig
}

fn sent_by(rig: &mut Rig) -> Vec<Vec<Vec<u8>>> {
    (1..=PORTS).map(|port| rig.sent(port)).collect()
}

fn mac_counts(rig: &Rig) -> Vec<MacPortCounts> {
    (1..=PORTS).map(|port| rig.report(port).mac).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn bridged_bursts_are_as_their_frames_one_by_one(
        shape in shape(),
        bursts in vec(burst(), 1..6),
        left_after in 0_usize..9,
    ) {
        let (mut whole, mut single) = (introduced(shape), introduced(shape));
        let mut sequence = 0;
        for (number, (port, is_tagged, frames)) in bursts.iter().enumerate() {
            if number == left_after {
                leave_vlan(&mut whole);
                leave_vlan(&mut single);
            }
            for frame in frames {
                sequence += 1;
                let bytes = frame.bytes(*port, *is_tagged, sequence);
                whole.arrive(*port, &bytes);
                single.arrive(*port, &bytes);
                single.settle();
            }
            whole.settle();
            prop_assert_eq!(sent_by(&mut whole), sent_by(&mut single));
            prop_assert_eq!(whole.counters(), single.counters());
            prop_assert_eq!(whole.tag_changes(), single.tag_changes());
            prop_assert_eq!(whole.totals(), single.totals());
            prop_assert_eq!(mac_counts(&whole), mac_counts(&single));
        }
    }
}

/// The frames above are compared with one another; here one of each form is checked by hand.
#[test]
fn a_tag_comes_and_goes_with_the_ports() {
    let mut rig = introduced(PLAIN);
    let untagged = |to| Udp { frame_bytes: 100, ..Udp::bridged(1, to, 26) };
    for to in [2, 3, 4].repeat(8) {
        rig.arrive(1, &untagged(to).bytes());
    }
    rig.settle();
    // Tag 1 is encoded by PCP 3.
    let tagged = |to| Udp { tags: vec![3 << 13 | 20], ..untagged(to) };
    let with_tag = |to| {
        let mut bytes = untagged(to).bytes();
        let tag = tagged(to).bytes()[12..16].to_vec();
        bytes.splice(12..12, tag);
        bytes
    };
    assert_eq!(rig.sent(2), vec![with_tag(2); 8]);
    assert_eq!(rig.sent(3), vec![untagged(3).bytes(); 8]);
    assert_eq!(rig.sent(4), vec![with_tag(4); 8]);
    // And back: the drop eligible indicator stays, the tag goes.
    for (to, from) in [(1, 2), (3, 2)].repeat(8) {
        let frame = Udp { tags: vec![3 << 13 | 1 << 12 | 20], ..Udp::bridged(from, to, 26) };
        rig.arrive(from, &frame.bytes());
    }
    rig.settle();
    for to in [1, 3] {
        let frame = Udp { tags: vec![3 << 13 | 1 << 12 | 20], ..Udp::bridged(2, to, 26) };
        let mut bytes = frame.bytes();
        bytes.drain(12..16);
        assert_eq!(rig.sent(to), vec![bytes; 8]);
    }
}

/// 0xFFFF and 0 are the same checksum. A bridge that changes nothing leaves whichever it was, also
/// beside frames whose marking changes.
#[test]
fn a_header_that_is_not_marked_keeps_the_zero_it_came_with() {
    let mut rig = introduced(Shape { has_rules: true, ..PLAIN });
    let mut kept = Udp::bridged(1, 3, 0).bytes();
    kept[24..26].fill(0);
    // The identification makes up the sum to 0xFFFF.
    kept[18..20].fill(0);
    let identification = header_checksum(&kept[14..34]).to_be_bytes();
    kept[18..20].copy_from_slice(&identification);
    assert_eq!(header_checksum(&kept[14..34]), 0);
    kept[24..26].fill(0xFF);
    for _ in 0..8 {
        rig.arrive(1, &kept);
        rig.arrive(1, &Udp::bridged(1, 3, 26).bytes());
    }
    rig.settle();
    let marked = Udp::bridged(1, 3, 27).bytes();
    assert_eq!(rig.sent(3), vec![vec![kept, marked]; 8].concat());
}

/// Frames that are looked up for the fast path and then are flooded count once.
#[test]
fn each_frame_whose_address_is_not_learned_counts_once() {
    let mut rig = rig(Shape { is_small: true, ..PLAIN });
    for hosts in [0..64, 64..128] {
        for host in hosts {
            let hello = Udp { src_mac: host_mac(3, host), ..Udp::bridged(3, 99, 0) };
            rig.arrive(3, &hello.bytes());
        }
        rig.settle();
    }
    let expected = MacPortCounts { addresses: 10, refused_frames: 118, ..Default::default() };
    assert_eq!(rig.report(3).mac, expected);
}

#[test]
fn a_station_that_is_kept_takes_its_frames_whatever_another_port_says() {
    let mut rig = introduced(Shape { keeps_stations: true, ..PLAIN });
    // Station 1 of port 3 is static, station 2 has just been heard. Port 4 checks sources, port 2
    // does not.
    for (from, host) in [(4, 1), (4, 2), (2, 1), (2, 2)].repeat(8) {
        let src_mac = host_mac(3, host);
        rig.arrive(from, &Udp { src_mac, tags: vec![20], ..Udp::bridged(from, 1, 0) }.bytes());
    }
    rig.settle();
    assert_eq!(rig.sent(1).len(), 16, "what port 2 sent");
    let count = |rig: &Rig, port| (rig.report(port).mac.held_frames, rig.report(port).mac.moves);
    assert_eq!((count(&rig, 4), count(&rig, 2)), ((16, 0), (16, 0)));
    let drops = |port| rig.counters().contains(&format!("p{port} drop.source_check = 16"));
    assert_eq!((drops(4), drops(2)), (true, false));
    for host in [1, 2] {
        rig.arrive(1, &Udp { dst_mac: host_mac(3, host), ..Udp::bridged(1, 3, 0) }.bytes());
    }
    rig.settle();
    assert_eq!(rig.sent(3).len(), 2, "the stations have kept their port");
    // The one that was heard may move after the hold time; the static one may not.
    rig.wait(2_000_000);
    for host in [1, 2] {
        let moved = Udp { src_mac: host_mac(3, host), tags: vec![20], ..Udp::bridged(4, 1, 0) };
        rig.arrive(4, &moved.bytes());
    }
    rig.settle();
    assert_eq!((count(&rig, 4), rig.sent(1).len()), ((17, 1), 1));
}

#[test]
fn static_stations_come_and_go_with_the_tables() {
    let mut rig = rig(PLAIN);
    let to_static = Udp { dst_mac: host_mac(9, 1), ..Udp::bridged(1, 9, 0) }.bytes();
    rig.arrive(1, &to_static);
    rig.settle();
    assert_eq!(sent_by(&mut rig).iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 1, 1]);
    let vid = Vid::new(20).unwrap();
    for (epoch, on) in [(1, Some(3)), (2, Some(4)), (3, None)] {
        let station = |number| StaticMac {
            vid,
            mac: host_mac(9, 1),
            port: PortId::from_number(number).unwrap(),
        };
        rig.builder.static_macs = on.map(station).into_iter().collect();
        let snapshot = Arc::new(rig.builder.snapshot(epoch));
        rig.command(|| Command::Install(Arc::clone(&snapshot)));
        rig.settle();
        rig.arrive(1, &to_static);
        rig.settle();
        let sent: Vec<usize> = sent_by(&mut rig).iter().map(Vec::len).collect();
        let expected = match on {
            Some(3) => [0, 0, 1, 0],
            Some(_) => [0, 0, 0, 1],
            None => [0, 1, 1, 1],
        };
        assert_eq!(sent, expected);
    }
}

//! QoS maps: a tag's priority where a frame is received and where it is sent, against an oracle
//! that looks each frame up by itself.

use dataplane::control_rings::Command;
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::qos_map::QosMap;
use dataplane::rules::{PortSet, TagMatch, TcamEntry, linear};
use dataplane::testing::wire::{Udp, host_mac};
use dataplane::testing::{Rig, RigBuilder, tag_of};
use dataplane::wire::mac_control::Pfc;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;
use std::sync::Arc;

const PORTS: u8 = 4;
const LOSSY: Tag = Tag::from_low_bits(0);
/// The priorities of tags 1 and 2, and that of all others, in the rig.
const PLAIN: [u8; 3] = [0, 3, 4];

/// The priorities of lossy tags, tag 1 and tag 2 at a port, received and sent; `None`: no map.
type Map = Option<([u8; 3], [u8; 3])>;

/// Ingress port, egress port, DSCP.
type Sent = (u8, u8, u8);

fn port(number: u8) -> PortId {
    PortId::from_number(usize::from(number)).unwrap()
}

/// The DSCP of a tag that a rule writes.
const fn dscp_of(tag: Tag) -> u8 {
    [0, 26, 27][tag.index()]
}

fn qos_map(builder: &RigBuilder, map: Map) -> Option<Arc<QosMap>> {
    let (received, sent) = map?;
    let mut qos_map = QosMap::plain(builder.tags.priority);
    // DSCP 46 is tag 46 there, as lossy as tag 0.
    for (tag, at) in [(0, 0), (1, 1), (2, 2), (46, 0)] {
        qos_map.priority_group[tag] = Priority::new(received[at]).unwrap();
        qos_map.queue[tag] = Priority::new(sent[at]).unwrap();
    }
    Some(Arc::new(qos_map))
}

fn with_maps(mut builder: RigBuilder, maps: &[Map]) -> RigBuilder {
    let compiled: Vec<_> = maps.iter().map(|&map| qos_map(&builder, map)).collect();
    for (forwarding, map) in builder.forwarding.iter_mut().zip(compiled) {
        forwarding.qos_map = map;
    }
    builder
}

/// Frames by port, direction (`rx_frames`, `tx_frames`) and priority.
type Counts = BTreeMap<(u8, &'static str, u8), u64>;

/// Where each frame goes: the counts of it, and the DSCPs that each port sends, in order.
fn oracle(maps: &[Map], entries: &[TcamEntry], frames: &[Sent]) -> (Counts, Vec<Vec<u8>>) {
    let (mut counts, mut sent) = (Counts::new(), vec![Vec::new(); usize::from(PORTS)]);
    for &(input, output, dscp) in frames {
        let tag = tag_of(dscp);
        let new_tag = match tag {
            LOSSY => LOSSY,
            _ => linear::lookup(entries, LOSSY, tag, port(input), port(output)),
        };
        let received = maps[port(input).index()].map_or(PLAIN, |map| map.0)[tag.index()];
        let queue = maps[port(output).index()].map_or(PLAIN, |map| map.1)[new_tag.index()];
        *counts.entry((input, "rx_frames", received)).or_default() += 1;
        *counts.entry((output, "tx_frames", queue)).or_default() += 1;
        sent[port(output).index()].push(if new_tag == tag { dscp } else { dscp_of(new_tag) });
    }
    sent.iter_mut().for_each(|dscps| dscps.sort_unstable());
    (counts, sent)
}

/// The same of a switch.
fn found(rig: &mut Rig) -> (Counts, Vec<Vec<u8>>) {
    let mut counts = Counts::new();
    for number in 1..=PORTS {
        let counters = rig.report(number).counters;
        for priority in 0..8 {
            let index = usize::from(priority);
            for (name, frames) in
                [("rx_frames", counters.rx_frames[index]), ("tx_frames", counters.tx_frames[index])]
            {
                if frames > 0 {
                    counts.insert((number, name, priority), frames);
                }
            }
        }
        assert_eq!(counters.drops.iter().sum::<u64>(), 0);
    }
    let sent = (1..=PORTS).map(|number| {
        let mut dscps: Vec<u8> = rig.sent(number).iter().map(|frame| frame[15] >> 2).collect();
        dscps.sort_unstable();
        dscps
    });
    (counts, sent.collect())
}

fn priorities() -> impl Strategy<Value = [u8; 3]> {
    (select(vec![0_u8, 1, 2, 5, 6, 7]), 3_u8..5, 3_u8..5).prop_map(|(a, b, c)| [a, b, c])
}

fn maps() -> impl Strategy<Value = Vec<Map>> {
    let map = prop_oneof![
        1 => Just(None),
        3 => (priorities(), priorities()).prop_map(Some),
        1 => Just(Some((PLAIN, PLAIN))),
    ];
    vec(map, usize::from(PORTS))
}

fn entries() -> impl Strategy<Value = Vec<TcamEntry>> {
    let ports = || {
        vec(1..=PORTS, 1..4).prop_map(|ports| -> PortSet { ports.into_iter().map(port).collect() })
    };
    let entry =
        (1_u8..3, ports(), ports(), 0_u8..3).prop_map(|(value, in_ports, out_ports, new_tag)| {
            TcamEntry {
                tag: TagMatch { value, mask: 63 },
                in_ports,
                out_ports,
                new_tag: Tag::from_low_bits(new_tag),
            }
        });
    vec(entry, 0..6)
}

fn sent() -> impl Strategy<Value = Sent> {
    (1..=PORTS, 1..=PORTS, select(vec![26_u8, 27, 0, 46]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn each_frame_is_received_and_sent_in_the_priorities_of_the_ports_maps(
        maps in maps(),
        entries in proptest::option::of(entries()),
        bursts in vec(vec(sent(), 0..40), 1..5),
        workers in 1_u8..3,
    ) {
        let mut builder = with_maps(RigBuilder::routed(PORTS), &maps);
        builder.rules.clone_from(&entries);
        let mut rig = (1..=PORTS)
            .fold(builder, |builder, number| builder.owned_by(number, number % workers))
            .build();
        for burst in &bursts {
            for &(input, output, dscp) in burst {
                rig.arrive(input, &Udp::routed(input, output, dscp).bytes());
            }
            rig.settle();
        }
        // Without rules every tag stays, which an entry for each tag says too.
        let all: PortSet = (1..=PORTS).map(port).collect();
        let stay = [1, 2].map(|tag| TcamEntry {
            tag: TagMatch { value: tag, mask: 63 },
            in_ports: all,
            out_ports: all,
            new_tag: Tag::from_low_bits(tag),
        });
        let expected = oracle(&maps, entries.as_deref().unwrap_or(&stay), &bursts.concat());
        prop_assert_eq!(found(&mut rig), expected);
        prop_assert_eq!(rig.totals().imbalance(), 0);
    }
}

/// Ports 1 and 2; tag 1 is received in `received` and sent in `sent` on both.
fn two_ports(received: u8, sent: u8) -> RigBuilder {
    let map = Some(([0, received, 3], [0, sent, 3]));
    with_maps(RigBuilder::routed(2), &[map, map])
}

#[test]
fn a_pause_of_the_queue_becomes_a_pause_of_the_priority_group() {
    let mut rig = two_ports(4, 3).build();
    rig.arrive(2, &Pfc::default().with(Priority::EACH[3], u16::MAX).to_frame(host_mac(2, 1)));
    rig.settle();
    // 30 KB: the VIQ's threshold is at 20 KB.
    rig.load(1, 2, 26, 30);
    rig.settle();
    let lines: Vec<String> =
        rig.counters().into_iter().filter(|line| !line.contains("bytes")).collect();
    assert_eq!(
        lines,
        [
            "p1 rx_frames[4] = 30",
            "p1 pfc.tx_frames = 1",
            "p1 pfc.tx_xoff[4] = 1",
            "p1 pfc.tx_pauses[4] = 1",
            "p2 pfc.rx_frames = 1",
            "p2 pfc.rx_xoff[3] = 1",
            "p2 pfc.rx_pauses[3] = 1",
        ]
    );
    let [pause] = &rig.sent(1)[..] else { panic!("one pause") };
    assert_eq!(pause[16..18], [0, 1 << 4], "the class-enable vector names the priority group");
    rig.arrive(2, &Pfc::default().with(Priority::EACH[3], 0).to_frame(host_mac(2, 1)));
    rig.settle();
    assert_eq!(rig.sent(2).len(), 30);
    assert_eq!(rig.report(2).counters.tx_frames[3], 30);
}

#[test]
fn a_new_map_is_a_new_snapshot() {
    let mut rig = two_ports(4, 3).build();
    rig.load(1, 2, 26, 5);
    rig.settle();
    let changed = two_ports(3, 4).snapshot(1);
    let changed = Arc::new(changed);
    rig.command(|| Command::Install(Arc::clone(&changed)));
    rig.settle();
    rig.load(1, 2, 26, 7);
    rig.settle();
    let (received, sent) = (rig.report(1).counters.rx_frames, rig.report(2).counters.tx_frames);
    assert_eq!((received[4], received[3], sent[3], sent[4]), (5, 7, 5, 7));
}

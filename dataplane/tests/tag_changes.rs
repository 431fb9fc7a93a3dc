//! The counters of changed tags, by tag and new tag, against an oracle that asks the entries one
//! after the other about each frame.

use dataplane::ids::{PortId, Tag};
use dataplane::rules::{PortSet, TagMatch, TcamEntry, linear};
use dataplane::testing::wire::Udp;
use dataplane::testing::{Rig, RigBuilder, tag_of};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;

const PORTS: u8 = 4;
const LOSSY: Tag = Tag::from_low_bits(0);

/// Ingress port, egress port, DSCP.
type Sent = (u8, u8, u8);

fn port(number: u8) -> PortId {
    PortId::from_number(usize::from(number)).unwrap()
}

/// By tag and new tag: the frames whose tag changes.
fn oracle(entries: &[TcamEntry], frames: &[Sent]) -> BTreeMap<(u8, u8), u64> {
    let mut counts = BTreeMap::new();
    for &(input, output, dscp) in frames {
        let tag = tag_of(dscp);
        if tag == LOSSY {
            continue;
        }
        let new_tag = linear::lookup(entries, LOSSY, tag, port(input), port(output));
        if new_tag != tag {
            *counts.entry((tag.value(), new_tag.value())).or_default() += 1;
        }
    }
    counts
}

fn entries() -> impl Strategy<Value = Vec<TcamEntry>> {
    let ports = || {
        vec(1..=PORTS, 1..3).prop_map(|ports| -> PortSet { ports.into_iter().map(port).collect() })
    };
    let entry = (select(vec![(1, 63), (2, 63), (0, 60)]), ports(), ports(), 0_u8..3);
    let entry = entry.prop_map(|((value, mask), in_ports, out_ports, new_tag)| TcamEntry {
        tag: TagMatch { value, mask },
        in_ports,
        out_ports,
        new_tag: Tag::from_low_bits(new_tag),
    });
    vec(entry, 0..8)
}

fn sent() -> impl Strategy<Value = Sent> {
    (1..=PORTS, 1..=PORTS, select(vec![26_u8, 27, 0, 46]))
}

/// What all ports count as raised and as demoted.
fn raised_and_demoted(rig: &Rig) -> (u64, u64) {
    let counters = (1..=PORTS).map(|number| rig.report(number).counters);
    counters.fold((0, 0), |(raised, demoted), counters| {
        (raised + counters.raised_frames, demoted + counters.demoted_frames)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_changed_tag_is_counted_once_by_tag_and_new_tag(
        entries in entries(),
        bursts in vec(vec(sent(), 0..40), 1..6),
        workers in 1_u8..3,
    ) {
        let mut builder = RigBuilder::routed(PORTS);
        builder.rules = Some(entries.clone());
        let mut rig = (1..=PORTS)
            .fold(builder, |builder, number| builder.owned_by(number, number % workers))
            .build();
        for burst in &bursts {
            for &(input, output, dscp) in burst {
                rig.arrive(input, &Udp::routed(input, output, dscp).bytes());
            }
            rig.settle();
        }
        let expected = oracle(&entries, &bursts.concat());
        prop_assert_eq!(&rig.tag_changes(), &expected);
        let sum = |lossy: bool| -> u64 {
            expected.iter().filter(|((_, to), _)| (*to == 0) == lossy).map(|(_, count)| count).sum()
        };
        prop_assert_eq!(raised_and_demoted(&rig), (sum(false), sum(true)));
    }
}

#[test]
fn a_bridged_frame_is_counted_for_each_copy_whose_tag_changes() {
    let mut builder = RigBuilder::bridged(3);
    let one = |number: u8| PortSet::from_iter([port(number)]);
    let entry = |output, new_tag| TcamEntry {
        tag: TagMatch { value: 1, mask: 63 },
        in_ports: one(1),
        out_ports: one(output),
        new_tag: Tag::from_low_bits(new_tag),
    };
    builder.rules = Some(vec![entry(2, 2), entry(3, 1)]);
    let mut rig = builder.build();
    // Nobody has learned port 2's address: the frame is flooded to ports 2 and 3.
    rig.arrive(1, &Udp::bridged(1, 2, 26).bytes());
    rig.settle();
    assert_eq!(rig.tag_changes(), BTreeMap::from([((1, 2), 1)]));
}

//! Which queue and which priority group a marking selects.

use crate::dut::{self, Dut, POOL, PROFILE, default_queue, dscp_of};
use dataplane::ids::{Priority, Tag};
use dataplane::pipeline::classify::ClassifyBy;
use dataplane::qos_map::QosMap;
use dataplane::testing::RigBuilder;
use dataplane::testing::wire::Udp;
use std::sync::Arc;

/// Frames of each priority for one frame of each DSCP, by SONiC's default map.
const OF_EACH: [u64; 8] = [1, 58, 1, 1, 1, 1, 1, 0];

/// DscpMappingPB: each DSCP leaves by its queue, and with its marking.
#[test]
fn qos_sai_dscp_queue_mapping() {
    let mut dut = Dut::new(dut::builder(2, PROFILE, POOL));
    (0..64).for_each(|dscp| dut.send(1, 2, dscp, 64, 1));
    let counters = dut.rig.report(2).counters;
    assert_eq!(counters.tx_frames, OF_EACH);
    let dscps: Vec<u8> = dut.left(2).iter().map(|frame| dscp_of(frame)).collect();
    assert_eq!(dscps, (0..64).collect::<Vec<u8>>(), "unchanged");
    let drops: u64 = counters.drops.iter().sum();
    assert_eq!((drops, counters.pfc.tx_frames), (0, 0));
}

/// The priority group of a DSCP by SONiC's default maps: lossy traffic shares group 0.
fn default_group(dscp: u8) -> u8 {
    if dut::LOSSLESS.contains(&dscp) { dscp } else { 0 }
}

/// The map of a port.
fn qos_map(group: impl Fn(u8) -> u8, queue: impl Fn(u8) -> u8) -> Option<Arc<QosMap>> {
    let mapped = |of: &dyn Fn(u8) -> u8| {
        std::array::from_fn(|tag| Priority::from_low_bits(of(u8::try_from(tag).unwrap())))
    };
    Some(Arc::new(QosMap { priority_group: mapped(&group), queue: mapped(&queue) }))
}

/// DscpToPgMapping: of one frame of each DSCP, those of DSCP 3 and 4 are in their own group, and
/// all others in group 0.
#[test]
fn qos_sai_dscp_to_pg_mapping() {
    let mut builder = dut::builder(2, PROFILE, POOL);
    for port in &mut builder.forwarding {
        port.qos_map = qos_map(default_group, default_queue);
    }
    let mut dut = Dut::new(builder);
    (0..64).for_each(|dscp| dut.send(1, 2, dscp, 64, 1));
    assert_eq!(dut.rig.report(1).counters.rx_frames, [62, 0, 0, 1, 1, 0, 0, 0]);
    assert_eq!(dut.rig.report(2).counters.tx_frames, OF_EACH, "the queues are as before");
    let peaks = [0, 1, 2, 3, 4, 5, 6, 7].map(|p| dut.queue(1, p).viq_peak_bytes);
    assert_eq!(peaks, [256, 0, 0, 256, 256, 0, 0, 0], "and the buffer is charged so");
}

/// testQosSaiSeparatedDscpQueueMapping and -PgMapping, and test_separated_qos_map_on_tor: DSCP 2
/// and 6 have queues and groups of their own in one direction only. There the map of the port that
/// receives says the queue; here that of the port that sends, which comes to the same where all
/// uplinks have one map and all downlinks another.
#[test]
fn qos_sai_separated_dscp_mapping() {
    let extra = |dscp: u8| matches!(dscp, 2 | 6);
    let queue = |dscp: u8| match dscp {
        8 => 0,
        3 | 4 => dscp,
        46 => 5,
        48 => 7,
        _ => 1,
    };
    let (up, down) = (1, 2);
    for (from, to) in [(up, down), (down, up)] {
        let mut builder = dut::builder(2, PROFILE, POOL);
        let upward = |dscp: u8| if extra(dscp) { dscp } else { queue(dscp) };
        let from_below = |dscp: u8| if extra(dscp) { dscp } else { default_group(dscp) };
        builder.forwarding[0].qos_map = qos_map(default_group, upward);
        builder.forwarding[1].qos_map = qos_map(from_below, queue);
        let mut dut = Dut::new(builder);
        (0..64).for_each(|dscp| dut.send(from, to, dscp, 64, 1));
        let (groups, queues) = if from == up {
            ([62, 0, 0, 1, 1, 0, 0, 0], [1, 59, 0, 1, 1, 1, 0, 1])
        } else {
            ([60, 0, 1, 1, 1, 0, 1, 0], [1, 57, 1, 1, 1, 1, 1, 1])
        };
        assert_eq!(dut.rig.report(from).counters.rx_frames, groups);
        assert_eq!(dut.rig.report(to).counters.tx_frames, queues);
        let dscps: Vec<u8> = dut.left(to).iter().map(|frame| dscp_of(frame)).collect();
        assert_eq!(dscps, (0..64).collect::<Vec<u8>>(), "unchanged");
    }
}

/// A bridge that classifies by PCP, with these priorities, and knows where station 2 is.
fn bridge(priority_of: [u8; 8]) -> Dut {
    let mut builder = RigBuilder::bridged(2);
    dut::buffers(&mut builder.settings, PROFILE, POOL);
    for port in &mut builder.forwarding {
        port.trust.by = ClassifyBy::Pcp;
    }
    let tags = &mut builder.tags;
    for (pcp, priority) in priority_of.into_iter().enumerate() {
        let tag = Tag::from_low_bits(u8::try_from(pcp).unwrap());
        tags.pcp_to_tag[pcp] = tag;
        tags.pcp[tag.index()] = u8::try_from(pcp).unwrap();
        tags.priority[tag.index()] = Priority::from_low_bits(priority);
    }
    tags.lossless_tags = 1 << 3 | 1 << 4;
    (tags.initial_tag, tags.initial_tags) = (Tag::from_low_bits(3), 1 << 3);
    let mut dut = Dut::new(builder);
    let learned = Udp { tags: vec![20], ..Udp::bridged(2, 1, 0) };
    dut.rig.arrive(2, &learned.bytes());
    dut.rig.settle();
    dut.left(1);
    dut.moved();
    dut
}

/// One frame of each of `pcps` in VLAN 20; says the PCPs that leave.
fn send_pcps(dut: &mut Dut, pcps: &[u16]) -> Vec<u16> {
    for pcp in pcps {
        let frame = Udp { tags: vec![pcp << 13 | 20], ..Udp::bridged(1, 2, 0) };
        dut.rig.arrive(1, &frame.bytes());
    }
    dut.rig.settle();
    let pcp = |frame: &Vec<u8>| u16::from_be_bytes([frame[14], frame[15]]) >> 13;
    dut.left(2).iter().map(pcp).collect()
}

/// Dot1pToQueueMapping: PCP 1 is queue 0, PCP 0 queue 1, and the others are the queue of their
/// number.
#[test]
fn qos_sai_dot1p_queue_mapping() {
    let queue_of = [1, 0, 2, 3, 4, 5, 6, 7];
    for (pcp, queue) in (0..8).zip(queue_of) {
        let mut dut = bridge(queue_of);
        assert_eq!(send_pcps(&mut dut, &[pcp]), [pcp]);
        let moved = dut.moved();
        let sent: Vec<&String> = moved.iter().filter(|line| line.contains("tx_frames")).collect();
        assert_eq!(sent, [&format!("p2 tx_frames[{queue}] +1")]);
    }
}

/// Dot1pToPgMapping: PCPs 0, 1, 2, 5 and 6 are group 0; 3, 4 and 7 have their own.
#[test]
fn qos_sai_dot1p_pg_mapping() {
    let group_of = [0, 0, 0, 3, 4, 0, 0, 7];
    let pcps_of: [(usize, &[u16]); 4] = [(0, &[0, 1, 2, 5, 6]), (3, &[3]), (4, &[4]), (7, &[7])];
    for (group, pcps) in pcps_of {
        let mut dut = bridge(group_of);
        assert_eq!(send_pcps(&mut dut, pcps), pcps);
        let mut expected = [0; 8];
        expected[group] = pcps.len() as u64;
        assert_eq!(dut.rig.report(1).counters.rx_frames, expected);
    }
}

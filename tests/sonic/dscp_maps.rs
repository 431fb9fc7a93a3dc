//! Which queue and which priority group a marking selects.

use crate::dut::{self, Dut, POOL, PROFILE, default_queue, dscp_of};
use dataplane::ids::{Priority, Tag};
use dataplane::pipeline::classify::ClassifyBy;
use dataplane::testing::RigBuilder;
use dataplane::testing::wire::Udp;

/// Frames of each priority for one frame of each DSCP, by SONiC's default map.
const OF_EACH: [u64; 8] = [1, 58, 1, 1, 1, 1, 1, 0];

/// One frame of each DSCP from port 1 to port 2.
fn all_dscps() -> Dut {
    let mut dut = Dut::new(dut::builder(2, PROFILE, POOL));
    (0..64).for_each(|dscp| dut.send(1, 2, dscp, 64, 1));
    dut
}

/// DscpMappingPB: each DSCP leaves by its queue, and with its marking.
#[test]
fn qos_sai_dscp_queue_mapping() {
    let mut dut = all_dscps();
    let counters = dut.rig.report(2).counters;
    assert_eq!(counters.tx_frames, OF_EACH);
    let dscps: Vec<u8> = dut.left(2).iter().map(|frame| dscp_of(frame)).collect();
    assert_eq!(dscps, (0..64).collect::<Vec<u8>>(), "unchanged");
    let drops: u64 = counters.drops.iter().sum();
    assert_eq!((drops, counters.pfc.tx_frames), (0, 0));
}

/// DscpToPgMapping: the same at the ingress.
#[test]
fn qos_sai_dscp_to_pg_mapping() {
    let dut = all_dscps();
    assert_eq!(dut.rig.report(1).counters.rx_frames, OF_EACH);
    for dscp in 0..64 {
        let mut dut = Dut::new(dut::builder(2, PROFILE, POOL));
        dut.send(1, 2, dscp, 64, 1);
        let expected = |priority| u32::from(priority == default_queue(dscp)) * 256;
        let peaks = [0, 1, 2, 3, 4, 5, 6, 7].map(|p| dut.queue(1, p).viq_peak_bytes);
        assert_eq!(peaks, [0, 1, 2, 3, 4, 5, 6, 7].map(expected), "DSCP {dscp}");
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

//! Bridged frames through a whole worker: learning, flooding, VLANs, copies that each have their
//! own end.

use dataplane::control_rings::Command;
use dataplane::counters::DropReason;
use dataplane::ids::PortId;
use dataplane::testing::RigBuilder;
use dataplane::testing::wire::{Udp, host_mac};
use dataplane::wire::MacAddress;

#[test]
fn unknown_addresses_flood_and_learnt_ones_do_not() {
    let mut rig = RigBuilder::bridged(3).build();
    let there = Udp::bridged(1, 2, 26).bytes();
    rig.arrive(1, &there);
    rig.settle();
    assert_eq!(
        (rig.sent(1).len(), rig.sent(2), rig.sent(3)),
        (0, vec![there.clone()], vec![there])
    );
    let back = Udp::bridged(2, 1, 26).bytes();
    rig.arrive(2, &back);
    rig.settle();
    assert_eq!((rig.sent(1), rig.sent(3).len()), (vec![back], 0), "port 1 was learned");
    let totals = rig.totals();
    assert_eq!((totals.received, totals.copied, totals.sent), (2, 1, 3));
}

#[test]
fn a_host_that_moves_is_found_at_its_new_port() {
    let mut rig = RigBuilder::bridged(3).build();
    rig.arrive(1, &Udp::bridged(1, 9, 0).bytes());
    rig.settle();
    let moved = Udp { src_mac: host_mac(1, 1), ..Udp::bridged(3, 9, 0) };
    rig.arrive(3, &moved.bytes());
    rig.settle();
    let _ = (rig.sent(1), rig.sent(2), rig.sent(3));
    rig.arrive(2, &Udp::bridged(2, 1, 0).bytes());
    rig.settle();
    assert_eq!((rig.sent(1).len(), rig.sent(3).len()), (0, 1));
}

#[test]
fn addresses_age_out_and_a_flushed_port_is_forgotten() {
    let mut builder = RigBuilder::bridged(3);
    builder.settings.mac_table.age_ns = 1_000_000_000;
    let mut rig = builder.build();
    rig.arrive(1, &Udp::bridged(1, 9, 0).bytes());
    rig.settle();
    for _ in 0..1_000 {
        rig.wait(10_000_000);
        rig.turn();
    }
    let _ = rig.sent(3);
    rig.arrive(2, &Udp::bridged(2, 1, 0).bytes());
    rig.settle();
    assert_eq!(rig.sent(3).len(), 1, "aged out: flooded");
    rig.command(|| Command::FlushMacTable(PortId::from_number(2).unwrap()));
    rig.turn();
    let _ = (rig.sent(1), rig.sent(3));
    rig.arrive(1, &Udp::bridged(1, 2, 0).bytes());
    rig.settle();
    assert_eq!(rig.sent(3).len(), 1, "flushed: flooded");
}

#[test]
fn a_frame_for_its_own_segment_and_reserved_addresses_stay() {
    let mut rig = RigBuilder::bridged(2).build();
    rig.arrive(1, &Udp::bridged(1, 9, 0).bytes());
    rig.settle();
    let _ = rig.sent(2);
    rig.arrive(1, &Udp { src_mac: host_mac(1, 2), ..Udp::bridged(1, 1, 0) }.bytes());
    let reserved = MacAddress([0x01, 0x80, 0xC2, 0, 0, 0x03]);
    rig.arrive(1, &Udp { dst_mac: reserved, ..Udp::bridged(1, 2, 0) }.bytes());
    rig.arrive(1, &Udp { tags: vec![99], frame_bytes: 64, ..Udp::bridged(1, 2, 0) }.bytes());
    rig.settle();
    assert_eq!(rig.sent(2).len(), 0);
    for reason in
        [DropReason::SourcePortFiltered, DropReason::ReservedAddress, DropReason::VlanNotAllowed]
    {
        assert_eq!(rig.dropped(1, reason), 1, "{}", reason.name());
    }
    rig.totals();
}

#[test]
fn tags_follow_the_egress_port_and_vlans_do_not_mix() {
    let mut rig = RigBuilder::bridged(2).build();
    let tagged = Udp { tags: vec![0xA000 | 20], frame_bytes: 64, ..Udp::bridged(1, 2, 0) }.bytes();
    let priority_tagged = Udp { tags: vec![0xA000], frame_bytes: 64, ..Udp::bridged(1, 2, 0) };
    rig.arrive(1, &tagged);
    rig.arrive(1, &priority_tagged.bytes());
    rig.settle();
    let native = Udp { tags: Vec::new(), frame_bytes: 60, ..priority_tagged }.bytes();
    assert_eq!(rig.sent(2), [tagged, native]);
}

#[test]
fn a_broken_ip_header_is_bridged_all_the_same() {
    let mut rig = RigBuilder::bridged(2).build();
    let mut frame = Udp::bridged(1, 2, 26).bytes();
    frame[24] ^= 0xFF;
    rig.arrive(1, &frame);
    rig.settle();
    assert_eq!(rig.sent(2), [frame]);
}

#[test]
fn without_a_buffer_for_copies_one_port_still_gets_the_frame() {
    let mut rig = RigBuilder::bridged(4).build();
    rig.workers[0].device_mut().copies_left = 1;
    rig.arrive(1, &Udp::bridged(1, 9, 0).bytes());
    rig.settle();
    assert_eq!((rig.sent(2).len(), rig.sent(3).len(), rig.sent(4).len()), (1, 0, 1));
    assert_eq!(rig.dropped(1, DropReason::NoBuffer), 1);
    assert_eq!(rig.totals().copied, 2, "the one that was not made, too: it is in the books");
    rig.totals();
}

#[test]
fn what_is_cut_short_behind_the_ethernet_header_is_carried() {
    let whole = Udp::bridged(1, 2, 26).bytes();
    let tagged = Udp { tags: vec![20], frame_bytes: 64, ..Udp::bridged(1, 2, 26) }.bytes();
    for (frame, header_bytes) in [(whole, 14), (tagged, 18)] {
        for length in 0..frame.len() {
            let mut rig = RigBuilder::bridged(2).build();
            rig.arrive(1, &frame[..length]);
            rig.settle();
            let is_frame = length >= header_bytes;
            let dropped = rig.dropped(1, DropReason::Truncated);
            assert_eq!((rig.sent(2).len(), dropped == 0), (usize::from(is_frame), is_frame));
            rig.totals();
        }
    }
}

#[test]
fn a_lossy_frame_does_not_leave_with_the_pcp_of_a_lossless_tag() {
    let mut rig = RigBuilder::bridged(2).build();
    let tagged = |pcp: u16, dscp| {
        let frame = Udp::bridged(1, 2, dscp);
        Udp { tags: vec![pcp << 13 | 20], frame_bytes: 64, ..frame }.bytes()
    };
    // PCP 3 and 4 are lossless tags 1 and 2; DSCP 26 is tag 1.
    for frame in [tagged(3, 46), tagged(4, 26), tagged(3, 26), tagged(5, 26), tagged(7, 46)] {
        rig.arrive(1, &frame);
    }
    rig.settle();
    let expected = [tagged(0, 46), tagged(3, 26), tagged(3, 26), tagged(5, 26), tagged(7, 46)];
    assert_eq!(rig.sent(2), expected);
    assert_eq!(rig.report(1).counters.remarked_frames, 2);
}

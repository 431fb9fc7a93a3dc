//! Frames beyond headroom wait in the receive ring: nothing lossless is lost, whoever is late.

use dataplane::counters::DropReason;
use dataplane::ids::Priority;
use dataplane::testing::wire::{Udp, sequence};
use dataplane::testing::{Rig, RigBuilder};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;

const LOSSLESS_DSCP: u8 = 26;
const LOSSLESS: Priority = Priority::from_low_bits(3);
/// XOFF at 20,000 bytes and 40,000 of headroom; a frame of 1,522 bytes must fit.
const HELD_BYTES_MAX: u32 = 60_000;

fn pfc(quanta: u16) -> Vec<u8> {
    Pfc::default().with(LOSSLESS, quanta).to_frame(MacAddress([2, 0, 0, 1, 9, 9])).to_vec()
}

/// Lets `count` frames of 1,000 bytes arrive at port 1, numbered from `first` on.
fn load(rig: &mut Rig, udp: &Udp, first: u32, count: u32) {
    rig.arrive_numbered(1, &Udp { frame_bytes: 1_000, ..udp.clone() }, first..first + count);
}

fn data(rig: &mut Rig, port: u8) -> Vec<u32> {
    let frames = rig.sent(port).into_iter();
    frames.filter(|frame| frame[12..14] != [0x88, 0x08]).map(|frame| sequence(&frame)).collect()
}

fn paused(builder: RigBuilder) -> Rig {
    let mut rig = builder.build();
    rig.arrive(2, &pfc(0xFFFF));
    rig.turn();
    rig
}

#[test]
fn what_headroom_cannot_hold_waits_in_the_ring_in_order() {
    let mut rig = paused(RigBuilder::routed(2));
    load(&mut rig, &Udp::routed(1, 2, LOSSLESS_DSCP), 0, 500);
    rig.settle();
    let queue = rig.report(1).queues[3];
    assert!(queue.tx_paused, "upstream was told");
    assert!(queue.viq_bytes <= HELD_BYTES_MAX && queue.viq_bytes > HELD_BYTES_MAX - 1_522);
    assert_eq!(rig.port(1).arriving.len(), 500 - queue.viq_bytes as usize / 1_000);
    assert_eq!(rig.totals().dropped, 0);
    rig.arrive(2, &pfc(0));
    rig.settle();
    assert_eq!(data(&mut rig, 2), (0..500).collect::<Vec<u32>>());
    assert_eq!((rig.totals().dropped, rig.totals().held), (0, 0));
}

#[test]
fn a_full_headroom_holds_up_its_port_and_no_other() {
    let mut rig = paused(RigBuilder::routed(3));
    load(&mut rig, &Udp::routed(1, 2, LOSSLESS_DSCP), 0, 100);
    load(&mut rig, &Udp::routed(1, 3, 0), 100, 1);
    rig.arrive(3, &Udp::routed(3, 1, LOSSLESS_DSCP).bytes());
    rig.settle();
    assert_eq!(data(&mut rig, 3), [], "what came behind waits behind");
    assert_eq!(data(&mut rig, 1).len(), 1, "from another port");
    rig.arrive(2, &pfc(0));
    rig.settle();
    assert_eq!(data(&mut rig, 3), [100]);
}

#[test]
fn where_no_ring_holds_frames_those_beyond_headroom_are_lost_and_counted() {
    let mut rig = paused(RigBuilder::routed(2));
    rig.workers[0].device_mut().has_no_rx_ring = true;
    load(&mut rig, &Udp::routed(1, 2, LOSSLESS_DSCP), 0, 61);
    rig.settle();
    let expected = [
        "p1 rx_frames[3] = 61",
        "p1 rx_bytes[3] = 61000",
        "p1 drop.headroom_overrun = 1",
        "p1 lossless_drops.headroom_overrun[3] = 1",
        "p1 pfc.tx_frames = 1",
        "p1 pfc.tx_xoff[3] = 1",
        "p1 pfc.tx_pauses[3] = 1",
        "p2 pfc.rx_frames = 1",
        "p2 pfc.rx_xoff[3] = 1",
        "p2 pfc.rx_pauses[3] = 1",
    ];
    assert_eq!(rig.counters(), expected);
    assert_eq!(rig.report(1).counters.headroom_overruns(LOSSLESS), 1);
}

#[test]
fn copies_of_a_flooded_frame_wait_until_all_of_them_fit() {
    const PORTS: u8 = 8;
    let mut rig = paused(RigBuilder::bridged(PORTS));
    // Nobody knows station 9: seven copies of each, and port 2 lets none out.
    load(&mut rig, &Udp::bridged(1, 9, LOSSLESS_DSCP), 0, 300);
    rig.settle();
    let before = data(&mut rig, 3);
    assert!(before.len() >= 50, "at least what port 2 can hold: {}", before.len());
    assert!(before.len() < 300);
    assert_eq!(rig.totals().dropped, 0);
    rig.arrive(2, &pfc(0));
    rig.settle();
    let all: Vec<u32> = (0..300).collect();
    assert_eq!([before, data(&mut rig, 3)].concat(), all);
    for port in [2, 4, 8] {
        assert_eq!(data(&mut rig, port), all, "port {port}");
    }
    let totals = rig.totals();
    assert_eq!((totals.dropped, totals.held, totals.copied), (0, 0, 6 * 300));
}

#[test]
fn pauses_behind_a_flood_that_waits_are_obeyed_once() {
    let mut rig = paused(RigBuilder::bridged(4));
    load(&mut rig, &Udp::bridged(1, 9, LOSSLESS_DSCP), 0, 62);
    rig.arrive(1, &pfc(1_000));
    rig.settle();
    rig.arrive(2, &pfc(0));
    rig.settle();
    assert_eq!(rig.report(1).counters.pfc.rx_xoff[3], 1);
    assert_eq!(rig.totals().consumed, 3);
    assert_eq!(data(&mut rig, 2).len(), 62);
    assert_eq!(rig.dropped(1, DropReason::HeadroomOverrun), 0);
}

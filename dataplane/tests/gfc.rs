//! Gentle flow control through a whole worker: rates told and obeyed, XOFF only above them.
#![cfg(feature = "gfc")]

use dataplane::gfc::{Form, RateMap};
use dataplane::ids::Priority;
use dataplane::settings::{GfcSettings, Threshold};
use dataplane::testing::wire::{Udp, sequence};
use dataplane::testing::{Rig, RigBuilder};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::{MacControl, Pfc};

const P3: Priority = Priority::from_low_bits(3);

/// Two ports at 10G; stages begin at 10,000, 15,000 and 17,500 of 20,000 bytes.
fn builder() -> RigBuilder {
    let mut builder = RigBuilder::routed(2);
    for port in &mut builder.settings.ports {
        port.gfc = Some(GfcSettings { form: Form::Staged, catch_up_ns: 0, period_ns: None });
        for viq in port.lossless.iter_mut().flatten() {
            viq.threshold = Threshold::Static { xoff_bytes: 20_000 };
            viq.rate_map = Some(RateMap {
                form: Form::Staged,
                full_bytes: 20_000,
                span_bytes: 20_000,
                stages: 3,
                frame_bytes: 1_226,
            });
        }
    }
    builder
}

fn load(rig: &mut Rig, count: u32) {
    for sequence in 0..count {
        let frame = Udp { frame_bytes: 1_226, sequence, ..Udp::routed(1, 2, 26) };
        rig.arrive(1, &frame.bytes());
        rig.settle();
    }
}

fn hear(rig: &mut Rig, number: u8, time: u16) {
    let pfc = Pfc::default().with(P3, time).to_frame(MacAddress([2, 0, 0, 1, 9, 9]));
    rig.arrive(number, &pfc);
    rig.settle();
}

/// The times for priority 3 that port 1 told its peer.
fn told(rig: &mut Rig) -> Vec<u16> {
    let control = rig.sent(1).into_iter().filter(|f| f[12..14] == [0x88, 0x08]);
    let time = |frame: Vec<u8>| match MacControl::parse(&frame) {
        MacControl::Pfc(pfc) => {
            assert_eq!(pfc.enabled_bits, P3.bit());
            pfc.quanta[3]
        }
        other => panic!("{other:?}"),
    };
    control.map(time).collect()
}

#[test]
fn each_stage_is_told_once_going_up_and_once_coming_down() {
    let mut rig = builder().build();
    hear(&mut rig, 2, 0xFFFF);
    load(&mut rig, 16);
    assert_eq!(told(&mut rig), [1, 2, 3]);
    load(&mut rig, 1);
    assert_eq!(told(&mut rig), [0xFFFF], "nothing drained at all: the last resort");
    hear(&mut rig, 2, 0);
    assert_eq!(told(&mut rig).last(), Some(&0));
    let pfc = rig.report(1).counters.pfc;
    assert_eq!((pfc.tx_slowed[3], pfc.tx_xoff[3], pfc.tx_xon[3]), (3, 1, 1));
    assert_eq!(rig.totals().dropped, 0);
}

#[test]
fn a_rate_is_kept_frame_by_frame_in_order_and_given_up_at_once() {
    let mut rig = builder().build();
    hear(&mut rig, 2, 1);
    load(&mut rig, 5);
    // 1,250 bytes on the wire: 1 us at 10G, 2 us at half of it.
    let mut sent = rig.sent(2).len();
    assert_eq!(sent, 1);
    for _ in 0..2 {
        let next = rig.turn()[0].next;
        assert_eq!(next.ns_since(rig.now), 2_000);
        rig.wait(1_999);
        rig.settle();
        assert_eq!(rig.sent(2).len(), 0);
        rig.wait(1);
        rig.settle();
        sent += rig.sent(2).len();
    }
    assert_eq!(sent, 3);
    hear(&mut rig, 2, 0);
    let rest: Vec<u32> = rig.sent(2).iter().map(|frame| sequence(frame)).collect();
    assert_eq!(rest, [3, 4]);
    let pfc = rig.report(2).counters.pfc;
    assert_eq!((pfc.rx_slowed[3], pfc.rx_xon[3], pfc.rx_xoff[3]), (1, 1, 0));
    assert_eq!(pfc.rx_pauses[3], 0, "a rate is no pause");
}

/// A frame that takes 16 us at stage 4, half of which have passed when stage 1 comes.
#[test]
fn what_a_rate_has_paid_of_a_frame_counts_when_the_rate_changes() {
    let mut rig = builder().build();
    hear(&mut rig, 2, 4);
    load(&mut rig, 2);
    assert_eq!(rig.sent(2).len(), 1);
    assert_eq!(rig.turn()[0].next.ns_since(rig.now), 16_000);
    rig.wait(8_000);
    hear(&mut rig, 2, 1);
    assert_eq!(rig.turn()[0].next.ns_since(rig.now), 1_000);
    rig.wait(1_000);
    rig.settle();
    assert_eq!(rig.sent(2).len(), 1);
}

#[test]
fn other_classes_do_not_wait_for_one_that_is_slow() {
    let mut rig = builder().build();
    hear(&mut rig, 2, 3);
    load(&mut rig, 4);
    for dscp in [27, 0] {
        (0..6).for_each(|_| rig.arrive(1, &Udp::routed(1, 2, dscp).bytes()));
    }
    rig.settle();
    let dscps: Vec<u8> = rig.sent(2).iter().map(|frame| frame[15] >> 2).collect();
    assert_eq!([26, 27, 0].map(|dscp| dscps.iter().filter(|d| **d == dscp).count()), [1, 6, 6]);
}

#[test]
fn a_pause_of_a_peer_that_only_knows_pfc_is_a_pause() {
    let mut rig = builder().build();
    hear(&mut rig, 2, 1_000);
    load(&mut rig, 3);
    assert_eq!(rig.sent(2).len(), 0);
    assert!(rig.report(2).queues[3].rx_paused && !rig.report(2).queues[3].rx_slowed);
    hear(&mut rig, 2, 0);
    assert_eq!(rig.sent(2).len(), 3);
}

#[test]
fn a_stage_is_told_again_before_it_runs_out() {
    let mut rig = builder().build();
    hear(&mut rig, 2, 0xFFFF);
    load(&mut rig, 9);
    assert_eq!(told(&mut rig), [1]);
    let mut refreshed = 0;
    for _ in 0..10 {
        rig.wait(335_000);
        hear(&mut rig, 2, 0xFFFF);
        refreshed += told(&mut rig).iter().filter(|time| **time == 1).count();
    }
    assert!((2..=3).contains(&refreshed), "a pause lasts 3,355 us at 10G: {refreshed}");
}

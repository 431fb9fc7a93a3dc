//! Lossless frames whose next hop is being asked for: they wait in order and pause upstream.

use dataplane::control_rings::Command;
use dataplane::counters::DropReason;
use dataplane::ids::{PortId, Priority};
use dataplane::punt::PuntReason;
use dataplane::testing::wire::{Udp, host_v4, sequence};
use dataplane::testing::{Rig, RigBuilder};
use dataplane::wire::MacAddress;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

const LOSSLESS: Priority = Priority::from_low_bits(3);

/// To host 99 of port 2, whose MAC address nobody knows.
fn unknown(dscp: u8) -> Udp {
    Udp { dst: host_v4(2, 99), frame_bytes: 1_000, ..Udp::routed(1, 2, dscp) }
}

fn punted(rig: &mut Rig) -> Vec<PuntReason> {
    let control = &mut rig.control[0];
    std::iter::from_fn(|| control.punted.pop().ok()).map(|punted| punted.reason).collect()
}

/// Tables that know host 99, or, without it, the same ones under another number.
fn install(rig: &mut Rig, knows: bool) {
    if knows {
        let address = IpAddr::V4(Ipv4Addr::from(host_v4(2, 99)));
        let port = PortId::from_number(2).unwrap();
        rig.builder.routes.set_neighbor(address, port, MacAddress([2, 0, 0, 9, 9, 9])).unwrap();
    }
    let snapshot = Arc::new(rig.builder.snapshot(1));
    rig.command(|| Command::Install(Arc::clone(&snapshot)));
}

fn data(rig: &mut Rig) -> Vec<u32> {
    let frames = rig.sent(2).into_iter();
    frames.filter(|frame| frame[12..14] != [0x88, 0x08]).map(|frame| sequence(&frame)).collect()
}

#[test]
fn they_wait_pause_upstream_and_leave_in_order_when_the_address_is_known() {
    let mut rig = RigBuilder::routed(2).build();
    rig.arrive_numbered(1, &unknown(26), 0..200);
    rig.settle();
    assert_eq!(punted(&mut rig), [PuntReason::Resolve], "asked once, by a copy");
    let report = rig.report(1);
    assert!(report.queues[3].tx_paused && report.queues[3].viq_bytes > 58_000);
    assert_eq!(rig.totals().held * 1_000, u64::from(report.queues[3].viq_bytes));
    // Tables that know no more change nothing.
    install(&mut rig, false);
    rig.settle();
    assert_eq!((rig.totals().dropped, data(&mut rig)), (0, vec![]));
    install(&mut rig, true);
    // In the turn of the new tables, too, nothing overtakes.
    rig.arrive_numbered(1, &unknown(26), 200..210);
    rig.settle();
    assert_eq!(data(&mut rig), (0..210).collect::<Vec<u32>>());
    assert_eq!(rig.report(1).queues[3].viq_bytes, 0);
    assert!(!rig.report(1).queues[3].tx_paused);
    let totals = rig.totals();
    assert_eq!((totals.dropped, totals.held, totals.punted, totals.copied), (0, 0, 1, 1));
    assert_eq!(punted(&mut rig), []);
}

#[test]
fn a_destination_that_does_not_answer_is_given_up_and_then_nothing_waits_for_it() {
    let mut rig = RigBuilder::routed(2).build();
    rig.arrive_numbered(1, &unknown(26), 0..5);
    let next = rig.turn()[0].next;
    assert!(next.ns_since(rig.now) <= 3_000_000_000, "the worker wants a turn to give them up");
    rig.settle();
    rig.wait(2_999_999_999);
    rig.settle();
    assert_eq!(rig.totals().held, 5);
    rig.wait(1);
    rig.settle();
    assert_eq!(rig.totals().held, 0);
    let mut expected = vec![PuntReason::Resolve];
    expected.extend([PuntReason::Unreachable; 5]);
    assert_eq!(punted(&mut rig), expected);
    let counters = rig.report(1).counters;
    assert_eq!(counters.lossless_dropped_for(DropReason::Unresolved), 5);
    assert_eq!(counters.lossless_dropped(LOSSLESS), 5, "and for no other reason");
    // To others the way is open, and the dead one costs nobody a pause.
    rig.arrive_numbered(1, &unknown(26), 5..105);
    rig.arrive(1, &Udp { sequence: 7, ..Udp::routed(1, 2, 26) }.bytes());
    rig.settle();
    assert_eq!(data(&mut rig), [7]);
    assert_eq!(rig.report(1).queues[3].viq_bytes, 0);
    assert_eq!(punted(&mut rig).len(), 100);
    // After a while it is asked for again.
    rig.wait(5_000_000_001);
    rig.arrive_numbered(1, &unknown(26), 105..106);
    rig.settle();
    assert_eq!((punted(&mut rig), rig.totals().held), (vec![PuntReason::Resolve], 1));
}

#[test]
fn new_tables_do_not_make_a_frame_wait_for_longer() {
    let mut rig = RigBuilder::routed(2).build();
    rig.arrive_numbered(1, &unknown(26), 0..1);
    for _ in 0..30 {
        rig.settle();
        rig.wait(100_000_000);
        install(&mut rig, false);
    }
    rig.settle();
    assert_eq!(rig.totals().held, 0);
    assert_eq!(rig.report(1).counters.lossless_dropped_for(DropReason::Unresolved), 1);
}

#[test]
fn without_a_buffer_for_the_copy_the_next_frame_asks() {
    let mut rig = RigBuilder::routed(2).build();
    rig.workers[0].device_mut().copies_left = 0;
    rig.arrive_numbered(1, &unknown(26), 0..2);
    rig.settle();
    assert_eq!((punted(&mut rig), rig.totals().held, rig.totals().copied), (vec![], 2, 0));
    rig.workers[0].device_mut().copies_left = 9;
    rig.arrive_numbered(1, &unknown(26), 2..3);
    rig.settle();
    assert_eq!((punted(&mut rig), rig.totals().held), (vec![PuntReason::Resolve], 3));
}

#[test]
fn a_lossy_frame_goes_to_the_control_thread_itself() {
    let mut rig = RigBuilder::routed(2).build();
    rig.arrive_numbered(1, &unknown(0), 0..2);
    rig.settle();
    assert_eq!(punted(&mut rig), [PuntReason::Unresolved; 2]);
    assert_eq!((rig.totals().held, rig.totals().copied), (0, 0));
}

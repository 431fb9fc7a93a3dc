//! Workers that send at each other's ports by themselves: nothing overtakes, nothing slips past a
//! pause for longer than a turn, and the books stay whole.

use dataplane::control_rings::Command;
use dataplane::counters::DropReason;
use dataplane::frame::Frame;
use dataplane::ids::{PortId, Priority};
use dataplane::report::Report;
use dataplane::testing::wire::{Udp, sequence};
use dataplane::testing::{Rig, RigBuilder};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;
use proptest::prelude::*;

const PEER: MacAddress = MacAddress([2, 0, 0, 1, 2, 2]);

/// Ports 1 and 2 of worker 0, port 3 of worker 1; each may send at the other's.
fn rig() -> Rig {
    let mut builder = RigBuilder::routed(3).owned_by(3, 1);
    builder.sends_for_others = true;
    builder.build()
}

fn pause(rig: &mut Rig, quanta: u16) {
    let priority = Priority::new(3).unwrap();
    rig.arrive(3, &Pfc::default().with(priority, quanta).to_frame(PEER));
}

fn arrive(rig: &mut Rig, from: u8, dscp: u8, sequence: u32) {
    let frame = Udp { frame_bytes: 200, sequence, ..Udp::routed(from, 3, dscp) };
    rig.arrive(from, &frame.bytes());
}

/// What each worker sent at port 3 since the last call.
fn sent_by(rig: &mut Rig) -> [Vec<Vec<u8>>; 2] {
    [0, 1].map(|worker| {
        let port = &mut rig.workers[worker].device_mut().ports[2];
        let sent = core::mem::take(&mut port.sent);
        sent.iter().map(|frame| frame.head().to_vec()).collect()
    })
}

#[test]
fn a_frame_that_need_not_wait_does_not_cross() {
    let mut rig = rig();
    rig.turn();
    (0..5).for_each(|sequence| arrive(&mut rig, 1, 26, sequence));
    rig.turn();
    let sent = sent_by(&mut rig).map(|frames| frames.len());
    assert_eq!(sent, [5, 0], "the worker that received them sent them");
    let totals = rig.totals();
    assert_eq!((totals.sent, totals.handoff_tx, totals.held), (5, 0, 0));
    assert_eq!(rig.report(1).queues[3].viq_bytes, 0, "released where they were admitted");
    let mut report = Report::default();
    rig.workers[0].report(&mut report, rig.now);
    let there = report.ports.iter().find(|port| port.port == PortId::from_number(3).unwrap());
    let counters = &there.expect("what it sent elsewhere is reported").counters;
    assert_eq!(counters.nonzero(), [("tx_frames[3]".into(), 5), ("tx_bytes[3]".into(), 1_000)]);
    assert_eq!(rig.report(3).counters.nonzero(), [], "the owner counts what it sent itself");
}

#[test]
fn a_pause_withdraws_the_grant_of_its_priority_and_of_no_other() {
    let mut rig = rig();
    pause(&mut rig, 0xFFFF);
    rig.turn();
    arrive(&mut rig, 1, 26, 0);
    arrive(&mut rig, 1, 0, 1);
    rig.turn();
    let sent = sent_by(&mut rig).map(|frames| frames.len());
    assert_eq!(sent, [1, 0], "the lossy frame passes");
    rig.settle();
    assert_eq!(rig.report(3).queues[3].veq_frames, 1, "the other waits at the owner");
    pause(&mut rig, 0);
    rig.settle();
    assert_eq!(sent_by(&mut rig)[1].len(), 1);
    assert_eq!(rig.totals().held, 0);
}

#[test]
fn what_the_device_refuses_waits_where_it_is_and_goes_first() {
    let mut rig = rig();
    rig.turn();
    rig.workers[0].device_mut().ports[2].takes_frames = Some(1);
    (0..3).for_each(|sequence| arrive(&mut rig, 1, 26, sequence));
    rig.turn();
    assert_eq!(rig.totals().held, 2);
    rig.workers[0].device_mut().ports[2].takes_frames = None;
    arrive(&mut rig, 1, 26, 3);
    rig.settle();
    let [by_itself, by_owner] = sent_by(&mut rig);
    let order: Vec<u32> = by_itself.iter().map(|frame| sequence(frame)).collect();
    assert_eq!((order, by_owner.len()), (vec![0, 1, 2, 3], 0));
}

#[test]
fn a_link_that_goes_down_frees_what_waits_for_it_at_other_workers() {
    let mut rig = rig();
    rig.turn();
    rig.workers[0].device_mut().ports[2].takes_frames = Some(0);
    (0..3).for_each(|sequence| arrive(&mut rig, 1, 26, sequence));
    rig.turn();
    rig.command(|| Command::Link(PortId::from_number(3).unwrap(), false));
    rig.settle();
    assert_eq!((rig.totals().held, rig.totals().dropped), (0, 3));
    assert_eq!(rig.report(1).queues[3].viq_bytes, 0);
    let mut report = Report::default();
    rig.workers[0].report(&mut report, rig.now);
    let dropped =
        |port: &dataplane::report::PortReport| port.counters.dropped(DropReason::PortDown);
    assert_eq!(report.ports.iter().map(dropped).collect::<Vec<_>>(), [0, 0, 3]);
}

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    /// Frames arrive at port 1 or 2, lossless or not.
    Arrive { from: u8, lossless: bool, frames: u8 },
    /// A worker takes a turn.
    Turn(usize),
    /// Port 3's peer pauses priority 3, or resumes it.
    Pause(bool),
    /// A worker's queue at port 3 takes this many frames more.
    Takes { worker: usize, frames: Option<usize> },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_u8..=2, any::<bool>(), 1_u8..80)
            .prop_map(|(from, lossless, frames)| Step::Arrive { from, lossless, frames }),
        8 => (0_usize..2).prop_map(Step::Turn),
        1 => any::<bool>().prop_map(Step::Pause),
        1 => (0_usize..2, proptest::option::of(0_usize..40))
            .prop_map(|(worker, frames)| Step::Takes { worker, frames }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// In whatever order the workers take their turns, frames of one flow leave port 3 in order, no
    /// lossless one is lost, and the books balance.
    #[test]
    fn flows_stay_in_order_and_whole(steps in proptest::collection::vec(step(), 1..120)) {
        let mut builder = RigBuilder::routed(3).owned_by(3, 1);
        builder.sends_for_others = true;
        for port in &mut builder.settings.ports {
            let viq = port.lossless[3].as_mut().unwrap();
            viq.headroom_bytes = 2_000_000;
        }
        builder.settings.buffer.size_bytes += 10_000_000;
        let mut rig = builder.build();
        let mut arrived = [[0_u32; 2]; 2];
        let mut left: Vec<Vec<u8>> = vec![];
        let mut turn = |rig: &mut Rig, worker: usize| {
            let now = rig.now;
            rig.workers[worker].turn(now);
            let [by_0, by_1] = sent_by(rig);
            left.extend(by_0.into_iter().chain(by_1));
            rig.totals();
        };
        for step in steps {
            match step {
                Step::Arrive { from, lossless, frames } => for _ in 0..frames {
                    let next = &mut arrived[usize::from(from) - 1][usize::from(lossless)];
                    arrive(&mut rig, from, if lossless { 26 } else { 0 }, *next);
                    *next += 1;
                },
                Step::Turn(worker) => turn(&mut rig, worker),
                Step::Pause(on) => pause(&mut rig, if on { 0xFFFF } else { 0 }),
                Step::Takes { worker, frames } => {
                    rig.workers[worker].device_mut().ports[2].takes_frames = frames;
                }
            }
        }
        pause(&mut rig, 0);
        for worker in [0, 1] {
            rig.workers[worker].device_mut().ports[2].takes_frames = None;
        }
        for number in 0..200 {
            turn(&mut rig, number % 2);
        }
        prop_assert_eq!(rig.totals().held, 0, "everything drains");
        let mut seen = [[0_u32; 2]; 2];
        for frame in &left {
            // A frame of the flow says where it came from and which class it is.
            let (from, lossless) = (usize::from(frame[28]) - 1, usize::from(frame[15] >> 2 == 26));
            let next = &mut seen[from][lossless];
            prop_assert!(sequence(frame) >= *next, "a frame was overtaken");
            if lossless == 1 {
                prop_assert_eq!(sequence(frame), *next, "a lossless frame is missing");
            }
            *next = sequence(frame) + 1;
        }
        for from in 0..2 {
            prop_assert_eq!(seen[from][1], arrived[from][1], "lossless frames are missing at the end");
        }
    }
}

#[test]
fn a_worker_that_fell_behind_uses_the_grant_again() {
    let mut builder = RigBuilder::routed(3).owned_by(3, 1);
    builder.sends_for_others = true;
    for port in &mut builder.settings.ports {
        port.lossless[3].as_mut().unwrap().headroom_bytes = 2_000_000;
    }
    builder.settings.buffer.size_bytes += 10_000_000;
    let mut rig = builder.build();
    let load = |rig: &mut Rig, from: u32| {
        (from..from + 64).for_each(|sequence| arrive(rig, 1, 26, sequence));
    };
    // The other worker does not come to its turn until the way to it is full.
    for number in 0..40 {
        load(&mut rig, 64 * number);
        let now = rig.now;
        rig.workers[0].turn(now);
    }
    // From now on both do, but frames keep coming as fast as one worker sends.
    for number in 40..60 {
        load(&mut rig, 64 * number);
        rig.turn();
    }
    let before = rig.totals().handoff_tx;
    for number in 60..80 {
        load(&mut rig, 64 * number);
        rig.turn();
    }
    let after = rig.totals();
    assert_eq!((after.handoff_tx - before, after.held, after.dropped), (0, 0, 0));
}

//! Several receive queues of a port, polled by several workers: one port to everybody else.

use dataplane::counters::DropReason;
use dataplane::ids::Priority;
use dataplane::limits::BURST_MAX;
use dataplane::settings::stale_bytes;
use dataplane::testing::wire::{Udp, sequence};
use dataplane::testing::{Rig, RigBuilder, TestFrame};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;
use proptest::prelude::*;

/// Port 1 has two queues, at two workers; port 2 is the first worker's.
fn two_queues() -> RigBuilder {
    RigBuilder::routed(2).queue_at(1, 1)
}

/// Frames of 1,000 bytes of port 1 for the host of port 2, by queue.
fn load(rig: &mut Rig, queue: u16, dscp: u8, numbers: std::ops::Range<u32>) {
    for sequence in numbers {
        let frame = Udp { frame_bytes: 1_000, sequence, ..Udp::routed(1, 2, dscp) };
        rig.queue(1, queue).arriving.push_back(TestFrame::new(&frame.bytes()));
    }
}

fn pause(quanta: u16) -> Vec<u8> {
    let priority = Priority::new(3).unwrap();
    Pfc::default().with(priority, quanta).to_frame(MacAddress([2, 0, 0, 1, 2, 2])).to_vec()
}

#[test]
fn frames_of_both_queues_arrive_each_in_its_order_and_are_one_port_s() {
    let mut rig = two_queues().build();
    load(&mut rig, 0, 26, 0..8);
    load(&mut rig, 1, 26, 100..108);
    rig.settle();
    rig.settle();
    let order: Vec<u32> = rig.sent(2).iter().map(|frame| sequence(frame)).collect();
    let of = |range: std::ops::Range<u32>| -> Vec<u32> {
        order.iter().copied().filter(|number| range.contains(number)).collect()
    };
    assert_eq!(of(0..8), (0..8).collect::<Vec<_>>());
    assert_eq!(of(100..108), (100..108).collect::<Vec<_>>());
    assert_eq!(
        rig.counters(),
        [
            "p1 rx_frames[3] = 16",
            "p1 rx_bytes[3] = 16000",
            "p2 tx_frames[3] = 16",
            "p2 tx_bytes[3] = 16000",
        ]
    );
    assert_eq!(rig.report(1).queues[3].viq_bytes, 0, "what was sent came back");
    assert_eq!(rig.totals().held, 0);
}

/// The port is paused by what both queues hold together, and resumed when both have let go.
#[test]
fn the_sum_of_the_queues_pauses_upstream() {
    let mut rig = two_queues().build();
    rig.arrive(2, &pause(0xFFFF));
    rig.turn();
    // The threshold is 20,000 bytes; each queue holds less.
    load(&mut rig, 0, 26, 0..12);
    load(&mut rig, 1, 26, 100..112);
    rig.settle();
    rig.turn();
    rig.turn();
    assert_eq!(rig.report(1).queues[3].viq_bytes, 24_000);
    let sent = rig.sent(1);
    assert_eq!(sent.len(), 1, "one XOFF, by the owner");
    rig.arrive(2, &pause(0));
    rig.settle();
    rig.turn();
    rig.turn();
    assert_eq!(rig.sent(1).len(), 1, "one XON");
    assert_eq!(rig.report(1).queues[3].viq_bytes, 0);
    assert_eq!(rig.totals().dropped, 0);
}

/// A NIC takes PFC frames to queue 0; a capture file has them anywhere.
#[test]
fn a_pause_that_comes_in_by_a_further_queue_is_obeyed_by_the_owner() {
    for owner_polls_both in [false, true] {
        let other = u8::from(!owner_polls_both);
        let mut rig = RigBuilder::routed(2).queue_at(1, other).build();
        rig.queue(1, 1).arriving.push_back(TestFrame::new(&pause(0xFFFF)));
        rig.settle();
        assert_eq!(rig.report(1).counters.pfc.rx_xoff[3], 1);
        let frame = Udp { frame_bytes: 1_000, ..Udp::routed(2, 1, 26) };
        rig.arrive_numbered(2, &frame, 0..5);
        rig.settle();
        assert_eq!(rig.sent(1).len(), 0, "paused");
        rig.queue(1, 1).arriving.push_back(TestFrame::new(&pause(0)));
        rig.settle();
        assert_eq!(rig.sent(1).len(), 5, "resumed");
    }
}

/// The worst that a stale sum admits: each worker fills what it believes to be left, in one turn.
#[test]
fn queues_that_fill_in_the_same_turn_exceed_the_limit_by_a_burst_each_at_most() {
    let mut builder = RigBuilder::routed(2).queue_at(1, 1).queue_at(1, 2).queue_at(1, 3);
    builder.settings.buffer.size_bytes += 3_000_000;
    let viq = builder.settings.ports[0].lossless[3].unwrap();
    let mut rig = builder.build();
    rig.arrive(2, &pause(0xFFFF));
    rig.turn();
    for queue in 0..4 {
        load(&mut rig, queue, 26, 0..500);
    }
    for _ in 0..100 {
        rig.turn();
        let report = rig.report(1);
        let limit = 20_000 + viq.headroom_bytes + stale_bytes(4, 1_000);
        assert!(report.queues[3].viq_bytes <= limit, "{} of {limit}", report.queues[3].viq_bytes);
    }
    assert_eq!(rig.totals().dropped, 0, "the rest waits in the rings");
    assert!(rig.report(1).queues[3].headroom_bytes > 0);
    rig.arrive(2, &pause(0));
    rig.settle();
    rig.settle();
    assert_eq!(rig.sent(2).len(), 2_000);
}

#[test]
fn a_link_that_is_down_is_so_at_every_queue() {
    use dataplane::control_rings::Command;
    use dataplane::rx_queues::rx_queues;
    let mut rig = two_queues().build();
    for queue in rx_queues(&rig.builder.settings).iter().filter(|queue| queue.port.index() == 0) {
        let commands = &mut rig.control[queue.worker.index()].commands;
        commands.push(Command::Link(queue.id, false)).unwrap();
    }
    rig.turn();
    load(&mut rig, 0, 26, 0..3);
    load(&mut rig, 1, 26, 0..4);
    rig.settle();
    assert_eq!(rig.dropped(1, DropReason::PortDown), 7);
}

#[test]
fn a_backlog_of_any_queue_pauses_the_port() {
    let mut rig = two_queues().build();
    rig.queue(1, 1).backlog_frames = Some(10_000);
    rig.settle();
    rig.turn();
    rig.turn();
    assert_eq!(rig.sent(1).len(), 1, "XOFF");
}

/// What a trace does when it comes in by queues of several workers is what it does by one queue:
/// the same totals, and no lossless frame is lost.
#[derive(Clone, Debug)]
struct Piece {
    queue: u16,
    dscp: u8,
    frames: u32,
    is_paused: bool,
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let piece = (0..4_u16, prop::sample::select(vec![0_u8, 26, 27]), 1..90_u32, any::<bool>());
    let piece =
        piece.prop_map(|(queue, dscp, frames, is_paused)| Piece { queue, dscp, frames, is_paused });
    prop::collection::vec(piece, 1..40)
}

fn run(mut builder: RigBuilder, queues: u16, trace: &[Piece]) -> (Vec<String>, Vec<u32>, u64) {
    builder.settings.buffer.size_bytes += 10_000_000;
    builder.settings.buffer.lossy_bytes += 5_000_000;
    builder.settings.buffer.lossy_queue_bytes += 5_000_000;
    let mut rig = builder.build();
    let mut first = 0;
    for piece in trace {
        rig.arrive(2, &pause(if piece.is_paused { 0xFFFF } else { 0 }));
        load(&mut rig, piece.queue % queues, piece.dscp, first..first + piece.frames);
        first += piece.frames;
        for _ in 0..piece.frames as usize / BURST_MAX + 1 {
            rig.turn();
        }
    }
    rig.arrive(2, &pause(0));
    for _ in 0..200 {
        rig.settle();
    }
    let is_flow_control = |line: &String| line.contains("pfc") || line.contains("tx_xo");
    let counters = rig.counters().into_iter().filter(|line| !is_flow_control(line)).collect();
    let mut sent: Vec<u32> = rig.sent(2).iter().map(|frame| sequence(frame)).collect();
    sent.sort_unstable();
    (counters, sent, rig.totals().held)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_spread_of_a_trace_keeps_the_totals_and_loses_nothing(trace in pieces()) {
        let one = run(RigBuilder::routed(2), 1, &trace);
        prop_assert_eq!(one.2, 0);
        let frames: u32 = trace.iter().map(|piece| piece.frames).sum();
        prop_assert_eq!(&one.1, &(0..frames).collect::<Vec<_>>());
        for spread in [[0_u8, 0, 0], [1, 0, 1], [1, 2, 3], [1, 1, 1]] {
            let builder = spread.iter().fold(RigBuilder::routed(2), |it, &at| it.queue_at(1, at));
            prop_assert_eq!(&run(builder, 4, &trace), &one, "{:?}", spread);
        }
    }
}

//! In-band telemetry through a whole worker: what is written into which frame, and that nothing
//! else changes.

use dataplane::settings::TelemetrySettings;
use dataplane::testing::wire::{Udp, header_checksum};
use dataplane::testing::{Rig, RigBuilder};
use dataplane::wire::MacAddress;
use dataplane::wire::mac_control::Pfc;
use dataplane::wire::telemetry::{BYTES, Hop, Stack};

/// After Ethernet, IPv4 and UDP.
const STACK_AT: usize = 42;
/// Preamble, FCS and gap.
const WIRE_OVERHEAD_BYTES: u64 = 24;

fn builder() -> RigBuilder {
    let mut builder = RigBuilder::routed(2);
    builder.settings.telemetry = Some(TelemetrySettings { switch: 0x0ABC });
    builder
}

/// A frame of 1,000 bytes to port 2.
fn packet(sequence: u32) -> Udp {
    Udp { frame_bytes: 1_000, sequence, has_telemetry: true, ..Udp::routed(1, 2, 26) }
}

fn stack(frame: &[u8]) -> Stack {
    Stack::read(&frame[STACK_AT..]).expect("the frame has room")
}

/// The only hop of a frame.
fn hop(frame: &[u8]) -> Hop {
    let stack = stack(frame);
    assert_eq!((stack.count(), stack.path()), (1, 0x0ABC));
    stack.hops().next().expect("one hop")
}

/// A PFC frame for priority 3.
fn pfc(quanta: u16) -> [u8; 60] {
    let priority = dataplane::ids::Priority::new(3).expect("below eight");
    Pfc::default().with(priority, quanta).to_frame(MacAddress([2, 0, 0, 1, 9, 9]))
}

fn counted(rig: &Rig) -> (u64, u64) {
    let counters = rig.report(2).counters;
    (counters.telemetry_frames, counters.telemetry_full_frames)
}

#[test]
fn a_packet_through_an_idle_switch_says_what_the_port_has_sent_before_it() {
    let mut rig = builder().build();
    for sequence in 0..3 {
        rig.arrive(1, &packet(sequence).bytes());
        rig.settle();
        rig.wait(10_000);
    }
    let sent = rig.sent(2);
    let hops: Vec<Hop> = sent.iter().map(|frame| hop(frame)).collect();
    assert!(hops.iter().all(|hop| hop.speed_bps() == Some(10_000_000_000)));
    assert!(hops.iter().all(|hop| hop.queued_bytes() == 0));
    // In units of 128 bytes.
    let sent_bytes = |frames: u64| frames * (1_000 + WIRE_OVERHEAD_BYTES) / 128 * 128;
    assert_eq!(hops[1].since(hops[0]).1, sent_bytes(1));
    assert_eq!(hops[2].since(hops[0]).1, sent_bytes(2));
    assert!(hops[1].since(hops[0]).0 >= 10_000);
    assert_eq!(counted(&rig), (3, 0));
}

#[test]
fn packets_that_leave_a_queue_say_what_stays_behind() {
    let mut rig = builder().build();
    rig.arrive(2, &pfc(0xFFFF));
    rig.turn();
    (0..10).for_each(|sequence| rig.arrive(1, &packet(sequence).bytes()));
    rig.settle();
    rig.arrive(2, &pfc(0));
    rig.settle();
    let queued: Vec<u64> = rig.sent(2).iter().map(|frame| hop(frame).queued_bytes()).collect();
    let behind: Vec<u64> = (0..10).rev().map(|frames| frames * 1_000 / 80 * 80).collect();
    assert_eq!(queued, behind);
}

#[test]
fn a_device_that_refuses_frames_sees_each_written_once() {
    let mut rig = builder().build();
    (0..40).for_each(|sequence| rig.arrive(1, &packet(sequence).bytes()));
    let mut sent = Vec::new();
    for room in [0, 3, 0, 7, 1] {
        rig.port(2).takes_frames = Some(room);
        rig.turn();
        sent.extend(rig.sent(2));
    }
    rig.port(2).takes_frames = None;
    rig.settle();
    sent.extend(rig.sent(2));
    assert_eq!(sent.len(), 40);
    for (frames, pair) in (0_u64..).zip(sent.windows(2)) {
        assert_eq!(stack(&pair[1]).count(), 1);
        let between = hop(&pair[1]).since(hop(&pair[0])).1;
        let bytes = 1_000 + WIRE_OVERHEAD_BYTES;
        assert_eq!(between, ((frames + 1) * bytes / 128 - frames * bytes / 128) * 128);
    }
    assert_eq!(counted(&rig), (40, 0));
}

#[test]
fn a_sixth_switch_counts_itself_and_writes_nothing() {
    let mut rig = builder().build();
    let mut frame = packet(0).bytes();
    frame[STACK_AT] = 5 << 4;
    let before = frame[STACK_AT + 2..STACK_AT + BYTES].to_vec();
    rig.arrive(1, &frame);
    rig.settle();
    let sent = rig.sent(2);
    assert_eq!((stack(&sent[0]).count(), stack(&sent[0]).path()), (6, 0x0ABC));
    assert_eq!(sent[0][STACK_AT + 2..STACK_AT + BYTES], before);
    assert_eq!(counted(&rig), (0, 1));
}

#[test]
fn frames_without_room_and_switches_without_telemetry_change_nothing() {
    let plain = Udp { has_telemetry: false, ..packet(1) };
    let mut with_checksum = packet(2).bytes();
    with_checksum[40] = 1;
    let mut short = packet(3).bytes();
    // The UDP header says that 49 bytes follow its own begin.
    short[38..40].copy_from_slice(&49_u16.to_be_bytes());
    let mut fragment = packet(4).bytes();
    fragment[20] |= 0x20;
    fragment[24..26].fill(0);
    let sum = header_checksum(&fragment[14..34]);
    fragment[24..26].copy_from_slice(&sum.to_be_bytes());
    let others = [plain.bytes(), with_checksum, short, fragment];
    let run = |mut rig: Rig, frames: &[Vec<u8>]| {
        frames.iter().for_each(|frame| rig.arrive(1, frame));
        rig.settle();
        (rig.sent(2), counted(&rig))
    };
    let (with, counted_with) = run(builder().build(), &others);
    let (without, _) = run(RigBuilder::routed(2).build(), &others);
    assert_eq!((with.len(), counted_with), (4, (0, 0)));
    assert_eq!(with, without);
    let (off, counted_off) = run(RigBuilder::routed(2).build(), &[packet(5).bytes()]);
    assert_eq!((stack(&off[0]), counted_off), (Stack::EMPTY, (0, 0)));
}

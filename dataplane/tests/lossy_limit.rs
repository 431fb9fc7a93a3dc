//! Lossy queues whose limit moves with what all lossy frames leave free, against a model that knows
//! one frame at a time.

use dataplane::counters::DropReason;
use dataplane::testing::wire::{Udp, sequence};
use dataplane::testing::{Rig, RigBuilder};
use proptest::prelude::*;

const LOSSY_BYTES: u64 = 60_000;
const CELL_BYTES: u64 = 256;
/// The frame that waits first, in a lossless queue, so that no other passes the queues.
const FIRST: u32 = 9_999;
/// Where frames leave.
const PORTS: [u8; 2] = [2, 3];

fn blocked(alpha_log2: i8) -> Rig {
    let mut builder = RigBuilder::routed(3);
    let buffer = &mut builder.settings.buffer;
    buffer.size_bytes += LOSSY_BYTES;
    buffer.lossy_bytes = LOSSY_BYTES;
    buffer.lossy_queue_bytes = u32::MAX;
    buffer.lossy_queue_alpha_log2 = Some(alpha_log2);
    assert_eq!(u64::from(buffer.cell_bytes), CELL_BYTES);
    let mut rig = builder.build();
    for port in PORTS {
        rig.port(port).takes_frames = Some(0);
        rig.arrive(1, &Udp { sequence: FIRST, ..Udp::routed(1, port, 26) }.bytes());
    }
    rig.settle();
    rig
}

/// `2^alpha_log2` times `free`, one doubling or halving after the other.
fn share(free: u64, alpha_log2: i8) -> u64 {
    let steps = 0..alpha_log2.unsigned_abs();
    steps.fold(free, |share, _| if alpha_log2 < 0 { share / 2 } else { share * 2 })
}

/// The numbers of the frames that leave by `port`.
fn leave(rig: &mut Rig, port: u8) -> Vec<u32> {
    rig.port(port).takes_frames = None;
    rig.settle();
    let numbers = rig.sent(port).into_iter().map(|frame| sequence(&frame));
    numbers.filter(|&number| number != FIRST).collect()
}

#[test]
fn a_queue_alone_ends_where_it_is_as_long_as_what_is_left_allows() {
    // a / (1 + a) of 60,000 bytes.
    for (alpha_log2, frames) in [(-1, 20), (0, 30), (1, 40), (3, 54)] {
        let mut rig = blocked(alpha_log2);
        let frame = Udp { frame_bytes: 1_000, ..Udp::routed(1, 2, 0) };
        rig.arrive_numbered(1, &frame, 0..60);
        rig.settle();
        assert_eq!(rig.dropped(2, DropReason::TailDrop), 60 - frames, "{alpha_log2}");
        assert_eq!(leave(&mut rig, 2).len() as u64, frames);
        let counted: Vec<String> =
            rig.counters().into_iter().filter(|line| line.contains("drop")).collect();
        assert_eq!(counted, [format!("p2 drop.tail_drop = {}", 60 - frames)]);
    }
}

proptest! {
    #[test]
    fn each_frame_finds_the_limit_that_those_before_it_left(
        alpha_log2 in -3_i8..4,
        bursts in proptest::collection::vec(
            proptest::collection::vec((0_usize..2, prop::sample::select(vec![60_usize, 300, 1_000, 1_400])), 1..40),
            1..12,
        ),
    ) {
        let mut rig = blocked(alpha_log2);
        let (mut depths, mut used, mut kept) = ([0_u64; 2], 0_u64, [vec![], vec![]]);
        let mut number = 0;
        for burst in bursts {
            for (to, frame_bytes) in burst {
                let frame = Udp { sequence: number, frame_bytes, ..Udp::routed(1, PORTS[to], 0) };
                rig.arrive(1, &frame.bytes());
                let (bytes, cost) = (frame_bytes as u64, (frame_bytes as u64).max(CELL_BYTES));
                let free = LOSSY_BYTES - used;
                if cost <= free && depths[to] + bytes <= share(free, alpha_log2) {
                    depths[to] += bytes;
                    used += cost;
                    kept[to].push(number);
                }
                number += 1;
            }
            rig.settle();
        }
        prop_assert_eq!(rig.totals().imbalance(), 0);
        for (port, kept) in PORTS.into_iter().zip(kept) {
            prop_assert_eq!(leave(&mut rig, port), kept, "port {}", port);
        }
    }
}

//! Nothing allocates while frames move: 10,000 turns of the whole pipeline, frames that pass and
//! frames that wait. In a file of its own, since the counter counts the whole process.

use bench::line_switch::LineSwitch;
use bench::loop_device::LoopDevice;

use dataplane::time::Instant;
use dataplane::worker::Worker;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const TURNS: u64 = 10_000;

/// The worker's turns number `from` to `to`, at 2 us each.
fn turns(worker: &mut Worker<LoopDevice>, from: u64, to: u64) {
    for turn in from..to {
        worker.turn(Instant::from_ns(2_000 * turn));
    }
}

/// Blocks allocated by [`TURNS`] turns.
fn blocks_of_turns(worker: &mut Worker<LoopDevice>) -> u64 {
    let before = dhat::HeapStats::get().total_blocks;
    turns(worker, 2, 2 + TURNS);
    dhat::HeapStats::get().total_blocks - before
}

#[test]
fn nothing_is_allocated_while_frames_move() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let switch = LineSwitch { classes: 2, ..LineSwitch::default() };
    let frames = TURNS * u64::from(switch.ports) * switch.burst_frames as u64;

    let mut passing = switch.build();
    assert!(dhat::HeapStats::get().total_blocks > 1_000, "what is allocated is counted");
    assert_eq!(blocks_of_turns(&mut passing), 0);
    let totals = passing.totals();
    assert_eq!((totals.sent, totals.dropped, totals.imbalance()), (frames, 0, 0));

    // Two bursts a port wait before any leaves, and from then on every frame behind them.
    let mut waiting = switch.build();
    waiting.device_mut().open.fill(false);
    turns(&mut waiting, 0, 2);
    waiting.device_mut().open.fill(true);
    waiting.device_mut().tx_frames_a_turn = switch.burst_frames;
    let held = waiting.totals().held;
    assert_eq!(held, 4 * switch.burst_frames as u64);
    assert_eq!(blocks_of_turns(&mut waiting), 0);
    let totals = waiting.totals();
    assert_eq!((totals.held, totals.dropped, totals.imbalance()), (held, 0, 0));
    assert_eq!(totals.sent, frames);
}

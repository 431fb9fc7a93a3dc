//! What it costs when every frame waits: a standing queue at every port, upstream paused all the
//! time, against frames that pass. The core alone, without a driver.
//!
//! Each port takes in a turn as many frames as arrive, and there are two bursts more in its queue
//! than it takes: the queue never empties and never grows, each VIQ is over its XOFF threshold, and
//! XOFF is refreshed.

use bench::line_switch::LineSwitch;
use bench::loop_device::LoopDevice;
use bench::table::{nanoseconds_each, save};

use dataplane::report::Report;
use dataplane::time::Instant;
use dataplane::worker::Worker;

const TURNS: u64 = 2_000;
const ROUNDS: usize = 40;

/// Turns at 2 us each.
fn turns(worker: &mut Worker<LoopDevice>, clock_ns: &mut u64) {
    for _ in 0..TURNS {
        *clock_ns += 2_000;
        worker.turn(Instant::from_ns(*clock_ns));
    }
}

fn report(worker: &Worker<LoopDevice>, clock_ns: u64) -> Report {
    let mut report = Report::default();
    worker.report(&mut report, Instant::from_ns(clock_ns));
    assert_eq!((report.totals.imbalance(), report.totals.dropped), (0, 0));
    report
}

fn main() {
    let switch = LineSwitch::default();
    let frames = TURNS * u64::from(switch.ports) * switch.burst_frames as u64;
    let (mut passing, mut waiting) = (switch.build(), switch.build());
    let mut clocks_ns = [0, 0];
    waiting.device_mut().open = vec![false; 2];
    for _ in 0..2 {
        clocks_ns[1] += 2_000;
        waiting.turn(Instant::from_ns(clocks_ns[1]));
    }
    waiting.device_mut().open = vec![true; 2];
    waiting.device_mut().tx_frames_a_turn = switch.burst_frames;
    let mut ratios = Vec::new();
    let mut each = [f64::MAX; 2];
    for _ in 0..5 {
        let took = [
            nanoseconds_each(ROUNDS, frames, || turns(&mut passing, &mut clocks_ns[0])),
            nanoseconds_each(ROUNDS, frames, || turns(&mut waiting, &mut clocks_ns[1])),
        ];
        ratios.push(took[0] / took[1]);
        each = [each[0].min(took[0]), each[1].min(took[1])];
    }
    ratios.sort_by(f64::total_cmp);
    let (passed, waited) = (report(&passing, clocks_ns[0]), report(&waiting, clocks_ns[1]));
    assert_eq!(passed.totals.held, 0);
    for port in &waited.ports {
        assert_eq!(port.queues[3].veq_frames, 128, "the queue stands");
        assert!(port.queues[3].tx_paused, "upstream is paused");
        assert!(port.counters.pfc.tx_xoff[3] > 1, "and told so again");
    }
    println!("passing {:.1} ns a frame, waiting {:.1} ns: {:.2} x", each[0], each[1], ratios[2]);
    let figures = [("passing_ns", each[0]), ("waiting_ns", each[1]), ("congested", ratios[2])];
    save("congested", &figures.map(|(name, value)| (name.to_owned(), value)));
}

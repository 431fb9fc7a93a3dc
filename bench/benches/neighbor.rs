//! What a hostile neighbor costs: one of two ports is flooded with LLDP frames among its data,
//! more than 10,000 a second, against the same data alone. The core alone, without a driver.

use bench::line_switch::LineSwitch;
use bench::loop_device::LoopDevice;
use bench::table::{nanoseconds_each, save};
use dataplane::control_rings::{ControlRings, connect};
use dataplane::counters::DropReason;
use dataplane::driver::Polling;
use dataplane::report::Report;
use dataplane::time::Instant;
use dataplane::wire::{MacAddress, ethernet};
use dataplane::worker::Worker;
use std::sync::Arc;
use std::time::Instant as Clock;

const TURNS: u64 = 2_000;
const ROUNDS: usize = 40;
/// What a turn counts as.
const TURN_NS: u64 = 2_000;
const FRAMES: usize = 16_384;

/// A switch, its time, and the control thread's ends of its rings.
struct Run {
    worker: Worker<LoopDevice>,
    control: Vec<ControlRings<bench::loop_device::LoopFrame>>,
    clock_ns: u64,
    punted: u64,
}

impl Run {
    fn new(switch: LineSwitch, is_hostile: bool) -> Self {
        let builder = switch.builder();
        let (mut links, control) = connect(1, usize::from(switch.ports));
        let mut templates: Vec<Vec<Vec<u8>>> =
            (1..=switch.ports).map(|from| switch.frames(from)).collect();
        if is_hostile {
            // One of 256 frames of the second port.
            templates[1].iter_mut().step_by(256).for_each(|frame| *frame = lldp());
        }
        let device = LoopDevice::new(templates, FRAMES, switch.burst_frames);
        let snapshot = Arc::new(builder.snapshot(0));
        let worker =
            Worker::new(&builder.settings, snapshot, device, links.remove(0), Polling::default());
        Self { worker, control, clock_ns: 0, punted: 0 }
    }

    /// As many turns as are timed; the control thread takes what is punted.
    fn turns(&mut self) {
        for _ in 0..TURNS {
            self.clock_ns += TURN_NS;
            self.worker.turn(Instant::from_ns(self.clock_ns));
        }
        while self.control[0].punted.pop().is_ok() {
            self.punted += 1;
        }
    }

    fn report(&self) -> Report {
        let mut report = Report::default();
        self.worker.report(&mut report, Instant::from_ns(self.clock_ns));
        assert_eq!(report.totals.imbalance(), 0);
        report
    }
}

/// A frame of somebody who claims to be a switch.
fn lldp() -> Vec<u8> {
    let mut frame = [&MacAddress::LLDP.0[..], &[2, 0xBA, 0xD0, 0, 0, 1]].concat();
    frame.extend(ethernet::LLDP.to_be_bytes());
    frame.extend([0x02, 7, 4, 2, 0xBA, 0xD0, 0, 0, 1, 0x04, 2, 5, b'x', 0x06, 2, 0, 120]);
    frame.extend([0xFE, 7, 0x00, 0x80, 0xC2, 0x14, 1, 1, 255, 0, 0]);
    frame.resize(60, 0);
    frame
}

fn main() {
    let switch = LineSwitch::default();
    let frames = TURNS * u64::from(switch.ports) * switch.burst_frames as u64;
    let (mut calm, mut flooded) = (Run::new(switch, false), Run::new(switch, true));
    let (mut ratios, mut each) = (Vec::new(), [f64::MAX; 2]);
    let mut flooded_s = 0.0;
    for _ in 0..9 {
        let start = Clock::now();
        let with = nanoseconds_each(ROUNDS, frames, || flooded.turns());
        flooded_s += start.elapsed().as_secs_f64();
        let without = nanoseconds_each(ROUNDS, frames, || calm.turns());
        ratios.push(with / without);
        each = [each[0].min(without), each[1].min(with)];
    }
    ratios.sort_by(f64::total_cmp);
    let (calm_report, report) = (calm.report(), flooded.report());
    assert_eq!((calm_report.totals.dropped, calm_report.totals.punted), (0, 0));
    let limited = report.ports[1].counters.dropped(DropReason::PuntPoliced);
    let lldp = limited + report.totals.punted;
    assert_eq!(report.totals.dropped, limited, "nothing else is dropped");
    assert_eq!(report.totals.punted, flooded.punted);
    let seconds = flooded.clock_ns / 1_000_000_000;
    assert!(flooded.punted <= 32 * (seconds + 2), "{} punted in {seconds} s", flooded.punted);
    let rate = lldp as f64 / flooded_s;
    assert!(rate > 10_000.0, "{rate} LLDP frames a second are no flood");
    println!(
        "calm {:.1} ns a frame, with {rate:.0} LLDP frames a second {:.1} ns: {:.3} x; {} of {lldp} punted",
        each[0], each[1], ratios[4], flooded.punted
    );
    let figures = [("calm_ns", each[0]), ("flooded_ns", each[1]), ("hostile_neighbor", ratios[4])];
    save("neighbor", &figures.map(|(name, value)| (name.to_owned(), value)));
}

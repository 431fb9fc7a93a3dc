//! What a frame waits in the switch, from the moment it arrives at a port to the moment it is
//! handed to the device of another: through a worker that is nearly idle, half loaded, and nine
//! tenths.
//!
//! Frames arrive evenly by the clock, and wait where they arrive until the worker polls; each says
//! in its payload when it came. Wire and driver are not in it: it is what the switch adds.

use bench::line_switch::LineSwitch;
use bench::loop_device::{LoopDevice, LoopFrame};
use bench::table::{nanoseconds_each, quantile, save};
use bench::watched_device::{Watch, Watched};
use dataplane::device::Device;
use dataplane::frame::{Burst, Frame};
use dataplane::ids::PortId;
use dataplane::limits::BURST_MAX;
use dataplane::time::Instant;
use std::time::{Duration, Instant as Clock};

const PORTS: u8 = 2;
const SECONDS: f64 = 3.0;
/// Where a frame says when it arrived: behind Ethernet, IPv4 and UDP.
const STAMP: core::ops::Range<usize> = 42..50;

/// Frames arrive by the clock.
struct Timed {
    start: Clock,
    /// Picoseconds between two frames of a port.
    every_ps: u64,
    /// By port index: frames that have arrived and were taken.
    taken: Vec<u64>,
    waited_ns: Vec<u32>,
}

impl Timed {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).expect("584 years")
    }

    fn arrival_ns(&self, number: u64) -> u64 {
        number * self.every_ps / 1_000
    }
}

impl Watch for Timed {
    const HAS_TX_QUEUES: bool = false;

    fn rx_burst(
        &mut self,
        device: &mut LoopDevice,
        port: PortId,
        frames_max: usize,
        into: &mut Burst<LoopFrame>,
    ) {
        let (now_ns, taken) = (self.now_ns(), self.taken[port.index()]);
        let mut due = 0;
        while due < BURST_MAX.min(frames_max) && self.arrival_ns(taken + due as u64 + 1) <= now_ns {
            due += 1;
        }
        device.burst_frames = due;
        device.rx_burst(port, frames_max, into);
        for (frame, number) in into.iter_mut().zip(taken + 1..) {
            let came_ns = self.arrival_ns(number).to_be_bytes();
            frame.head_mut()[STAMP].copy_from_slice(&came_ns);
        }
        self.taken[port.index()] += into.len() as u64;
    }

    fn tx_burst(
        &mut self,
        device: &mut LoopDevice,
        port: PortId,
        from: &mut Burst<LoopFrame>,
        now: Instant,
    ) {
        let now_ns = self.now_ns();
        for frame in from.iter() {
            let came_ns = u64::from_be_bytes(frame.head()[STAMP].try_into().expect("eight octets"));
            self.waited_ns.push(u32::try_from(now_ns - came_ns).unwrap_or(u32::MAX));
        }
        device.tx_burst(port, from, now);
    }
}

/// Nanoseconds that the worker takes for a frame when they always wait for it, stamps included.
fn capacity_ns() -> f64 {
    let mut worker = LineSwitch { ports: PORTS, ..LineSwitch::default() }
        .build_on(|_, device| timed(device, 0))
        .remove(0);
    let frames = 200 * u64::from(PORTS) * BURST_MAX as u64;
    let mut clock_ns = 0;
    nanoseconds_each(100, frames, || {
        for _ in 0..200 {
            clock_ns += 2_000;
            worker.turn(Instant::from_ns(clock_ns));
        }
        worker.device_mut().watch.waited_ns.clear();
    })
}

fn timed(device: LoopDevice, every_ps: u64) -> Watched<Timed> {
    let taken = vec![0; usize::from(PORTS)];
    let waited_ns = Vec::with_capacity(1 << 26);
    Watched { device, watch: Timed { start: Clock::now(), every_ps, taken, waited_ns } }
}

/// What frames waited that came at each port every `every_ps`, in order of size.
fn waited_ns(every_ps: u64) -> Vec<u32> {
    let mut worker = LineSwitch { ports: PORTS, ..LineSwitch::default() }
        .build_on(|_, device| timed(device, every_ps))
        .remove(0);
    worker.device_mut().watch.start = Clock::now();
    while worker.device().watch.start.elapsed().as_secs_f64() < SECONDS {
        let now_ns = worker.device().watch.now_ns();
        worker.turn(Instant::from_ns(now_ns));
    }
    let totals = worker.totals();
    assert_eq!((totals.imbalance(), totals.dropped, totals.held), (0, 0, 0));
    let mut waited_ns = core::mem::take(&mut worker.device_mut().watch.waited_ns);
    assert_eq!(waited_ns.len() as u64, totals.sent, "each frame was timed");
    waited_ns.sort_unstable();
    waited_ns
}

fn main() {
    let capacity_ns = capacity_ns();
    println!("added latency, in microseconds; this worker forwards {:.1} Mpps", 1e3 / capacity_ns);
    println!("{:14}{:>8}{:>8}{:>8}{:>8}{:>10}", "load", "Mpps", "p50", "p99", "p99.9", "max");
    let mut figures = Vec::new();
    for (name, percent) in [("idle (1 %)", 1.0), ("half", 50.0), ("nine tenths", 90.0)] {
        let each_ns = capacity_ns * 100.0 / percent;
        let every_ps = Duration::from_secs_f64(each_ns * f64::from(PORTS) / 1e6).as_nanos();
        let waited_ns = waited_ns(u64::try_from(every_ps).expect("far below a second"));
        let [p50, p99, p999, max] =
            [500, 990, 999, 1_000].map(|q| f64::from(quantile(&waited_ns, q)) / 1e3);
        let mpps = 1e3 / each_ns;
        println!("{name:14}{mpps:8.2}{p50:8.2}{p99:8.2}{p999:8.2}{max:10.2}");
        for (quantile, value) in [("p50_us", p50), ("p99_us", p99), ("p999_us", p999)] {
            figures.push((format!("{name}: {quantile}"), value));
        }
    }
    save("latency", &figures);
}

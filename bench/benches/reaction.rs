//! How long a received PAUSE takes to bite in workers that are loaded to the brim: from the moment
//! that the frame is in hand (the device has given it to the worker) to the last frame of its class
//! that any worker hands to the device. 802.3's own limit at 10G is 3.07 us (60 quanta).
//!
//! One worker obeys before any data of the burst moves, so it hands over nothing more. Of two, the
//! other one sends at the paused port by itself until it reads that the grant is gone.
//!
//! Devices note when they give out a PFC frame and when they take data, by one clock. Stations obey
//! the switch's own pauses. Between pauses everything resumes, and nothing lossless may be lost.

use bench::line_switch::LineSwitch;
use bench::loop_device::{LoopDevice, LoopFrame};
use bench::table::{quantile, save};
use bench::watched_device::{Sent, Watch, Watched, pfc_frame};
use dataplane::device::Device;
use dataplane::frame::Burst;
use dataplane::ids::{PortId, Priority};
use dataplane::time::Instant;
use dataplane::worker::Worker;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant as Clock;

/// Reactions that are measured at each port.
const PAUSES: usize = 10_000;
/// Turns of its owner in which a port is paused, and in which it is not.
const PAUSED_TURNS: u32 = 6;
const RUNNING_TURNS: u32 = 12;
const PRIORITY: u8 = 3;

/// When something last happened at each port, in nanoseconds of one clock.
struct Times {
    start: Clock,
    sent_ns: Vec<AtomicU64>,
}

impl Times {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).expect("584 years")
    }
}

/// A PFC frame arrives at its port when it is told so.
struct Station {
    times: Arc<Times>,
    /// The port that is paused, and the quanta of its next PFC frame.
    port: PortId,
    due: Option<u16>,
    in_hand_ns: u64,
    /// By port index: whether the switch has paused the station there.
    is_silent: Vec<bool>,
}

impl Watch for Station {
    const HAS_TX_QUEUES: bool = true;

    fn rx_burst(
        &mut self,
        device: &mut LoopDevice,
        port: PortId,
        frames_max: usize,
        into: &mut Burst<LoopFrame>,
    ) {
        let quanta = if port == self.port { self.due.take() } else { None };
        let Some(quanta) = quanta else {
            if !self.is_silent[port.index()] {
                device.rx_burst(port, frames_max, into);
            }
            return;
        };
        into.extend(pfc_frame(device, Priority::from_low_bits(PRIORITY), quanta));
        if !self.is_silent[port.index()] {
            device.burst_frames -= 1;
            device.rx_burst(port, frames_max, into);
            device.burst_frames += 1;
        }
        self.in_hand_ns = self.times.now_ns();
    }

    fn tx_burst(
        &mut self,
        device: &mut LoopDevice,
        port: PortId,
        from: &mut Burst<LoopFrame>,
        now: Instant,
    ) {
        let sent = Sent::of(from, Priority::from_low_bits(PRIORITY));
        device.tx_burst(port, from, now);
        match sent {
            Sent::Pfc { is_xoff } => self.is_silent[port.index()] = is_xoff,
            Sent::Data => {
                self.times.sent_ns[port.index()].store(self.times.now_ns(), Ordering::Relaxed);
            }
            Sent::Nothing => {}
        }
    }
}

/// Pauses and resumes a port of `worker`, again and again; nanoseconds of each reaction, 0 where
/// nothing left after it.
fn pause(worker: &mut Worker<Watched<Station>>) -> Vec<u64> {
    let station = &worker.device().watch;
    let (times, port) = (Arc::clone(&station.times), station.port);
    let turn = |worker: &mut Worker<Watched<Station>>| {
        worker.turn(Instant::from_ns(times.now_ns()));
    };
    let mut took_ns = Vec::with_capacity(PAUSES);
    for _ in 0..PAUSES {
        worker.device_mut().watch.due = Some(0xFFFF);
        (0..PAUSED_TURNS).for_each(|_| turn(worker));
        let sent_ns = times.sent_ns[port.index()].load(Ordering::Relaxed);
        took_ns.push(sent_ns.saturating_sub(worker.device().watch.in_hand_ns));
        worker.device_mut().watch.due = Some(0);
        (0..RUNNING_TURNS).for_each(|_| turn(worker));
    }
    took_ns
}

/// Reactions of `workers` at the port of each that is polled last, in order of size.
fn reactions(ports: u8, workers: u8) -> Vec<u64> {
    let switch = LineSwitch { ports, workers, headroom_bytes: 4_000_000, ..LineSwitch::default() };
    let sent_ns = (0..ports).map(|_| AtomicU64::new(0)).collect();
    let times = Arc::new(Times { start: Clock::now(), sent_ns });
    let last_of = |worker: usize| usize::from(ports - workers) + worker + 1;
    let station = |worker| Station {
        times: Arc::clone(&times),
        port: PortId::from_number(last_of(worker)).expect("a port"),
        due: None,
        in_hand_ns: 0,
        is_silent: vec![false; usize::from(ports)],
    };
    let wrap = |worker, device| Watched { device, watch: station(worker) };
    let made = switch.build_on(wrap);
    let at_work = AtomicUsize::new(made.len());
    let run = |mut worker: Worker<Watched<Station>>| {
        let took_ns = pause(&mut worker);
        at_work.fetch_sub(1, Ordering::Relaxed);
        // The others still need its turns.
        while at_work.load(Ordering::Relaxed) > 0 {
            worker.turn(Instant::from_ns(worker.device().watch.times.now_ns()));
        }
        let totals = worker.totals();
        assert_eq!((totals.imbalance(), totals.dropped), (0, 0), "losslessness is not for sale");
        took_ns
    };
    let mut took_ns: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = made.into_iter().map(|worker| scope.spawn(|| run(worker))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a worker's end")).collect()
    });
    took_ns.sort_unstable();
    took_ns
}

fn main() {
    println!("from a PAUSE in hand to the last frame of its class, in microseconds");
    println!("{:24}{:>8}{:>8}{:>8}{:>8}{:>12}", "", "p50", "p99", "p99.9", "max", "none left");
    let mut figures = Vec::new();
    for (ports, workers) in [(2, 1), (8, 1), (2, 2), (8, 2)] {
        let took_ns = reactions(ports, workers);
        let none = took_ns.iter().take_while(|&&ns| ns == 0).count();
        let none = none as f64 / took_ns.len() as f64 * 100.0;
        let [p50, p99, p999, max] =
            [500, 990, 999, 1_000].map(|q| quantile(&took_ns, q) as f64 / 1e3);
        let name = format!("{ports} ports, {workers} worker{}", if workers > 1 { "s" } else { "" });
        println!("{name:24}{p50:8.2}{p99:8.2}{p999:8.2}{max:8.2}{none:11.1}%");
        figures.push((format!("{name}: p99_us"), p99));
        figures.push((format!("{name}: p999_us"), p999));
    }
    save("reaction", &figures);
}

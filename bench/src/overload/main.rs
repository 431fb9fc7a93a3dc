//! `make bench-overload MINUTES=10`: two workers of a switch whose receive queues are all
//! overloaded, for minutes; no lossless frame may be missing.
//!
//! Four ports have two receive queues each. Each worker polls one of every port, and sends at every
//! port but one, to which frames are handed off. Senders fill the wires of all ports at 10G;
//! stations take 4G and pause the switch at random besides. So the switch pauses its senders all
//! the time. They obey 5 us after a PFC frame has left.
//!
//! The workers are the real ones, on two threads. The wires are emulated, so that they keep an
//! account of their own: each frame has a number in its flow, is counted where it goes into the
//! switch and where it comes out, and is counted as missing if it is freed anywhere else. The
//! account knows nothing of the switch's counters.
//!
//! The wires have a time of their own, which the switch is given too. It stops when the kernel
//! takes a core from a worker: a real switch has its cores for itself.

use crate::device::{HANDOFF_PORT, Wires, World};
use crate::parcel::FREED;
use crate::sender::{Paused, RESPONSE_NS, WIRE_GBPS};
use bench::line_switch::LineSwitch;
use bench::table::save;
use bench::verdict;
use clap::Parser;
use dataplane::control_rings::connect;
use dataplane::counters::Totals;
use dataplane::driver::Polling;
use dataplane::limits::{BURST_MAX, PRIORITIES};
use dataplane::rx_queues::rx_queues;
use dataplane::time::Instant;
use dataplane::worker::Worker;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant as Clock};

mod device;
mod parcel;
mod sender;

const WORKERS: u8 = 2;
const QUEUES: u8 = 2;
const LOSSLESS: [usize; 2] = [3, 4];
/// The longest step of the wires' time. Both workers have polled all their queues between two
/// steps, so a queue is polled at least every second step.
const STEP_NS: u64 = 25_000;
/// What a frame is charged, and what the shortest takes of a wire. The shortest needs the most
/// headroom.
const CELL_BYTES: u64 = 256;
const SHORTEST_BYTES: u64 = 84;
/// The least share of the time in which stations take frames: they are always behind, but for
/// frames that their own pauses hold back.
const DRAINED_MIN: f64 = 0.8;
/// How long the switch may take to send what it holds in the end.
const DRAIN_SECONDS: u64 = 60;

/// Overloads every receive queue of a switch of two workers, and accounts for every frame.
#[derive(Debug, Parser)]
struct Arguments {
    /// How long
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
}

/// Headroom of a VIQ: what arrives at a port between XOFF and the last frame of its sender. The
/// owner may find out one polling gap after another worker received, and leave its turn another
/// one later.
const fn headroom_bytes() -> u64 {
    let wire_bytes = (RESPONSE_NS + 2 * 2 * STEP_NS) * WIRE_GBPS / 8;
    wire_bytes.div_ceil(SHORTEST_BYTES) * CELL_BYTES
}

/// What a thread says of its worker.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Progress {
    turns: AtomicU64,
    held: AtomicU64,
}

/// What the threads share.
struct Run {
    world: Arc<World>,
    progress: Vec<Progress>,
    is_over: AtomicBool,
}

/// What is left of a worker.
struct Ended {
    totals: Totals,
    paused: Vec<[Paused; PRIORITIES]>,
    backlog: usize,
}

impl Run {
    /// Turns of the other workers than the first.
    fn others_turns(&self) -> u64 {
        self.progress[1..].iter().map(|it| it.turns.load(Ordering::Acquire)).min().unwrap_or(0)
    }

    fn work(&self, mut worker: Worker<Wires>, number: usize) -> Ended {
        let mut clock = Clock::now();
        let mut seen_turns = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            worker.turn(Instant::from_ns(self.world.now_ns()));
            let progress = &self.progress[number];
            progress.held.store(worker.totals().held, Ordering::Relaxed);
            progress.turns.fetch_add(1, Ordering::Release);
            let turns = self.others_turns();
            if number == 0 && turns != seen_turns {
                seen_turns = turns;
                let gone = u64::try_from(clock.elapsed().as_nanos()).expect("584 years");
                clock = Clock::now();
                self.world.now_ns.fetch_add(gone.min(STEP_NS), Ordering::Release);
            }
        }
        let device = worker.device();
        Ended {
            totals: worker.totals(),
            paused: device.senders().map(|(_, sender)| sender.paused).collect(),
            backlog: device.senders().map(|(_, sender)| sender.backlog()).sum(),
        }
    }

    fn sums(&self) -> [Sums; PRIORITIES] {
        std::array::from_fn(|p| {
            let accounts = &self.world.accounts;
            let sum = |of: fn(&device::Account) -> &[AtomicU64; PRIORITIES]| {
                accounts.iter().map(|account| of(account)[p].load(Ordering::Relaxed)).sum()
            };
            Sums {
                given: sum(|account| &account.given),
                out: sum(|account| &account.out),
                wrong: sum(|account| &account.wrong),
                overflowed: sum(|account| &account.overflowed),
                freed: FREED[p].load(Ordering::Relaxed),
            }
        })
    }
}

/// The account of one priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    given: u64,
    out: u64,
    wrong: u64,
    overflowed: u64,
    freed: u64,
}

impl Sums {
    const fn held(self) -> u64 {
        self.given - self.out - self.freed
    }
}

/// What is wrong, a line each.
fn faults(sums: &[Sums; PRIORITIES], ended: &[Ended], run: &Run, drained: f64) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    for p in LOSSLESS {
        let Sums { freed, wrong, overflowed, .. } = sums[p];
        must(freed == 0, format!("priority {p}: {freed} lossless frames are missing"));
        must(wrong == 0, format!("priority {p}: {wrong} frames came out in a wrong order"));
        must(overflowed == 0, format!("priority {p}: {overflowed} frames found a ring full"));
        for (station, port) in run.world.stations.iter().zip(1..) {
            let xoff = station.xoff_frames[p].load(Ordering::Relaxed);
            must(xoff > 0, format!("priority {p}: no XOFF was sent at port {port}"));
        }
    }
    must(drained >= DRAINED_MIN, format!("stations took {:.1} % of their rate", drained * 100.0));
    let held: u64 = sums.iter().map(|sums| sums.held()).sum();
    must(held == 0, format!("{held} frames never came out"));
    must(sums.iter().map(|sums| sums.wrong).sum::<u64>() == 0, "an order is wrong".to_owned());
    let dropped: u64 = ended.iter().map(|ended| ended.totals.dropped).sum();
    let freed: u64 = sums.iter().map(|sums| sums.freed).sum();
    must(
        dropped == freed,
        format!("the switch counts {dropped} drops, {freed} frames are missing"),
    );
    let imbalance = ended.iter().all(|ended| ended.totals.imbalance() == 0);
    must(imbalance, "the switch's own counts do not balance".to_owned());
    let backlog: usize = ended.iter().map(|ended| ended.backlog).sum();
    must(backlog == 0, format!("{backlog} frames are left in receive rings"));
    wrong
}

fn overload(minutes: f64) -> Result<bool, Box<dyn std::error::Error>> {
    let headroom = u32::try_from(headroom_bytes())?;
    let switch = LineSwitch {
        ports: HANDOFF_PORT,
        workers: WORKERS,
        queues: QUEUES,
        routes: 0,
        rules: 2,
        headroom_bytes: headroom,
        ..LineSwitch::default()
    };
    let mut builder = switch.builder();
    let buffer = &mut builder.settings.buffer;
    let cells = (buffer.size_bytes + buffer.lossy_bytes) / CELL_BYTES;
    buffer.frames_max = usize::try_from(cells)? + BURST_MAX * usize::from(QUEUES * HANDOFF_PORT);
    let queues = rx_queues(&builder.settings);
    let world = Arc::new(World::new(HANDOFF_PORT, queues.len(), usize::from(WORKERS)));
    let run = Run {
        world: Arc::clone(&world),
        progress: (0..WORKERS).map(|_| Progress::default()).collect(),
        is_over: AtomicBool::new(false),
    };
    let snapshot = Arc::new(builder.snapshot(0));
    let (rings, _control) = connect(usize::from(WORKERS), queues.len());
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    println!(
        "{HANDOFF_PORT} ports of {WIRE_GBPS}G, {} receive queues, {WORKERS} workers; senders respond to PFC within \
         {} us; headroom {} kB for each port and priority",
        queues.len(),
        RESPONSE_NS / 1_000,
        headroom / 1_000,
    );
    let (drained, ended): (f64, Vec<Ended>) = thread::scope(|scope| {
        let threads: Vec<_> = rings
            .into_iter()
            .enumerate()
            .map(|(number, rings)| {
                let device = Wires::new(&world, number, &queues, QUEUES);
                let snapshot = Arc::clone(&snapshot);
                let settings = &builder.settings;
                let core =
                    cores.get(number).copied().filter(|_| cores.len() >= usize::from(WORKERS));
                let run = &run;
                scope.spawn(move || {
                    core.map(core_affinity::set_for_current);
                    let worker = Worker::new(settings, snapshot, device, rings, Polling::default());
                    run.work(worker, number)
                })
            })
            .collect();
        let drained = watch(&run, minutes);
        let join = |thread: thread::ScopedJoinHandle<'_, Ended>| thread.join().expect("its end");
        (drained, threads.into_iter().map(join).collect())
    });
    Ok(report(&run, &ended, drained))
}

/// Waits for `minutes`, shows how it stands, and ends the run. Returns the share of the time in
/// which the stations took frames before the end.
fn watch(run: &Run, minutes: f64) -> f64 {
    let start = Clock::now();
    let end = Duration::from_secs_f64(minutes * 60.0);
    let lost =
        || run.sums().iter().enumerate().any(|(p, sums)| LOSSLESS.contains(&p) && sums.freed > 0);
    while start.elapsed() < end && !lost() {
        thread::sleep(Duration::from_secs(10).min(end.saturating_sub(start.elapsed())));
        let sums = run.sums();
        let of = |p: usize| (sums[p].out, sums[p].freed);
        println!(
            "{:5.1} min, wires {:5.1} s: priority 3 out {} missing {}, priority 4 out {} missing {}",
            start.elapsed().as_secs_f64() / 60.0,
            run.world.now_ns() as f64 / 1e9,
            of(3).0,
            of(3).1,
            of(4).0,
            of(4).1,
        );
    }
    let drained = run.world.drained_share(run.world.now_ns());
    run.world.is_ending.store(true, Ordering::Relaxed);
    let ends = Clock::now();
    let mut quiet = 0;
    // What is in a ring is not held yet: several looks at both workers.
    while quiet < 10 && ends.elapsed() < Duration::from_secs(DRAIN_SECONDS) {
        thread::sleep(Duration::from_millis(50));
        let is_empty = run.sums().iter().all(|sums| sums.held() == 0)
            && run.progress.iter().all(|it| it.held.load(Ordering::Relaxed) == 0);
        quiet = if is_empty { quiet + 1 } else { 0 };
    }
    run.is_over.store(true, Ordering::Relaxed);
    drained
}

/// Prints what came of it; whether it is as it must be.
fn report(run: &Run, ended: &[Ended], drained: f64) -> bool {
    let sums = run.sums();
    let ns = run.world.now_ns();
    println!(
        "{:>9}{:>16}{:>16}{:>14}{:>8}{:>8}",
        "priority", "given", "out", "missing", "held", "wrong"
    );
    for (p, sums) in sums.iter().enumerate().filter(|(_, sums)| sums.given > 0) {
        println!(
            "{p:>9}{:>16}{:>16}{:>14}{:>8}{:>8}",
            sums.given,
            sums.out,
            sums.freed,
            sums.held(),
            sums.wrong
        );
    }
    let stations = &run.world.stations;
    let count = |of: &[AtomicU64; PRIORITIES]| -> u64 {
        LOSSLESS.iter().map(|&p| of[p].load(Ordering::Relaxed)).sum()
    };
    let xoff: u64 = stations.iter().map(|it| count(&it.xoff_frames)).sum();
    let xon: u64 = stations.iter().map(|it| count(&it.xon_frames)).sum();
    let paused = ended.iter().flat_map(|ended| &ended.paused);
    let paused: Vec<Paused> = paused.flat_map(|of| LOSSLESS.map(|p| of[p])).collect();
    let shares = paused.iter().map(|paused| paused.ns as f64 / ns as f64);
    let (least, most) =
        shares.fold((1.0_f64, 0.0_f64), |(least, most), share| (least.min(share), most.max(share)));
    let received: u64 = stations.iter().map(|it| it.sent_pfc_frames.load(Ordering::Relaxed)).sum();
    println!(
        "PFC frames of the switch: {xoff} XOFF, {xon} XON; of the stations: {received}\n\
         senders were paused {:.1} to {:.1} % of the time; stations took {:.1} % of their rate",
        least * 100.0,
        most * 100.0,
        drained * 100.0,
    );
    let wrong = faults(&sums, ended, run, drained);
    for fault in &wrong {
        println!("wrong: {fault}");
    }
    let missing: u64 = LOSSLESS.iter().map(|&p| sums[p].freed).sum();
    println!("lossless frames missing: {missing}");
    save(
        "overload",
        &[
            ("lossless_given".to_owned(), LOSSLESS.iter().map(|&p| sums[p].given as f64).sum()),
            ("lossless_missing".to_owned(), missing as f64),
            ("xoff_frames".to_owned(), xoff as f64),
            ("wire_seconds".to_owned(), ns as f64 / 1e9),
            ("drained_share".to_owned(), drained),
        ],
    );
    wrong.is_empty()
}

fn main() -> ExitCode {
    verdict(overload(Arguments::parse().minutes))
}

//! `make bench-pause`: how long all workers of a port take to obey a PAUSE. From the moment that an
//! XOFF frame is at a receive queue of the port to the last frame of its priority that any worker
//! hands to the port; and the part of it after the frame is in hand, which means that a worker has
//! received it.
//!
//! Two workers are fully loaded. Each polls a receive queue of every port, and both send at every
//! port. The XOFF frame comes at a random moment, and waits for the worker that polls its queue:
//! the port's owner, or the other one, which passes it on. The frame is then the first one of its
//! burst. So the wait for the poll is up to one turn, and a turn is a burst of each queue.
//!
//! A worker that loses its core obeys when it has it again. So each long gap between two turns is
//! noted, and whether the kernel counted an involuntary context switch in it. Samples with such a
//! gap are reported apart, beside the same gaps of a loop that does nothing. All samples count, as
//! long as they keep the limit; where they do not, those without a gap have to.
//!
//! 99 % of the pauses have to keep the limit in all rows, from the queue on.

use crate::gaps::{GAP_NOTED_NS, Gap, Turns, empty_loop_gaps};
use crate::pauses::{Pauses, Sample, Step};
use crate::station::{Bed, NEVER, Station, Told};
use bench::line_switch::LineSwitch;
use bench::table::save;
use bench::verdict;
use bench::watched_device::Watched;
use dataplane::ids::PortId;
use dataplane::rx_queues::{RxQueue, rx_queues};
use dataplane::time::Instant;
use dataplane::worker::Worker;
use hdrhistogram::Histogram;
use random::seeded;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant as Clock;

mod gaps;
mod pauses;
mod station;

/// Pauses of each row.
const PAUSES: usize = 20_000;
const WORKERS: u8 = 2;
/// What 99 % of the pauses have to keep, and what is aimed at.
const MUST_NS: u64 = 10_000;
const AIM_NS: u64 = 3_000;
/// Share of samples with a gap from which a machine is too busy to tell.
const DISTURBED_MAX: f64 = 0.2;

/// The two workers of a row.
struct Row {
    ports: u8,
    is_at_owner: bool,
}

/// What came of it.
struct Figures {
    samples: Vec<Sample>,
    turns: Vec<Turns>,
    elapsed_s: f64,
}

impl Row {
    fn name(&self) -> String {
        let by = if self.is_at_owner { "the owner's queue" } else { "the other worker's queue" };
        format!("{} ports, PAUSE at {by}", self.ports)
    }

    fn measure(&self, cores: &[core_affinity::CoreId]) -> Figures {
        let switch = LineSwitch {
            ports: self.ports,
            workers: WORKERS,
            queues: WORKERS,
            headroom_bytes: 4_000_000,
            ..LineSwitch::default()
        };
        let queues = rx_queues(&switch.builder().settings);
        // The port that its owner polls last.
        let port = PortId::from_number(usize::from(self.ports)).expect("a port");
        let own = |queue: &&RxQueue| queue.port == port;
        let queue = queues.iter().filter(own).nth(usize::from(!self.is_at_owner));
        let queue = queue.expect("two queues").id;
        let bed = Arc::new(Bed {
            start: Clock::now(),
            told: (0..WORKERS).map(|_| Told::default()).collect(),
            due_ns: AtomicU64::new(NEVER),
            quanta: AtomicU64::new(0),
            in_hand_ns: AtomicU64::new(0),
            is_silent: (0..self.ports).map(|_| AtomicBool::new(false)).collect(),
            is_over: AtomicBool::new(false),
            spare: Mutex::new(Vec::with_capacity(1 << 16)),
        });
        let port_of: Vec<usize> = queues.iter().map(|queue| queue.port.index()).collect();
        let station = |number| Station {
            bed: Arc::clone(&bed),
            number,
            port,
            queue,
            port_of: port_of.clone(),
        };
        let made = switch.build_on(|number, device| Watched { device, watch: station(number) });
        let (mut samples, mut turns) = (Vec::new(), Vec::new());
        thread::scope(|scope| {
            let threads: Vec<_> = made
                .into_iter()
                .zip(cores)
                .map(|(worker, &core)| scope.spawn(move || run(worker, core)))
                .collect();
            for ended in threads.into_iter().map(|thread| thread.join().expect("a worker's end")) {
                samples.extend(ended.0);
                turns.push(ended.1);
            }
        });
        Figures { samples, turns, elapsed_s: bed.start.elapsed().as_secs_f64() }
    }
}

fn run(mut worker: Worker<Watched<Station>>, core: core_affinity::CoreId) -> (Vec<Sample>, Turns) {
    core_affinity::set_for_current(core);
    let station = &worker.device().watch;
    let (bed, number) = (Arc::clone(&station.bed), station.number);
    let mut pauses = (number == 0).then(|| Pauses {
        step: Step::Run { since_ns: 0, turns: None },
        rng: seeded(1),
        samples: Vec::with_capacity(PAUSES),
    });
    let mut turns = Turns::new();
    let mut last_ns = bed.now_ns();
    while !bed.is_over.load(Ordering::Relaxed) {
        worker.turn(Instant::from_ns(bed.now_ns()));
        let told = &bed.told[number].turns;
        told.store(told.load(Ordering::Relaxed) + 1, Ordering::Release);
        if let Some(pauses) = &mut pauses {
            pauses.poll(&bed);
            if pauses.samples.len() == PAUSES {
                bed.is_over.store(true, Ordering::Relaxed);
            }
        }
        let end_ns = bed.now_ns();
        turns.took(last_ns, end_ns);
        last_ns = end_ns;
        let Watched { device, watch } = worker.device_mut();
        watch.share_buffers(device);
    }
    let totals = worker.totals();
    assert_eq!((totals.imbalance(), totals.dropped), (0, 0), "losslessness is not for sale");
    (pauses.map(|pauses| pauses.samples).unwrap_or_default(), turns)
}

fn histogram(took_ns: impl Iterator<Item = u64>) -> Histogram<u64> {
    let mut all = Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("valid bounds");
    took_ns.for_each(|ns| all.saturating_record(ns));
    all
}

fn us(of: &Histogram<u64>, quantile: f64) -> f64 {
    of.value_at_quantile(quantile) as f64 / 1e3
}

/// Prints one row, appends its figures, and says whether it is as it has to be.
fn show(
    row: &Row,
    figures: &Figures,
    cores: &[core_affinity::CoreId],
    into: &mut Vec<(String, f64)>,
) -> Result<bool, String> {
    let mut took_ns = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3).expect("bounds");
    figures.turns.iter().for_each(|turns| took_ns.add(&turns.took_ns).expect("the same bounds"));
    // Every full turn does the same work; three times as much is not the worker's doing.
    let long_ns = GAP_NOTED_NS.max(3 * took_ns.value_at_quantile(0.9));
    let gaps = || figures.turns.iter().flat_map(|turns| &turns.gaps);
    let long = || gaps().filter(|gap| gap.end_ns - gap.begin_ns >= long_ns);
    let in_gap = |sample: &Sample, gap: &Gap| {
        gap.begin_ns < sample.due_ns.max(sample.last_ns) && sample.due_ns < gap.end_ns
    };
    let mut long_sorted: Vec<Gap> = long().copied().collect();
    long_sorted.sort_by_key(|gap| gap.begin_ns);
    let is_disturbed = |sample: &Sample| long_sorted.iter().any(|gap| in_gap(sample, gap));
    let (disturbed, calm): (Vec<Sample>, Vec<Sample>) =
        figures.samples.iter().partition(|sample| is_disturbed(sample));
    let all = histogram(figures.samples.iter().copied().map(Sample::reaction_ns));
    let undisturbed = histogram(calm.iter().copied().map(Sample::reaction_ns));
    let in_hand = histogram(calm.iter().copied().map(Sample::after_receipt_ns));
    let none_left = figures.samples.iter().filter(|sample| sample.reaction_ns() == 0).count();
    let share = |count: usize| count as f64 / figures.samples.len() as f64;
    let switched = long().filter(|gap| gap.is_switched).count();
    let a_second = long().count() as f64 / figures.elapsed_s;
    let empty_a_second = empty_loop_gaps(cores, long_ns);
    let name = row.name();
    let kinds =
        [("all", &all), ("without a gap", &undisturbed), ("of these, after receipt", &in_hand)];
    for (what, of) in kinds {
        println!(
            "{:38}{what:>25}{:>8}{:>8.2}{:>8.2}{:>8.2}{:>10.2}",
            if what == "all" { &name } else { "" },
            of.len(),
            us(of, 0.5),
            us(of, 0.99),
            us(of, 0.999),
            of.max() as f64 / 1e3,
        );
        let names = [("p50_us", us(of, 0.5)), ("p99_us", us(of, 0.99)), ("p999_us", us(of, 0.999))];
        let max = ("max_us", of.max() as f64 / 1e3);
        into.extend(
            names
                .into_iter()
                .chain([max])
                .map(|(figure, value)| (format!("{name}: {what}: {figure}"), value)),
        );
    }
    println!(
        "  turns: median {:.2}, p99 {:.2}; no frame left after {:.1} %\n  \
         {} samples ({:.2} %) with a gap of {:.1} or more: {a_second:.0} a second, {switched} of {} with \
         a context switch\n  an empty loop on these cores has {empty_a_second:.0} such gaps a second",
        us(&took_ns, 0.5),
        us(&took_ns, 0.99),
        share(none_left) * 100.0,
        disturbed.len(),
        share(disturbed.len()) * 100.0,
        long_ns as f64 / 1e3,
        long().count(),
    );
    into.push((format!("{name}: disturbed_share"), share(disturbed.len())));
    into.push((format!("{name}: gaps_a_second"), a_second));
    into.push((format!("{name}: empty_loop_gaps_a_second"), empty_a_second));
    let is_busy = share(disturbed.len()) > DISTURBED_MAX;
    let keeps = |of: fn(Sample) -> u64| {
        let p99 =
            |samples: &[Sample]| histogram(samples.iter().copied().map(of)).value_at_quantile(0.99);
        p99(&figures.samples) <= MUST_NS || !is_busy && p99(&calm) <= MUST_NS
    };
    let kept = Kept {
        from_queue: keeps(Sample::reaction_ns),
        from_receipt: keeps(Sample::after_receipt_ns),
    };
    let says = |holds: bool| if holds { "yes" } else { "NO" };
    println!(
        "  p99 at most {} us (aim {}): from the queue on {}, from receipt on {}",
        MUST_NS / 1_000,
        AIM_NS / 1_000,
        says(kept.from_queue),
        says(kept.from_receipt),
    );
    if is_busy && !kept.from_queue {
        return Err(format!("{name}: the machine is too busy to tell"));
    }
    Ok(kept.from_queue)
}

/// Which limits 99 % of the pauses of a row keep.
struct Kept {
    from_queue: bool,
    from_receipt: bool,
}

fn all_rows() -> Result<bool, Box<dyn std::error::Error>> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    if cores.len() < usize::from(WORKERS) {
        return Err(format!("{} cores are needed, there is {}", WORKERS, cores.len()).into());
    }
    let cores = &cores[..usize::from(WORKERS)];
    println!("from an XOFF frame at a receive queue to the last frame of any worker, in us");
    println!("{:63}{:>8}{:>8}{:>8}{:>8}{:>10}", "", "pauses", "p50", "p99", "p99.9", "max");
    let (mut figures, mut holds) = (Vec::new(), true);
    for (ports, is_at_owner) in [(2, true), (2, false), (8, true), (8, false)] {
        let row = Row { ports, is_at_owner };
        holds &= show(&row, &row.measure(cores), cores, &mut figures)?;
    }
    save("pause-workers", &figures);
    Ok(holds)
}

fn main() -> ExitCode {
    verdict(all_rows())
}

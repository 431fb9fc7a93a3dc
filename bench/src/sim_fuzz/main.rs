//! `make sim-fuzz`: runs seeds until time is up, prints a table of the results, and names each seed
//! that failed with the command that replays it.
//!
//! A failure is a scheme that must be safe and was not, a checker's violation under any, or that
//! plain PFC was never found to deadlock. Writes `target/bench/sim-fuzz.json`.

use bench::sim_fuzz::{Judged, Run, SCHEMES, draw, judge};
use bench::table::save;
use clap::Parser;
use comfy_table::{Table, presets};
use config::Shard;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Seeds that are shared out to all cores at once.
const BATCH: u64 = 32;
/// Every so many seeds one is run twice.
const TWICE_EVERY: u64 = 16;

/// Random networks, routes, traffic and faults, judged by all checkers.
#[derive(Debug, Parser)]
struct Arguments {
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// So many seeds, those of other shards counted too, instead of as many as time allows
    #[arg(long)]
    count: Option<u64>,
    /// Shard I of N: each Nth seed [default: as Slurm or Kubernetes say, or all]
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// How long
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// Sums over runs under one scheme.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    runs: u64,
    deadlocks: u64,
    drained: u64,
    failed: u64,
    packet_hops: u64,
}

impl Tally {
    fn add(&mut self, run: &Run) {
        self.runs += u64::from(run.outcome.is_some() || !run.wrong.is_empty());
        self.failed += u64::from(!run.wrong.is_empty());
        if let Some(outcome) = &run.outcome {
            self.deadlocks += u64::from(outcome.deadlock.is_some());
            self.drained += u64::from(outcome.drained_ps.is_some());
            self.packet_hops += outcome.packet_hops;
        }
    }
}

/// Judges seeds one batch after the other; the tallies by scheme and what failed.
fn run_seeds(arguments: &Arguments, shard: Shard) -> ([Tally; SCHEMES.len()], Vec<Judged>) {
    let (start, most) = (Instant::now(), Duration::from_secs(arguments.seconds));
    let bar = ProgressBar::new(arguments.count.unwrap_or(arguments.seconds));
    if let Ok(style) = ProgressStyle::with_template("{elapsed} {wide_bar} {msg}") {
        bar.set_style(style);
    }
    let mut tallies = [Tally::default(); SCHEMES.len()];
    let mut failed = Vec::new();
    let mut done = 0;
    loop {
        // As many of this shard's own seeds, however many shards there are.
        let step = BATCH.saturating_mul(shard.count());
        let batch = arguments.count.map_or(step, |count| step.min(count - done));
        let is_late = arguments.count.is_none() && start.elapsed() >= most;
        if batch == 0 || is_late {
            bar.finish_and_clear();
            return (tallies, failed);
        }
        let own = (done..done + batch).into_par_iter().filter(|&at| shard.has(at));
        let seeds = own.map(|at| arguments.seed.wrapping_add(at));
        let judged: Vec<Judged> =
            seeds.map(|seed| judge(seed, seed.is_multiple_of(TWICE_EVERY))).collect();
        done += batch;
        for seed in judged {
            tallies.iter_mut().zip(&seed.runs).for_each(|(tally, run)| tally.add(run));
            if !seed.is_sound() {
                failed.push(seed);
            }
        }
        bar.set_position(if arguments.count.is_some() { done } else { start.elapsed().as_secs() });
        let [pfc, ..] = &tallies;
        let (deadlocks, failures) = (pfc.deadlocks, failed.len());
        bar.set_message(format!("{done} seeds, PFC deadlocked {deadlocks}, {failures} failed"));
    }
}

fn show(tallies: &[Tally]) {
    let mut table = Table::new();
    let header = ["scheme", "runs", "deadlocks", "drained", "failed", "packet-hops"];
    table.load_style(presets::NOTHING).set_header(header);
    for (kind, tally) in SCHEMES.iter().zip(tallies) {
        let Tally { runs, deadlocks, drained, failed, packet_hops } = tally;
        let numbers = [runs, deadlocks, drained, failed, packet_hops].map(u64::to_string);
        table.add_row(std::iter::once(kind.name().to_owned()).chain(numbers));
    }
    println!("{table}");
}

fn write(seed: u64, shard: Shard, tallies: &[Tally], seconds: f64) {
    let mut pairs = vec![("seed".to_owned(), seed as f64), ("seconds".to_owned(), seconds)];
    for (kind, tally) in SCHEMES.iter().zip(tallies) {
        let Tally { runs, deadlocks, drained, failed, packet_hops } = *tally;
        let named = [
            ("runs", runs),
            ("deadlocks", deadlocks),
            ("drained", drained),
            ("failed", failed),
            ("packet_hops", packet_hops),
        ];
        let pair = |(name, value): (&str, u64)| (format!("{}_{name}", kind.name()), value as f64);
        pairs.extend(named.map(pair));
    }
    save(&format!("sim-fuzz{}", shard.suffix()), &pairs);
}

/// Prints everything about one seed.
fn describe(seed: u64) {
    let config = draw(seed);
    let scenario = (&config.buffers, &config.routing, &config.paths.kind, &config.faults);
    println!("{}: {}, {} us", config.name, config.about, config.duration_ns / 1_000);
    println!("{scenario:#?}\n{:#?}\n{:#?}", config.flows, config.traffic);
    let network = &config.network;
    for link in network.links() {
        let ends = link.ends.map(|end| match end {
            fabric::network::End::Slot(slot) => network.show(slot),
            fabric::network::End::Host(host) => network.host_name(host).to_owned(),
        });
        println!("{} - {}, {:?}, {:?}", ends[0], ends[1], link.speed, link.length);
    }
    for run in judge(seed, true).runs {
        let Some(outcome) = &run.outcome else { continue };
        println!(
            "{}: {}, {} us, {} frames stuck, drops {:?}, {:#?}",
            run.kind.name(),
            if outcome.drained_ps.is_some() { "drained" } else { "stuck" },
            outcome.drained_ps.unwrap_or_default() / 1_000_000,
            outcome.frames_stuck,
            outcome.drops,
            outcome.deadlock
        );
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let shard = match Shard::chosen(arguments.shard, None, &|name| std::env::var(name).ok()) {
        Ok(shard) => shard,
        Err(error) => {
            eprintln!("sim-fuzz: {error}");
            return ExitCode::from(2);
        }
    };
    let start = Instant::now();
    if arguments.count == Some(1) {
        describe(arguments.seed);
    }
    let (tallies, failed) = run_seeds(&arguments, shard);
    println!("shard {shard} of seeds from {}; every {TWICE_EVERY}th twice", arguments.seed);
    show(&tallies);
    write(arguments.seed, shard, &tallies, start.elapsed().as_secs_f64());
    for judged in &failed {
        for run in &judged.runs {
            for wrong in &run.wrong {
                println!(
                    "{}: {wrong}; make sim-fuzz SEED={} COUNT=1",
                    run.kind.name(),
                    judged.seed
                );
            }
        }
    }
    let [pfc, ..] = tallies;
    let has_found = pfc.deadlocks > 0 || arguments.count.is_some();
    if !has_found {
        println!("plain PFC was never found to deadlock: it does; give it more time");
    }
    if has_found && failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

//! `make bench-netsim`: packet-hops a second of the emulator, and how they and its memory grow.
//!
//! Fat-trees of 16 to 1,024 hosts, 40G, ECMP, a permutation of frames of 1,000 bytes as fast as the
//! wires carry them, PFC on. A packet-hop is one frame parsed, switched and sent by one switch.
//! Each size runs in processes of its own, so that memory is its own, and every network is checked
//! when it has been timed: nothing lost, every frame accounted for. A process keeps the memory that
//! it was given, and what else uses the machine comes and goes: so the sizes take turns, several
//! times, and the median of the processes counts. As `knotless simulate` does, they ask the system
//! for huge pages. Two threads are compared with one in further processes, where both have the
//! network and take turns; what each did must be the same to the bit. The core's clock is read
//! around each round: two figures are to be compared only if it was the same. Hosts with RoCE
//! endpoints and DCQCN are compared with simple ones in the same way, at 128 hosts. Writes
//! `target/bench/netsim.json`.

use bench::table::{median, save};
use comfy_table::{CellAlignment, Table, presets};
use config::ScenarioConfig;
use netsim::scenario::{build, build_for};
use std::error::Error;
use std::num::NonZeroUsize;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Ports of a switch: 16, 128, 432 and 1,024 hosts.
const SIZES: [usize; 4] = [4, 8, 12, 16];
/// Processes of each size; the median counts.
const PROCESSES: usize = 5;
/// Rounds of each process; the median counts.
const ROUNDS: usize = 3;
/// Packet-hops of a round, about.
const HOPS: u64 = 3_000_000;
/// Packet-hops that a host's flow makes in a millisecond, about: 4,900 frames over four switches.
const HOPS_A_HOST_MS: u64 = 20_000;
/// What must be reached with 128 hosts, in millions a second, and with 1,024, in MB.
const MUST_MEGAHOPS: f64 = 3.0;
const MUST_MB: f64 = 2_000.0;
/// Threads that are compared with one, and what they must reach with 128 and with 1,024 hosts.
const THREADS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);
const MUST_RATIOS: [(usize, f64); 2] = [(128, 1.6), (1_024, 1.7)];

/// Ports of the switches of the network in which hosts with DCQCN are compared with simple ones,
/// and the share of the packet-hops a second that they must reach.
const ROCE_K: usize = 8;
const MUST_ROCE_RATIO: f64 = 0.7;

/// What one process came to.
struct Sample {
    megahops: f64,
    core_ghz: f64,
    memory_mb: f64,
    pfc_share: f64,
    /// In threads, in a process of their own: the rate, and how many times that of one thread.
    threads_megahops: f64,
    threads_ratio: f64,
}

fn scenario(k: usize) -> Result<ScenarioConfig, config::ConfigError> {
    permutation(k, "frame = 1000\n")
}

/// The same with queue pairs, whose frames have 1,082 bytes, and acknowledgments.
fn roce_scenario(k: usize) -> Result<ScenarioConfig, config::ConfigError> {
    let ecn = "[switches]\necn = { kmin = '5KB', kmax = '200KB', pmax = 0.01 }\n";
    permutation(k, &format!("transport = 'roce'\n[roce]\ncongestion = 'dcqcn'\n{ecn}"))
}

fn permutation(k: usize, rest: &str) -> Result<ScenarioConfig, config::ConfigError> {
    let text = format!(
        "duration = '1s'\ngenerate = {{ kind = 'fat-tree', k = {k} }}\nrouting = {{ kind = 'ecmp' }}\n\
         [[traffic]]\nkind = 'permutation'\n{rest}"
    );
    ScenarioConfig::parse("permutation.toml".as_ref(), &text)
}

/// Times hosts with DCQCN against simple ones, in this process: two networks that take turns.
fn time_roce(k: usize) -> Result<(), Box<dyn Error>> {
    let configs = [scenario(k)?, roce_scenario(k)?];
    let hosts = configs[0].network.hosts();
    let [simple, roce] = configs.each_ref().map(|config| build(config, None, None));
    let mut both = [simple?.network, roce?.network];
    both.iter_mut().for_each(|network| network.run_for(100_000_000));
    let span_ps = HOPS * 1_000_000_000 / (HOPS_A_HOST_MS * hosts as u64);
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let [simple, roce] = both.each_mut().map(|network| {
            let before = network.switch_hops();
            let start = Instant::now();
            network.run_for(span_ps);
            (network.switch_hops() - before) as f64 / start.elapsed().as_secs_f64() / 1e6
        });
        rates.push(roce);
        ratios.push(roce / simple);
    }
    both.iter().try_for_each(|network| network.check())?;
    println!("{} {}", median(rates), median(ratios));
    Ok(())
}

/// Times one size, in this process; prints the figures for the one that asked.
fn time(k: usize) -> Result<(), Box<dyn Error>> {
    let config = scenario(k)?;
    let hosts = config.network.hosts();
    let mut network = build(&config, None, None)?.network;
    // Full wires and queues first.
    network.run_for(100_000_000);
    let span_ps = HOPS * 1_000_000_000 / (HOPS_A_HOST_MS * hosts as u64);
    let (mut rates, mut clocks): (Vec<f64>, Vec<f64>) = (Vec::new(), vec![bench::clock::ghz()]);
    for _ in 0..ROUNDS {
        let before = network.switch_hops();
        let start = Instant::now();
        network.run_for(span_ps);
        rates.push((network.switch_hops() - before) as f64 / start.elapsed().as_secs_f64() / 1e6);
        clocks.push(bench::clock::ghz());
    }
    network.check()?;
    let pfc_share = 1.0 - network.data_hops() as f64 / network.hops() as f64;
    let (rate, clock) = (median(rates), median(clocks));
    println!("{rate} {clock} {} {pfc_share}", bench::memory::peak_kb() / 1_000);
    Ok(())
}

/// Times one size with `threads` threads against one, in this process: the same network twice,
/// which take turns. Both must do the same, to the bit.
fn time_threads(k: usize, threads: NonZeroUsize) -> Result<(), Box<dyn Error>> {
    let config = scenario(k)?;
    let hosts = config.network.hosts();
    let both = [NonZeroUsize::MIN, threads].map(|threads| build_for(&config, None, None, threads));
    let [alone, several] = both;
    let mut both = [alone?.network, several?.network];
    both.iter_mut().for_each(|network| network.run_for(100_000_000));
    let span_ps = HOPS * 1_000_000_000 / (HOPS_A_HOST_MS * hosts as u64);
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let [alone, several] = both.each_mut().map(|network| {
            let before = network.switch_hops();
            let start = Instant::now();
            network.run_for(span_ps);
            (network.switch_hops() - before) as f64 / start.elapsed().as_secs_f64() / 1e6
        });
        rates.push(several);
        ratios.push(several / alone);
    }
    let [alone, several] = both;
    several.check()?;
    if (alone.trace_hash(), alone.hops()) != (several.trace_hash(), several.hops()) {
        return Err(format!("k = {k}: {threads} threads do something else than one").into());
    }
    println!("{} {}", median(rates), median(ratios));
    Ok(())
}

/// One size, in a process of its own.
fn sample(k: usize) -> Result<Sample, Box<dyn Error>> {
    let [megahops, core_ghz, memory_mb, pfc_share] = figures(&[k])?;
    let [threads_megahops, threads_ratio] = figures(&[k, THREADS.get()])?;
    Ok(Sample { megahops, core_ghz, memory_mb, pfc_share, threads_megahops, threads_ratio })
}

/// What a process prints that is started with these arguments.
fn figures<const N: usize>(arguments: &[usize]) -> Result<[f64; N], Box<dyn Error>> {
    figures_of(&arguments.iter().map(usize::to_string).collect::<Vec<String>>())
}

fn figures_of<const N: usize>(arguments: &[String]) -> Result<[f64; N], Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?).args(arguments).output()?;
    let text = String::from_utf8(output.stdout)?;
    let figures = text.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    figures.try_into().map_err(|_| format!("{arguments:?}: {:?}", output.status).into())
}

/// All processes, size after size, again and again: the samples of each size.
fn samples() -> Result<[Vec<Sample>; SIZES.len()], Box<dyn Error>> {
    let mut samples: [Vec<Sample>; SIZES.len()] = Default::default();
    for process in 1..=PROCESSES {
        for (k, of_size) in SIZES.into_iter().zip(&mut samples) {
            let sample = sample(k)?;
            eprintln!(
                "  {process} of {PROCESSES}, k = {k}: {:.2} M packet-hops/s at {:.1} GHz; \
                 {THREADS} threads {:.2} M, {:.2} x",
                sample.megahops, sample.core_ghz, sample.threads_megahops, sample.threads_ratio
            );
            of_size.push(sample);
        }
    }
    Ok(samples)
}

fn all() -> Result<bool, Box<dyn Error>> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "hosts",
        "switches",
        "M packet-hops/s, one core",
        "lowest to highest",
        "core, GHz",
        "memory, MB",
        "PFC frames, %",
        "two threads, M/s",
        "x of one",
    ]);
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let (mut figures, mut holds) = (Vec::new(), true);
    let has_cores = std::thread::available_parallelism().is_ok_and(|cores| cores >= THREADS);
    for (k, samples) in SIZES.into_iter().zip(samples()?) {
        let network = scenario(k)?.network;
        let hosts = network.hosts();
        let of = |part: fn(&Sample) -> f64| samples.iter().map(part).collect::<Vec<f64>>();
        let rates = of(|sample| sample.megahops);
        let lowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = rates.iter().copied().fold(0.0, f64::max);
        let (megahops, core_ghz) = (median(rates), median(of(|sample| sample.core_ghz)));
        let memory_mb = median(of(|sample| sample.memory_mb));
        let threads_megahops = median(of(|sample| sample.threads_megahops));
        let threads_ratio = median(of(|sample| sample.threads_ratio));
        table.add_row([
            hosts.to_string(),
            network.switches().to_string(),
            format!("{megahops:.2}"),
            format!("{lowest:.2} to {highest:.2}"),
            format!("{core_ghz:.1}"),
            format!("{memory_mb:.0}"),
            format!("{:.1}", median(of(|sample| sample.pfc_share)) * 100.0),
            format!("{threads_megahops:.2}"),
            format!("{threads_ratio:.2}"),
        ]);
        for (_, must) in MUST_RATIOS.iter().filter(|must| must.0 == hosts && has_cores) {
            holds &= threads_ratio >= *must;
        }
        holds &= hosts != 128 || megahops >= MUST_MEGAHOPS;
        holds &= hosts != 1_024 || memory_mb < MUST_MB;
        figures.push((format!("{hosts}_hosts_megahops"), megahops));
        figures.push((format!("{hosts}_hosts_core_ghz"), core_ghz));
        figures.push((format!("{hosts}_hosts_memory_mb"), memory_mb));
        figures.push((format!("{hosts}_hosts_{THREADS}_threads_megahops"), threads_megahops));
        figures.push((format!("{hosts}_hosts_{THREADS}_threads_ratio"), threads_ratio));
    }
    println!("{table}");
    holds &= roce(&mut figures)?;
    println!(
        "must: {MUST_MEGAHOPS} M at 128 hosts, under {MUST_MB} MB at 1024, with two threads (if there \
         are two cores) 1.6 x at 128 and 1.7 x at 1024: {}",
        if holds { "yes" } else { "NO" }
    );
    save("netsim", &figures);
    Ok(holds)
}

/// Hosts with DCQCN against simple ones: whether they reach what they must.
fn roce(figures: &mut Vec<(String, f64)>) -> Result<bool, Box<dyn Error>> {
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..PROCESSES {
        let [rate, ratio] = figures_of(&["roce".to_owned(), ROCE_K.to_string()])?;
        rates.push(rate);
        ratios.push(ratio);
    }
    let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = ratios.iter().copied().fold(0.0, f64::max);
    let (rate, ratio) = (median(rates), median(ratios));
    let holds = ratio >= MUST_ROCE_RATIO;
    println!(
        "128 hosts with RoCE endpoints and DCQCN: {rate:.2} M packet-hops/s, {ratio:.2} of simple \
         hosts' ({lowest:.2} to {highest:.2}; must {MUST_ROCE_RATIO}): {}",
        if holds { "yes" } else { "NO" }
    );
    figures.push(("128_hosts_dcqcn_megahops".to_owned(), rate));
    figures.push(("128_hosts_dcqcn_ratio".to_owned(), ratio));
    Ok(holds)
}

fn main() -> ExitCode {
    // As `knotless simulate` does.
    netsim::huge_pages::ask();
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if_eq("roce").is_some() {
        let k = arguments.next().and_then(|k| k.parse().ok()).unwrap_or(ROCE_K);
        return bench::verdict(time_roce(k).map(|()| true));
    }
    let size = arguments.next().and_then(|k| k.parse().ok());
    let threads = arguments.next().and_then(|threads| threads.parse().ok());
    bench::verdict(match (size, threads) {
        (Some(k), Some(threads)) => time_threads(k, threads).map(|()| true),
        (Some(k), None) => time(k).map(|()| true),
        (None, _) => all(),
    })
}

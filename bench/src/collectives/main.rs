//! `make bench-collectives`: collectives of 1,024 ranks on a fat-tree, with the time and memory
//! that they take.
//!
//! A fat-tree of 16-port switches has 1,024 hosts, each a rank with RoCE endpoints and DCQCN. Each
//! collective runs in a process of its own, so that its memory is its own. Writes
//! `target/bench/collectives.json`.

use config::ScenarioConfig;
use netsim::scenario::{Options, run};
use std::error::Error;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// What is run: the keys of the collective.
const COLLECTIVES: [(&str, &str); 4] = [
    ("ring", "kind = 'all-reduce'\nsize = '8MB'"),
    ("tree", "kind = 'all-reduce'\nalgorithm = 'tree'\nsize = '8MB'\nchunks = 64"),
    ("halving-doubling", "kind = 'all-reduce'\nalgorithm = 'halving-doubling'\nsize = '8MB'"),
    ("pipeline", "kind = 'pipeline'\nsize = '8MB'\nchunks = 64"),
];

/// Runs one in this process; prints a row and, as the last line, its figures as JSON.
fn one(name: &str, keys: &str, k: usize) -> Result<(), Box<dyn Error>> {
    let text = format!(
        "duration = '40ms'\ngenerate = {{ kind = 'fat-tree', k = {k} }}\n\
         routing = {{ kind = 'ecmp' }}\n\
         [switches]\necn = {{ kmin = '5KB', kmax = '200KB', pmax = 0.01 }}\n\
         [roce]\ncongestion = 'dcqcn'\n[[collective]]\n{keys}\n"
    );
    let config = ScenarioConfig::parse("collective.toml".as_ref(), &text)?;
    let start = Instant::now();
    let outcome = run(&config, Options::default())?;
    let seconds = start.elapsed().as_secs_f64();
    if let Some(violation) = outcome.violations.first() {
        return Err(violation.clone().into());
    }
    let collective = outcome.collectives.first().ok_or("no collective")?;
    let finished_ps = collective.finished_ps.ok_or("it does not end within its 40 ms")?;
    let messages = outcome.messages.unwrap_or_default();
    let roce = outcome.roce.unwrap_or_default();
    let figures = serde_json::json!({
        "ranks": collective.ranks,
        "milliseconds": finished_ps as f64 / 1e9,
        "algorithm_gbps": collective.algorithm_bps.unwrap_or(0) as f64 / 1e9,
        "bus_gbps": collective.bus_bps.unwrap_or(0) as f64 / 1e9,
        "messages": messages.count,
        "slowdown_p50": messages.slowdown_p50_permille as f64 / 1e3,
        "slowdown_p99": messages.slowdown_p99_permille as f64 / 1e3,
        "paused_percent": roce.paused_millionths as f64 / 1e4,
        "marked_packets": roce.ecn_marked_packets,
        "million_packet_hops": outcome.packet_hops as f64 / 1e6,
        "run_seconds": seconds,
        "memory_mb": bench::memory::peak_kb() / 1_000,
    });
    println!(
        "| {name} | {} | {:.2} | {:.2} | {:.1} | {} | {:.1} | {:.1} | {:.2} | {} | {seconds:.0} | {} |",
        collective.ranks,
        finished_ps as f64 / 1e9,
        collective.algorithm_bps.unwrap_or(0) as f64 / 1e9,
        collective.bus_bps.unwrap_or(0) as f64 / 1e9,
        messages.count,
        messages.slowdown_p50_permille as f64 / 1e3,
        messages.slowdown_p99_permille as f64 / 1e3,
        roce.paused_millionths as f64 / 1e4,
        roce.ecn_marked_packets,
        bench::memory::peak_kb() / 1_000
    );
    println!("{figures}");
    Ok(())
}

fn all() -> Result<(), Box<dyn Error>> {
    println!(
        "| collective of 8 MB | ranks | ms | algorithm, Gb/s | bus, Gb/s | messages | slowdown p50 | \
         p99 | hosts paused, % | packets marked | run, s | memory, MB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let mut figures_saved = Vec::new();
    for (name, _) in COLLECTIVES {
        let output = Command::new(std::env::current_exe()?).arg(name).output()?;
        let text = String::from_utf8(output.stdout)?;
        let (row, figures) = text.trim_end().split_once('\n').ok_or_else(|| {
            format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim_end())
        })?;
        println!("{row}");
        let figures: serde_json::Map<String, serde_json::Value> = serde_json::from_str(figures)?;
        let named = figures
            .iter()
            .filter_map(|(figure, value)| Some((format!("{name}_{figure}"), value.as_f64()?)));
        figures_saved.extend(named);
    }
    bench::table::save("collectives", &figures_saved);
    Ok(())
}

fn main() -> ExitCode {
    netsim::huge_pages::ask();
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next();
    let k = arguments.next().and_then(|k| k.parse().ok()).unwrap_or(16);
    let known = COLLECTIVES.into_iter().find(|(known, _)| Some(*known) == name.as_deref());
    let result = match known {
        Some((name, keys)) => one(name, keys, k),
        None => all(),
    };
    bench::verdict(result.map(|()| true))
}

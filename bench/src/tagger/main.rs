//! `make bench-tagger`: the figures of the Tagger paper beside ours, row by row.
//!
//! Every row is compiled with `updown` and proven; rows that the Tagger paper's algorithm can do in
//! a minute are compiled with it too. A row that misses what it must reach is a failure. Words are
//! parts of networks' names; `--shard I/N` takes each Nth row. Writes `target/bench/tagger.json`.

mod rows;

use comfy_table::{Table, presets};
use config::NetworkConfig;
use fabric::compile::{Algorithm, Budget, Compiled, Options, compile};
use fabric::paths::PathSet;
use rows::{ROWS, Row};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What one run of the compiler gave.
struct Run {
    compiled: Compiled,
    seconds: f64,
}

/// The default of `knotless compile`.
const BUDGET: Duration = Duration::from_secs(10);

fn run(row: &Row, algorithm: Algorithm) -> Result<Run, Box<dyn Error>> {
    let text = row.network();
    let start = Instant::now();
    let config = NetworkConfig::parse(Path::new("NETWORK.toml"), &text)?;
    let paths = PathSet::build(&config.network, &config.paths)?;
    let mut last = (Instant::now(), "paths".to_owned());
    let told = std::cell::RefCell::new(&mut last);
    let tell = |what: &str| {
        let mut last = told.borrow_mut();
        eprintln!("  {:>6.1} s  {}", last.0.elapsed().as_secs_f64(), last.1);
        **last = (Instant::now(), what.to_owned());
    };
    eprintln!("  {:>6.1} s  network and paths", start.elapsed().as_secs_f64());
    let options = Options { algorithm, lossless_max: 7, budget: Budget::Time(BUDGET) };
    let compiled = compile(&config.network, &paths, &options, &tell)?;
    eprintln!("  {:>6.1} s  {}", last.0.elapsed().as_secs_f64(), last.1);
    Ok(Run { compiled, seconds: start.elapsed().as_secs_f64() })
}

/// What a row is reported as, and whether it holds.
fn report(row: &Row, ours: &Run, greedy: Option<&Run>) -> (Value, bool) {
    let compiled = &ours.compiled;
    let verdict = &compiled.verdict;
    let holds = compiled.lossless_priorities <= row.must_priorities
        && compiled.rules_max() <= row.must_rules
        && verdict.is_deadlock_free()
        && verdict.lossless_paths == verdict.paths
        && row.must_seconds.is_none_or(|most| ours.seconds <= most);
    let figures = |run: &Run| {
        json!({
            "lossless_priorities": run.compiled.lossless_priorities,
            "max_rules": run.compiled.rules_max(),
            "total_rules": run.compiled.rules_total(),
            "conflicts": run.compiled.conflicts,
            "seconds": run.seconds,
        })
    };
    let value = json!({
        "network": row.name,
        "paper": { "lossless_priorities": row.paper.0, "max_rules": row.paper.1, "time": row.paper.2 },
        "must": { "lossless_priorities": row.must_priorities, "max_rules": row.must_rules },
        "ours": figures(ours),
        "greedy": greedy.map(figures),
        "lower_bound": compiled.priorities_min,
        "method": compiled.method,
        "paths": verdict.paths,
        "lossless_paths": verdict.lossless_paths,
        "raised_paths": compiled.raised_paths,
        "memory_peak_mb": bench::memory::peak_kb() / 1_024,
        "holds": holds,
    });
    (value, holds)
}

fn line(row: &Row, value: &Value) -> Vec<String> {
    let text = |value: &Value| if value.is_null() { "-".to_owned() } else { value.to_string() };
    let seconds =
        |value: &Value| value.as_f64().map_or_else(|| "-".to_owned(), |s| format!("{s:.1} s"));
    let (ours, greedy) = (&value["ours"], &value["greedy"]);
    vec![
        row.name.to_owned(),
        format!("{} / {}", row.paper.0, row.paper.1),
        if greedy.is_null() {
            "-".to_owned()
        } else {
            format!("{} / {}", text(&greedy["lossless_priorities"]), text(&greedy["max_rules"]))
        },
        format!("{} / {}", text(&ours["lossless_priorities"]), text(&ours["max_rules"])),
        text(&value["lower_bound"]),
        text(&value["paths"]),
        row.paper.2.to_owned(),
        seconds(&ours["seconds"]),
        if value["holds"] == true { "yes".to_owned() } else { "NO".to_owned() },
    ]
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (shard, mut wanted) = bench::shard::of_arguments()?;
    wanted.retain(|word| word != "--bench");
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "network",
        "paper",
        "Algorithm 2 here",
        "ours",
        "at least",
        "paths",
        "paper's time",
        "our time",
        "holds",
    ]);
    let mut values = Vec::new();
    let mut all_hold = true;
    for (_, row) in (0..).zip(&ROWS).filter(|&(at, _)| shard.has(at)) {
        if !wanted.is_empty() && !wanted.iter().any(|word| row.name.contains(word)) {
            continue;
        }
        eprintln!("{}", row.name);
        let ours = run(row, Algorithm::UpDown)?;
        let greedy = if row.with_greedy { Some(run(row, Algorithm::Greedy)?) } else { None };
        let (value, holds) = report(row, &ours, greedy.as_ref());
        table.add_row(line(row, &value));
        values.push(value);
        all_hold &= holds;
    }
    println!("lossless priorities / most entries of a switch\n{table}");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    std::fs::create_dir_all(&directory)?;
    let text = serde_json::to_string_pretty(&json!({ "rows": values, "holds": all_hold }))?;
    std::fs::write(directory.join(format!("tagger{}.json", shard.suffix())), text + "\n")?;
    Ok(if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

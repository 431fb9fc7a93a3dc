//! `knotless compile`: tag rules from a topology and its lossless paths, verified before they are
//! written.

use super::kept::{self, Kept};
use super::progress::Progress;
use super::{InputError, grouped, unwritable};
use crate::ctl::tables::{numbers, text};
use crate::output;
use clap::Args;
use config::rule_file;
use config::units::parse_duration_ns;
use fabric::Network;
use fabric::compile::{Algorithm, Bound, Budget, CompileError, Compiled, LOSSLESS_MAX, Options};
use fabric::verify::show_path;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// `knotless compile`
#[derive(Debug, Args)]
pub struct CompileArgs {
    /// NETWORK.toml
    file: PathBuf,
    /// Output directory: DIR/SWITCH.json for each switch
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Algorithm that assigns the tags
    #[arg(long, value_enum, default_value = "updown")]
    algorithm: Algorithm,
    /// Maximum number of lossless priorities; paths that need more are lossy
    #[arg(long, value_name = "N", default_value_t = LOSSLESS_MAX,
          value_parser = clap::value_parser!(u8).range(1..=i64::from(LOSSLESS_MAX)))]
    max_lossless: u8,
    /// Time for the search for fewer priorities
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration_ns)]
    budget: u64,
    /// Keep the rules of the switches in DIR, what an earlier `--out` wrote, as far as possible
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was compiled.
struct Output {
    network: Network,
    compiled: Compiled,
    kept: Option<Kept>,
}

/// Why the compilation failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{}:1:1: {error}", file.display())]
    Compile { file: PathBuf, error: CompileError },
}

/// Compiles. Exit 2: the input is wrong; 1: the rules could not be verified, and were not written.
pub fn run(arguments: &CompileArgs) -> ExitCode {
    let start = Instant::now();
    match compile(arguments) {
        Ok(found) => {
            let seconds = start.elapsed().as_secs_f64();
            if arguments.json {
                output::print(as_json(arguments, &found, seconds));
            } else {
                output::print(as_text(arguments, &found, seconds));
            }
            ExitCode::SUCCESS
        }
        Err(failure) => {
            output::error(&failure);
            let unproven =
                matches!(&failure, Failure::Compile { error: CompileError::NotProven(_), .. });
            ExitCode::from(if unproven { 1 } else { 2 })
        }
    }
}

fn compile(arguments: &CompileArgs) -> Result<Output, Failure> {
    let progress = Progress::new();
    progress.set_message("reading the network and its paths");
    let (config, paths) = super::load(&arguments.file)?;
    let options = Options {
        algorithm: arguments.algorithm,
        lossless_max: arguments.max_lossless,
        budget: Budget::Time(Duration::from_nanos(arguments.budget)),
    };
    let network = config.network;
    let tell = |what: &str| progress.set_message(what);
    let failed = |error| Failure::Compile { file: arguments.file.clone(), error };
    let (compiled, kept) = match &arguments.keep {
        None => {
            (fabric::compile::compile(&network, &paths, &options, &tell).map_err(failed)?, None)
        }
        Some(_) if options.algorithm != Algorithm::UpDown => {
            let message = "--keep goes with the algorithm `updown` only; leave --algorithm out";
            return Err(InputError::at(&arguments.file, message).into());
        }
        Some(directory) => {
            let old = kept::read(&network, directory)?;
            let (compiled, kept) =
                kept::compile(&network, &paths, &options, old, &tell).map_err(failed)?;
            (compiled, Some(kept))
        }
    };
    progress.set_message("writing rule files");
    write(&arguments.out, &compiled)?;
    Ok(Output { network, compiled, kept })
}

fn write(directory: &Path, compiled: &Compiled) -> Result<(), InputError> {
    std::fs::create_dir_all(directory).map_err(|error| unwritable(directory, &error))?;
    for rules in &compiled.rules {
        let file = directory.join(format!("{}.json", rules.switch));
        rule_file::save(rules, &file).map_err(|error| unwritable(&file, &error))?;
    }
    Ok(())
}

fn as_json(arguments: &CompileArgs, found: &Output, seconds: f64) -> serde_json::Value {
    let Output { network, compiled, kept } = found;
    let mut value = json!({
        "algorithm": arguments.algorithm.name(),
        "switches": compiled.rules.len(),
        "paths": compiled.verdict.paths,
        "lossless_paths": compiled.verdict.lossless_paths,
        "lossless_priorities": compiled.lossless_priorities,
        "priorities_min": compiled.priorities_min,
        "priorities_min_witness": witness(network, &compiled.bound),
        "open": compiled.is_open,
        "max_rules": compiled.rules_max(),
        "total_rules": compiled.rules_total(),
        "deadlock_free": compiled.verdict.is_deadlock_free(),
        "seconds": seconds,
    });
    if let Some(classes) = super::verify::classes_json(&compiled.verdict) {
        value["classes"] = classes;
    }
    if let Some(kept) = kept {
        value["keep"] = kept.json(network);
    }
    value
}

fn as_text(arguments: &CompileArgs, found: &Output, seconds: f64) -> String {
    let Output { network, compiled, kept } = found;
    let verdict = &compiled.verdict;
    let mut rows = numbers(["", "found"], 1);
    let mut row = |name: &str, value: String| {
        rows.add_row([name.to_owned(), value]);
    };
    row("algorithm", arguments.algorithm.name().to_owned());
    row("tags rise by", compiled.method.to_owned());
    row("switches", grouped(compiled.rules.len() as u64));
    row("expected paths", grouped(verdict.paths));
    row("lossless paths", grouped(verdict.lossless_paths));
    if let Some(raised) = compiled.raised_paths {
        row("paths with a raise", grouped(raised));
    }
    if let Some(conflicts) = compiled.conflicts {
        row("conflicts resolved", grouped(conflicts));
    }
    row("lossless priorities", compiled.lossless_priorities.to_string());
    row("fewest priorities possible", fewest(compiled));
    row("most rules of a switch", compiled.rules_max().to_string());
    row("rules of all switches", grouped(compiled.rules_total() as u64));
    if let Some(kept) = kept {
        row("switches that keep their rules", grouped(kept.unchanged() as u64));
        row("switches that change", kept.changed_text());
        row("new switches", grouped(kept.new as u64));
    }
    row("free of deadlock", "proven".to_owned());
    row("seconds", format!("{seconds:.2}"));
    let mut lines = vec![text(&rows)];
    lines.extend(witness_lines(network, compiled));
    lines.extend(kept.iter().flat_map(|kept| kept.lines(network)));
    lines.extend(super::verify::class_lines(verdict));
    lines.extend(super::verify::lossy_lines(network, verdict));
    lines.push(format!("rules written to {}", arguments.out.display()));
    lines.join("\n")
}

/// The bound, and what is not known.
fn fewest(compiled: &Compiled) -> String {
    let least = compiled.priorities_min;
    if compiled.is_open { format!("{least} or more") } else { least.to_string() }
}

/// What shows the bound: ports that wait for each other in a cycle, or paths.
fn witness(network: &Network, bound: &Bound) -> serde_json::Value {
    match bound {
        Bound::One => serde_json::Value::Null,
        Bound::Cycle(turns) => {
            let inputs = turns.iter().map(|&(input, _)| network.show(input));
            json!({ "cycle": inputs.collect::<Vec<_>>() })
        }
        Bound::Paths(_, paths) => {
            let paths = paths.iter().map(|turns| show_path(network, turns));
            json!({ "paths": paths.collect::<Vec<_>>() })
        }
    }
}

/// Why there cannot be fewer priorities, where that is known.
fn witness_lines(network: &Network, compiled: &Compiled) -> Vec<String> {
    let Bound::Paths(priorities, paths) = &compiled.bound else { return Vec::new() };
    let shown = paths.iter().map(|turns| format!("  {}", show_path(network, turns)));
    let title = format!("these paths alone need {priorities} priorities:");
    std::iter::once(title).chain(shown).collect()
}

//! `knotless simulate`: simulates a network on virtual time and prints the result.

mod flow_table;
mod json;
mod output_file;
mod text;

use crate::network::{InputError, unwritable};
use crate::old_names::OldNames;
use crate::output;
use clap::Args;
use config::scenario::{ScenarioConfig, SchemeKind};
use fabric::Network;
use fabric::network::End;
use indicatif::{ProgressBar, ProgressStyle};
use netsim::outcome::Outcome;
use netsim::scenario::{self, Options};
use output_file::OutputFiles;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `knotless simulate`
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// SCENARIO.toml
    file: PathBuf,
    /// Seed, instead of the scenario's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Scheme, instead of the scenario's: pfc, watchdog, tagger, updown, ttl, gfc, lossy
    #[arg(long, value_name = "SCHEME", value_parser = SchemeKind::from_name)]
    scheme: Option<SchemeKind>,
    /// Run in so many threads; the result is the same with any number
    #[arg(long, value_name = "N", default_value = "1")]
    threads: NonZeroUsize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    old_names: OldNames,
    /// Write the results as one HTML page
    #[arg(long, value_name = "OUT.html")]
    report: Option<PathBuf>,
    /// Write the flows as CSV
    #[arg(long, value_name = "OUT.csv")]
    csv: Option<PathBuf>,
    /// Capture the frames of a link, named by one of its ends, as pcap; may be repeated
    #[arg(long, value_name = "END=OUT.pcap")]
    pcap: Vec<String>,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("--pcap {asked}: {why}")]
    Capture { asked: String, why: String },
}

/// Simulates. Exit 2: the input is wrong; 1: something that must hold did not, or came out
/// otherwise than the scenario expects.
pub fn run(arguments: &SimulateArgs) -> ExitCode {
    netsim::huge_pages::ask();
    match simulate(arguments) {
        Ok((outcome, surprises)) => {
            arguments.old_names.tell();
            if arguments.json {
                output::print(arguments.old_names.json(json::object(&outcome, &surprises)));
            } else {
                output::print(text::table(&outcome, &surprises));
            }
            let sound = outcome.violations.is_empty() && surprises.is_empty();
            if sound { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(failure) => {
            output::error(&failure);
            ExitCode::from(2)
        }
    }
}

fn simulate(arguments: &SimulateArgs) -> Result<(Outcome, Vec<String>), Failure> {
    let config = ScenarioConfig::load(&arguments.file).map_err(InputError::from)?;
    output::warnings(&config.warnings);
    let mut files = OutputFiles::beside(&[&arguments.file]);
    let captures = captures(&config.network, &arguments.pcap, &mut files)?;
    let report = match &arguments.report {
        Some(file) => Some((file, files.open(file).map_err(|error| unwritable(file, &error))?)),
        None => None,
    };
    let csv = match &arguments.csv {
        Some(file) => Some((file, files.open(file).map_err(|error| unwritable(file, &error))?)),
        None => None,
    };
    let bar = bar();
    let mut progress = |at_ps: u64, of_ps: u64| {
        bar.set_length(of_ps / 1_000);
        bar.set_position(at_ps / 1_000);
    };
    let options = Options {
        seed: arguments.seed,
        scheme: arguments.scheme,
        threads: Some(arguments.threads),
        captures,
        progress: Some(&mut progress),
    };
    let outcome = scenario::run(&config, options);
    bar.finish_and_clear();
    let outcome = outcome.map_err(|error| InputError::at(&arguments.file, error))?;
    if let Some((file, page)) = report {
        write(page, &netsim::report::page(&outcome)).map_err(|error| unwritable(file, &error))?;
    }
    if let Some((file, table)) = csv {
        let text = flow_table::csv(&outcome);
        text.and_then(|text| write(table, &text)).map_err(|error| unwritable(file, &error))?;
    }
    let scheme = arguments.scheme.unwrap_or(config.scheme.kind);
    let expected = config.expectations.get(&scheme);
    let surprises = expected.map(|expected| scenario::judge(&outcome, expected));
    Ok((outcome, surprises.unwrap_or_default()))
}

/// Replaces what is in `file`.
fn write(mut file: File, text: &str) -> io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    file.write_all(text.as_bytes())
}

/// What is captured where.
type Capture = (End, Box<dyn Write>);

/// The end of a link and the file of each `END=FILE`; no file is written before all ends are right.
fn captures(
    network: &Network,
    asked: &[String],
    files: &mut OutputFiles,
) -> Result<Vec<Capture>, Failure> {
    let wrong = |asked: &String| {
        let asked = asked.clone();
        move |why: String| Failure::Capture { asked, why }
    };
    let mut ends = Vec::with_capacity(asked.len());
    for text in asked {
        let (end, file) = parse(network, text).map_err(wrong(text))?;
        let link = network.link_with(end);
        if ends.iter().any(|&(_, other, _)| other == link) {
            let why = "this link is captured already; write an end of another link".to_owned();
            return Err(wrong(text)(why));
        }
        ends.push((end, link, file));
    }
    let open = |((end, _, file), text)| {
        let writer = create(file, files).map_err(wrong(text))?;
        Ok((end, writer))
    };
    ends.into_iter().zip(asked).map(open).collect()
}

fn parse<'a>(network: &Network, asked: &'a str) -> Result<(End, &'a str), String> {
    const RIGHT: &str = "write an end of a link and a file, such as A:1=out.pcap";
    let (end, file) = asked.split_once('=').ok_or_else(|| format!("there is no `=`; {RIGHT}"))?;
    let found = config::network::find_linked_end(network, end);
    let found = found.map_err(|_| format!("there is no linked port or host `{end}`; {RIGHT}"))?;
    Ok((found, file))
}

fn create(file: &str, files: &mut OutputFiles) -> Result<Box<dyn Write>, String> {
    let failed = |error| format!("{file}: {error}");
    let writer = files.open(Path::new(file)).map_err(failed)?;
    if writer.metadata().map_err(failed)?.is_file() {
        writer.set_len(0).map_err(failed)?;
    }
    Ok(Box::new(BufWriter::new(writer)))
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} ns, {elapsed}") {
        bar.set_style(style);
    }
    bar
}

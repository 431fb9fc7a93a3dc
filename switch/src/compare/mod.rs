//! `knotless compare`: simulates scenarios under several schemes and compares the results.

mod text;

use crate::network::InputError;
use crate::output;
use clap::Args;
use config::scenario::{ScenarioConfig, SchemeKind};
use indicatif::{ProgressBar, ProgressStyle};
use netsim::scenario::{COMPARED, Comparison, compare};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// `knotless compare`
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// SCENARIO.toml, one or several
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Of pfc, watchdog, tagger, updown, ttl, gfc and lossy, separated by commas [default:
    /// pfc,watchdog,tagger,ttl,gfc]
    #[arg(long, value_name = "SCHEMES", value_delimiter = ',', value_parser = SchemeKind::from_name)]
    schemes: Vec<SchemeKind>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What one scenario came to.
pub(crate) struct Compared {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) duration_ns: u64,
    pub(crate) schemes: Vec<Comparison>,
}

/// Compares. Exit 2: the input is wrong; 1: something that must hold did not.
pub fn run(arguments: &CompareArgs) -> ExitCode {
    let compared = match all(arguments) {
        Ok(compared) => compared,
        Err(failure) => {
            output::error(&failure);
            return ExitCode::from(2);
        }
    };
    if arguments.json {
        output::print(json(&compared));
    } else {
        output::print(text::tables(&compared));
    }
    let sound = |comparison: &Comparison| comparison.violations.is_empty();
    let is_sound = compared.iter().flat_map(|scenario| &scenario.schemes).all(sound);
    if is_sound { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

fn all(arguments: &CompareArgs) -> Result<Vec<Compared>, InputError> {
    let kinds = if arguments.schemes.is_empty() { &COMPARED[..] } else { &arguments.schemes };
    let configs = arguments.files.iter().map(|file| Ok((file, ScenarioConfig::load(file)?)));
    let configs = configs.collect::<Result<Vec<_>, InputError>>()?;
    configs.iter().for_each(|(_, config)| output::warnings(&config.warnings));
    let bar = bar(configs.len() * kinds.len());
    let compared = configs.into_iter().map(|(file, config)| {
        let done = |kind: SchemeKind| {
            bar.set_message(format!("{} under {}", config.name, kind.name()));
            bar.inc(1);
        };
        let schemes =
            compare(&config, kinds, &done).map_err(|error| InputError::at(file, error))?;
        let ScenarioConfig { name, about, duration_ns, .. } = config;
        Ok(Compared { name, about, duration_ns, schemes })
    });
    let compared = compared.collect();
    bar.finish_and_clear();
    compared
}

fn json(compared: &[Compared]) -> Value {
    let scenario = |scenario: &Compared| {
        json!({
            "name": scenario.name,
            "duration_us": scenario.duration_ns / 1_000,
            "schemes": scenario.schemes,
        })
    };
    json!({ "scenarios": compared.iter().map(scenario).collect::<Vec<_>>() })
}

fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len}, {elapsed}, {msg}") {
        bar.set_style(style);
    }
    bar
}

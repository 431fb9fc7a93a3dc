//! `knotless import`: files of other simulators, written as a SCENARIO.toml.

use crate::output;
use clap::{Args, Subcommand};
use config::ConfigError;
use config::import::{Imported, ScenarioOptions, hpcc, htsim, scenario_text};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `knotless import`
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// The HPCC simulator's topology.txt and flow.txt
    Hpcc(ImportArgs),
    /// htsim's .topo and .cm
    Htsim(ImportArgs),
}

/// What every import takes.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The topology
    topology: PathBuf,
    /// The flows
    flows: PathBuf,
    /// Congestion control of the flows: none, dcqcn, timely, hpcc or swift
    #[arg(long, value_name = "NAME", default_value = "none")]
    congestion: String,
    /// How long flows may send after the last one has begun, in microseconds
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 10_000)]
    after: u64,
    /// SCENARIO.toml to write
    #[arg(long, value_name = "SCENARIO.toml")]
    out: PathBuf,
}

#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("--out {} is one of the files that are read", path.display())]
    Overwrites { path: PathBuf },
}

/// Imports. Exit 2: a file is wrong, or says what cannot be said here.
pub fn run(command: &ImportCommand) -> ExitCode {
    let (arguments, imported) = match command {
        ImportCommand::Hpcc(arguments) => {
            (arguments, hpcc::load(&arguments.topology, &arguments.flows))
        }
        ImportCommand::Htsim(arguments) => {
            (arguments, htsim::load(&arguments.topology, &arguments.flows))
        }
    };
    match imported.map_err(ImportError::from).and_then(|imported| write(arguments, &imported)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(error);
            ExitCode::from(2)
        }
    }
}

fn write(arguments: &ImportArgs, imported: &Imported) -> Result<(), ImportError> {
    let path = &arguments.out;
    let is_read = |read: &Path| is_same_file(read, path);
    if is_read(&arguments.topology) || is_read(&arguments.flows) {
        return Err(ImportError::Overwrites { path: path.clone() });
    }
    let name = arguments.topology.file_stem().unwrap_or_default().to_string_lossy();
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let options = ScenarioOptions {
        name: name.chars().map(allowed).take(63).collect(),
        congestion: arguments.congestion.clone(),
        after_us: arguments.after,
    };
    let failed = |error| ImportError::Write { path: path.clone(), error };
    fs::write(path, scenario_text(imported, &options)).map_err(failed)
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

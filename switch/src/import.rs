//! `knotless import`: files of other simulators, written as a SCENARIO.toml, and SONiC's
//! configuration, written as a SWITCH.toml.

use crate::output;
use clap::{Args, Subcommand, ValueEnum};
use config::ConfigError;
use config::import::{Imported, ScenarioOptions, hpcc, htsim, scenario_text};
use config::sonic::{self, ImportFiles, ImportOptions, MuxState, SonicError};
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
    /// SONiC's config_db.json, as a switch
    Sonic(SonicArgs),
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

/// What the import of SONiC's configuration takes.
#[derive(Debug, Args)]
pub struct SonicArgs {
    /// config_db.json; further files add to it, as with `sonic-cfggen -j`
    #[arg(required = true, value_name = "config_db.json")]
    databases: Vec<PathBuf>,
    /// pg_profile_lookup.ini of the device: lossless profiles by speed and cable
    #[arg(long, value_name = "FILE")]
    pg_lookup: Option<PathBuf>,
    /// port_config.ini of the device: what the database does not say of its ports
    #[arg(long, value_name = "FILE")]
    ports: Option<PathBuf>,
    /// Approximate what has no exact counterpart, and say each
    #[arg(long)]
    approximate: bool,
    /// Device of each port; {index} counts from 0, {number} from 1, {name} is the port's name
    #[arg(long, value_name = "DEVICE", default_value = sonic::DEVICE_TEMPLATE)]
    device_template: String,
    /// State of the mux cables of which the database says none, as `auto` does
    #[arg(long, value_name = "STATE")]
    mux: Option<Mux>,
    /// SWITCH.toml to write
    #[arg(long, value_name = "SWITCH.toml")]
    out: PathBuf,
}

/// State of a mux cable.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mux {
    /// This switch sends to the server
    Active,
    /// The peer does
    Standby,
}

#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Sonic(#[from] SonicError),
    #[error("{}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("--out {} is one of the files that are read", path.display())]
    Overwrites { path: PathBuf },
}

/// Imports. Exit 2: a file is wrong, or says what cannot be said here.
pub fn run(command: &ImportCommand) -> ExitCode {
    let done = match command {
        ImportCommand::Hpcc(arguments) => hpcc::load(&arguments.topology, &arguments.flows)
            .map_err(ImportError::from)
            .and_then(|imported| write(arguments, &imported)),
        ImportCommand::Htsim(arguments) => htsim::load(&arguments.topology, &arguments.flows)
            .map_err(ImportError::from)
            .and_then(|imported| write(arguments, &imported)),
        ImportCommand::Sonic(arguments) => import_sonic(arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(ImportError::Sonic(error)) => sonic_failed(&error),
        Err(error) => {
            output::error(error);
            ExitCode::from(2)
        }
    }
}

/// Says what SONiC's configuration cannot say here, or the other way around, a line each.
pub(crate) fn sonic_failed(error: &SonicError) -> ExitCode {
    match error {
        SonicError::Refused(lines) => lines.iter().for_each(output::error),
        SonicError::File(error) => output::error(error),
    }
    ExitCode::from(2)
}

fn import_sonic(arguments: &SonicArgs) -> Result<(), ImportError> {
    let path = &arguments.out;
    let read = arguments.databases.iter().chain(&arguments.pg_lookup).chain(&arguments.ports);
    if read.into_iter().any(|read| is_same_file(read, path)) {
        return Err(ImportError::Overwrites { path: path.clone() });
    }
    let files = ImportFiles {
        databases: arguments.databases.clone(),
        pg_lookup: arguments.pg_lookup.clone(),
        ports: arguments.ports.clone(),
    };
    let options = ImportOptions {
        approximate: arguments.approximate,
        device: arguments.device_template.clone(),
        mux: arguments.mux.map(|mux| match mux {
            Mux::Active => MuxState::Active,
            Mux::Standby => MuxState::Standby,
        }),
    };
    let imported = sonic::import(&files, &options)?;
    for line in &imported.approximations {
        output::note(&format!("approximated: {line}"));
    }
    if !imported.skipped.is_empty() {
        let tables = imported.skipped.join(", ");
        output::note(&format!("skipped, since they are not about the data path: {tables}"));
    }
    let failed = |error| ImportError::Write { path: path.clone(), error };
    fs::write(path, imported.text).map_err(failed)
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

//! `knotless export`: a switch in the words of another one.

use crate::import::sonic_failed;
use crate::output;
use clap::{Args, Subcommand};
use config::sonic::{self, SonicError};
use config::{ConfigError, SwitchConfig};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// `knotless export`
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// SONiC's config_db.json
    Sonic(ExportArgs),
}

/// What an export takes.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The switch
    #[arg(value_name = "SWITCH.toml")]
    file: PathBuf,
    /// File to write; standard output without it
    #[arg(long, value_name = "config_db.json")]
    out: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Sonic(#[from] SonicError),
    #[error("{}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
}

/// Exports. Exit 2: the file is wrong, or says what the other one cannot do.
pub fn run(command: &ExportCommand) -> ExitCode {
    let ExportCommand::Sonic(arguments) = command;
    match export(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(ExportError::Sonic(error)) => sonic_failed(&error),
        Err(error) => {
            output::error(error);
            ExitCode::from(2)
        }
    }
}

fn export(arguments: &ExportArgs) -> Result<(), ExportError> {
    let config = SwitchConfig::load(&arguments.file)?;
    let text = sonic::export(&config)?.text;
    let Some(path) = &arguments.out else {
        output::print(text.trim_end());
        return Ok(());
    };
    fs::write(path, text).map_err(|error| ExportError::Write { path: path.clone(), error })
}

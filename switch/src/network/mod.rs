//! The commands about a whole network: `knotless compile` and `knotless verify`.

pub mod compile;
mod kept;
pub(crate) mod progress;
pub mod verify;
mod verify_files;
#[cfg(test)]
mod verify_files_tests;

use config::NetworkConfig;
use fabric::paths::PathSet;
use std::path::{Path, PathBuf};

/// Bad input: one line that says what is wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    /// A file is wrong.
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    /// The file asks for something impossible, or cannot be written.
    #[error("{}:1:1: {message}", file.display())]
    Impossible {
        /// The file.
        file: PathBuf,
        /// Why.
        message: String,
    },
}

impl InputError {
    /// `file` is wrong as a whole.
    pub(crate) fn at(file: &Path, message: impl ToString) -> Self {
        Self::Impossible { file: file.to_owned(), message: message.to_string() }
    }
}

/// Writes `file`.
pub(crate) fn write(file: &Path, text: impl AsRef<[u8]>) -> Result<(), InputError> {
    std::fs::write(file, text).map_err(|error| unwritable(file, &error))
}

/// `file` cannot be written.
pub(crate) fn unwritable(file: &Path, error: &std::io::Error) -> InputError {
    InputError::at(file, format_args!("cannot be written: {error}"))
}

/// Reads NETWORK.toml and builds its paths.
pub(crate) fn load(file: &Path) -> Result<(NetworkConfig, PathSet), InputError> {
    let config = NetworkConfig::load(file)?;
    let paths = PathSet::build(&config.network, &config.paths);
    let paths = paths.map_err(|error| InputError::at(file, error))?;
    Ok((config, paths))
}

/// That rule files can be looked for in `directory`.
fn check_rules_directory(directory: &Path) -> Result<(), InputError> {
    if directory.is_dir() {
        return Ok(());
    }
    let message = "is not a directory; give the one that `knotless compile --out` wrote";
    Err(InputError::at(directory, message))
}

/// A number with thousands separators; a saturated one is "over" the maximum.
pub(crate) fn grouped(number: u64) -> String {
    if number == u64::MAX {
        return format!("over {}", grouped(number - 1));
    }
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

//! The program under test: built from this tree, never one that lies around.

use crate::tree;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Why there is no program to test.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Cargo cannot be started.
    #[error("cargo cannot be run: {0}")]
    Cargo(#[from] std::io::Error),
    /// The program does not build; cargo has said why.
    #[error("knotless does not build; see above")]
    Failed,
    /// Cargo built it and did not say where.
    #[error("cargo does not say where it put knotless")]
    NotFound,
}

/// Builds `knotless` and says where it is.
///
/// `KNOTLESS_PROFILE` names the Cargo profile. Without it the program is built as tests are, with
/// debug assertions, which find more.
///
/// # Errors
/// It does not build.
pub fn build() -> Result<PathBuf, BuildError> {
    let profile = std::env::var("KNOTLESS_PROFILE").unwrap_or_else(|_| "dev".to_owned());
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // Of the test's own package. A build script that reads them (ring's) would run again, and all
    // that depends on it would be built again, here and then at the next `cargo build` from a
    // shell.
    let of_package =
        |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter(|name| of_package(name)).for_each(|name| _ = command.env_remove(name));
    let output = command
        .args(["build", "--package", "knotless-switch", "--bin", "knotless", "--profile", &profile])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(tree::root())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(BuildError::Failed);
    }
    let messages = output.stdout.split(|&byte| byte == b'\n');
    let messages = messages.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    messages
        .filter(|message| message["target"]["name"] == "knotless")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .ok_or(BuildError::NotFound)
}

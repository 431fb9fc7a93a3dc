//! The project's own files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory that holds the workspace.
pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().map_or_else(|| tests.to_owned(), Path::to_owned)
}

/// The files that belong to the project, relative to [`root`], sorted: what git knows and what it
/// would take.
///
/// # Errors
/// git cannot be run here.
pub fn files() -> io::Result<Vec<PathBuf>> {
    // Root may test a clone that is somebody else's, which git mistrusts.
    let output = Command::new("git")
        .args([
            "-c",
            "safe.directory=*",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let names = output.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let mut files: Vec<PathBuf> =
        names.map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned())).collect();
    // Git lists what is deleted and not yet committed, too.
    files.retain(|file| root().join(file).is_file());
    files.sort();
    Ok(files)
}

/// The text of each Rust file of [`files`].
///
/// # Errors
/// git cannot be run here, or a file is not readable text.
pub fn rust_sources() -> io::Result<BTreeMap<PathBuf, String>> {
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let read = |path: PathBuf| Ok((path.clone(), fs::read_to_string(root().join(path))?));
    files()?.into_iter().filter(is_rust).map(read).collect()
}

/// The part of a Rust file before its unit tests.
pub fn without_unit_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()
}

//! What is wrong with a file, as one line.

use crate::message;
use std::path::PathBuf;

/// What is wrong with a file, where, and what would be right: one line.
///
/// ```
/// let text = "name = 'A'\nsede = 7\n";
/// let error = config::SwitchConfig::parse("A.toml".as_ref(), text).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "A.toml:2:1: unknown field `sede`; did you mean `seed`?"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}:{column}: {message}", message::path(file))]
pub struct ConfigError {
    /// The file, as it was named to us.
    pub file: PathBuf,
    /// Line, counted from 1.
    pub line: usize,
    /// Character within the line, counted from 1.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

//! Why a scenario cannot run.

use crate::build_error::BuildError;
use fabric::compile::CompileError;
use fabric::paths::PathsError;

/// Why a scenario cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The network cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The lossless paths cannot be computed.
    #[error(transparent)]
    Paths(#[from] PathsError),
    /// There are no rules for the paths.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A rule file is wrong.
    #[error(transparent)]
    Rules(#[from] config::ConfigError),
    /// The scheme cannot hold on this network.
    #[error("`{scheme}` cannot hold here: {why}")]
    Scheme {
        /// Which.
        scheme: &'static str,
        /// And what would do.
        why: String,
    },
    /// Rule files do not agree with each other or with the network.
    #[error("the rules of {switch} {what}")]
    Mismatch {
        /// Whose.
        switch: String,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A capture cannot be written.
    #[error("a capture cannot be written: {0}")]
    Capture(#[from] std::io::Error),
}

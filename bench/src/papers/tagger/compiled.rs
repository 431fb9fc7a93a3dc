//! A network with its paths, compiled: what several rows begin with.

use config::NetworkConfig;
use fabric::compile::{Algorithm, Budget, Compiled, Options, compile};
use fabric::{Network, PathSet};
use std::error::Error;
use std::path::Path;

/// A network and the paths that must be lossless.
pub(super) struct Case {
    pub(super) network: Network,
    pub(super) paths: PathSet,
}

impl Case {
    /// Of the text of a NETWORK.toml.
    pub(super) fn parse(text: &str) -> Result<Self, Box<dyn Error>> {
        let config = NetworkConfig::parse(Path::new("NETWORK.toml"), text)?;
        let paths = PathSet::build(&config.network, &config.paths)?;
        Ok(Self { network: config.network, paths })
    }

    /// A Clos network of two tiers, with all paths of at most `bounces` bounces.
    pub(super) fn leaf_spine(
        leaves: usize,
        spines: usize,
        bounces: usize,
    ) -> Result<Self, Box<dyn Error>> {
        Self::parse(&format!(
            "[generate]\nkind = 'clos'\nleaves = {leaves}\nspines = {spines}\nhosts = 2\n\
             [paths]\nkind = 'up-down'\nbounces = {bounces}\n"
        ))
    }

    /// The testbed of the Tagger paper (Fig. 2), with all paths of at most `bounces` bounces.
    pub(super) fn testbed(bounces: usize) -> Result<Self, Box<dyn Error>> {
        Self::parse(&format!(
            "[generate]\nkind = 'clos'\npods = 2\ntors = 2\nleaves = 2\nspines = 2\nhosts = 4\n\
             [paths]\nkind = 'up-down'\nbounces = {bounces}\n"
        ))
    }

    /// Rules, proven free of deadlock.
    pub(super) fn compile(&self, algorithm: Algorithm) -> Result<Compiled, Box<dyn Error>> {
        let options = Options { algorithm, lossless_max: 7, budget: Budget::Work };
        Ok(compile(&self.network, &self.paths, &options, &|_| {})?)
    }
}

/// Whether every path is lossless, and no set of turns closes a cycle.
pub(super) fn is_whole(compiled: &Compiled) -> bool {
    let verdict = &compiled.verdict;
    verdict.is_deadlock_free() && verdict.lossless_paths == verdict.paths
}

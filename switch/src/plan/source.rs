//! The change to plan: two files of paths, or two states of the links.

use crate::network::InputError;
use clap::Args;
use config::NetworkConfig;
use config::path_file::load;
use config::plan_file::Origin;
use fabric::Network;
use fabric::plan::Change;
use fabric::plan::routing::{Down, Routing, Ways, all_pairs, change};
use std::path::{Path, PathBuf};

/// The source of old and new paths: either both files, or what is down.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SourceArgs {
    /// The old paths: a file of `name: node node ...` lines
    #[arg(long, value_name = "OLD.txt")]
    old: Option<PathBuf>,
    /// The new paths
    #[arg(long, value_name = "NEW.txt")]
    new: Option<PathBuf>,
    /// Instead of files: a switch or link that is down before the change (`S3`, `A:1` or `A-B`)
    #[arg(long, value_name = "WHAT")]
    old_down: Vec<String>,
    /// A switch or link that is down after the change
    #[arg(long, value_name = "WHAT")]
    new_down: Vec<String>,
    /// Routing algorithm for the paths around what is down
    #[arg(long, value_enum)]
    routing: Option<Routing>,
}

impl SourceArgs {
    /// Whether the command line gives a change.
    pub(crate) const fn is_given(&self) -> bool {
        self.old.is_some()
            || self.new.is_some()
            || !self.old_down.is_empty()
            || !self.new_down.is_empty()
    }

    /// Completed from a plan file, where the command line gives nothing.
    pub(crate) fn or(self, origin: &Origin) -> Self {
        if self.is_given() {
            return self;
        }
        Self {
            old: origin.old.clone(),
            new: origin.new.clone(),
            old_down: origin.old_down.clone(),
            new_down: origin.new_down.clone(),
            routing: origin.routing.as_deref().and_then(|name| name.parse().ok()),
        }
    }

    /// The source as recorded in a plan file.
    pub(crate) fn origin(&self, network: &Path) -> Origin {
        let absolute = |file: &Path| std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let is_routed = self.old.is_none();
        Origin {
            network: Some(absolute(network)),
            old: self.old.as_deref().map(absolute),
            new: self.new.as_deref().map(absolute),
            old_down: self.old_down.clone(),
            new_down: self.new_down.clone(),
            routing: is_routed.then(|| <&str>::from(self.routing()).to_owned()),
        }
    }

    fn routing(&self) -> Routing {
        self.routing.unwrap_or(Routing::UpDown)
    }

    /// Reads the network and the change.
    pub(crate) fn read(&self, file: &Path) -> Result<(Network, Change), InputError> {
        let network = NetworkConfig::load(file)?.network;
        let change = self.change(file, &network)?;
        Ok((network, change))
    }

    fn change(&self, file: &Path, network: &Network) -> Result<Change, InputError> {
        let wrong = |message: String| InputError::at(file, message);
        let is_down = !self.old_down.is_empty() || !self.new_down.is_empty();
        match (&self.old, &self.new) {
            (Some(_), Some(_)) if is_down || self.routing.is_some() => Err(wrong(
                "paths come from files or from what is down; leave out --old and --new, or \
                 --old-down, --new-down and --routing"
                    .to_owned(),
            )),
            (Some(old), Some(new)) => {
                Ok(Change::between(network, load(old, network)?, load(new, network)?))
            }
            (None, None) if is_down => {
                let state = |words: &[String], option: &str| {
                    let mut down = Down::default();
                    for word in words {
                        let named = down.named(network, word);
                        named.map_err(|why| wrong(format!("--{option} {word}: {why}")))?;
                    }
                    Ok::<_, InputError>(Ways::new(network, self.routing(), &down))
                };
                let old = state(&self.old_down, "old-down")?;
                let new = state(&self.new_down, "new-down")?;
                Ok(change(network, &old, &new, &all_pairs(network)))
            }
            _ => Err(wrong(
                "from what, to what? add --old OLD.txt and --new NEW.txt, or --new-down WHAT"
                    .to_owned(),
            )),
        }
    }
}

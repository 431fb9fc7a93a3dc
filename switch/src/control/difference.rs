//! How a running switch differs from its files: what was changed on top of them, against the files
//! as they are now. So what was undone by hand is no difference.

use super::kept_changes::KeptChanges;
use config::{ConfigError, SwitchConfig};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::{self, Path, PathBuf};

/// What was changed while the switch ran, against its files as they are now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Difference {
    /// SWITCH.toml, absolute.
    pub file: PathBuf,
    /// Another rule file than SWITCH.toml names.
    pub rules: Option<FileChange>,
    /// Another route file than SWITCH.toml names.
    pub routes_file: Option<FileChange>,
    /// The route file in use, absolute.
    pub route_file: Option<PathBuf>,
    /// Routes, in the order of their prefixes as text.
    pub routes: Vec<RouteChange>,
    /// Names of the ports that `ctl link` took out of service, which no file says.
    pub out_of_service: Vec<String>,
}

impl Difference {
    /// How `current`, which has `kept` in it, differs from `files`, which were just read.
    ///
    /// # Errors
    /// A file that the changes name is wrong.
    pub(super) fn of(
        current: &SwitchConfig,
        kept: &KeptChanges,
        files: SwitchConfig,
    ) -> Result<Self, DifferenceError> {
        let changes = kept.changes();
        let change = |before: &Option<PathBuf>, now: &Option<PathBuf>| {
            now.clone().map(|now| FileChange { before: before.clone(), now })
        };
        let rules = change(&files.rules_file, &changes.rules);
        let routes_file = change(&files.routes_file, &changes.routes_file);
        let files = files.with_changed_files(changes)?;
        let (before, now) = (files.written_routes(), current.written_routes());
        let prefixes: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let routes = prefixes.into_iter().map(|prefix| RouteChange {
            prefix: prefix.clone(),
            before: before.get(prefix).cloned().unwrap_or_default(),
            now: now.get(prefix).cloned().unwrap_or_default(),
        });
        let route_file = current.routes_file.as_deref();
        Ok(Self {
            file: path::absolute(current.file())?,
            rules,
            routes_file,
            route_file: route_file.map(path::absolute::<&Path>).transpose()?,
            routes: routes.filter(|route| route.before != route.now).collect(),
            out_of_service: Vec::new(),
        })
    }

    /// Whether there is anything that a file can say.
    pub(crate) const fn can_be_saved(&self) -> bool {
        self.rules.is_some() || self.routes_file.is_some() || !self.routes.is_empty()
    }
}

/// Another file than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileChange {
    /// What SWITCH.toml names, if anything.
    pub before: Option<PathBuf>,
    /// The file in use.
    pub now: PathBuf,
}

/// Another route than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RouteChange {
    /// Where to.
    pub prefix: String,
    /// Gateways, or `blackhole`, by the files; nothing if they have no such route.
    pub before: Vec<String>,
    /// The same in use.
    pub now: Vec<String>,
}

/// Why there is no difference to tell: one line.
#[derive(Debug, thiserror::Error)]
pub(super) enum DifferenceError {
    /// A file is wrong.
    #[error(transparent)]
    File(#[from] ConfigError),
    /// A path cannot be made absolute.
    #[error(transparent)]
    Path(#[from] io::Error),
}

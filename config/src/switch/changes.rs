//! Changes to a running switch, on top of what its files say.
//!
//! They are made one by one (`ctl route add`, `ctl rules FILE`, a plan that `apply` executes), and
//! outlive a reload and a restart: the files are read, and then the changes are made again.

use super::reload::without;
use super::{SwitchConfig, routes};
use crate::error::ConfigError;
use crate::source::Source;
use dataplane::fib::Route;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// What differs from the files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Changes {
    /// The rule file, in the place of the one that SWITCH.toml names.
    pub rules: Option<PathBuf>,
    /// The route file, in the place of the one that SWITCH.toml names.
    pub routes_file: Option<PathBuf>,
    /// By prefix: the gateways of a route that was added, or replaced another; none of a route that
    /// was removed.
    pub routes: BTreeMap<String, Vec<String>>,
}

impl Changes {
    /// Whether the switch is as its files say.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        let files = [&self.rules, &self.routes_file];
        self.routes.len() + files.into_iter().flatten().count()
    }

    /// Another rule file is in use.
    pub fn set_rules(&mut self, file: &Path) {
        self.rules = Some(file.to_owned());
    }

    /// Another route file is in use. Changes of single routes end with it, as they do when it is
    /// read.
    pub fn set_routes_file(&mut self, file: &Path) {
        self.routes_file = Some(file.to_owned());
        self.routes.clear();
    }

    /// The route to `to` goes by `via` now; by nothing if it was removed.
    pub fn set_route(&mut self, to: &str, via: &[String]) {
        // One prefix can be written in several ways.
        let prefix = to.parse::<IpNet>().map_or_else(|_| to.to_owned(), |to| to.to_string());
        self.routes.insert(prefix, via.to_vec());
    }
}

impl SwitchConfig {
    /// This switch, as its files say, with `changes`.
    ///
    /// # Errors
    /// A file that they name is wrong, or one of them does not fit the files any more.
    pub fn with_changes(self, changes: &Changes) -> Result<Self, ConfigError> {
        let mut config = self.with_changed_files(changes)?;
        if changes.routes.is_empty() {
            return Ok(config);
        }
        // One that is added and is no prefix is refused below.
        let prefixes: HashSet<IpNet> =
            changes.routes.keys().filter_map(|to| to.parse().ok()).collect();
        config.routes = without(&config.routes, |to| prefixes.contains(to));
        let added = changes.routes.iter().filter(|(_, via)| !via.is_empty());
        let lines: String =
            added.map(|(to, via)| format!("{to} via {}\n", via.join(" "))).collect();
        let source = Source::new(Path::new("route"), &lines);
        routes::append(&source, &config.ports, &config.tunnels, &mut config.routes)?;
        Ok(config)
    }

    /// This switch, as its files say, with the files that `changes` name, and the routes of those.
    ///
    /// # Errors
    /// One of them is wrong.
    pub fn with_changed_files(self, changes: &Changes) -> Result<Self, ConfigError> {
        let mut config = self;
        if let Some(file) = &changes.rules {
            config = config.with_rules(file)?;
        }
        if let Some(file) = &changes.routes_file {
            config = config.with_routes(file)?;
        }
        Ok(config)
    }

    /// The routes of this switch by prefix, as they are written: gateways, `blackhole`, or the name
    /// of a tunnel after `tunnel`.
    pub fn written_routes(&self) -> BTreeMap<String, Vec<String>> {
        let written = |route: &Route| match route {
            Route::Blackhole => vec!["blackhole".to_owned()],
            Route::Tunnel { id, .. } => {
                let name = self.tunnels.get(id.index()).map_or("", |tunnel| &tunnel.name);
                vec![format!("tunnel {name}")]
            }
            Route::Via(gateways) => gateways.iter().map(ToString::to_string).collect(),
        };
        self.routes.iter().map(|(to, route)| (to.to_string(), written(route))).collect()
    }
}

//! New rules, routes and addresses for a running switch. A separate thread reads and checks them,
//! so that a large file does not block the control thread. A change is refused as a whole if
//! anything in it is wrong or needs a restart.

use super::tables::Tables;
use config::SwitchConfig;
use config::switch::changes_needing_restart;
use crossbeam::channel::{Receiver, bounded};
use std::path::PathBuf;
use std::thread;

/// What to reload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReloadRequest {
    /// SWITCH.toml and the files it names.
    Everything,
    /// Rules from this file.
    Rules(PathBuf),
    /// Routes from this file.
    Routes(PathBuf),
    /// Add or replace one route.
    Route {
        /// Where to.
        to: String,
        /// Gateways.
        via: Vec<String>,
    },
    /// Remove one route.
    NoRoute(String),
}

/// Tables that were read and fit the running switch.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) tables: Tables,
    pub(super) read: Vec<PathBuf>,
}

/// Why the reload was refused: one line.
pub(super) type Refusal = String;

/// Starts to read `what` for a switch that runs with `current`. The result is sent by the channel.
pub(super) fn begin(
    what: ReloadRequest,
    current: SwitchConfig,
) -> Receiver<Result<Loaded, Refusal>> {
    let (done, outcome) = bounded(1);
    let read = move || {
        // The receiver is gone if the switch is stopping.
        let _ended = done.send(load(&what, &current));
    };
    let started = thread::Builder::new().name("reload".into()).spawn(read);
    if let Err(error) = started {
        let (refuse, refused) = bounded(1);
        let _room_for_one = refuse.send(Err(format!("cannot start a thread: {error}")));
        return refused;
    }
    outcome
}

/// Reads `what` for a switch that runs with `current`.
pub(super) fn load(what: &ReloadRequest, current: &SwitchConfig) -> Result<Loaded, Refusal> {
    let (config, read) = match what {
        ReloadRequest::Everything => {
            let config = SwitchConfig::load(current.file()).map_err(|error| error.to_string())?;
            let named = [config.rules_file.clone(), config.routes_file.clone()];
            let read = [config.file().to_owned()].into_iter().chain(named.into_iter().flatten());
            let read = read.collect();
            (config, read)
        }
        ReloadRequest::Rules(file) => {
            let config = current.with_rules(file).map_err(|error| error.to_string())?;
            (config, vec![file.clone()])
        }
        ReloadRequest::Route { to, via } => {
            (current.with_route(to, via).map_err(|error| error.message)?, Vec::new())
        }
        ReloadRequest::NoRoute(to) => {
            (current.without_route(to).map_err(|error| error.message)?, Vec::new())
        }
        ReloadRequest::Routes(file) => {
            let config = current.with_routes(file).map_err(|error| error.to_string())?;
            (config, vec![file.clone()])
        }
    };
    let changes = changes_needing_restart(current, &config);
    if !changes.is_empty() {
        return Err(format!("needs a restart: {}", changes.join("; ")));
    }
    let tables = Tables::new(config).map_err(|error| error.to_string())?;
    Ok(Loaded { tables, read })
}

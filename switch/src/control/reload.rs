//! New rules, routes and addresses for a running switch. A separate thread reads and checks them,
//! so that a large file does not block the control thread. A change is refused as a whole if
//! anything in it is wrong or needs a restart. What is changed on top of the files is kept before
//! it is in use.

use super::difference::Difference;
use super::kept_changes::KeptChanges;
use super::tables::Tables;
use config::SwitchConfig;
use config::switch::{Changes, changes_needing_restart};
use crossbeam::channel::{Receiver, bounded};
use std::path::PathBuf;
use std::thread;

/// What to reload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReloadRequest {
    /// SWITCH.toml and the files it names; the changes are made again.
    Everything,
    /// The same, without the changes.
    Rollback,
    /// The files alone, to tell how the running switch differs from them.
    Difference,
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

/// What was read.
#[derive(Debug)]
pub(super) enum Loaded {
    /// Tables that fit the running switch.
    Tables(Box<LoadedTables>),
    /// How the running switch differs from its files.
    Difference(Box<Difference>),
}

/// Tables that were read and fit the running switch.
#[derive(Debug)]
pub(super) struct LoadedTables {
    pub(super) tables: Tables,
    /// The changes in them, which are kept.
    pub(super) changes: KeptChanges,
    pub(super) read: Vec<PathBuf>,
}

/// Why the reload was refused: one line.
pub(super) type Refusal = String;

/// Starts to read `what` for a switch that runs with `current`, which has `changes` in it. The
/// result is sent by the channel.
pub(super) fn begin(
    what: ReloadRequest,
    current: SwitchConfig,
    changes: KeptChanges,
) -> Receiver<Result<Loaded, Refusal>> {
    let (done, outcome) = bounded(1);
    let read = move || {
        // The receiver is gone if the switch is stopping.
        let _ended = done.send(load(&what, &current, &changes));
    };
    let started = thread::Builder::new().name("reload".into()).spawn(read);
    if let Err(error) = started {
        let (refuse, refused) = bounded(1);
        let _room_for_one = refuse.send(Err(format!("cannot start a thread: {error}")));
        return refused;
    }
    outcome
}

/// Reads `what` for a switch that runs with `current`, which has `kept` in it, and keeps what is
/// changed by it.
fn load(
    what: &ReloadRequest,
    current: &SwitchConfig,
    kept: &KeptChanges,
) -> Result<Loaded, Refusal> {
    let mut changes = kept.changes().clone();
    let (config, read) = match what {
        ReloadRequest::Difference => {
            let (files, _) = load_files(current)?;
            let difference = Difference::of(current, kept, files);
            let difference = difference.map_err(|error| error.to_string())?;
            return Ok(Loaded::Difference(Box::new(difference)));
        }
        ReloadRequest::Everything => {
            let (config, read) = load_files(current)?;
            (kept.make_again(config).map_err(|error| error.to_string())?, read)
        }
        ReloadRequest::Rollback => {
            changes = Changes::default();
            load_files(current)?
        }
        ReloadRequest::Rules(file) => {
            changes.set_rules(file);
            let config = current.with_rules(file).map_err(|error| error.to_string())?;
            (config, vec![file.clone()])
        }
        ReloadRequest::Route { to, via } => {
            changes.set_route(to, via);
            (current.with_route(to, via).map_err(|error| error.message)?, Vec::new())
        }
        ReloadRequest::NoRoute(to) => {
            changes.set_route(to, &[]);
            (current.without_route(to).map_err(|error| error.message)?, Vec::new())
        }
        ReloadRequest::Routes(file) => {
            changes.set_routes_file(file);
            let config = current.with_routes(file).map_err(|error| error.to_string())?;
            (config, vec![file.clone()])
        }
    };
    let needed = changes_needing_restart(current, &config);
    if !needed.is_empty() {
        return Err(format!("needs a restart: {}", needed.join("; ")));
    }
    let tables = Tables::new(config).map_err(|error| error.to_string())?;
    let changes = if changes == *kept.changes() {
        kept.clone()
    } else {
        kept.keep(changes).map_err(|error| error.to_string())?
    };
    Ok(Loaded::Tables(Box::new(LoadedTables { tables, changes, read })))
}

/// Reads SWITCH.toml and the files that it names.
fn load_files(current: &SwitchConfig) -> Result<(SwitchConfig, Vec<PathBuf>), Refusal> {
    let config = SwitchConfig::load(current.file()).map_err(|error| error.to_string())?;
    let named = [config.rules_file.clone(), config.routes_file.clone()];
    let read = [config.file().to_owned()].into_iter().chain(named.into_iter().flatten());
    let read = read.collect();
    Ok((config, read))
}

//! The rules of a switch that starts: those of the store, if it answers in time; otherwise those
//! that the disk keeps, which are the last ones of the store.

use super::access;
use super::files::{RuleFiles, hash};
use crate::control::kept_changes::{KeptChanges, KeptChangesError};
use crate::log;
use config::SwitchConfig;
use fleet::records::Want;
use fleet::session;
use tokio::runtime::Builder;
use tokio::time::timeout;

/// The changes to start with.
///
/// # Errors
/// New changes cannot be kept.
pub(crate) fn rules_at_start(
    config: &SwitchConfig,
    changes: KeptChanges,
) -> Result<KeptChanges, KeptChangesError> {
    let Some(fleet) = &config.fleet else { return Ok(changes) };
    let network = &fleet.network;
    let (want, text) = match wanted(config) {
        Ok(Some(wanted)) => wanted,
        Ok(None) => return Ok(changes),
        Err(why) => {
            log::warning(
                "fleet",
                format!(
                    "fleet {network}: {why}; the switch starts with the rules that it had last"
                ),
            );
            return Ok(changes);
        }
    };
    let same = changes.make_again(config.clone()).ok().and_then(|config| config.rules);
    if same.as_ref().map(hash).as_ref() == Some(&want.hash) {
        return Ok(changes);
    }
    let files = RuleFiles::of(config);
    let file = match files.write(&want, &text) {
        Ok(file) => file,
        Err(error) => {
            log::warning("fleet", format!("fleet {network}: its rules cannot be written: {error}"));
            return Ok(changes);
        }
    };
    let mut with_rules = changes.changes().clone();
    with_rules.set_rules(&file);
    if let Err(error) = config.clone().with_changes(&with_rules) {
        log::warning(
            "fleet",
            format!(
                "fleet {network}: revision {} does not fit this switch: {error}; it starts with the \
                 rules that it had last",
                want.revision
            ),
        );
        return Ok(changes);
    }
    let changes = changes.keep(with_rules)?;
    if let Err(error) = files.keep(&want, &file) {
        log::warning("fleet", format!("fleet {network}: the revision cannot be written: {error}"));
    }
    Ok(changes)
}

/// What the store wants of the switch, within the time for it.
fn wanted(config: &SwitchConfig) -> Result<Option<(Want, String)>, String> {
    let Some(fleet) = &config.fleet else { return Ok(None) };
    let runtime = Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let access = access(fleet);
    let found = runtime.block_on(async {
        let patience = fleet.start_wait;
        timeout(patience, session::wanted(&access, &fleet.network, &config.name, patience)).await
    });
    runtime.shutdown_background();
    match found {
        Ok(found) => found.map_err(|error| error.to_string()),
        Err(_) => Err(format!("etcd does not answer within {:?}", fleet.start_wait)),
    }
}

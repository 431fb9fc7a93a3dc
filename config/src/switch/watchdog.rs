//! `[watchdog]`: what is done about a peer that pauses without end. Its words and its range are
//! SONiC's, but for the least times: a poll that takes 100 ms is nothing that this switch has.

use super::port_draft::PortDraft;
use super::schema::{SwitchFile, WatchdogTable};
use crate::did_you_mean;
use crate::error::ConfigError;
use crate::fields::Duration;
use crate::source::Source;
use dataplane::pfc::watchdog::{Action, WatchdogSettings};
use std::ops::RangeInclusive;
use toml::Spanned;

const MS: u64 = 1_000_000;
/// Nanoseconds that may be given.
const DETECTION_NS: RangeInclusive<u64> = MS..=5_000 * MS;
const RESTORATION_NS: RangeInclusive<u64> = MS..=60_000 * MS;
const DETECTION_DEFAULT_NS: u64 = 200 * MS;
const RESTORATION_DEFAULT_NS: u64 = 400 * MS;

/// Gives the ports their watchdog.
///
/// # Errors
/// A time out of range, an action that is none, or a port that has nothing to watch.
pub(super) fn apply(
    source: &Source,
    file: &SwitchFile,
    ports: &mut [PortDraft<'_>],
) -> Result<(), ConfigError> {
    let settings = file.watchdog.as_ref().map(|table| settings(source, table.get_ref()));
    let settings = settings.transpose()?;
    if let (Some(table), true) = (&file.watchdog, file.lossless.is_empty()) {
        let message =
            "no priority is lossless, so there is nothing to watch; add a [[lossless]] table";
        return Err(source.at(table.span(), message));
    }
    for port in ports {
        let wanted = &port.table.get_ref().watchdog;
        if let (Some(field), None) = (wanted, settings)
            && *field.get_ref()
        {
            let message = "there is no [watchdog] that could look after this port; add one";
            return Err(source.at(field.span(), message));
        }
        let is_wanted = wanted.as_ref().is_none_or(|field| *field.get_ref());
        port.settings.watchdog = settings.filter(|_| is_wanted && port.pfc);
    }
    Ok(())
}

/// Whether all lossless traffic is dropped.
pub(super) fn is_big_red(file: &SwitchFile) -> bool {
    file.watchdog.as_ref().is_some_and(|table| table.get_ref().big_red_switch)
}

fn settings(source: &Source, table: &WatchdogTable) -> Result<WatchdogSettings, ConfigError> {
    let time = |field: &Option<Spanned<Duration>>, default, range: &RangeInclusive<u64>, name| {
        let Some(field) = field else { return Ok(default) };
        let ns = field.get_ref().0;
        check_time(ns, range, name).map_err(|message| source.at(field.span(), message))?;
        Ok(ns)
    };
    let action = table
        .action
        .as_ref()
        .map(|field| action(field.get_ref()).map_err(|message| source.at(field.span(), message)));
    Ok(WatchdogSettings {
        detection_ns: time(
            &table.detection_time,
            DETECTION_DEFAULT_NS,
            &DETECTION_NS,
            "detection_time",
        )?,
        restoration_ns: time(
            &table.restoration_time,
            RESTORATION_DEFAULT_NS,
            &RESTORATION_NS,
            "restoration_time",
        )?,
        action: action.transpose()?.unwrap_or(Action::Drop),
    })
}

/// `Err` is the whole message.
fn check_time(ns: u64, range: &RangeInclusive<u64>, name: &str) -> Result<(), String> {
    if range.contains(&ns) {
        return Ok(());
    }
    let most = range.end() / 1_000_000_000;
    Err(format!("a `{name}` of {} us; it is 1 ms to {most} s", ns / 1_000))
}

/// The action of this name; `Err` is the whole message.
///
/// # Errors
/// There is none.
pub fn action(name: &str) -> Result<Action, String> {
    let known = Action::ALL;
    if let Some(&(_, action)) = known.iter().find(|(known, _)| *known == name) {
        return Ok(action);
    }
    let names = known.iter().map(|&(name, _)| name);
    Err(did_you_mean::nearest(name, names).map_or_else(
        || format!("there is no action `{name}`; use drop, forward or alert"),
        |near| format!("there is no action `{name}`; did you mean `{near}`?"),
    ))
}

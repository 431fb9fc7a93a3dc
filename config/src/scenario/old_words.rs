//! Words of SCENARIO.toml that have been renamed to those of SWITCH.toml.

use super::schema::ScenarioFile;
use crate::error::ConfigError;
use crate::key_path::Change;
use crate::old_words::{OldWords, RenamedKey};
use crate::source::Source;

const KEYS: [RenamedKey; 3] = [
    RenamedKey::new("switches", "xoff", "static_th"),
    RenamedKey::new("scheme", "full", "bm"),
    RenamedKey::new("scheme", "start", "b1"),
];

/// Reads the file, after `changes` to it, with a warning for each old word, at its first place.
///
/// # Errors
/// The file is no SCENARIO.toml, or has an old word and its new one in the same table, or a change
/// does not fit.
pub(super) fn read<'a>(
    source: &'a Source,
    changes: &'a [Change],
) -> Result<(ScenarioFile, Vec<ConfigError>), ConfigError> {
    let mut words = OldWords::default();
    let file = source.toml_after(|tables| {
        words.rename(source, tables, &KEYS)?;
        changes.iter().try_for_each(|Change { key, value }| {
            key.set(tables, value).map_err(|(span, message)| source.at(span, message))
        })
    })?;
    Ok((file, words.warnings(source)))
}

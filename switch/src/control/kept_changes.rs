//! The changes that were made while the switch ran, kept in a file, so that they outlive it.
//!
//! The file is there as long as there are changes. One switch writes it: that of its control
//! socket.

use crate::replace_file::{folder_of, remove, replace};
use config::SwitchConfig;
use config::switch::Changes;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The changes, and their file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptChanges {
    file: PathBuf,
    changes: Changes,
}

/// Why changes are not kept, or not made again: one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeptChangesError {
    /// The file is no file of changes.
    #[error("{error}; this file keeps changes that `ctl` made: remove it to start without them")]
    Unreadable {
        /// The error, with the file.
        error: String,
    },
    /// The files have changed since.
    #[error(
        "{} keeps changes that `ctl` made, which do not fit the configuration any more: {error}; \
         `ctl rollback` drops them, or remove the file",
        file.display()
    )]
    Unfit {
        /// The file that keeps them.
        file: PathBuf,
        /// What does not fit.
        error: String,
    },
    /// The file cannot be written.
    #[error(
        "the change cannot be kept in {}: {error}; nothing is changed; set [control] changes to a \
         path that the switch can write",
        file.display()
    )]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// The error.
        error: io::Error,
    },
}

impl fmt::Display for KeptChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, file) = (self.changes.count(), self.file.display());
        let changes = if count == 1 { "change" } else { "changes" };
        write!(f, "{count} {changes} on top of the files, kept in {file}; `ctl diff` shows them")
    }
}

impl KeptChanges {
    /// Reads the changes that are kept in `file`.
    ///
    /// # Errors
    /// The file is there and is none of this kind.
    pub(crate) fn read(file: &Path) -> Result<Self, KeptChangesError> {
        let file = file.to_owned();
        if matches!(file.try_exists(), Ok(false)) {
            return Ok(Self { file, changes: Changes::default() });
        }
        let unreadable = |error| KeptChangesError::Unreadable { error };
        let changes = config::read_json(&file).map_err(|error| unreadable(error.to_string()))?;
        Ok(Self { file, changes })
    }

    /// The changes.
    pub(crate) const fn changes(&self) -> &Changes {
        &self.changes
    }

    /// `config`, as its files say, with the changes.
    ///
    /// # Errors
    /// They do not fit it.
    pub(crate) fn make_again(
        &self,
        config: SwitchConfig,
    ) -> Result<SwitchConfig, KeptChangesError> {
        config.with_changes(&self.changes).map_err(|error| KeptChangesError::Unfit {
            file: self.file.clone(),
            error: error.to_string(),
        })
    }

    /// Keeps `changes` instead.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn keep(&self, changes: Changes) -> Result<Self, KeptChangesError> {
        let written =
            if changes.is_empty() { remove(&self.file) } else { write(&self.file, &changes) };
        written.map_err(|error| KeptChangesError::Unwritable { file: self.file.clone(), error })?;
        Ok(Self { file: self.file.clone(), changes })
    }
}

fn write(file: &Path, changes: &Changes) -> io::Result<()> {
    fs::create_dir_all(folder_of(file))?;
    let text = serde_json::to_string_pretty(changes).map_err(io::Error::other)?;
    replace(file, &(text + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(file: PathBuf) -> KeptChanges {
        KeptChanges { file, changes: Changes::default() }
    }

    #[test]
    fn changes_are_in_the_file_as_long_as_there_are_any() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/s1.changes.json");
        let mut changes = Changes::default();
        changes.set_route("10.9.0.0/16", &["10.0.2.1".to_owned()]);
        changes.set_route("10.8.0.0/16", &[]);
        let later = kept(file.clone()).keep(changes.clone()).unwrap();
        assert_eq!(later.changes(), &changes);
        assert_eq!(config::read_json::<Changes>(&file).unwrap(), changes);
        let names: Vec<_> = fs::read_dir(file.parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1, "and nothing beside it");
        assert!(later.keep(Changes::default()).unwrap().changes().is_empty());
        assert!(!file.exists());
    }

    #[test]
    fn what_cannot_be_kept_is_refused_with_advice() {
        let error = kept("/proc/no/such.json".into())
            .keep(Changes { rules: Some("r".into()), ..Changes::default() });
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("/proc/no/such.json") && error.contains("[control] changes"),
            "{error}"
        );
    }
}

//! The rules that came from the store, on the disk, beside the file that keeps changes.
//!
//! `NAME.fleet-HASH.json` has the rules; the changes of the switch name it, so a restart reads it.
//! `NAME.fleet.json` has the revision that they came with.

use crate::replace_file::{folder_of, remove, replace};
use config::{SwitchConfig, rule_file};
use fabric::RuleSet;
use fleet::content_hash;
use fleet::records::Want;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Digits of the hash in a file's name.
const HASH_DIGITS: usize = 16;

/// The hash of rules: that of the text that they are written as.
pub(super) fn hash(rules: &RuleSet) -> String {
    content_hash(&rule_file::to_json(rules))
}

/// Where the rules of one switch are.
#[derive(Clone, Debug)]
pub(super) struct RuleFiles {
    folder: PathBuf,
    name: String,
}

impl RuleFiles {
    /// Of the switch of `config`.
    pub(super) fn of(config: &SwitchConfig) -> Self {
        Self { folder: folder_of(&config.changes_file).to_owned(), name: config.name.clone() }
    }

    /// Writes rules; returns their file. The files before stay until [`Self::keep`].
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(super) fn write(&self, want: &Want, text: &str) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.folder)?;
        let file = self.folder.join(format!("{}{}.json", self.prefix(), digits(&want.hash)));
        replace(&file, text)?;
        Ok(file)
    }

    /// Keeps `file`, which is in use and came with `want`, and removes the others.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(super) fn keep(&self, want: &Want, file: &Path) -> io::Result<()> {
        let record = serde_json::to_string(want).map_err(io::Error::other)?;
        replace(&self.record(), &(record + "\n"))?;
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_rules = name.starts_with(&self.prefix()) && name.ends_with(".json");
            if is_rules && path != file {
                remove(&path)?;
            }
        }
        Ok(())
    }

    /// The revision that the rules with this hash came with, if they came from the store.
    pub(super) fn revision_of(&self, hash: Option<&str>) -> Option<u64> {
        let want: Want = serde_json::from_str(&fs::read_to_string(self.record()).ok()?).ok()?;
        (Some(want.hash.as_str()) == hash).then_some(want.revision)
    }

    fn prefix(&self) -> String {
        format!("{}.fleet-", self.name)
    }

    fn record(&self) -> PathBuf {
        self.folder.join(format!("{}.fleet.json", self.name))
    }
}

fn digits(hash: &str) -> &str {
    hash.get(..HASH_DIGITS).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rules_and_their_revision_are_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let files = RuleFiles { folder: folder.path().join("new"), name: "s1".into() };
        let other = RuleFiles { name: "s1.fleet".into(), ..files.clone() };
        let want = |number: u64, text| Want { revision: number, hash: content_hash(text) };
        let theirs = other.write(&want(7, "theirs"), "theirs").unwrap();
        let (old, new) = (want(1, "old"), want(2, "new"));
        let first = files.write(&old, "old").unwrap();
        files.keep(&old, &first).unwrap();
        let second = files.write(&new, "new").unwrap();
        assert!(first.exists(), "until the new ones are in use");
        assert_eq!(files.revision_of(Some(&old.hash)), Some(1));
        files.keep(&new, &second).unwrap();
        assert_eq!(fs::read_to_string(&second).unwrap(), "new");
        assert!(!first.exists() && theirs.exists());
        assert_eq!(files.revision_of(Some(&new.hash)), Some(2));
        assert_eq!(files.revision_of(Some(&old.hash)), None);
    }
}

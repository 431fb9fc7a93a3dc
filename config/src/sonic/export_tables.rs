//! A database while it is written.

use std::collections::BTreeMap;

/// The fields of an entry.
type Fields = BTreeMap<String, String>;

/// Tables while they are written.
#[derive(Debug, Default)]
pub(super) struct Tables {
    tables: BTreeMap<String, BTreeMap<String, Fields>>,
    refused: Vec<String>,
}

impl Tables {
    /// Sets a field of an entry.
    pub(super) fn set(&mut self, table: &str, key: &str, field: &str, value: impl Into<String>) {
        self.entry(table, key).insert(field.to_owned(), value.into());
    }

    /// An entry, with or without fields.
    pub(super) fn entry(&mut self, table: &str, key: &str) -> &mut Fields {
        self.tables.entry(table.to_owned()).or_default().entry(key.to_owned()).or_default()
    }

    pub(super) fn refuse(&mut self, place: impl Into<String>, why: &str) {
        let line = format!("{}: {why}", place.into());
        if !self.refused.contains(&line) {
            self.refused.push(line);
        }
    }

    /// The database.
    ///
    /// # Errors
    /// Something was refused: each line.
    pub(super) fn into_json(self) -> Result<String, Vec<String>> {
        if !self.refused.is_empty() {
            return Err(self.refused);
        }
        let text = serde_json::to_string_pretty(&self.tables).unwrap_or_default();
        Ok(text + "\n")
    }
}

//! A database: `config_db.json`, or several files of which each adds to those before it, as
//! `sonic-cfggen -j` and `config load` read them.

use super::findings::{Findings, Place};
use super::tables::{self, Treatment};
use crate::error::ConfigError;
use crate::source::Source;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The fields of an entry.
type Fields = BTreeMap<String, Value>;

/// An entry of a table, and the file that has it.
#[derive(Debug)]
pub(super) struct Entry {
    fields: Fields,
    file: usize,
}

/// All tables.
#[derive(Debug, Default)]
pub(super) struct Db {
    tables: BTreeMap<String, BTreeMap<String, Entry>>,
    files: Vec<PathBuf>,
}

impl Db {
    /// Adds a file. Its entries join those of the same key, its fields replace those of the same
    /// name.
    ///
    /// # Errors
    /// It is no JSON object.
    pub(super) fn add(
        &mut self,
        source: &Source,
        findings: &mut Findings,
    ) -> Result<(), ConfigError> {
        let text = source.text().trim_start_matches('\u{feff}');
        let tables: BTreeMap<String, Value> = source.json(text)?;
        let file = self.files.len();
        self.files.push(source.file().to_owned());
        for (name, value) in tables {
            // Old databases have "TABLE|KEY" at the top.
            let (table, key) = match name.split_once('|') {
                Some((table, key)) => (table, Some(key)),
                None => (name.as_str(), None),
            };
            let is_read = tables::treatment(table) == Some(Treatment::Read);
            let Value::Object(entries) = value else {
                if is_read {
                    let place = Place::new(table, key.unwrap_or_default(), "");
                    findings.wrong(source.file(), &place, "is no object; a table has entries");
                }
                continue;
            };
            let known = self.tables.entry(table.to_owned()).or_default();
            if let Some(key) = key {
                merge(known, key, entries.into_iter().collect(), file);
                continue;
            }
            for (key, value) in entries {
                match value {
                    Value::Object(fields) => {
                        merge(known, &key, fields.into_iter().collect(), file);
                    }
                    Value::Null => merge(known, &key, Fields::new(), file),
                    _ if is_read => {
                        let place = Place::new(table, &key, "");
                        findings.wrong(source.file(), &place, "is no object; an entry has fields");
                    }
                    _ => merge(known, &key, Fields::new(), file),
                }
            }
        }
        Ok(())
    }

    /// Names of the tables.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    pub(super) fn keys(&self, table: &str) -> impl Iterator<Item = &str> {
        self.tables.get(table).into_iter().flat_map(|table| table.keys().map(String::as_str))
    }

    pub(super) fn has(&self, table: &str, key: &str) -> bool {
        self.entry(table, key).is_some()
    }

    pub(super) fn is_empty(&self, table: &str) -> bool {
        self.tables.get(table).is_none_or(BTreeMap::is_empty)
    }

    fn entry(&self, table: &str, key: &str) -> Option<&Entry> {
        self.tables.get(table)?.get(key)
    }

    /// The names of an entry's fields.
    pub(super) fn fields(&self, table: &str, key: &str) -> impl Iterator<Item = &str> {
        self.entry(table, key).into_iter().flat_map(|entry| entry.fields.keys().map(String::as_str))
    }

    pub(super) fn value(&self, table: &str, key: &str, field: &str) -> Option<&Value> {
        self.entry(table, key)?.fields.get(field)
    }

    /// Sets a field that is not there.
    pub(super) fn default_field(&mut self, table: &str, key: &str, field: &str, value: &str) {
        let entries = self.tables.entry(table.to_owned()).or_default();
        let entry = entries
            .entry(key.to_owned())
            .or_insert_with(|| Entry { fields: Fields::new(), file: 0 });
        entry.fields.entry(field.to_owned()).or_insert_with(|| Value::from(value));
    }

    /// The file that a place is in.
    pub(super) fn file_of(&self, place: &Place) -> &Path {
        let table = self.tables.get(&place.table);
        let entry = table.and_then(|table| table.get(&place.key).or_else(|| table.values().next()));
        let file = entry.map_or(0, |entry| entry.file);
        self.files.get(file).map_or_else(|| Path::new(""), PathBuf::as_path)
    }
}

fn merge(table: &mut BTreeMap<String, Entry>, key: &str, fields: Fields, file: usize) {
    let entry =
        table.entry(key.to_owned()).or_insert_with(|| Entry { fields: Fields::new(), file });
    entry.file = file;
    entry.fields.extend(fields);
}

/// A scalar as text.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

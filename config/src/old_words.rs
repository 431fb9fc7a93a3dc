//! Words of a TOML file that have been renamed: an old word is accepted, and a warning says the new
//! one.

use crate::error::ConfigError;
use crate::source::Source;
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key that has been renamed.
pub(crate) struct RenamedKey {
    /// The table that it stands in.
    pub(crate) table: &'static str,
    pub(crate) old: &'static str,
    pub(crate) new: &'static str,
    /// What else to say of it, if the old word is easily mistaken.
    pub(crate) note: &'static str,
}

impl RenamedKey {
    pub(crate) const fn new(table: &'static str, old: &'static str, new: &'static str) -> Self {
        Self { table, old, new, note: "" }
    }
}

/// An old word, what to write instead, and where it stands.
struct OldWord {
    old: String,
    new: String,
    note: &'static str,
    places: Vec<Range<usize>>,
}

/// The old words that a file has.
#[derive(Default)]
pub(crate) struct OldWords(Vec<OldWord>);

impl OldWords {
    /// Gives each key its new name.
    ///
    /// # Errors
    /// An old word and its new one stand in the same table.
    pub(crate) fn rename(
        &mut self,
        source: &Source,
        tables: &mut DeTable<'_>,
        keys: &[RenamedKey],
    ) -> Result<(), ConfigError> {
        for key in keys {
            let &RenamedKey { table, old, new, note } = key;
            let mut places = Vec::new();
            for table in tables_named(tables, table) {
                places.extend(rename(source, table, key)?);
            }
            self.add(format!("`{old}`"), format!("`{new}`"), note, places);
        }
        Ok(())
    }

    /// Adds a word and the places where it stands.
    pub(crate) fn add(
        &mut self,
        old: String,
        new: String,
        note: &'static str,
        places: Vec<Range<usize>>,
    ) {
        if !places.is_empty() {
            self.0.push(OldWord { old, new, note, places });
        }
    }

    /// A warning for each old word, at its first place, in the order of the file.
    pub(crate) fn warnings(mut self, source: &Source) -> Vec<ConfigError> {
        self.0.iter_mut().for_each(|word| word.places.sort_by_key(|place| place.start));
        self.0.sort_by_key(|word| word.places.first().map(|place| place.start));
        let warning = |OldWord { old, new, note, places }: OldWord| {
            let more = match places.len() {
                0 | 1 => String::new(),
                2 => " (and in another table)".to_owned(),
                all => format!(" (and in {} other tables)", all - 1),
            };
            let message = format!("{old} is the old word for {new}; write {new}{more}{note}");
            source.at(places.first().cloned().unwrap_or_default(), message)
        };
        self.0.into_iter().map(warning).collect()
    }
}

/// The tables of this name: `[name]`, or each `[[name]]`.
pub(crate) fn tables_named<'t, 'a>(
    tables: &'t mut DeTable<'a>,
    name: &str,
) -> Vec<&'t mut DeTable<'a>> {
    match tables.get_mut(name).map(Spanned::get_mut) {
        Some(DeValue::Table(table)) => vec![table],
        Some(DeValue::Array(array)) => {
            let values = array.iter_mut().map(Spanned::get_mut);
            let table = |value: &'t mut DeValue<'a>| match value {
                DeValue::Table(table) => Some(table),
                _ => None,
            };
            values.filter_map(table).collect()
        }
        _ => Vec::new(),
    }
}

/// Gives the key `old` its new name, and returns where it stands.
fn rename(
    source: &Source,
    table: &mut DeTable<'_>,
    &RenamedKey { old, new, note, .. }: &RenamedKey,
) -> Result<Option<Range<usize>>, ConfigError> {
    let Some((key, value)) = table.remove_entry(old) else { return Ok(None) };
    let place = key.span();
    if table.contains_key(new) {
        let message = format!(
            "`{old}` is the old word for `{new}`, which stands here too; remove `{old}`{note}"
        );
        return Err(source.at(place, message));
    }
    table.insert(Spanned::new(place.clone(), Cow::Borrowed(new)), value);
    Ok(Some(place))
}

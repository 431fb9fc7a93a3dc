//! Words of SWITCH.toml that have been renamed: the old word is accepted, and a warning says the
//! new one.

use super::schema::SwitchFile;
use crate::error::ConfigError;
use crate::source::Source;
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Table, old key, new key.
const KEYS: [(&str, &str, &str); 8] = [
    ("lossless", "xoff", "static_th"),
    ("port", "length", "cable_length"),
    ("port", "rx_ring", "rx_desc"),
    ("port", "tx_ring", "tx_desc"),
    ("port", "tx_limit", "tx_byte_limit"),
    ("port", "faces", "peer"),
    ("headroom", "peer_tx_limit", "peer_tx_byte_limit"),
    ("gfc", "start", "b1"),
];

/// An old word, what to write instead, and where it stands.
struct OldWord {
    old: String,
    new: String,
    places: Vec<Range<usize>>,
}

/// Reads the file. Adds a warning to `warnings` for each old word, at its first place.
///
/// # Errors
/// The file is no SWITCH.toml, or has an old word and its new one in the same table.
pub(super) fn read(
    source: &Source,
    warnings: &mut Vec<ConfigError>,
) -> Result<SwitchFile, ConfigError> {
    let mut words: Vec<OldWord> = Vec::new();
    let file = source.toml_after(|tables| {
        for (table, old, new) in KEYS {
            let mut places = Vec::new();
            for table in tables_named(tables, table) {
                places.extend(rename(source, table, old, new)?);
            }
            words.push(OldWord { old: format!("`{old}`"), new: format!("`{new}`"), places });
        }
        for workers in tables_named(tables, "workers") {
            let places = idle_busy(workers).into_iter().collect();
            let [old, new] = ["`idle = \"busy\"`", "`idle = \"poll\"`"].map(str::to_owned);
            words.push(OldWord { old, new, places });
        }
        Ok(())
    })?;
    words.iter_mut().for_each(|word| word.places.sort_by_key(|place| place.start));
    words.sort_by_key(|word| word.places.first().map(|place| place.start));
    for OldWord { old, new, places } in words {
        let Some(first) = places.first() else { continue };
        let more = match places.len() - 1 {
            0 => String::new(),
            1 => " (and in another table)".to_owned(),
            more => format!(" (and in {more} other tables)"),
        };
        let message = format!("{old} is the old word for {new}; write {new}{more}");
        warnings.push(source.at(first.clone(), message));
    }
    Ok(file)
}

/// The tables of this name: `[name]`, or each `[[name]]`.
fn tables_named<'t, 'a>(tables: &'t mut DeTable<'a>, name: &str) -> Vec<&'t mut DeTable<'a>> {
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
    old: &str,
    new: &'static str,
) -> Result<Option<Range<usize>>, ConfigError> {
    let Some((key, value)) = table.remove_entry(old) else { return Ok(None) };
    let place = key.span();
    if table.contains_key(new) {
        let message =
            format!("`{old}` is the old word for `{new}`, which stands here too; remove `{old}`");
        return Err(source.at(place, message));
    }
    table.insert(Spanned::new(place.clone(), Cow::Borrowed(new)), value);
    Ok(Some(place))
}

/// Makes `idle = "busy"` of `[workers]` into `"poll"`, and returns where it stands.
fn idle_busy(workers: &mut DeTable<'_>) -> Option<Range<usize>> {
    let idle = workers.get_mut("idle")?;
    let place = idle.span();
    match idle.get_mut() {
        DeValue::String(word) if word == "busy" => *word = Cow::Borrowed("poll"),
        _ => return None,
    }
    Some(place)
}

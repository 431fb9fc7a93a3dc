//! Fields of the database by type, each with the place it came from.

use super::db::{self, Db};
use super::findings::{Findings, Place};
use crate::fields::number_range;
use crate::message;
use serde_json::Value;
use std::ops::RangeInclusive;

/// A value, and the key that says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said<T> {
    pub(super) value: T,
    pub(super) from: String,
}

impl<T> Said<T> {
    pub(super) fn new(value: T, from: impl Into<String>) -> Self {
        Self { value, from: from.into() }
    }

    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Said<U> {
        Said { value: change(self.value), from: self.from }
    }
}

/// Reads the database, and collects what is wrong with it.
pub(super) struct Reader<'a> {
    pub(super) db: &'a Db,
    pub(super) findings: &'a mut Findings,
}

impl<'a> Reader<'a> {
    pub(super) fn wrong(&mut self, place: &Place, why: impl Into<String>) {
        self.findings.wrong(self.db.file_of(place), place, why);
    }

    pub(super) fn refuse(&mut self, place: &Place, why: impl Into<String>) {
        self.findings.refuse(self.db.file_of(place), place, why);
    }

    /// `instead` says what the switch then does, as a sentence without its end.
    pub(super) fn approximate(
        &mut self,
        place: &Place,
        why: impl Into<String>,
        instead: impl Into<String>,
    ) {
        self.findings.approximate(self.db.file_of(place), place, why, instead);
    }

    /// A field as text, if it is there and not empty.
    pub(super) fn text(&mut self, table: &str, key: &str, field: &str) -> Option<Said<String>> {
        let value = self.db.value(table, key, field)?;
        let place = Place::new(table, key, field);
        let Some(text) = db::text(value) else {
            if !value.is_null() {
                self.wrong(&place, "is no text; write it in quotes");
            }
            return None;
        };
        if text.is_empty() {
            return None;
        }
        let from = format!("{place} = {text:?}");
        Some(Said::new(text, from))
    }

    /// A field as a whole number within a range.
    pub(super) fn number(
        &mut self,
        table: &str,
        key: &str,
        field: &str,
        range: RangeInclusive<i64>,
    ) -> Option<Said<i64>> {
        let said = self.text(table, key, field)?;
        match said.value.parse() {
            Ok(number) if range.contains(&number) => Some(said.map(|_| number)),
            _ => {
                let (least, most) = (range.start(), range.end());
                let text = &said.value;
                let why = format!("`{text}` is no whole number from {least} to {most}");
                self.wrong(&Place::new(table, key, field), why);
                None
            }
        }
    }

    /// A size in bytes.
    pub(super) fn bytes(&mut self, table: &str, key: &str, field: &str) -> Option<Said<u64>> {
        let said = self.number(table, key, field, 0..=1 << 40)?;
        Some(said.map(|bytes| u64::try_from(bytes).unwrap_or_default()))
    }

    /// A field as words that commas separate, or as a list.
    pub(super) fn words(&mut self, table: &str, key: &str, field: &str) -> Vec<String> {
        let Some(Value::Array(items)) = self.db.value(table, key, field) else {
            let text = self.text(table, key, field);
            return text.map_or(Vec::new(), |text| split(&text.value));
        };
        items.iter().filter_map(db::text).filter(|word| !word.is_empty()).collect()
    }

    /// The entry of `target` that a field names, as `[TABLE|NAME]` or as `NAME`. `None` if the
    /// field is not there, or names none.
    pub(super) fn reference(
        &mut self,
        (table, key, field): (&str, &str, &str),
        target: &str,
    ) -> Option<Said<String>> {
        let said = self.text(table, key, field)?;
        let place = Place::new(table, key, field);
        let Some(name) = referred(&said.value, target) else {
            let text = message::shorten(&said.value, 80).into_owned();
            self.wrong(&place, format!("`{text}` names no {target}; write its name"));
            return None;
        };
        if name.is_empty() || name == "NULL" {
            return None;
        }
        Some(said.map(|_| name))
    }

    /// The same, of an entry that must be there.
    pub(super) fn known_reference(
        &mut self,
        at: (&str, &str, &str),
        target: &str,
    ) -> Option<Said<String>> {
        let name = self.reference(at, target)?;
        if self.db.has(target, &name.value) {
            return Some(name);
        }
        let text = message::shorten(&name.value, 80).into_owned();
        self.wrong(&Place::new(at.0, at.1, at.2), format!("there is no {target}|{text}; add it"));
        None
    }

    /// The entries of a table that are about one of `ports`, and the numbers behind the port:
    /// `Ethernet0|3-4`, `Ethernet0,Ethernet4|3`. A later entry replaces an earlier one.
    pub(super) fn by_port_and_number(&mut self, table: &str) -> Vec<(String, u8, &'a str)> {
        let db = self.db;
        let mut found = Vec::new();
        for key in db.keys(table) {
            let Some((ports, numbers)) = key.rsplit_once('|') else {
                self.wrong(
                    &Place::new(table, key, ""),
                    "is no PORT|NUMBER; write it as Ethernet0|3-4",
                );
                continue;
            };
            if ports.contains('|') {
                let why = "names a port of a chassis; give a switch of its own";
                self.refuse(&Place::new(table, "", ""), why);
                continue;
            }
            let Some(numbers) = number_range(numbers, 64) else {
                self.wrong(
                    &Place::new(table, key, ""),
                    "has no number behind the port; write it as Ethernet0|3-4",
                );
                continue;
            };
            for port in split(ports) {
                found.extend(numbers.clone().map(|number| (port.clone(), number, key)));
            }
        }
        found
    }
}

/// The name in `[TABLE|NAME]`, or `text` itself. `None`: another table's.
fn referred(text: &str, target: &str) -> Option<String> {
    let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else {
        return Some(text.to_owned());
    };
    let (table, name) = inner.split_once('|')?;
    // PFC_TO_QUEUE_MAP and the like are what some templates wrote.
    let same = table == target || target.ends_with(table) || table.ends_with("PFC_TO_QUEUE_MAP");
    same.then(|| name.to_owned())
}

pub(super) fn split(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// `key` of the ports that it names.
pub(super) fn names_port(key: &str, port: &str) -> bool {
    key.split(',').any(|name| name.trim() == port)
}

/// The value that most of `values` have; of several the first.
pub(super) fn most_common<T: PartialEq>(values: &[T]) -> Option<&T> {
    let count = |value: &T| values.iter().filter(|other| *other == value).count();
    let mut best: Option<(&T, usize)> = None;
    for value in values {
        if best.is_some_and(|(known, _)| known == value) {
            continue;
        }
        let often = count(value);
        if best.is_none_or(|(_, most)| often > most) {
            best = Some((value, often));
        }
    }
    best.map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_written_in_two_forms() {
        let name = |text| referred(text, "BUFFER_PROFILE");
        assert_eq!(name("[BUFFER_PROFILE|lossless]").as_deref(), Some("lossless"));
        assert_eq!(name("lossless").as_deref(), Some("lossless"));
        assert_eq!(name("[BUFFER_POOL|lossless]"), None);
        assert_eq!(name("[lossless]"), None);
    }

    #[test]
    fn a_range_has_two_ends_in_order() {
        assert_eq!(number_range("3", 64), Some(3..=3));
        assert_eq!(number_range("3-4", 64), Some(3..=4));
        assert_eq!(number_range("4-3", 64), None);
        assert_eq!(number_range("-1", 64), None);
        assert_eq!(number_range("64", 64), None);
    }

    #[test]
    fn the_most_common_value_is_found() {
        assert_eq!(most_common(&[1, 2, 2, 3]), Some(&2));
        assert_eq!(most_common(&[2, 1, 1, 2]), Some(&2));
        assert_eq!(most_common::<u8>(&[]), None);
    }
}

//! What an import or an export has to say: what is wrong, what cannot be said here, and what was
//! only approximated. All of it is collected, so that one run shows all.

use crate::message;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Findings that are shown at the most; a file can have one for each of its keys.
const SHOWN_MAX: usize = 200;

/// Where in a database something stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) table: String,
    /// Empty: the whole table.
    pub(super) key: String,
    /// Empty: the whole entry.
    pub(super) field: String,
}

impl Place {
    pub(super) fn new(table: &str, key: &str, field: &str) -> Self {
        Self { table: table.to_owned(), key: key.to_owned(), field: field.to_owned() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [&self.table, &self.key, &self.field];
        let parts: Vec<&str> =
            parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        f.write_str(&parts.join("|"))
    }
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The file contradicts itself, or says something that SONiC does not know either.
    Wrong,
    /// There is no counterpart, and nothing comes near.
    Refused,
    /// There is none, but something comes near, which is used under `--approximate`.
    Approximate,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct What {
    kind: Kind,
    table: String,
    field: String,
    why: String,
    instead: String,
}

/// Findings, those that say the same of several keys as one.
#[derive(Debug, Default)]
pub(super) struct Findings {
    found: BTreeMap<What, Vec<(String, PathBuf)>>,
}

impl Findings {
    pub(super) fn wrong(&mut self, file: &std::path::Path, place: &Place, why: impl Into<String>) {
        self.add(Kind::Wrong, file, place, why.into(), String::new());
    }

    pub(super) fn refuse(&mut self, file: &std::path::Path, place: &Place, why: impl Into<String>) {
        self.add(Kind::Refused, file, place, why.into(), String::new());
    }

    /// `instead` says what the switch has instead, as a sentence without its end.
    pub(super) fn approximate(
        &mut self,
        file: &std::path::Path,
        place: &Place,
        why: impl Into<String>,
        instead: impl Into<String>,
    ) {
        self.add(Kind::Approximate, file, place, why.into(), instead.into());
    }

    fn add(
        &mut self,
        kind: Kind,
        file: &std::path::Path,
        place: &Place,
        why: String,
        instead: String,
    ) {
        let Place { table, key, field } = place.clone();
        let what = What { kind, table, field, why, instead };
        let places = self.found.entry(what).or_default();
        if !places.iter().any(|(other, _)| *other == key) {
            places.push((key, file.to_owned()));
        }
    }

    /// What stops an import, one line each; empty if nothing does.
    pub(super) fn errors(&self, approximate: bool) -> Vec<String> {
        let stops = |what: &What| what.kind != Kind::Approximate || !approximate;
        let mut lines: Vec<String> = self
            .found
            .iter()
            .filter(|(what, _)| stops(what))
            .map(|(what, places)| {
                let hint = match what.kind {
                    Kind::Approximate => format!("; with --approximate, {}", what.instead),
                    Kind::Wrong | Kind::Refused => String::new(),
                };
                line(what, places, &hint)
            })
            .collect();
        if lines.len() > SHOWN_MAX {
            let more = lines.len() - SHOWN_MAX;
            lines.truncate(SHOWN_MAX);
            lines.push(format!("and {more} more"));
        }
        lines
    }

    /// What was approximated, one line each.
    pub(super) fn approximations(&self) -> Vec<String> {
        let found = self.found.iter().filter(|(what, _)| what.kind == Kind::Approximate);
        found.map(|(what, places)| line(what, places, &format!("; {}", what.instead))).collect()
    }
}

fn line(what: &What, places: &[(String, PathBuf)], end: &str) -> String {
    let (key, file) = places.first().cloned().unwrap_or_default();
    let place = Place { table: what.table.clone(), key, field: what.field.clone() };
    let more = match places.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more keys)", count - 1),
    };
    let text = format!("{place}{more}: {}{end}", what.why);
    let text = message::one_line(&text);
    let text = message::shorten(&text, message::MESSAGE_MAX);
    format!("{}: {text}", message::path(&file))
}

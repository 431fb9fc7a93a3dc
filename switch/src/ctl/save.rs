//! `ctl diff`, `ctl save`, `ctl rollback`: what was changed while the switch ran, against its
//! files.
//!
//! Saving is the client's work, by its user's rights: a switch need not be able to write its own
//! configuration. The files are edited, with all else in them as it was, and the switch then reads
//! them in the place of its changes. If it refuses, the files are put back.

use super::client::{Client, CtlError};
use crate::control::difference::{Difference, FileChange, RouteChange};
use crate::control::protocol::{Reloaded, Request};
use crate::replace_file::replace;
use ipnet::IpNet;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, value};

/// The lines of a difference: `-` is in the files, `+` is in use.
pub(super) fn text(difference: &Difference) -> String {
    let mut lines = Vec::new();
    let mut file = |key: &str, change: &Option<FileChange>| {
        if let Some(FileChange { before, now }) = change {
            lines.extend(before.as_ref().map(|before| format!("- {key} = {}", before.display())));
            lines.push(format!("+ {key} = {}", now.display()));
        }
    };
    file("rules", &difference.rules);
    file("routes", &difference.routes_file);
    for RouteChange { prefix, before, now } in &difference.routes {
        let line = |sign, via: &Vec<String>| format!("{sign} {}", route_line(prefix, via));
        lines.extend((!before.is_empty()).then(|| line('-', before)));
        lines.extend((!now.is_empty()).then(|| line('+', now)));
    }
    let out = difference.out_of_service.iter();
    lines.extend(out.map(|port| format!("+ port {port} is out of service, until the next start")));
    if lines.is_empty() {
        return format!("as {} says", difference.file.display());
    }
    lines.join("\n")
}

/// Writes the differences to the files. Returns what was done.
///
/// # Errors
/// A file cannot be read, edited or written, or the switch refuses what was written; the files are
/// as they were.
pub(super) fn save(client: &mut Client) -> Result<(Difference, Option<Reloaded>), CtlError> {
    let difference: Difference = client.ask(&Request::Diff)?;
    if !difference.can_be_saved() {
        return Ok((difference, None));
    }
    let mut files = Files::default();
    files.edit(&difference)?;
    files.write()?;
    match client.ask(&Request::Rollback) {
        Ok(reloaded) => Ok((difference, Some(reloaded))),
        Err(error) => {
            files.put_back()?;
            Err(error)
        }
    }
}

/// `PREFIX via GATEWAY ...`, a line of a route file.
fn route_line(prefix: &str, via: &[String]) -> String {
    match via {
        [word] if word == "blackhole" => format!("{prefix} blackhole"),
        gateways => format!("{prefix} via {}", gateways.join(" ")),
    }
}

fn is_to(text: &str, prefix: &str) -> bool {
    match (text.parse::<IpNet>(), prefix.parse::<IpNet>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// The files with their texts: as they were, and as they are to be.
#[derive(Debug, Default)]
struct Files(BTreeMap<PathBuf, (String, String)>);

impl Files {
    fn edit(&mut self, difference: &Difference) -> Result<(), CtlError> {
        let toml = self.read(&difference.file)?;
        let mut document: DocumentMut = self.0[&toml]
            .1
            .parse()
            .map_err(|error| CtlError::NotSaved(format!("{}: {error}", toml.display())))?;
        set_file(&mut document, "rules", &difference.rules);
        set_file(&mut document, "routes", &difference.routes_file);
        let route_file = match &difference.route_file {
            Some(file) => Some(self.read(file)?),
            None => None,
        };
        for change in &difference.routes {
            let done = edit_tables(&mut document, change, route_file.is_none())
                .map_err(|why| CtlError::NotSaved(format!("{}: {why}", toml.display())))?;
            if done {
                continue;
            }
            let texts = route_file.as_ref().and_then(|file| self.0.get_mut(file));
            let edited = texts.as_ref().and_then(|(_, new)| edit_lines(new, change));
            match (texts, edited) {
                (Some(texts), Some(edited)) => texts.1 = edited,
                _ => {
                    let why = format!("{}: has no route to {}", toml.display(), change.prefix);
                    return Err(CtlError::NotSaved(why));
                }
            }
        }
        if let Some(texts) = self.0.get_mut(&toml) {
            texts.1 = document.to_string();
        }
        Ok(())
    }

    /// Reads a file; returns where it really is.
    fn read(&mut self, file: &Path) -> Result<PathBuf, CtlError> {
        let failed = |error| CtlError::NotSaved(format!("{}: {error}", file.display()));
        let real = fs::canonicalize(file).map_err(failed)?;
        let text = fs::read_to_string(&real).map_err(failed)?;
        self.0.insert(real.clone(), (text.clone(), text));
        Ok(real)
    }

    fn write(&self) -> Result<(), CtlError> {
        for (file, (before, now)) in &self.0 {
            if before != now
                && let Err(error) = replace(file, now)
            {
                self.put_back()?;
                return Err(CtlError::NotSaved(format!("{}: {error}", file.display())));
            }
        }
        Ok(())
    }

    /// Writes what the files were.
    fn put_back(&self) -> Result<(), CtlError> {
        for (file, (before, now)) in &self.0 {
            if before != now && fs::read_to_string(file).is_ok_and(|text| text != *before) {
                replace(file, before).map_err(|error| {
                    let file = file.display();
                    CtlError::NotSaved(format!("{file}: cannot be put back as it was: {error}"))
                })?;
            }
        }
        Ok(())
    }
}

/// Names another file at the top of SWITCH.toml.
fn set_file(document: &mut DocumentMut, key: &str, change: &Option<FileChange>) {
    if let Some(FileChange { now, .. }) = change {
        let decor = document.get(key).and_then(Item::as_value).map(|old| old.decor().clone());
        let mut new = value(now.to_string_lossy().into_owned());
        if let (Some(decor), Some(new)) = (decor, new.as_value_mut()) {
            *new.decor_mut() = decor;
        }
        document[key] = new;
    }
}

/// Edits the `[[route]]` tables, if the change is theirs: one has the prefix, or the route is new
/// and `may_add`.
fn edit_tables(
    document: &mut DocumentMut,
    change: &RouteChange,
    may_add: bool,
) -> Result<bool, String> {
    if document.get("route").is_none() && may_add && change.before.is_empty() {
        document["route"] = Item::ArrayOfTables(ArrayOfTables::new());
    }
    let Some(routes) = document.get_mut("route") else { return Ok(false) };
    let Some(tables) = routes.as_array_of_tables_mut() else {
        return Err("`route` is not written as [[route]] tables; edit it by hand".to_owned());
    };
    let is_it = |table: &Table| {
        table.get("to").and_then(Item::as_str).is_some_and(|to| is_to(to, &change.prefix))
    };
    let at = tables.iter().position(is_it);
    match (at, change.now.is_empty()) {
        (Some(at), true) => drop(tables.remove(at)),
        (Some(at), false) => {
            if let Some(table) = tables.get_mut(at) {
                set_route(table, change);
            }
        }
        (None, false) if may_add && change.before.is_empty() => {
            let mut table = Table::new();
            set_route(&mut table, change);
            tables.push(table);
        }
        (None, _) => return Ok(false),
    }
    Ok(true)
}

fn set_route(table: &mut Table, change: &RouteChange) {
    if table.get("to").is_none() {
        table["to"] = value(change.prefix.clone());
    }
    table.remove("blackhole");
    table["via"] = value(change.now.iter().collect::<Array>());
}

/// The text of a route file with the change; `None` if the route that changes is not in it.
fn edit_lines(text: &str, change: &RouteChange) -> Option<String> {
    let is_it = |line: &str| {
        let route = line.split('#').next().unwrap_or_default();
        route.split_whitespace().next().is_some_and(|to| is_to(to, &change.prefix))
    };
    let found = text.lines().any(is_it);
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        if !is_it(line) {
            lines.push(line.to_owned());
        } else if !change.now.is_empty() {
            let comment = line.split_once('#').map(|(_, comment)| format!("  #{comment}"));
            lines.push(route_line(&change.prefix, &change.now) + &comment.unwrap_or_default());
        }
    }
    if !found {
        if !change.before.is_empty() || change.now.is_empty() {
            return None;
        }
        lines.push(route_line(&change.prefix, &change.now));
    }
    lines.push(String::new());
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(prefix: &str, before: &[&str], now: &[&str]) -> RouteChange {
        let own = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        RouteChange { prefix: prefix.to_owned(), before: own(before), now: own(now) }
    }

    const TOML: &str = "\
# The switch.
name = \"s1\"
rules = \"old.json\" # as compiled

# To the spines.
[[route]]
to = \"0.0.0.0/0\" # all else
via = [\"10.9.1.0\"]

[[route]]
to = \"10.7.0.0/16\"
blackhole = true

[control]
socket = \"s.sock\"
";

    #[test]
    fn tables_are_edited_and_all_else_in_the_file_stays() {
        let mut document: DocumentMut = TOML.parse().unwrap();
        let rules = FileChange { before: None, now: "/etc/new.json".into() };
        set_file(&mut document, "rules", &Some(rules));
        for change in [
            change("0.0.0.0/0", &["10.9.1.0"], &["10.9.1.0", "10.9.2.0"]),
            change("10.7.0.0/16", &["blackhole"], &[]),
            change("10.8.0.0/16", &[], &["10.9.2.0"]),
        ] {
            assert_eq!(edit_tables(&mut document, &change, true), Ok(true));
        }
        let expected = TOML
            .replace("\"old.json\"", "\"/etc/new.json\"")
            .replace("[\"10.9.1.0\"]", "[\"10.9.1.0\", \"10.9.2.0\"]")
            .replace("\"10.7.0.0/16\"\nblackhole = true", "\"10.8.0.0/16\"\nvia = [\"10.9.2.0\"]");
        assert_eq!(document.to_string(), expected);
    }

    #[test]
    fn a_route_that_is_in_no_table_is_left_to_the_route_file() {
        let mut document: DocumentMut = TOML.parse().unwrap();
        for change in
            [change("10.6.0.0/16", &["10.9.1.0"], &[]), change("10.5.0.0/16", &[], &["10.9.1.0"])]
        {
            assert_eq!(edit_tables(&mut document, &change, false), Ok(false));
        }
        assert_eq!(document.to_string(), TOML);
        let inline = "name = \"s\"\nroute = [{ to = \"10.6.0.0/16\", via = [\"10.9.1.0\"] }]\n";
        let mut document: DocumentMut = inline.parse().unwrap();
        assert!(edit_tables(&mut document, &change("10.6.0.0/16", &["x"], &[]), true).is_err());
    }

    #[test]
    fn lines_of_a_route_file_are_replaced_removed_and_added() {
        let text = "# routes\n10.6.0.0/16 via 10.9.1.0 # rack 6\n\n10.7.0.0/16 blackhole\n";
        let edited =
            edit_lines(text, &change("10.6.0.0/16", &["10.9.1.0"], &["10.9.2.0"])).unwrap();
        let edited = edit_lines(&edited, &change("10.7.0.0/16", &["blackhole"], &[])).unwrap();
        let edited = edit_lines(&edited, &change("10.8.0.0/16", &[], &["10.9.1.0"])).unwrap();
        let expected = "# routes\n10.6.0.0/16 via 10.9.2.0  # rack 6\n\n10.8.0.0/16 via 10.9.1.0\n";
        assert_eq!(edited, expected);
        assert_eq!(edit_lines(text, &change("10.1.0.0/16", &["10.9.1.0"], &[])), None);
    }
}

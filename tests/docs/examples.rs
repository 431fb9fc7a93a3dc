//! TOML in the documents: each example has keys that one kind of file knows.

use super::page::Page;
use super::reference::FILES;
use super::source::{Shape, Source};
use toml::{Table, Value};

/// The examples of `page` that are no TOML, or that no kind of file could contain.
pub(super) fn wrong(page: &Page) -> Vec<String> {
    let mut wrong = Vec::new();
    for fence in page.fences().iter().filter(|fence| fence.info == "toml") {
        let first = fence.text.lines().next().unwrap_or_default();
        let complaint = match fence.text.parse::<Table>() {
            Err(error) => Some(error.to_string()),
            Ok(table) => unknown_everywhere(&table),
        };
        wrong.extend(complaint.map(|it| format!("{}: `{first} ...`: {it}", page.path)));
    }
    wrong
}

/// What each kind of file does not know of `table`, if none knows all of it.
fn unknown_everywhere(table: &Table) -> Option<String> {
    let mut complaints = Vec::new();
    for (title, files, root) in FILES {
        let source = Source::read(files);
        match unknown(&source, source.shape(root), table, "") {
            None => return None,
            Some(key) => complaints.push(format!("{title} has no `{key}`")),
        }
    }
    Some(complaints.join("; "))
}

/// A key of `table` that `shape` does not have.
fn unknown(source: &Source, shape: &Shape, table: &Table, path: &str) -> Option<String> {
    for (key, value) in table {
        let here = format!("{path}{key}");
        let Some(member) = shape.members.iter().find(|member| member.name == *key) else {
            return Some(here);
        };
        let kind = member.kind.as_ref()?;
        let Some(inner) = source.types.get(&kind.name).filter(|shape| !shape.is_enum) else {
            continue;
        };
        for table in tables(value, kind.is_map) {
            if let Some(key) = unknown(source, inner, table, &format!("{here}.")) {
                return Some(key);
            }
        }
    }
    None
}

/// The tables of a value: itself, its elements, or the values of its keys.
fn tables(value: &Value, is_map: bool) -> Vec<&Table> {
    match value {
        Value::Table(table) if is_map => table.values().filter_map(Value::as_table).collect(),
        Value::Table(table) => vec![table],
        Value::Array(elements) => elements.iter().filter_map(Value::as_table).collect(),
        _ => Vec::new(),
    }
}

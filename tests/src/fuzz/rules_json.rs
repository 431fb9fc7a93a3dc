//! Any text as a rule file: an error says where and what in one line, what is read is the same when
//! written and read again, and the compiled table answers as the entries one after the other do.

use config::ConfigError;
use config::rule_file;
use dataplane::ids::{PortId, Tag};
use dataplane::rules::{RuleTable, linear};
use std::path::Path;

/// Ports up to which every question is asked; beyond, the first and the last few.
const PORTS_ASKED: usize = 6;

/// Reads `data`.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let file = Path::new("S.json");
    let rules = match rule_file::parse(file, &text) {
        Ok(rules) => rules,
        Err(error) => return check_error(&error, &text),
    };
    let written = rule_file::to_json(&rules);
    assert_eq!(rule_file::parse(file, &written).as_ref(), Ok(&rules), "{written}");
    let table = RuleTable::compile(&rules.entries, rules.ports, rules.lossy_tag);
    let last = rules.ports.saturating_sub(PORTS_ASKED);
    let asked = (0..rules.ports).filter(|&port| port < PORTS_ASKED || port >= last);
    let ports: Vec<PortId> = asked.filter_map(PortId::from_index).collect();
    for tag in Tag::all() {
        for &input in &ports {
            for &output in &ports {
                let slow = linear::lookup(&rules.entries, rules.lossy_tag, tag, input, output);
                assert_eq!(table.lookup(tag, input, output), slow, "{tag} {input} {output}");
            }
        }
    }
}

/// An error is one printable line of bounded length that points into the text it is about.
pub(super) fn check_error(error: &ConfigError, text: &str) {
    let said = error.to_string();
    assert!(!said.contains(char::is_control), "{said:?}");
    assert!(said.chars().count() <= 1_050, "{said}");
    assert!(!error.message.trim().is_empty(), "{said}");
    let lines = text.split('\n').count();
    assert!((1..=lines).contains(&error.line), "{said}, of {lines} lines");
    let line = text.split('\n').nth(error.line - 1).unwrap_or_default();
    assert!((1..=line.chars().count() + 1).contains(&error.column), "{said}");
}

//! From rules to text: one entry a line, the same text for the same rules.

use dataplane::ids::{Priority, Tag};
use dataplane::rules::{PortSet, TcamEntry};
use fabric::RuleSet;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::{fs, io};

/// The file's text: one entry a line, the same for the same rules.
pub fn to_json(rules: &RuleSet) -> String {
    let mut text = String::from("{\n");
    let mut line = |name: &str, value: String| writeln!(text, "  \"{name}\": {value},");
    let tags = rules.initial_tags.iter().map(|tag| tag.value()).collect::<Vec<_>>();
    let lines = [
        ("switch", Some(json(&rules.switch))),
        ("ports", Some(rules.ports.to_string())),
        ("lossy_tag", Some(rules.lossy_tag.to_string())),
        ("initial_tag", Some(rules.initial_tag.to_string())),
        ("initial_tags", (!tags.is_empty()).then(|| json(&tags))),
        ("priorities", Some(json(&Priorities(&rules.priorities)))),
    ];
    for (name, value) in lines.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        line(name, value).expect("a String takes all that is written to it");
    }
    text += "  \"entries\": [";
    for (index, entry) in rules.entries.iter().enumerate() {
        text += if index == 0 { "\n    " } else { ",\n    " };
        text += &json(&Entry(entry));
    }
    text += if rules.entries.is_empty() { "]\n}\n" } else { "\n  ]\n}\n" };
    text
}

/// Writes [`to_json`] of `rules` to `file`, all of it or nothing: a switch that reloads at the
/// wrong moment must not find half a file.
///
/// # Errors
/// The file, or the one beside it that is renamed to it, cannot be written.
pub fn save(rules: &RuleSet, file: &Path) -> io::Result<()> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, to_json(rules))?;
    fs::rename(&beside, file)
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts, numbers and lists have a JSON form")
}

struct Priorities<'a>(&'a BTreeMap<Tag, Priority>);

impl Serialize for Priorities<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(tag, priority)| (tag.value(), priority.value())))
    }
}

struct Entry<'a>(&'a TcamEntry);

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Masked {
            value: u8,
            mask: u8,
        }
        let numbers = |set: &PortSet| set.iter().map(|port| port.number()).collect::<Vec<_>>();
        let tag = self.0.tag;
        let mut entry = to.serialize_struct("Entry", 4)?;
        if tag.mask == 63 {
            entry.serialize_field("tag", &tag.value)?;
        } else {
            entry.serialize_field("tag", &Masked { value: tag.value, mask: tag.mask })?;
        }
        entry.serialize_field("in", &numbers(&self.0.in_ports))?;
        entry.serialize_field("out", &numbers(&self.0.out_ports))?;
        entry.serialize_field("new_tag", &self.0.new_tag.value())?;
        entry.end()
    }
}

//! Rule files: what is written is read again, and what is wrong is named.

use config::rule_file;
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::rules::{PortSet, TagMatch, TcamEntry};
use fabric::RuleSet;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const RULES: &str = r#"{ "switch": "A", "ports": 4, "lossy_tag": 0, "initial_tag": 1,
  "priorities": { "1": 1, "2": 2 },
  "entries": [
    { "tag": 1, "in": [3], "out": [4], "new_tag": 2 },
    { "tag": {"value": 0, "mask": 60}, "in": [1, 2], "out": [4, 3], "new_tag": 0 } ] }
"#;

fn parse(text: &str) -> Result<RuleSet, config::ConfigError> {
    rule_file::parse(Path::new("A.json"), text)
}

fn ports(numbers: &[usize]) -> PortSet {
    numbers.iter().filter_map(|&number| PortId::from_number(number)).collect()
}

#[test]
fn the_contract_is_read() {
    let rules = parse(RULES).unwrap_or_else(|error| panic!("{error}"));
    let [tag_1, tag_2] = [1, 2].map(|tag| Tag::new(tag).unwrap());
    assert_eq!((rules.switch.as_str(), rules.ports), ("A", 4));
    assert_eq!((rules.lossy_tag.value(), rules.initial_tag), (0, tag_1));
    assert_eq!(rules.priorities[&tag_2], Priority::new(2).unwrap());
    let first = TcamEntry {
        tag: TagMatch::exactly(tag_1),
        in_ports: ports(&[3]),
        out_ports: ports(&[4]),
        new_tag: tag_2,
    };
    assert_eq!(rules.entries[0], first);
    assert_eq!(rules.entries[1].tag, TagMatch { value: 0, mask: 60 });
    assert_eq!(rules.entries[1].out_ports, ports(&[3, 4]));
}

#[test]
fn the_contract_is_written() {
    let rules = parse(RULES).unwrap();
    let text = r#"{
  "switch": "A",
  "ports": 4,
  "lossy_tag": 0,
  "initial_tag": 1,
  "priorities": {"1":1,"2":2},
  "entries": [
    {"tag":1,"in":[3],"out":[4],"new_tag":2},
    {"tag":{"value":0,"mask":60},"in":[1,2],"out":[3,4],"new_tag":0}
  ]
}
"#;
    assert_eq!(rule_file::to_json(&rules), text);

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("A.json");
    rule_file::save(&rules, &file).unwrap();
    rule_file::save(&rules, &file).unwrap();
    assert_eq!(rule_file::load(&file), Ok(rules));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
}

/// `RULES` with `old` replaced by `new` fails where `place` stands, with a message that has
/// `words`.
#[track_caller]
fn check(old: &str, new: &str, place: &str, words: &str) {
    assert!(RULES.contains(old), "the base has no `{old}`");
    let text = RULES.replacen(old, new, 1);
    let error = parse(&text).unwrap_err();
    let line = text.lines().nth(error.line - 1).unwrap_or_default();
    let found: String = line.chars().skip(error.column - 1).collect();
    assert!(found.starts_with(place), "at `{found}`, not at `{place}`: {error}");
    assert!(error.message.contains(words), "{error}");
}

#[test]
fn what_is_wrong_is_named_with_its_entry_and_place() {
    let entry = "{ \"tag\": 1, \"in\": [3]";
    check("\"in\": [3]", "\"in\": [5]", "5]", "entry 1: `in` has port 5; `A` has ports 1 to 4");
    check("\"out\": [4, 3]", "\"out\": [0]", "0]", "entry 2: `out` has port 0");
    check(
        "\"in\": [3]",
        "\"in\": []",
        "[]",
        "entry 1: `in` is empty, and the entry matches nothing",
    );
    check("\"out\": [4, 3]", "\"out\": []", "[]", "entry 2: `out` is empty, and the entry matches");
    check("\"in\": [3]", "\"in\": [3, 2, 3]", "3]", "entry 1: `in` has port 3 twice; keep one");
    check("\"out\": [4, 3]", "\"out\": [4, 4]", "4]", "entry 2: `out` has port 4 twice; keep one");
    check("\"new_tag\": 2", "\"new_tag\": 3", "3 }", "entry 1: `new_tag` 3 has no priority");
    check("\"new_tag\": 2", "\"new_tag\": 64", "64 }", "entry 1: `new_tag` 64 is not a tag");
    check("\"mask\": 60", "\"mask\": 64", "{\"value\": ", "entry 2: `mask` 64 does not fit");
    check(entry, "{ \"tag\": 64, \"in\": [3]", "64, ", "entry 1: `tag` 64 does not fit");
    check(entry, "{ \"tag\": 0, \"in\": [3]", "0, ", "entry 1: tag 0 is the lossy tag");
    check(entry, "{ \"tag\": 9, \"in\": [3]", "9, ", "matches no lossless tag; lossless are 1, 2");
    check(
        entry,
        "{ \"tga\": 1, \"in\": [3]",
        "\"tga\"",
        "entry 1: unknown field `tga`; did you mean `tag`?",
    );
    check("\"in\": [3], ", "", "{ \"tag\": 1", "entry 1: `in` is missing here");
    check("\"in\": [3]", "\"in\": 3", "3", "entry 1: found the number 3, expected a list");
    check("\"value\": 0, ", "", "{\"mask\"", "`value` is missing here");
    check("\"ports\": 4", "\"ports\": 257", "257", "`ports` is 257; a switch has 1 to 256 ports");
    check("\"ports\": 4", "\"ports\": 0", "0", "1 to 256 ports");
    check("\"ports\": 4", "\"ports\": -4", "-4", "`ports` is -4; a switch has");
    check("\"lossy_tag\": 0", "\"lossy_tag\": 1", "\"1\"", "tag 1 is `lossy_tag`");
    check("\"lossy_tag\": 0", "\"lossy_tag\": 64", "64", "`lossy_tag` is 64, which is not a tag");
    check("\"initial_tag\": 1", "\"initial_tag\": 3", "3", "one of `priorities` (1, 2)");
    check("\"2\": 2", "\"1\": 2", "\"1\": 2", "tag 1 stands in `priorities` twice");
    check("\"2\": 2", "\"2\": 8", "\"2\": 8", "tag 2 has priority 8");
    check("\"2\": 2", "\"x\": 2", "\"x\": 2", "has \"x\", which is not a tag");
    check("\"switch\": \"A\", ", "", "{ \"ports\"", "`switch` is missing here");
    check("\"switch\"", "\"colour\"", "\"colour\"", "known here: switch, ports");
    check("{ \"switch\"", "[ \"switch\"", "", "");
    let empty = "A.json:1:1: the text ends where a value belongs; it is empty or cut short";
    assert_eq!(parse("").unwrap_err().to_string(), empty);
}

#[test]
fn an_empty_table_is_all_lossy() {
    let text =
        r#"{"switch":"A","ports":1,"lossy_tag":0,"initial_tag":0,"priorities":{},"entries":[]}"#;
    let rules = parse(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(parse(&rule_file::to_json(&rules)), Ok(rules));
}

/// Any rules that say nothing wrong.
fn rules() -> impl Strategy<Value = RuleSet> {
    let priorities = proptest::collection::btree_map(1..64u8, 0..8u8, 1..8);
    (priorities, 1..=256usize, "[A-Za-z0-9 \"\\\\\u{e9}]{0,8}").prop_flat_map(
        |(map, count, switch)| {
            let tags: Vec<u8> = map.keys().copied().collect();
            let tag = proptest::sample::select(tags.clone());
            let set = || proptest::collection::btree_set(1..=count, 1..6);
            let entry = (tag.clone(), 0..64u8, any::<bool>(), set(), set(), 0..=tags.len());
            let entries = proptest::collection::vec(entry, 0..40);
            (Just((map, count, switch)), tag, any::<bool>(), entries).prop_map(
                move |((map, count, switch), initial, has_classes, entries)| {
                    let tag_of = |value: u8| Tag::new(value).unwrap();
                    let entry =
                        |(hit, mask, exact, input, output, new): (u8, _, bool, _, _, usize)| {
                            TcamEntry {
                                tag: TagMatch { value: hit, mask: if exact { 63 } else { mask } },
                                in_ports: port_set(&input),
                                out_ports: port_set(&output),
                                new_tag: tag_of(tags.get(new).copied().unwrap_or(0)),
                            }
                        };
                    RuleSet {
                        switch,
                        ports: count,
                        lossy_tag: tag_of(0),
                        initial_tag: tag_of(initial),
                        initial_tags: if has_classes {
                            let others = map.keys().copied().filter(|&tag| tag != initial);
                            std::iter::once(initial).chain(others).map(tag_of).collect()
                        } else {
                            Vec::new()
                        },
                        priorities: map
                            .into_iter()
                            .map(|(tag, priority)| (tag_of(tag), Priority::new(priority).unwrap()))
                            .collect::<BTreeMap<_, _>>(),
                        entries: entries.into_iter().map(entry).collect(),
                    }
                },
            )
        },
    )
}

fn port_set(numbers: &std::collections::BTreeSet<usize>) -> PortSet {
    numbers.iter().filter_map(|&number| PortId::from_number(number)).collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(rules in rules()) {
        let text = rule_file::to_json(&rules);
        prop_assert_eq!(parse(&text), Ok(rules));
    }
}

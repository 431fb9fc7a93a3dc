//! A switch's rules as a file: what the compiler writes and the switch loads.
//!
//! ```json
//! { "switch": "A", "ports": 4, "lossy_tag": 0, "initial_tag": 1, "priorities": { "1": 1, "2": 2 },
//!   "entries": [ { "tag": 1, "in": [3], "out": [4], "new_tag": 2 } ] }
//! ```
//!
//! Where several application classes share the tags, `"initial_tags": [1, 2]` beside `initial_tag`
//! has the tag that each class starts with, the first class's being `initial_tag`.
//!
//! The first entry that matches wins; no match is lossy. Ports count from 1. A tag is a number, or
//! `{"value": 1, "mask": 63}`, which matches every tag that agrees with `value` in the bits of
//! `mask`.

use crate::error::ConfigError;
use crate::json::{Step, key_before, locate};
use crate::source::Source;
use dataplane::ids::{PortId, Priority, Tag};
use dataplane::limits::PORTS_MAX;
use dataplane::rules::{PortSet, TagMatch, TcamEntry};
use fabric::verify::NetworkRules;
use fabric::{Network, RuleSet};
use raw::{RawEntry, RawFile, RawMap, RawTag};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

mod raw;
mod write;

pub use write::{save, to_json};

/// Reads and checks `file`.
///
/// # Errors
/// The file cannot be read, is no JSON of this form, or contradicts itself.
pub fn load(file: &Path) -> Result<RuleSet, ConfigError> {
    from_source(&Source::read(file)?)
}

/// Reads and checks `text`, which errors will say is in `file`.
///
/// # Errors
/// The text is no JSON of this form, or contradicts itself.
pub fn parse(file: &Path, text: &str) -> Result<RuleSet, ConfigError> {
    from_source(&Source::new(file, text))
}

pub(crate) fn from_source(source: &Source) -> Result<RuleSet, ConfigError> {
    let raw: RawFile<'_> = source.json(source.text())?;
    let ports = raw.ports.get();
    let in_range = |ports: &usize| (1..=PORTS_MAX).contains(ports);
    let Some(ports) = serde_json::from_str(ports).ok().filter(in_range) else {
        let message = format!("`ports` is {ports}; a switch has 1 to {PORTS_MAX} ports");
        return Err(at(source, ports, message));
    };
    let lossy_tag = read_tag(source, raw.lossy_tag.get(), "lossy_tag")?;
    let priorities = read_priorities(source, raw.priorities.get(), lossy_tag)?;
    let initial_tag = read_tag(source, raw.initial_tag.get(), "initial_tag")?;
    if !priorities.contains_key(&initial_tag) && !priorities.is_empty() {
        let known = list(&priorities);
        let message = format!(
            "`initial_tag` {initial_tag} has no priority; it must be one of `priorities` ({known})"
        );
        return Err(at(source, raw.initial_tag.get(), message));
    }
    let initial_tags = match raw.initial_tags {
        Some(fragment) => read_initial_tags(source, fragment.get(), initial_tag, &priorities)?,
        None => Vec::new(),
    };
    let switch = source.json(raw.switch.get())?;
    let entries = Vec::new();
    let mut rules =
        RuleSet { switch, ports, lossy_tag, initial_tag, initial_tags, priorities, entries };
    for (index, entry) in raw.entries.iter().enumerate() {
        let entry = read_entry(&rules, source, index + 1, entry.get())?;
        rules.entries.push(entry);
    }
    Ok(rules)
}

fn read_entry(
    rules: &RuleSet,
    source: &Source,
    number: usize,
    text: &str,
) -> Result<TcamEntry, ConfigError> {
    let wrong = |steps: &[Step<'_>], message: String| {
        let at = source.offset_of(text) + locate(text, steps).unwrap_or_default();
        source.at(at..at, format!("entry {number}: {message}"))
    };
    let raw: RawEntry = source.json(text).map_err(|error| ConfigError {
        message: format!("entry {number}: {}", error.message),
        ..error
    })?;
    let tag = tag_match(rules, &raw.tag).map_err(|why| wrong(&[Step::Key("tag")], why))?;
    let wrong_tag = |message| wrong(&[Step::Key("new_tag")], message);
    let new_tag = tag_of(raw.new_tag).ok_or_else(|| {
        wrong_tag(format!("`new_tag` {} is not a tag; tags are 0 to 63", raw.new_tag))
    })?;
    if new_tag != rules.lossy_tag && !rules.priorities.contains_key(&new_tag) {
        return Err(wrong_tag(format!(
            "`new_tag` {new_tag} has no priority; add it to `priorities`, or use {} for lossy",
            rules.lossy_tag
        )));
    }
    let set = |numbers: &[u64], name: &str| {
        port_set(rules, numbers, name).map_err(|(index, message)| match index {
            Some(index) => wrong(&[Step::Key(name), Step::Index(index)], message),
            None => wrong(&[Step::Key(name)], message),
        })
    };
    let (in_ports, out_ports) = (set(&raw.input, "in")?, set(&raw.output, "out")?);
    Ok(TcamEntry { tag, in_ports, out_ports, new_tag })
}

/// The match on the tag; it must be able to hit a tag that is lossless.
fn tag_match(rules: &RuleSet, raw: &RawTag) -> Result<TagMatch, String> {
    let six_bits = |number: u64, name: &str| {
        u8::try_from(number)
            .ok()
            .filter(|&bits| bits < 64)
            .ok_or_else(|| format!("`{name}` {number} does not fit; tags are 0 to 63"))
    };
    let (value, mask) = match *raw {
        RawTag::Exact(tag) => (six_bits(tag, "tag")?, 63),
        RawTag::Masked { value, mask } => (six_bits(value, "value")?, six_bits(mask, "mask")?),
    };
    let tag = TagMatch { value, mask };
    if rules.priorities.keys().any(|&lossless| tag.matches(lossless)) {
        return Ok(tag);
    }
    let known = list(&rules.priorities);
    Err(if mask == 63 && value == rules.lossy_tag.value() {
        format!("tag {value} is the lossy tag, and what is lossy stays so; lossless are {known}")
    } else {
        format!("matches no lossless tag; lossless are {known}")
    })
}

/// The ports of `in` or `out`. The mistake is that of one number, by its index, or of all.
fn port_set(
    rules: &RuleSet,
    numbers: &[u64],
    name: &str,
) -> Result<PortSet, (Option<usize>, String)> {
    let (ports, switch) = (rules.ports, &rules.switch);
    if numbers.is_empty() {
        let message = format!(
            "`{name}` is empty, and the entry matches nothing; list ports of 1 to {ports}, or remove \
             the entry"
        );
        return Err((None, message));
    }
    let mut set = PortSet::default();
    for (index, &number) in numbers.iter().enumerate() {
        let port = usize::try_from(number).ok().filter(|&number| number <= ports);
        let Some(port) = port.and_then(PortId::from_number) else {
            let message = format!("`{name}` has port {number}; `{switch}` has ports 1 to {ports}");
            return Err((Some(index), message));
        };
        if set.contains(port) {
            let message = format!("`{name}` has port {number} twice; keep one");
            return Err((Some(index), message));
        }
        set.insert(port);
    }
    Ok(set)
}

/// Reads DIR/SWITCH.json for every switch of the network.
///
/// # Errors
/// A file cannot be read, is wrong in itself, is of another switch, or contradicts another file.
pub fn load_all(network: &Network, directory: &Path) -> Result<NetworkRules, ConfigError> {
    let file = |switch: u32| directory.join(format!("{}.json", network.switch_name(switch)));
    let loaded: Vec<Result<RuleSet, ConfigError>> =
        network.all_switches().into_par_iter().map(|switch| load(&file(switch))).collect();
    let sets = loaded.into_iter().collect::<Result<Vec<RuleSet>, ConfigError>>()?;
    NetworkRules::new(network, sets)
        .map_err(|(switch, message)| Source::new(&file(switch), "").at(0..0, message))
}

/// Reads DIR/SWITCH.json for those switches of the network that have one. Whether its ports are
/// still those of the switch is not looked at.
///
/// # Errors
/// No switch has one; or one cannot be read, is wrong in itself, is of another switch, or
/// contradicts another one.
pub fn load_known(
    network: &Network,
    directory: &Path,
) -> Result<Vec<Option<RuleSet>>, ConfigError> {
    let file = |switch: u32| directory.join(format!("{}.json", network.switch_name(switch)));
    let known = |switch: u32| {
        let file = file(switch);
        file.exists().then(|| load(&file)).transpose()
    };
    let loaded: Vec<Result<Option<RuleSet>, ConfigError>> =
        network.all_switches().into_par_iter().map(known).collect();
    let sets = loaded.into_iter().collect::<Result<Vec<Option<RuleSet>>, ConfigError>>()?;
    let wrong =
        |switch: u32, message: String| Err(Source::new(&file(switch), "").at(0..0, message));
    let mut all = (0..).zip(&sets).filter_map(|(switch, rules)| Some((switch, rules.as_ref()?)));
    let Some((at, first)) = all.clone().next() else {
        let message = "has rules of no switch of this network; give the directory that `knotless \
                       compile --out` wrote before the network grew";
        return Err(Source::new(directory, "").at(0..0, message.to_owned()));
    };
    let tags = |rules: &RuleSet| {
        let RuleSet { lossy_tag, initial_tag, initial_tags, priorities, .. } = rules.clone();
        (lossy_tag, initial_tag, initial_tags, priorities)
    };
    for (switch, rules) in all.by_ref() {
        let name = network.switch_name(switch);
        if rules.switch != name {
            let message =
                format!("these are the rules of `{}`; `switch` must be `{name}`", rules.switch);
            return wrong(switch, message);
        }
        if tags(rules) != tags(first) {
            let first = network.switch_name(at);
            let message =
                format!("tags and priorities are other ones than at `{first}`; make them the same");
            return wrong(switch, message);
        }
    }
    Ok(sets)
}

/// An error at the start of `fragment`, a piece of the source's text.
fn at(source: &Source, fragment: &str, message: String) -> ConfigError {
    let offset = source.offset_of(fragment);
    source.at(offset..offset, message)
}

fn tag_of(number: u64) -> Option<Tag> {
    u8::try_from(number).ok().and_then(Tag::new)
}

fn read_tag(source: &Source, fragment: &str, name: &str) -> Result<Tag, ConfigError> {
    serde_json::from_str(fragment).ok().and_then(tag_of).ok_or_else(|| {
        at(
            source,
            fragment,
            format!("`{name}` is {fragment}, which is not a tag; tags are 0 to 63"),
        )
    })
}

/// The initial tag of each application class: lossless, none twice, `initial_tag` first.
fn read_initial_tags(
    source: &Source,
    fragment: &str,
    initial_tag: Tag,
    priorities: &BTreeMap<Tag, Priority>,
) -> Result<Vec<Tag>, ConfigError> {
    let numbers: Vec<u64> = source.json(fragment)?;
    let mut tags = Vec::new();
    for (index, &number) in numbers.iter().enumerate() {
        let wrong = |message: String| {
            let place = locate(fragment, &[Step::Index(index)]).unwrap_or_default();
            let message = format!("`initial_tags` has {number}: {message}");
            at(source, &fragment[place..], message)
        };
        let tag = tag_of(number).filter(|tag| priorities.contains_key(tag)).ok_or_else(|| {
            wrong(format!("it has no priority; use tags of `priorities` ({})", list(priorities)))
        })?;
        if index == 0 && tag != initial_tag {
            let message = format!(
                "the first class starts with `initial_tag`, which is {initial_tag}; make them the \
                 same"
            );
            return Err(wrong(message));
        }
        if tags.contains(&tag) {
            return Err(wrong(
                "it is there twice; a class starts with a tag of its own".to_owned(),
            ));
        }
        tags.push(tag);
    }
    Ok(tags)
}

fn read_priorities(
    source: &Source,
    fragment: &str,
    lossy_tag: Tag,
) -> Result<BTreeMap<Tag, Priority>, ConfigError> {
    let RawMap(pairs) = source.json(fragment)?;
    let mut priorities = BTreeMap::new();
    for (key, number) in pairs {
        let wrong = |message: String| {
            let value = locate(fragment, &[Step::Key(&key)]).unwrap_or_default();
            let key = key_before(fragment, value).unwrap_or(value);
            at(source, &fragment[key..], message)
        };
        let tag = key.parse().ok().and_then(tag_of).ok_or_else(|| {
            wrong(format!("`priorities` has \"{key}\", which is not a tag; tags are 0 to 63"))
        })?;
        let priority = u8::try_from(number).ok().and_then(Priority::new).ok_or_else(|| {
            wrong(format!("tag {tag} has priority {number}; there are eight, 0 to 7"))
        })?;
        if tag == lossy_tag {
            let message =
                "is `lossy_tag` and stands in `priorities`, which lists the lossless tags";
            return Err(wrong(format!("tag {tag} {message}")));
        }
        if priorities.insert(tag, priority).is_some() {
            return Err(wrong(format!("tag {tag} stands in `priorities` twice")));
        }
    }
    Ok(priorities)
}

fn list(priorities: &BTreeMap<Tag, Priority>) -> String {
    let tags: Vec<String> = priorities.keys().map(Tag::to_string).collect();
    if tags.is_empty() { "none".to_owned() } else { tags.join(", ") }
}

//! A path file: one path a line, `host switch ... switch host`, with comments after `#`.
//!
//! Where two switches share several links, `B:3` says that the path comes into B by port 3; without
//! it, it takes the link with the lowest port of the switch it leaves.

mod named;

pub use named::{load, parse};

use crate::error::ConfigError;
use crate::names::{Names, Node, slot_of};
use crate::source::Source;
use fabric::Network;
use fabric::paths::{Listed, PathCollector, SWITCHES_MAX, Turn};

/// Reads a path file.
pub(crate) fn read(source: &Source, network: &Network) -> Result<Listed, ConfigError> {
    let names = Names::of(network);
    let mut collector = PathCollector::default();
    let mut line_start = 0;
    for line in source.text().split_inclusive('\n') {
        let words = line.split('#').next().unwrap_or_default();
        let words: Vec<Word<'_>> = words
            .split_whitespace()
            .map(|text| Word { text, at: text.as_ptr() as usize - source.text().as_ptr() as usize })
            .collect();
        if !words.is_empty() {
            let turns = path(network, &names, &words)
                .map_err(|(at, message)| source.at(at..at, message))?;
            collector.push(network, &turns);
        }
        line_start += line.len();
    }
    let paths = collector.finish(false);
    if paths.is_empty() {
        let message = "there is no path; write one a line: host switch ... switch host";
        return Err(source.at(line_start..line_start, message));
    }
    Ok(paths)
}

/// The turns of the path between two hosts over the switches that `path` names; `Err` is the whole
/// message.
pub(crate) fn between(
    network: &Network,
    names: &Names<'_>,
    [from, to]: [&str; 2],
    path: &str,
) -> Result<Vec<Turn>, String> {
    let words = std::iter::once(from).chain(path.split_whitespace()).chain([to]);
    let words: Vec<Word<'_>> = words.map(|text| Word { text, at: 0 }).collect();
    self::path(network, names, &words).map_err(|(_, message)| message)
}

/// A word of a line, and where it stands in the file.
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
}

/// The place of a mistake and the message.
pub(crate) type Mistake = (usize, String);

/// The turns of the path that `words` name.
fn path(network: &Network, names: &Names<'_>, words: &[Word<'_>]) -> Result<Vec<Turn>, Mistake> {
    let [first, switches @ .., last] = words else {
        let message = "a path has two hosts; write host switch ... switch host";
        return Err((words[0].at, message.to_owned()));
    };
    if switches.is_empty() {
        let message = "a path passes a switch; write host switch ... switch host";
        return Err((last.at, message.to_owned()));
    }
    if switches.len() > SWITCHES_MAX {
        let message = format!("a path has {SWITCHES_MAX} switches at the most");
        return Err((switches[SWITCHES_MAX].at, message));
    }
    let (source, target) = (host(network, names, first)?, host(network, names, last)?);
    let mut seen = Vec::with_capacity(switches.len());
    let mut inputs = vec![source];
    for word in switches {
        let (switch, input) = switch(network, names, word)?;
        if seen.contains(&switch) {
            let message = format!(
                "`{}` is on this path twice; a lossless path must be free of loops",
                network.switch_name(switch)
            );
            return Err((word.at, message));
        }
        match seen.last() {
            None => check_end(network, source, switch, first, word)?,
            Some(&before) => inputs.push(enter(network, before, switch, input, word)?),
        }
        seen.push(switch);
    }
    let Some(&last_switch) = seen.last() else { return Ok(Vec::new()) };
    check_end(network, target, last_switch, last, last)?;
    if source == target {
        let message = format!("the path ends where it begins, at `{}`; name two hosts", last.text);
        return Err((last.at, message));
    }
    let outputs = inputs[1..].iter().filter_map(|&input| network.far_slot(input)).chain([target]);
    Ok(inputs.iter().copied().zip(outputs).collect())
}

/// The slot of the port that a host is linked to.
pub(crate) fn host(network: &Network, names: &Names<'_>, word: &Word<'_>) -> Result<u32, Mistake> {
    match names.find(word.text).map_err(|message| (word.at, message))? {
        Node::Host(host) => {
            let unlinked = || (word.at, format!("host `{}` has no link", word.text));
            network.host_slot(host).ok_or_else(unlinked)
        }
        Node::Switch(_) => {
            let message = format!("`{}` is a switch; a path begins and ends at a host", word.text);
            Err((word.at, message))
        }
    }
}

/// A switch, and the slot it is entered by, if the word says so.
pub(crate) fn switch(
    network: &Network,
    names: &Names<'_>,
    word: &Word<'_>,
) -> Result<(u32, Option<u32>), Mistake> {
    let at = |message| (word.at, message);
    let (name, port) = word.text.split_once(':').unzip();
    match names.find(name.unwrap_or(word.text)).map_err(at)? {
        Node::Switch(switch) => {
            let input = port.map(|port| slot_of(network, switch, port)).transpose().map_err(at)?;
            Ok((switch, input))
        }
        Node::Host(_) => {
            let message = format!("`{}` is a host; only switches forward", word.text);
            Err((word.at, message))
        }
    }
}

/// The slot by which a path enters `switch` from `before`.
pub(crate) fn enter(
    network: &Network,
    before: u32,
    switch: u32,
    input: Option<u32>,
    word: &Word<'_>,
) -> Result<u32, Mistake> {
    let mut links = network.neighbors(before).map(|(_, far)| far);
    let found =
        links.find(|&far| network.owner(far) == switch && input.is_none_or(|input| input == far));
    found.ok_or_else(|| {
        let (from, to) = (network.switch_name(before), network.switch_name(switch));
        let message = match input {
            Some(input) => format!("`{}` is not linked to `{from}`", network.show(input)),
            None => format!("there is no link from `{from}` to `{to}`; a path follows links"),
        };
        (word.at, message)
    })
}

/// That a host is at the switch that the path begins or ends with.
pub(crate) fn check_end(
    network: &Network,
    host_slot: u32,
    switch: u32,
    host: &Word<'_>,
    word: &Word<'_>,
) -> Result<(), Mistake> {
    let real = network.owner(host_slot);
    if real == switch {
        return Ok(());
    }
    let (switch, real) = (network.switch_name(switch), network.switch_name(real));
    let message = format!("host `{}` is not linked to `{switch}`, but to `{real}`", host.text);
    Err((word.at, message))
}

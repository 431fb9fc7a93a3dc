//! `knotless trace --network`: the expected paths between two hosts, hop by hop, with the tag and
//! the priority that the rules give a frame on each.

use crate::network::verify::read_rules;
use crate::network::{InputError, load};
use dataplane::ids::Tag;
use fabric::network::{End, Peer};
use fabric::paths::{Turn, Walks};
use fabric::verify::NetworkRules;
use fabric::{Network, RuleSet};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;

/// Paths that are shown; more are counted.
const PATHS_MAX: usize = 16;

/// A way through the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct NetworkTrace {
    /// Who sends.
    pub(super) from: String,
    /// Who receives.
    pub(super) to: String,
    /// The tag that the frame starts with.
    pub(super) tag: u8,
    /// How many expected paths there are.
    pub(super) paths_total: usize,
    /// The first of them, hop by hop.
    pub(super) paths: Vec<Vec<HopRow>>,
}

/// What one switch of the path does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct HopRow {
    /// The switch.
    pub(super) switch: String,
    /// Number of its ingress port.
    #[serde(rename = "in")]
    pub(super) input: usize,
    /// Number of its egress port.
    pub(super) out: usize,
    /// The tag with which the frame comes.
    pub(super) tag: u8,
    /// The ingress priority; null if the tag is lossy.
    pub(super) priority: Option<u8>,
    /// The tag with which it leaves.
    pub(super) new_tag: u8,
    /// The egress priority; null if the frame is lossy from here on.
    pub(super) new_priority: Option<u8>,
    /// Number of the rule that matched, from 1.
    pub(super) entry: Option<usize>,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct NetworkQuestion<'a> {
    pub(super) file: &'a Path,
    pub(super) rules: &'a Path,
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    /// The tag to start with, if it is not the rules' initial tag.
    pub(super) tag: Option<u8>,
}

/// Follows the expected paths.
///
/// # Errors
/// A file is wrong, a host is not there, or no expected path leads from the one to the other.
pub(super) fn trace(question: &NetworkQuestion<'_>) -> Result<NetworkTrace, InputError> {
    let (config, paths) = load(question.file)?;
    let network = &config.network;
    let rules = read_rules(network, question.rules)?;
    let (from, to) =
        (host(network, question, question.from)?, host(network, question, question.to)?);
    let sets = rules.sets();
    let start = match question.tag {
        None => sets.first().map(|set| set.initial_tag).unwrap_or_default(),
        Some(tag) => Tag::new(tag)
            .ok_or_else(|| InputError::at(question.file, format!("tag {tag} is not 0 to 63")))?,
    };
    let mut found = NetworkTrace {
        from: question.from.to_owned(),
        to: question.to.to_owned(),
        tag: start.value(),
        paths_total: 0,
        paths: Vec::new(),
    };
    // Each host port stands for itself alone.
    let walks = Walks::grouped(network, &paths, |slot| slot);
    let _all_seen = walks.visit(1, &mut |turns: &[Turn]| {
        let is_theirs = turns.first().is_some_and(|turn| turn.0 == from)
            && turns.last().is_some_and(|turn| turn.1 == to);
        if is_theirs {
            found.paths_total += 1;
            if found.paths.len() < PATHS_MAX {
                found.paths.push(hops(network, &rules, turns, start));
            }
        }
        ControlFlow::Continue(())
    });
    if found.paths_total == 0 {
        let message = format!(
            "no expected path leads from {} to {}; [paths] says which there are",
            question.from, question.to
        );
        return Err(InputError::at(question.file, message));
    }
    Ok(found)
}

/// The switch port at which a host is.
fn host(network: &Network, question: &NetworkQuestion<'_>, name: &str) -> Result<u32, InputError> {
    let end = network.linked_end(name);
    let slot = match end {
        Some(End::Host(host)) => network.host_slot(host),
        _ => None,
    };
    let wrong = || InputError::at(question.file, format!("`{name}` is no host of this network"));
    slot.filter(|&slot| matches!(network.peer(slot), Peer::Host(_))).ok_or_else(wrong)
}

/// What each switch of the path does with a frame that starts with `start`.
fn hops(network: &Network, rules: &NetworkRules, turns: &[Turn], start: Tag) -> Vec<HopRow> {
    let mut tag = start;
    let hop = |&(input, output): &Turn| {
        let switch = network.owner(input);
        let set = &rules.sets()[switch as usize];
        let (input, output) = (network.port(input), network.port(output));
        let found = set.entries.iter().position(|entry| entry.matches(tag, input, output));
        let is_lossless = set.priorities.contains_key(&tag);
        let entry = found.filter(|_| is_lossless);
        let before = tag;
        tag = match entry {
            Some(entry) => set.entries[entry].new_tag,
            None if is_lossless => set.lossy_tag,
            None => tag,
        };
        HopRow {
            switch: network.switch_name(switch).to_owned(),
            input: input.number(),
            out: output.number(),
            tag: before.value(),
            priority: priority(set, before),
            new_tag: tag.value(),
            new_priority: priority(set, tag),
            entry: entry.map(|entry| entry + 1),
        }
    };
    turns.iter().map(hop).collect()
}

fn priority(set: &RuleSet, tag: Tag) -> Option<u8> {
    set.priorities.get(&tag).map(|priority| priority.value())
}

/// The trace as text.
pub(super) fn text(trace: &NetworkTrace) -> String {
    let NetworkTrace { from, to, tag, paths_total, paths } = trace;
    let mut lines = vec![format!("{from} to {to}, tag {tag}: {paths_total} expected paths")];
    for (at, path) in paths.iter().enumerate() {
        lines.push(format!("path {}: {from}", at + 1));
        for hop in path {
            let class = |priority: Option<u8>| {
                priority
                    .map_or_else(|| "lossy".to_owned(), |priority| format!("priority {priority}"))
            };
            let rule = hop.entry.map_or_else(|| "no entry".to_owned(), |it| format!("entry {it}"));
            lines.push(format!(
                "  {:<10} in {:<3} tag {:<2} {:<11} out {:<3} tag {:<2} {:<11} {rule}",
                hop.switch,
                hop.input,
                hop.tag,
                class(hop.priority),
                hop.out,
                hop.new_tag,
                class(hop.new_priority),
            ));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn example(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/examples").join(name)
    }

    fn ask(from: &str, to: &str, tag: Option<u8>) -> Result<NetworkTrace, String> {
        let (file, rules) = (example("knot/network.toml"), example("knot/plain"));
        let question = NetworkQuestion { file: &file, rules: &rules, from, to, tag };
        trace(&question).map_err(|error| error.to_string())
    }

    #[test]
    fn each_hop_has_its_ports_tags_and_priorities() {
        let found = ask("HA", "HC", None).unwrap();
        assert_eq!((found.tag, found.paths_total), (1, 1));
        let hops = found.paths[0].iter().map(|hop| {
            let (from, to) = ((hop.tag, hop.priority), (hop.new_tag, hop.new_priority));
            (hop.switch.as_str(), hop.input, hop.out, from, to)
        });
        let stays = ((1, Some(1)), (1, Some(1)));
        let expected = [("A", 1, 2), ("B", 3, 2), ("C", 3, 1)]
            .map(|(switch, input, out)| (switch, input, out, stays.0, stays.1));
        assert_eq!(hops.collect::<Vec<_>>(), expected);
        assert!(text(&found).starts_with("HA to HC, tag 1: 1 expected paths\npath 1: HA\n  A "));
        let lossy = ask("HA", "HC", Some(0)).unwrap();
        assert!(lossy.paths[0].iter().all(|hop| hop.entry.is_none() && hop.new_tag == 0));
    }

    #[test]
    fn what_is_no_host_and_no_path_is_refused() {
        let error = ask("HA", "A:1", None).unwrap_err();
        assert!(error.ends_with("`A:1` is no host of this network"), "{error}");
        let error = ask("HA", "HB", None).unwrap_err();
        assert!(error.contains("no expected path leads from HA to HB"), "{error}");
        let error = ask("HA", "HC", Some(64)).unwrap_err();
        assert!(error.ends_with("tag 64 is not 0 to 63"), "{error}");
    }
}

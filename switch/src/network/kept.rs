//! `knotless compile --keep`: which switches keep their rules, and why others do not.

use super::{InputError, grouped};
use fabric::Network;
use fabric::RuleSet;
use fabric::compile::{Change, CompileError, Compiled, Options, Reason, compile_keeping};
use fabric::paths::PathSet;
use fabric::verify::show_path;
use serde_json::json;
use std::path::Path;

/// Changes that a terminal shows.
const SHOWN_MAX: usize = 20;

/// What became of the old rules.
pub(super) struct Kept {
    /// Switches that had rules.
    old: usize,
    /// Switches that had none.
    pub(super) new: usize,
    changes: Vec<Change>,
    is_tried: bool,
}

/// The rules in `directory`, by switch.
pub(super) fn read(
    network: &Network,
    directory: &Path,
) -> Result<Vec<Option<RuleSet>>, InputError> {
    super::check_rules_directory(directory)?;
    Ok(config::rule_file::load_known(network, directory)?)
}

/// Compiles, and says what became of the rules `old`.
pub(super) fn compile(
    network: &Network,
    paths: &PathSet,
    options: &Options,
    old: Vec<Option<RuleSet>>,
    tell: &dyn Fn(&str),
) -> Result<(Compiled, Kept), CompileError> {
    let known = old.iter().flatten().count();
    let new = old.len() - known;
    let grown = compile_keeping(network, paths, options, old, tell)?;
    let kept = Kept { old: known, new, changes: grown.changes, is_tried: grown.is_tried };
    Ok((grown.compiled, kept))
}

impl Kept {
    /// Switches whose rules are the old ones.
    pub(super) fn unchanged(&self) -> usize {
        self.old - self.changes.len()
    }

    /// How many change, and whether fewer could do.
    pub(super) fn changed_text(&self) -> String {
        let changed = grouped(self.changes.len() as u64);
        if self.is_tried || self.changes.is_empty() {
            changed
        } else {
            format!("{changed} or fewer")
        }
    }

    /// A line for each change.
    pub(super) fn lines(&self, network: &Network) -> Vec<String> {
        let mut lines: Vec<String> = self
            .changes
            .iter()
            .take(SHOWN_MAX)
            .map(|change| {
                let name = network.switch_name(change.switch);
                format!("rules of {name} change: {}", why(network, change))
            })
            .collect();
        if let Some(more @ 1..) = self.changes.len().checked_sub(SHOWN_MAX) {
            lines.push(format!("and those of {} more switches", grouped(more as u64)));
        }
        lines
    }

    /// The same as JSON.
    pub(super) fn json(&self, network: &Network) -> serde_json::Value {
        let change = |change: &Change| {
            json!({
                "switch": network.switch_name(change.switch),
                "why": why(network, change),
            })
        };
        json!({
            "unchanged": self.unchanged(),
            "new": self.new,
            "changed": self.changes.iter().map(change).collect::<Vec<_>>(),
            "open": !self.is_tried && !self.changes.is_empty(),
        })
    }
}

/// What goes wrong if the switch keeps its rules.
fn why(network: &Network, change: &Change) -> String {
    match &change.reason {
        Reason::Ports { before } => {
            format!("it had {before} ports and has {} now", network.ports(change.switch))
        }
        Reason::Tags => "the network has other tags or priorities now".to_owned(),
        Reason::Cycle(inputs) => {
            let ports: Vec<String> = inputs.iter().map(|&input| network.show(input)).collect();
            format!("with the old ones buffers wait for each other: {}", ports.join(", "))
        }
        Reason::Lossy(turns) => {
            format!("with the old ones {} is lossy", show_path(network, turns))
        }
        Reason::Untried => "not tried, because the time of --budget was over".to_owned(),
    }
}

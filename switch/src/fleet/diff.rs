//! `fleet diff`: what differs between two revisions.

use super::access::AccessArgs;
use super::{Answer, Failure};
use clap::Args;
use fleet::manifest::Manifest;
use serde_json::json;
use std::collections::BTreeSet;

/// `knotless fleet diff`
#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    /// A revision [default: the one that runs]
    old: Option<u64>,
    /// Another one [default: the newest]
    new: Option<u64>,
    /// Show the entries that differ, too
    #[arg(long)]
    entries: bool,
}

pub(super) async fn run(access: &AccessArgs, arguments: &DiffArgs) -> Result<Answer, Failure> {
    let mut store = access.store().await?;
    let head = store.head().await?.value;
    let old = arguments.old.or(head.running);
    let new = arguments.new.unwrap_or(head.latest);
    let empty = Manifest::default();
    let one = match old {
        Some(old) => store.manifest(old).await?,
        None => empty,
    };
    let other = store.manifest(new).await?;
    let before = one.by_name();
    let changed: Vec<(&str, Option<&str>, &str)> = other
        .switches
        .iter()
        .map(|(name, hash)| (name.as_str(), before.get(name.as_str()).copied(), hash.as_str()))
        .filter(|(_, old, new)| *old != Some(*new))
        .collect();
    let hashes: BTreeSet<&str> =
        changed.iter().flat_map(|(_, old, new)| old.iter().copied().chain([*new])).collect();
    let texts = store.rules(&hashes.into_iter().collect::<Vec<_>>()).await?;
    let from = old.map_or_else(|| "nothing".to_owned(), |old| format!("revision {old}"));
    let mut lines = vec![format!(
        "{from} -> revision {new}: {} of {} switches",
        changed.len(),
        other.switches.len()
    )];
    let mut rows = Vec::new();
    for (name, old, new) in changed {
        let entries = |hash: Option<&str>| -> Vec<&str> {
            let text = hash.and_then(|hash| texts.get(hash)).map_or("", String::as_str);
            text.lines().map(|line| line.trim().trim_end_matches(',')).collect()
        };
        let (old_lines, new_lines) = (entries(old), entries(Some(new)));
        let only = |these: &[&str], those: &[&str]| -> Vec<String> {
            let those: BTreeSet<&&str> = those.iter().collect();
            these.iter().filter(|line| !those.contains(line)).map(ToString::to_string).collect()
        };
        let (gone, added) = (only(&old_lines, &new_lines), only(&new_lines, &old_lines));
        lines.push(format!("{name}: {} lines gone, {} new", gone.len(), added.len()));
        if arguments.entries {
            lines.extend(gone.iter().map(|line| format!("  - {line}")));
            lines.extend(added.iter().map(|line| format!("  + {line}")));
        }
        rows.push(json!({ "switch": name, "old": old, "new": new, "gone": gone, "added": added }));
    }
    Ok(Answer::of(lines.join("\n"), json!({ "old": old, "new": new, "switches": rows })))
}

//! `knotless check`: validates a configuration file as the command that uses it does, and prints a
//! summary.

mod campaign_file;
mod classes;
mod network_file;
mod scenario_file;
mod switch_file;

use crate::output;
use clap::Args;
use config::rule_file;
use config::{CampaignConfig, ConfigError, FileKind, NetworkConfig, ScenarioConfig, SwitchConfig};
use fabric::RuleSet;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `knotless check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// SWITCH.toml, NETWORK.toml, SCENARIO.toml, CAMPAIGN.toml, or a rule file
    file: PathBuf,
    /// Exit 1 if there is a warning, or a port is not lossless for senders that obey PFC
    #[arg(long)]
    strict: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The summary of a valid file.
struct Summary {
    text: String,
    json: Value,
    warnings: Vec<ConfigError>,
    /// Whether a port with lossless priorities cannot keep what it promises.
    breaks_promise: bool,
}

/// Checks a file. Exit 2: it is wrong. Exit 1, with `--strict`: it is right, but not lossless, or
/// has a warning.
pub fn run(arguments: &CheckArgs) -> ExitCode {
    match check(&arguments.file) {
        Ok(summary) => {
            output::warnings(&summary.warnings);
            if arguments.json {
                output::print(&summary.json);
            } else {
                output::print(&summary.text);
            }
            let falls_short = summary.breaks_promise || !summary.warnings.is_empty();
            ExitCode::from(u8::from(arguments.strict && falls_short))
        }
        Err(error) => {
            if arguments.json {
                output::print(json!({ "ok": false, "error": error.to_string() }));
            }
            output::error(error);
            ExitCode::from(2)
        }
    }
}

/// The kind of the file is determined by its content.
fn check(file: &Path) -> Result<Summary, ConfigError> {
    let text = config::read_text(file)?;
    if is_json(&text) {
        return rule_file::parse(file, &text).map(|rules| rule_file(&rules));
    }
    match FileKind::of(&text) {
        Some(FileKind::Campaign) => {
            CampaignConfig::parse(file, &text).and_then(|config| campaign_file::summary(&config))
        }
        Some(FileKind::Scenario) => {
            ScenarioConfig::parse(file, &text).map(|config| scenario_file::summary(&config))
        }
        Some(FileKind::Network) => {
            NetworkConfig::parse(file, &text).map(|config| network_file::summary(&config))
        }
        Some(FileKind::Switch) | None => {
            SwitchConfig::parse(file, &text).map(|config| switch_file::summary(&config))
        }
    }
}

/// Whether a file is JSON rather than TOML: its first character says so.
fn is_json(text: &str) -> bool {
    text.trim_ascii_start().starts_with('{')
}

fn rule_file(rules: &RuleSet) -> Summary {
    let tags = rules.priorities.iter();
    let tags: Vec<String> =
        tags.map(|(tag, priority)| format!("{tag} (priority {priority})")).collect();
    let text = format!(
        "rules of switch {}: {} ports, {} entries, lossless tags {}, lossy tag {}",
        rules.switch,
        rules.ports,
        rules.entries.len(),
        if tags.is_empty() { "none".to_owned() } else { tags.join(", ") },
        rules.lossy_tag
    );
    let json = json!({
        "ok": true,
        "kind": "rules",
        "switch": rules.switch,
        "ports": rules.ports,
        "entries": rules.entries.len(),
        "lossless_tags": rules.priorities.keys().map(|tag| tag.value()).collect::<Vec<_>>(),
    });
    Summary { text, json, warnings: Vec::new(), breaks_promise: false }
}

//! `knotless verify`: whether the rules of a network, or the files of its switches, can deadlock.

use super::progress::Progress;
use super::verify_files::FilesVerdict;
use super::{InputError, grouped};
use crate::output;
use clap::Args;
use config::NetworkConfig;
use config::network::forwarding::FileForwarding;
use dataplane::ids::Tag;
use fabric::Network;
use fabric::verify::{ClassVerdict, Hop, NetworkRules, Verdict, dot, dot_paths, show_path};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// `knotless verify`
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// NETWORK.toml
    file: PathBuf,
    /// Directory of the rules: DIR/SWITCH.json for each switch; otherwise the files of the switches
    /// are followed, which NETWORK.toml names
    #[arg(long, value_name = "DIR")]
    rules: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Write a Graphviz file: the cycle, or, if there is none, the buffers of the expected paths
    #[arg(long, value_name = "FILE", requires = "rules")]
    dot: Option<PathBuf>,
}

/// Verifies. Exit 1: the rules can deadlock; 2: the input is wrong.
pub fn run(arguments: &VerifyArgs) -> ExitCode {
    let found = match &arguments.rules {
        Some(rules) => verify(arguments, rules).map(|(network, verdict)| {
            if arguments.json {
                output::print(as_json(&network, &verdict));
            } else {
                output::print(as_text(&network, &verdict));
            }
            verdict.is_deadlock_free()
        }),
        None => verify_files(&arguments.file).map(|verdict| {
            if arguments.json {
                output::print(verdict.as_json());
            } else {
                output::print(verdict.as_text());
            }
            verdict.is_deadlock_free()
        }),
    };
    match found {
        Ok(is_deadlock_free) => ExitCode::from(u8::from(!is_deadlock_free)),
        Err(error) => {
            output::error(error);
            ExitCode::from(2)
        }
    }
}

/// Follows frames through the files of the switches.
fn verify_files(file: &Path) -> Result<FilesVerdict, InputError> {
    let progress = Progress::new();
    progress.set_message("reading the network and the files of its switches");
    let config = NetworkConfig::load(file)?;
    let forwarding = FileForwarding::new(&config).map_err(|error| InputError::at(file, error))?;
    let Some(forwarding) = forwarding else {
        let message = "its switches have no `config` to follow; name the directory of their rules \
                       with --rules";
        return Err(InputError::at(file, message));
    };
    progress.set_message("following every frame");
    Ok(FilesVerdict::new(config.network, forwarding))
}

fn verify(arguments: &VerifyArgs, rules: &Path) -> Result<(Network, Verdict), InputError> {
    let progress = Progress::new();
    progress.set_message("reading the network and its paths");
    let (config, paths) = super::load(&arguments.file)?;
    progress.set_message("reading the rules");
    let book = read_rules(&config.network, rules)?;
    progress.set_message("looking for a cycle, and following every path");
    let verdict = fabric::verify::verify(&config.network, &book, &paths);
    if let Some(file) = &arguments.dot {
        let drawn = if verdict.is_deadlock_free() {
            dot_paths(&config.network, &book, &paths)
        } else {
            dot(&config.network, &verdict.cycle)
        };
        super::write(file, drawn)?;
    }
    Ok((config.network, verdict))
}

/// The rules of every switch.
pub(crate) fn read_rules(network: &Network, directory: &Path) -> Result<NetworkRules, InputError> {
    super::check_rules_directory(directory)?;
    Ok(config::rule_file::load_all(network, directory)?)
}

fn as_json(network: &Network, verdict: &Verdict) -> serde_json::Value {
    let hop = |hop: &Hop| {
        json!({
            "switch": network.switch_name(network.owner(hop.input)),
            "in": network.port(hop.input).number(),
            "tag": hop.tag.value(),
        })
    };
    let mut value = json!({
        "deadlock_free": verdict.is_deadlock_free(),
        "cycle": verdict.cycle.iter().map(hop).collect::<Vec<_>>(),
        "paths": verdict.paths,
        "lossless_paths": verdict.lossless_paths,
    });
    if let Some(classes) = classes_json(verdict) {
        value["classes"] = classes;
    }
    value
}

/// The paths of each application class; `None` if there is one class.
pub(super) fn classes_json(verdict: &Verdict) -> Option<serde_json::Value> {
    let class = |class: &ClassVerdict| {
        json!({
            "initial_tag": class.initial_tag.map(Tag::value),
            "paths": class.paths,
            "lossless_paths": class.lossless_paths,
        })
    };
    (verdict.classes.len() > 1).then(|| verdict.classes.iter().map(class).collect())
}

/// A line for each application class; none if there is one class.
pub(super) fn class_lines(verdict: &Verdict) -> Vec<String> {
    if verdict.classes.len() < 2 {
        return Vec::new();
    }
    let line = |(number, class): (usize, &ClassVerdict)| {
        let start = class.initial_tag.map_or_else(|| "no tag".to_owned(), |tag| tag.to_string());
        format!(
            "class {number}, initial tag {start}: expected paths: {}, lossless: {}",
            grouped(class.paths),
            grouped(class.lossless_paths)
        )
    };
    (1..).zip(&verdict.classes).map(line).collect()
}

fn as_text(network: &Network, verdict: &Verdict) -> String {
    let mut lines = Vec::new();
    if verdict.is_deadlock_free() {
        lines.push("deadlock-free: the buffer dependency graph has no cycle".to_owned());
    } else {
        let hops = verdict.cycle.len();
        lines.push(format!("NOT deadlock-free: {hops} buffers form a dependency cycle"));
        for (hop, next) in verdict.cycle.iter().zip(verdict.cycle.iter().cycle().skip(1)) {
            lines.push(format!(
                "  {} tag {}  waits, going out by port {} with tag {}, for  {}",
                network.show(hop.input),
                hop.tag,
                network.port(hop.output),
                hop.new_tag,
                network.show(next.input),
            ));
        }
    }
    lines.push(format!(
        "expected paths: {}, lossless: {}",
        grouped(verdict.paths),
        grouped(verdict.lossless_paths)
    ));
    lines.extend(class_lines(verdict));
    lines.extend(lossy_lines(network, verdict));
    lines.join("\n")
}

/// The expected paths that are not lossless: some by name, the others by number.
pub(super) fn lossy_lines(network: &Network, verdict: &Verdict) -> Vec<String> {
    let mut lines: Vec<String> = verdict
        .lossy
        .iter()
        .map(|path| {
            let (input, output) = path.turns[path.lost_at];
            let class = match verdict.classes.len() {
                0 | 1 => String::new(),
                _ => format!(" in class {}", path.class + 1),
            };
            format!(
                "not lossless{class}: {}  (lost in {} from port {} to port {})",
                show_path(network, &path.turns),
                network.switch_name(network.owner(input)),
                network.port(input),
                network.port(output),
            )
        })
        .collect();
    let more = verdict.paths - verdict.lossless_paths;
    if more > lines.len() as u64 && !lines.is_empty() {
        lines.push(format!("... and {} more", grouped(more - lines.len() as u64)));
    }
    lines
}

//! Every scenario under every scheme that it says something about.

use comfy_table::{Table, presets};
use config::ScenarioConfig;
use config::scenario::SchemeKind;
use netsim::outcome::Outcome;
use netsim::scenario::{Options, judge, run};
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// One run.
#[derive(Debug)]
pub(crate) struct Run {
    /// The scenario's name.
    pub(crate) name: String,
    /// The scheme's.
    pub(crate) scheme: &'static str,
    /// What the paper says.
    pub(crate) paper: &'static str,
    /// What came out.
    pub(crate) outcome: Outcome,
    /// What came out otherwise than expected.
    pub(crate) surprises: Vec<String>,
}

/// What the papers say, by scenario and scheme.
const PAPERS: [(&str, &str, &str); 18] = [
    ("classes", "pfc", "a priority for each class"),
    ("classes", "tagger", "notifications are not held up by data"),
    ("gentle-figure-5", "pfc", "the queue swings around 77 to 80 KB, the rate between 0 and full"),
    ("gentle-figure-5", "gfc", "the queue settles at 75 KB, the rate at half"),
    ("ring", "pfc", "deadlock at 65 us (ns-3)"),
    ("ring-dynamic", "pfc", "deadlock at 180 us (ns-3)"),
    ("tagger-bounce", "pfc", "both flows fall to 0"),
    ("tagger-bounce", "tagger", "no deadlock, no flow paused"),
    ("tagger-loop", "pfc", "F2 is paused for ever"),
    ("tagger-loop", "tagger", "F2 keeps flowing, slower"),
    ("tagger-shuffle", "pfc", "all eight flows fall to 0"),
    ("tagger-shuffle", "tagger", "none is affected"),
    ("levels-two", "pfc", "deadlock"),
    ("levels-three", "pfc", "deadlock"),
    ("reconfiguration-tree-bad", "pfc", "exposed to deadlock"),
    ("reconfiguration-tree-good", "pfc", "free of deadlock"),
    ("reconfiguration-mesh-bad", "pfc", "exposed to deadlock"),
    ("reconfiguration-mesh-good", "pfc", "free of deadlock"),
];

/// The scenarios, by name.
fn files() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../netsim/scenarios");
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let is_toml = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let mut files: Vec<PathBuf> =
        entries.into_iter().map(|entry| entry.path()).filter(is_toml).collect();
    files.sort();
    Ok(files)
}

/// Runs them all, and writes a page for each run to `folder`.
///
/// # Errors
/// A scenario is wrong, or a page cannot be written.
pub(crate) fn all(folder: &Path) -> Result<Vec<Run>, Box<dyn Error>> {
    let mut runs = Vec::new();
    for file in files()? {
        let config = ScenarioConfig::load(&file)?;
        for (&scheme, expected) in &config.expectations {
            eprintln!("  {} {}", config.name, scheme.name());
            let outcome = run(&config, Options { scheme: Some(scheme), ..Options::default() })?;
            let mut surprises = judge(&outcome, expected);
            surprises.extend(outcome.violations.iter().cloned());
            let page = folder.join(format!("{}-{}.html", config.name, scheme.name()));
            fs::write(page, netsim::report::page(&outcome))?;
            runs.push(Run {
                paper: paper(&config.name, scheme),
                name: config.name.clone(),
                scheme: scheme.name(),
                outcome,
                surprises,
            });
        }
    }
    Ok(runs)
}

fn paper(name: &str, scheme: SchemeKind) -> &'static str {
    let of = |row: &&(&str, &str, &str)| (row.0, row.1) == (name, scheme.name());
    PAPERS.iter().find(of).map_or("", |row| row.2)
}

impl Run {
    /// What came out, in a few words.
    pub(crate) fn verdict(&self) -> String {
        match (&self.outcome.deadlock, self.outcome.drained_ps) {
            (Some(deadlock), _) => {
                let switches = deadlock.cycle.iter().map(|hop| hop.switch.as_str());
                let cycle = switches.collect::<Vec<_>>().join(" > ");
                format!("deadlock at {:.1} us: {cycle}", deadlock.closed_ps as f64 / 1e6)
            }
            (None, Some(_)) => "flows and drains".to_owned(),
            (None, None) => "no deadlock, frames stay".to_owned(),
        }
    }

    /// The least and the most that a flow carried in the last quarter of the time.
    pub(crate) fn late_gbps(&self) -> (f64, f64) {
        let quarter_ps = self.outcome.duration_ps as f64 / 4.0;
        let rates =
            self.outcome.flows.iter().map(|flow| flow.late_bytes as f64 * 8_000.0 / quarter_ps);
        rates.fold((f64::INFINITY, 0.0), |(least, most), rate| (rate.min(least), rate.max(most)))
    }

    /// The figures.
    pub(crate) fn json(&self) -> Value {
        let (least, most) = self.late_gbps();
        json!({
            "scenario": self.name,
            "scheme": self.scheme,
            "paper": self.paper,
            "deadlock_us": self.outcome.deadlock.as_ref().map(|d| d.closed_ps as f64 / 1e6),
            "drained": self.outcome.drained_ps.is_some(),
            "lossless_drops": self.outcome.lossless_drops,
            "late_gbps": [least, most],
            "trace_hash": self.outcome.trace_hash,
            "unexpected": self.surprises,
        })
    }
}

/// All runs as a table.
pub(crate) fn table(runs: &[Run]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "scenario",
        "scheme",
        "the paper",
        "here",
        "flows at the end, Gb/s",
        "lossless drops",
        "as expected",
    ]);
    for run in runs {
        let (least, most) = run.late_gbps();
        table.add_row([
            run.name.clone(),
            run.scheme.to_owned(),
            run.paper.to_owned(),
            run.verdict(),
            format!("{least:.1} to {most:.1}"),
            run.outcome.lossless_drops.to_string(),
            if run.surprises.is_empty() { "yes".to_owned() } else { run.surprises.join("; ") },
        ]);
    }
    table.to_string()
}

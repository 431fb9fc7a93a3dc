//! The comparison: the same failures under every scheme, beside each other.

use netsim::scenario::{COMPARED, Comparison, compare};
use std::error::Error;
use std::path::Path;

/// A scenario and what each scheme made of it.
pub(crate) struct Compared {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) schemes: Vec<Comparison>,
}

impl Compared {
    /// As JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({ "scenario": self.name, "schemes": self.schemes })
    }
}

/// Runs the files of `netsim/scenarios/compare/`.
pub(crate) fn all() -> Result<Vec<Compared>, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../netsim/scenarios/compare");
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    files.sort();
    let one = |file: &std::path::PathBuf| {
        let config = config::ScenarioConfig::load(file)?;
        let schemes = compare(&config, &COMPARED, &|_| {})?;
        Ok(Compared { name: config.name, about: config.about, schemes })
    };
    files.iter().map(one).collect()
}

/// Each scheme's row: what a reader compares first.
pub(crate) const HEADINGS: [&str; 8] = [
    "scheme",
    "deadlock",
    "goodput, Gb/s",
    "lossless frames lost",
    "paused, ms",
    "99 % complete in, ms",
    "priorities",
    "reserved, KB",
];

/// The row of one scheme.
pub(crate) fn row(scheme: &Comparison) -> [String; 8] {
    if let Some(why) = &scheme.refused {
        let mut row = [const { String::new() }; 8];
        (row[0], row[1]) = (scheme.scheme.to_owned(), format!("cannot hold: {why}"));
        return row;
    }
    let hundredths = |value: u64, unit: u64| format!("{:.2}", value as f64 / unit as f64);
    let deadlock = scheme.deadlock_ps.map(|ps| format!("after {:.2} ms", ps as f64 / 1e9));
    let completion = scheme.p99_completion_ps.map(|ps| format!("{:.1}", ps as f64 / 1e9));
    [
        scheme.scheme.to_owned(),
        deadlock.unwrap_or_else(|| "none".to_owned()),
        hundredths(scheme.goodput_bps, 1_000_000_000),
        scheme.lossless_lost_frames.to_string(),
        hundredths(scheme.paused_ps, 1_000_000_000),
        completion.unwrap_or_else(|| "never".to_owned()),
        scheme.priorities.to_string(),
        (scheme.reserved_bytes / 1_000).to_string(),
    ]
}

/// A table for each scenario.
pub(crate) fn tables(compared: &[Compared]) -> String {
    let one = |scenario: &Compared| {
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING).set_header(HEADINGS);
        table.add_rows(scenario.schemes.iter().map(row));
        format!("{}: {}\n{table}\n", scenario.name, scenario.about)
    };
    compared.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// Whether those that prevent deadlock did, and lost nothing.
pub(crate) fn holds(compared: &[Compared]) -> bool {
    let prevents = |scheme: &&Comparison| ["tagger", "ttl"].contains(&scheme.scheme);
    let kept = |scheme: &Comparison| {
        scheme.deadlock_ps.is_none() && scheme.drained && scheme.lossless_lost_frames == 0
    };
    compared.iter().flat_map(|scenario| scenario.schemes.iter().filter(prevents)).all(kept)
}

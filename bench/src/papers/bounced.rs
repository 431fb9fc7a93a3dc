//! Tagger, Fig. 14: how often flows bounce in fat-trees whose links fail.

use comfy_table::{Table, presets};
use config::NetworkConfig;
use netsim::scenario::{Bounces, bounces};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;

/// Flows a point, as in the Tagger paper.
const FLOWS: u64 = 1_000_000;
/// Ports of a switch.
const SIZES: [usize; 4] = [8, 16, 32, 64];
/// Links that fail, in a hundred.
const FAILED: [u32; 5] = [1, 2, 5, 10, 20];

/// A point of the figure.
#[derive(Debug)]
pub(crate) struct Bounced {
    /// Ports of a switch.
    pub(crate) k: usize,
    /// Links that failed, in a hundred.
    pub(crate) failed: u32,
    /// What became of the flows.
    pub(crate) bounces: Bounces,
}

/// All points.
///
/// # Errors
/// A network cannot be had.
pub(crate) fn all() -> Result<Vec<Bounced>, Box<dyn Error>> {
    let mut all = Vec::new();
    for k in SIZES {
        let text = format!("[generate]\nkind = 'fat-tree'\nk = {k}\n");
        let network = NetworkConfig::parse(Path::new("fat-tree.toml"), &text)?.network;
        for failed in FAILED {
            eprintln!("  k = {k}, {failed} % of links");
            let bounces = bounces(&network, failed * 10_000, FLOWS, 1)?;
            all.push(Bounced { k, failed, bounces });
        }
    }
    Ok(all)
}

impl Bounced {
    /// Once, twice and more often, in a hundred.
    pub(crate) fn percent(&self) -> [f64; 3] {
        let Bounces { once, twice, more, .. } = self.bounces;
        [once, twice, more].map(|count| count as f64 * 100.0 / FLOWS as f64)
    }

    /// The figures.
    pub(crate) fn json(&self) -> Value {
        let [once, twice, more] = self.percent();
        json!({
            "k": self.k,
            "failed_percent": self.failed,
            "once_percent": once,
            "twice_percent": twice,
            "more_percent": more,
            "stranded_flows": self.bounces.stranded,
        })
    }
}

/// All points as a table: once / twice / more.
pub(crate) fn table(all: &[Bounced]) -> String {
    let mut table = Table::new();
    let headings = FAILED.map(|failed| format!("{failed} % of links"));
    table.load_style(presets::NOTHING);
    table.set_header(std::iter::once(String::new()).chain(headings));
    for row in all.chunks(FAILED.len()) {
        let cells = row.iter().map(|point| {
            let [once, twice, more] = point.percent();
            format!("{once:.2} / {twice:.2} / {more:.3}")
        });
        table.add_row(std::iter::once(format!("k = {}", row[0].k)).chain(cells));
    }
    table.to_string()
}

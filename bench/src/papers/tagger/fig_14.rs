//! Tagger, Fig. 14: how often flows bounce in fat-trees whose links fail.

use super::PAPER;
use crate::plot::{Line, Plot};
use crate::row::{Row, Verdict};
use config::NetworkConfig;
use netsim::scenario::{Bounces, bounces};
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
}

/// The row: a point for each size and share of failed links.
pub(super) fn row() -> Result<Row, Box<dyn Error>> {
    let all = all()?;
    let titles = ["once", "twice", "more than twice"];
    let plot = |(which, title): (usize, &str)| {
        let line = |points: &[Bounced]| Line {
            name: format!("k = {}", points[0].k),
            points: points.iter().map(|at| (f64::from(at.failed), at.percent()[which])).collect(),
        };
        Plot {
            title: format!("{title}, % of flows"),
            x_label: "% of links".to_owned(),
            is_logarithmic: false,
            lines: all.chunks(FAILED.len()).map(line).collect(),
        }
    };
    let worst = all.chunks(FAILED.len()).filter_map(|points| points.last()).map(Bounced::percent);
    let once: Vec<String> = worst.map(|[once, ..]| format!("{once:.1}")).collect();
    let rises = all
        .chunks(FAILED.len())
        .all(|points| points.is_sorted_by(|one, next| one.bounces.once < next.bounces.once));
    let verdict = Verdict::holds_if(rises, "more failures do not give more bounces");
    let ours = format!("{} % once (k = 8, 16, 32, 64, 20 % of links)", once.join(", "));
    let paper = "16 % once, 3 % more than once (k = 8, 20 % of links)";
    let plots = titles.into_iter().enumerate().map(plot).collect();
    Ok(Row { plots, ..Row::new(PAPER, "Fig. 14: bounced flows", paper, ours, verdict) })
}

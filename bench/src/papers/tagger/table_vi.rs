//! Tagger, Table VI: what RoCE loses without PFC, with one lossless priority, with two.

use super::PAPER;
use crate::row::{Row, Verdict};
use config::ScenarioConfig;
use config::scenario::SchemeKind;
use netsim::scenario::{Options, run};
use std::error::Error;
use std::path::Path;

/// A cell of the table.
#[derive(Debug)]
pub(crate) struct Loss {
    /// So many send to one.
    pub(crate) senders: u32,
    /// The paper's share.
    pub(crate) paper: f64,
    /// Frames sent.
    pub(crate) sent: u64,
    /// Frames lost for want of room, lossy and lossless.
    pub(crate) lost: u64,
}

const SHARES: [(u32, [f64; 3]); 3] =
    [(8, [1.25e-2, 0.0, 0.0]), (16, [6.6e-2, 6.87e-7, 0.0]), (24, [1.27e-1, 1.61e-6, 0.0])];

/// All cells.
///
/// # Errors
/// A scenario is wrong.
pub(crate) fn all() -> Result<Vec<Loss>, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../netsim/scenarios");
    let mut losses = Vec::new();
    for (senders, shares) in SHARES {
        let mut config =
            ScenarioConfig::load(&folder.join(format!("failures-{senders}-to-1.toml")))?;
        for (priorities, paper) in (0..).zip(shares) {
            eprintln!("  {senders}-to-1, {priorities} lossless priorities");
            config.scheme.priorities_max = priorities.max(1);
            let scheme = if priorities == 0 { SchemeKind::Lossy } else { SchemeKind::Tagger };
            let outcome = run(&config, Options { scheme: Some(scheme), ..Options::default() })?;
            let sent = outcome.flows.iter().map(|flow| flow.sent_frames).sum();
            let lost = outcome.lossy_drops + outcome.headroom_overruns;
            losses.push(Loss { senders, paper, sent, lost });
        }
    }
    Ok(losses)
}

/// Whether each more priority loses less, and two lose nothing.
pub(crate) fn holds(losses: &[Loss]) -> bool {
    losses.chunks(3).all(|row| {
        row.is_sorted_by(|one, other| one.share() > other.share() || other.lost == 0)
            && row.last().is_some_and(|two| two.lost == 0)
    })
}

impl Loss {
    /// Lost of sent.
    pub(crate) fn share(&self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }
}

/// The row: all cells.
pub(super) fn row() -> Result<Row, Box<dyn Error>> {
    let losses = all()?;
    let line = |row: &[Loss], value: fn(&Loss) -> f64| {
        let cells: Vec<String> = row.iter().map(|loss| format!("{:.2e}", value(loss))).collect();
        format!("{}-to-1: {}", row[0].senders, cells.join(", "))
    };
    let lines = |value: fn(&Loss) -> f64| {
        losses.chunks(3).map(|row| line(row, value)).collect::<Vec<_>>().join("; ")
    };
    let verdict = Verdict::holds_if(holds(&losses), "a further priority does not lose less");
    let item = "Table VI: loss without PFC, with 1, with 2 lossless priorities";
    Ok(Row::new(PAPER, item, lines(|loss| loss.paper), lines(Loss::share), verdict))
}

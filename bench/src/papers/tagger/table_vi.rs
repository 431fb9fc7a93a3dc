//! Table VI: what RoCE loses without PFC, with one lossless priority, with two.
//!
//! Hosts have no congestion control, so they send at line rate into a fabric that lost a fifth of
//! its links, and lose far more than those of the Tagger paper. What must hold is the order: over
//! the seeds a further lossless priority loses less, and frames are lost by lossy queues only. One
//! seed says nothing of it: what is lossless longer fills queues that other frames are lost at.

use super::PAPER;
use crate::row::{Row, Verdict};
use bench::stats::{Interval, SEEDS_MIN};
use config::ScenarioConfig;
use config::scenario::SchemeKind;
use netsim::scenario::{Options, run};
use rayon::prelude::*;
use std::error::Error;
use std::path::Path;

/// Senders, and the paper's shares of lost frames: without PFC, with one, with two lossless
/// priorities.
const SHARES: [(u32, [f64; 3]); 3] =
    [(8, [1.25e-2, 0.0, 0.0]), (16, [6.6e-2, 6.87e-7, 0.0]), (24, [1.27e-1, 1.61e-6, 0.0])];

/// What one run lost.
#[derive(Clone, Copy, Debug)]
struct Loss {
    /// Lost of sent.
    share: f64,
    /// Lossless frames that found no headroom.
    overruns: u64,
}

/// The runs of so many senders: of each seed, without PFC, with one, with two priorities.
struct Line {
    senders: u32,
    seeds: Vec<[Loss; 3]>,
}

impl Line {
    fn measure(senders: u32) -> Result<Self, Box<dyn Error>> {
        eprintln!("  Table VI: {senders}-to-1, {SEEDS_MIN} seeds");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../netsim/scenarios");
        let config = ScenarioConfig::load(&folder.join(format!("failures-{senders}-to-1.toml")))?;
        let seeds: Vec<u64> = (1..).take(SEEDS_MIN).collect();
        let of = |&seed| [0, 1, 2].map(|priorities| lose(&config, priorities, seed));
        let runs: Vec<[Result<Loss, String>; 3]> = seeds.par_iter().map(of).collect();
        let seeds = runs.into_iter().map(|[none, one, two]| Ok([none?, one?, two?]));
        Ok(Self { senders, seeds: seeds.collect::<Result<_, String>>()? })
    }

    /// Whether a further priority loses less: 95 % of the mean of the differences, seed by seed,
    /// lie above 0; and no lossless frame was lost.
    fn holds(&self) -> bool {
        let is_less = |more: usize| {
            let differences = self.seeds.iter().map(|it| it[more - 1].share - it[more].share);
            let differences: Vec<f64> = differences.collect();
            Interval::of(&differences).is_some_and(|interval| interval.low() > 0.0)
        };
        let overruns: u64 = self.seeds.iter().flatten().map(|loss| loss.overruns).sum();
        overruns == 0 && is_less(1) && is_less(2)
    }

    /// Of so many lossless priorities.
    fn interval(&self, priorities: usize) -> Option<Interval> {
        let shares: Vec<f64> = self.seeds.iter().map(|seed| seed[priorities].share).collect();
        Interval::of(&shares)
    }

    fn text(&self) -> String {
        let share = |priorities| {
            let interval = self.interval(priorities);
            interval.map_or_else(String::new, |it| format!("{:.1e} to {:.1e}", it.low(), it.high()))
        };
        let clean = self.seeds.iter().filter(|[_, _, two]| two.share == 0.0).count();
        let [none, one, two] = [share(0), share(1), share(2)];
        format!("{}-to-1: {none}; {one}; {two} ({clean} seeds lose nothing)", self.senders)
    }
}

fn lose(config: &ScenarioConfig, priorities: u8, seed: u64) -> Result<Loss, String> {
    let mut config = config.clone();
    config.scheme.priorities_max = priorities.max(1);
    let scheme = if priorities == 0 { SchemeKind::Lossy } else { SchemeKind::Tagger };
    let options = Options { scheme: Some(scheme), seed: Some(seed), ..Options::default() };
    let outcome = run(&config, options).map_err(|error| error.to_string())?;
    let sent: u64 = outcome.flows.iter().map(|flow| flow.sent_frames).sum();
    let lost = outcome.lossy_drops + outcome.headroom_overruns;
    let share = lost as f64 / sent.max(1) as f64;
    Ok(Loss { share, overruns: outcome.headroom_overruns })
}

/// The row: all cells.
pub(super) fn row() -> Result<Row, Box<dyn Error>> {
    let senders = SHARES.map(|(senders, _)| senders);
    let lines: Vec<Line> = senders.into_iter().map(Line::measure).collect::<Result<_, _>>()?;
    let paper = SHARES.map(|(senders, [none, one, two])| {
        format!("{senders}-to-1: {none:.1e}; {one:.1e}; {two:.0}")
    });
    let ours: Vec<String> = lines.iter().map(Line::text).collect();
    let interval = lines.last().and_then(|line| line.interval(2));
    let item = "Table VI: loss without PFC, with 1, with 2 lossless priorities";
    let row = Row::new(PAPER, item, paper.join(" | "), ours.join(" | "), verdict(&lines));
    Ok(Row { interval, ..row })
}

fn verdict(lines: &[Line]) -> Verdict {
    let order = lines.len() == SHARES.len() && lines.iter().all(Line::holds);
    if !order {
        let why = "a further lossless priority does not lose less, or a lossless frame is lost";
        return Verdict::Fails(why.to_owned());
    }
    let reason = "waits for congestion control at hosts; the order holds over the seeds";
    Verdict::NotDone(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds around these shares.
    fn line(shares: [f64; 3], overruns: u64) -> Line {
        let seed = |at: usize| {
            let moved = 1.0 + 0.02 * (at % 5) as f64;
            shares.map(|share| Loss { share: share * moved, overruns: 0 })
        };
        let mut seeds: Vec<[Loss; 3]> = (0..SEEDS_MIN).map(seed).collect();
        seeds[3][1].overruns = overruns;
        Line { senders: 8, seeds }
    }

    #[test]
    fn means_out_of_order_fail() {
        let of = |shares, overruns| verdict(&[(); 3].map(|()| line(shares, overruns)));
        assert!(!of([0.2, 0.1, 0.05], 0).is_failure());
        assert!(of([0.2, 0.1, 0.15], 0).is_failure());
        assert!(of([0.1, 0.1, 0.0], 0).is_failure());
        assert!(of([0.2, 0.1, 0.05], 1).is_failure(), "a lossless frame was lost");
        assert!(verdict(&[]).is_failure());
    }
}

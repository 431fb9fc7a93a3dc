//! How the deadlock of the ring with dynamic thresholds depends on alpha (Reconfiguration, 2.3).
//!
//! The manuscript does not state alpha. Each setting is run with 20 seeds, which move the start of
//! each flow by up to 10 us.

use crate::experiments::Experiments;
use crate::plot::{Line, Plot};
use crate::row::{Paper, Row, Verdict};
use bench::stats::{Interval, SEEDS_MIN};
use config::ScenarioConfig;
use config::scenario::SchemeKind;
use dataplane::settings::Threshold;
use netsim::scenario::{Options, run};
use random::Draw;
use rayon::prelude::*;
use std::error::Error;
use std::path::Path;

/// Exponents of alpha.
pub(crate) const ALPHAS: std::ops::RangeInclusive<i8> = -8..=1;
/// The ring's time in ns-3 with a dynamic threshold, in microseconds.
pub(crate) const PAPER_US: f64 = 180.0;
/// How long the ring runs: without a deadlock until then, there is none.
const RING_NS: u64 = 5_000_000;
/// Flows start within so long of their time.
const JITTER_NS: u64 = 10_000;

/// The ring at one alpha.
#[derive(Debug)]
pub(crate) struct AlphaPoint {
    /// Alpha is 2 to this.
    pub(crate) alpha_log2: i8,
    /// When the cycle closed, in microseconds: one for each seed that deadlocked.
    pub(crate) closed_us: Vec<f64>,
    /// Seeds.
    pub(crate) seeds: usize,
}

/// A scenario of the project.
pub(crate) fn load(name: &str) -> Result<ScenarioConfig, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../netsim/scenarios");
    Ok(ScenarioConfig::load(&folder.join(format!("{name}.toml")))?)
}

/// When a scheme deadlocks, in microseconds, with the flows' starts moved by `seed`.
pub(crate) fn closed_us(
    config: &ScenarioConfig,
    scheme: SchemeKind,
    seed: usize,
) -> Result<Option<f64>, String> {
    let mut config = config.clone();
    let mut rng = random::substream(seed as u64, 0);
    for flow in &mut config.flows {
        flow.pace.start_ns += rng.below(JITTER_NS);
    }
    let options = Options { scheme: Some(scheme), ..Options::default() };
    let outcome = run(&config, options).map_err(|error| error.to_string())?;
    Ok(outcome.deadlock.map(|deadlock| deadlock.closed_ps as f64 / 1e6))
}

/// The ring with every alpha.
///
/// # Errors
/// The scenario is wrong.
pub(crate) fn ring() -> Result<Vec<AlphaPoint>, Box<dyn Error>> {
    let mut config = load("ring-dynamic")?;
    config.duration_ns = RING_NS;
    let point = |alpha_log2| -> Result<AlphaPoint, String> {
        let mut config = config.clone();
        config.buffers.threshold = Threshold::dynamic(alpha_log2);
        let all: Result<Vec<_>, _> = (0..SEEDS_MIN)
            .into_par_iter()
            .map(|seed| closed_us(&config, SchemeKind::Pfc, seed))
            .collect();
        let closed_us = all?.into_iter().flatten().collect();
        Ok(AlphaPoint { alpha_log2, closed_us, seeds: SEEDS_MIN })
    };
    Ok(ALPHAS.map(point).collect::<Result<_, _>>()?)
}

impl AlphaPoint {
    /// The mean time of the deadlock, if every seed has one.
    pub(crate) fn interval(&self) -> Option<Interval> {
        let all = self.closed_us.len() == self.seeds;
        all.then(|| Interval::of(&self.closed_us)).flatten()
    }
}

/// The row, with its plot.
///
/// # Errors
/// A scenario is wrong.
pub(crate) fn rows(_experiments: &Experiments) -> Result<Vec<Row>, Box<dyn Error>> {
    Ok(vec![ring_row(&ring()?)])
}

fn ring_row(points: &[AlphaPoint]) -> Row {
    let text = |point: &AlphaPoint| match point.interval() {
        Some(interval) => format!("2^{}: {:.0} us", point.alpha_log2, interval.mean),
        None if point.closed_us.is_empty() => format!("2^{}: none in 5 ms", point.alpha_log2),
        None => format!("2^{}: {} of {}", point.alpha_log2, point.closed_us.len(), point.seeds),
    };
    let ours = points.iter().map(text).collect::<Vec<_>>().join(", ");
    let between = around_paper(points).map_or_else(String::new, |(low, high)| {
        format!("; the manuscript gives no alpha: its 180 us lie between 2^{low} and 2^{high}")
    });
    let reason = format!("the time follows from alpha; the scenario's 2^-5 is chosen{between}");
    let why = "the time does not rise with alpha around the manuscript's";
    let verdict = Verdict::differs_if(ring_holds(points), reason, why);
    let ours_line = points
        .iter()
        .filter_map(|point| Some((f64::from(point.alpha_log2), point.interval()?.mean)))
        .collect();
    let ends = [f64::from(*ALPHAS.start()), f64::from(*ALPHAS.end())];
    let plot = Plot {
        title: "ring, dynamic threshold: deadlock after, us".to_owned(),
        x_label: "log2 of alpha".to_owned(),
        is_logarithmic: false,
        lines: vec![
            Line { name: "mean of 20 seeds".to_owned(), points: ours_line },
            Line { name: "ns-3 (180 us)".to_owned(), points: ends.map(|x| (x, PAPER_US)).to_vec() },
        ],
    };
    let item = "Fig. 1, 2.3: dynamic threshold, alpha swept";
    let chosen = points.iter().find(|point| point.alpha_log2 == -5);
    Row {
        interval: chosen.and_then(AlphaPoint::interval),
        plots: vec![plot],
        ..Row::new(Paper::Reconfiguration, item, "deadlock at 180 us (ns-3)", ours, verdict)
    }
}

/// The two neighboring exponents between whose times the paper's lies.
pub(crate) fn around_paper(points: &[AlphaPoint]) -> Option<(i8, i8)> {
    let mean = |point: &AlphaPoint| point.interval().map(|interval| interval.mean);
    points.windows(2).find_map(|pair| {
        let (low, high) = (mean(&pair[0])?, mean(&pair[1])?);
        (low <= PAPER_US && PAPER_US < high).then_some((pair[0].alpha_log2, pair[1].alpha_log2))
    })
}

/// Whether every alpha deadlocks for every seed, later the larger it is; whether the paper's time
/// lies within the sweep, and within a factor of two of the scenario's alpha, 2^-5.
pub(crate) fn ring_holds(points: &[AlphaPoint]) -> bool {
    let means: Vec<f64> =
        points.iter().filter_map(|point| point.interval().map(|interval| interval.mean)).collect();
    let chosen = points.iter().find(|point| point.alpha_log2 == -5);
    let chosen = chosen.and_then(AlphaPoint::interval).map_or(0.0, |interval| interval.mean);
    means.len() == points.len()
        && means.is_sorted_by(|one, other| one < other)
        && around_paper(points).is_some()
        && (PAPER_US / 2.0..=PAPER_US * 2.0).contains(&chosen)
}

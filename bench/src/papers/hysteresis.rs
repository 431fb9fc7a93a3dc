//! How the deadlocks of the scenarios depend on the threshold and the hysteresis that they set.
//!
//! The papers state neither. Each setting is run with 20 seeds, which move the start of each flow
//! by up to 10 us.

use crate::experiments::Experiments;
use crate::plot::{Line, Plot};
use crate::row::{Paper, Row, Verdict};
use crate::thresholds::{closed_us, load};
use bench::stats::SEEDS_MIN;
use dataplane::settings::Threshold;
use rayon::prelude::*;
use std::error::Error;

/// Thresholds and distances from XOFF to XON, in bytes.
const THRESHOLDS: [u32; 4] = [10_000, 20_000, 40_000, 80_000];
const OFFSETS: [u32; 4] = [3_000, 9_000, 18_000, 36_000];
/// What the scenarios set.
const CHOSEN: (u32, u32) = (20_000, 18_000);

/// A scenario, the paper, the row, and for how long it runs.
type Subject = (&'static str, Paper, &'static str, u64);

/// Every scenario that sets both.
const SUBJECTS: [Subject; 7] = [
    ("tagger-bounce", Paper::Tagger, "Fig. 10: threshold and hysteresis swept", 1_000_000),
    ("tagger-loop", Paper::Tagger, "Fig. 11: threshold and hysteresis swept", 1_000_000),
    ("tagger-shuffle", Paper::Tagger, "Fig. 12: threshold and hysteresis swept", 1_000_000),
    (
        "reconfiguration-tree-bad",
        Paper::Reconfiguration,
        "Fig. 2(c, e): threshold and hysteresis swept",
        2_000_000,
    ),
    (
        "reconfiguration-mesh-bad",
        Paper::Reconfiguration,
        "Fig. 3: threshold and hysteresis swept",
        2_000_000,
    ),
    ("levels-two", Paper::Levels, "case 1: threshold and hysteresis swept", 2_000_000),
    ("levels-three", Paper::Levels, "case 2: threshold and hysteresis swept", 2_000_000),
];

/// A scenario at one threshold and offset.
#[derive(Debug)]
struct Point {
    threshold_bytes: u32,
    offset_bytes: u32,
    /// Seeds of which plain PFC deadlocked.
    deadlocks: usize,
    seeds: usize,
}

impl Point {
    fn name(&self) -> String {
        format!("{}/{}", self.threshold_bytes / 1_000, self.offset_bytes / 1_000)
    }
}

/// A row for each scenario, with its plot.
///
/// # Errors
/// A scenario is wrong.
pub(crate) fn rows(_experiments: &Experiments) -> Result<Vec<Row>, Box<dyn Error>> {
    let row = |subject: &Subject| Ok(row(subject, &points(subject)?));
    SUBJECTS.iter().map(row).collect()
}

/// A scenario with every threshold and offset.
fn points(&(name, _, _, duration_ns): &Subject) -> Result<Vec<Point>, Box<dyn Error>> {
    eprintln!("  thresholds of {name}");
    let mut config = load(name)?;
    config.duration_ns = duration_ns;
    let pairs = THRESHOLDS
        .iter()
        .flat_map(|&threshold_bytes| OFFSETS.map(|offset_bytes| (threshold_bytes, offset_bytes)));
    let mut points = Vec::new();
    // XON lies above 0.
    for (threshold_bytes, offset_bytes) in pairs.filter(|(th, offset)| offset < th) {
        config.buffers.threshold = Threshold::Static { xoff_bytes: threshold_bytes };
        config.buffers.xon_offset_bytes = Some(offset_bytes);
        let all: Result<Vec<_>, _> =
            (0..SEEDS_MIN).into_par_iter().map(|seed| closed_us(&config, seed)).collect();
        let deadlocks = all?.into_iter().flatten().count();
        points.push(Point { threshold_bytes, offset_bytes, deadlocks, seeds: SEEDS_MIN });
    }
    Ok(points)
}

fn row(&(_, paper, item, _): &Subject, points: &[Point]) -> Row {
    let all = points.iter().filter(|point| point.deadlocks == point.seeds);
    let some = points.iter().filter(|point| (1..point.seeds).contains(&point.deadlocks));
    let names = |points: Vec<String>| {
        if points.is_empty() { "none".to_owned() } else { points.join(", ") }
    };
    let none = points.len() - all.clone().count() - some.clone().count();
    let ours = format!(
        "XOFF/hysteresis in KB that deadlock for all 20 seeds: {}; for some: {}; for none: the \
         other {none} of {}",
        names(all.map(Point::name).collect()),
        names(some.map(Point::name).collect()),
        points.len()
    );
    let reason = "the scenario's 20/18 KB are chosen";
    let why = "the scenario's own setting does not deadlock for every seed";
    let verdict = Verdict::differs_if(chosen_deadlocks(points), reason, why);
    let line = |offset_bytes: u32| Line {
        name: format!("XON {} KB below", offset_bytes / 1_000),
        points: points
            .iter()
            .filter(|point| point.offset_bytes == offset_bytes)
            .map(|point| {
                let percent = point.deadlocks as f64 * 100.0 / point.seeds as f64;
                (f64::from(point.threshold_bytes) / 1_000.0, percent)
            })
            .collect(),
    };
    let plot = Plot {
        title: format!("{}, {item}: runs that deadlock, %", paper.name()),
        x_label: "KB of threshold".to_owned(),
        is_logarithmic: false,
        lines: OFFSETS.map(line).to_vec(),
    };
    let value = "plain PFC deadlocks; neither is stated";
    Row { plots: vec![plot], ..Row::new(paper, item, value, ours, verdict) }
}

/// Whether the scenario deadlocks for every seed as it is.
fn chosen_deadlocks(points: &[Point]) -> bool {
    let chosen = points.iter().find(|it| (it.threshold_bytes, it.offset_bytes) == CHOSEN);
    chosen.is_some_and(|point| point.deadlocks == point.seeds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_set_what_is_swept() {
        for (name, ..) in SUBJECTS {
            let buffers = load(name).unwrap().buffers;
            let xoff_bytes = CHOSEN.0;
            assert_eq!(buffers.threshold, Threshold::Static { xoff_bytes }, "{name}");
            assert_eq!(buffers.xon_offset_bytes, Some(CHOSEN.1), "{name}");
        }
    }

    #[test]
    fn one_seed_without_a_deadlock_fails() {
        let point = |deadlocks| Point {
            threshold_bytes: CHOSEN.0,
            offset_bytes: CHOSEN.1,
            deadlocks,
            seeds: 20,
        };
        assert!(!row(&SUBJECTS[0], &[point(20)]).verdict.is_failure());
        assert!(row(&SUBJECTS[0], &[point(19)]).verdict.is_failure());
        assert!(row(&SUBJECTS[0], &[]).verdict.is_failure());
    }
}

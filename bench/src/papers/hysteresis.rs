//! How the deadlocks of the scenarios depend on the threshold and the hysteresis that they set.
//!
//! The papers state neither. Each setting is run with 20 seeds, which move the start of each flow
//! by up to 10 us, under plain PFC and under what excludes the deadlock: that must do so for every
//! setting and seed.

use crate::experiments::Experiments;
use crate::plot::{Line, Plot};
use crate::row::{Paper, Row, Verdict};
use crate::thresholds::{closed_us, load};
use bench::stats::SEEDS_MIN;
use config::ScenarioConfig;
use config::scenario::SchemeKind;
use dataplane::settings::Threshold;
use rayon::prelude::*;
use std::error::Error;

/// Thresholds and distances from XOFF to XON, in bytes.
const THRESHOLDS: [u32; 4] = [10_000, 20_000, 40_000, 80_000];
const OFFSETS: [u32; 4] = [3_000, 9_000, 18_000, 36_000];

/// A scenario that deadlocks, and what excludes that.
struct Subject {
    paper: Paper,
    item: &'static str,
    /// The scenario under plain PFC.
    exposed: &'static str,
    /// A scenario that does not deadlock under this scheme.
    safe: (&'static str, SchemeKind),
}

const fn subject(
    paper: Paper,
    item: &'static str,
    exposed: &'static str,
    safe: &'static str,
    scheme: SchemeKind,
) -> Subject {
    Subject { paper, item, exposed, safe: (safe, scheme) }
}

const TREE: &str = "Fig. 2(c, e): threshold and hysteresis swept";
const MESH: &str = "Fig. 3: threshold and hysteresis swept";

/// Every scenario that sets both.
const SUBJECTS: [Subject; 7] = {
    use Paper::{Levels, Reconfiguration, Tagger};
    use SchemeKind::{Pfc, Tagger as Tags, UpDown};
    let [bounce, cycle, shuffle] = ["tagger-bounce", "tagger-loop", "tagger-shuffle"];
    let [tree, good_tree] = ["reconfiguration-tree-bad", "reconfiguration-tree-good"];
    let [mesh, good_mesh] = ["reconfiguration-mesh-bad", "reconfiguration-mesh-good"];
    let [two, three] = ["levels-two", "levels-three"];
    [
        subject(Tagger, "Fig. 10: threshold and hysteresis swept", bounce, bounce, Tags),
        subject(Tagger, "Fig. 11: threshold and hysteresis swept", cycle, cycle, Tags),
        subject(Tagger, "Fig. 12: threshold and hysteresis swept", shuffle, shuffle, Tags),
        subject(Reconfiguration, TREE, tree, good_tree, Pfc),
        subject(Reconfiguration, MESH, mesh, good_mesh, Pfc),
        subject(Levels, "case 1: threshold and hysteresis swept", two, two, UpDown),
        subject(Levels, "case 2: threshold and hysteresis swept", three, three, UpDown),
    ]
};

impl Subject {
    /// What excludes the deadlock, for people.
    fn remedy(&self) -> &'static str {
        match self.safe.1 {
            SchemeKind::Pfc => "a safe order",
            _ => "tags",
        }
    }
}

/// A scenario at one threshold and offset.
#[derive(Debug)]
struct Point {
    threshold_bytes: u32,
    offset_bytes: u32,
    /// Seeds of which plain PFC deadlocked.
    deadlocks: usize,
    /// Seeds that deadlocked under what excludes it.
    safe_deadlocks: usize,
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
    let row = |subject: &Subject| {
        let chosen = chosen(&load(subject.exposed)?).ok_or("a scenario without a threshold")?;
        Ok(row(subject, chosen, &points(subject)?))
    };
    SUBJECTS.iter().map(row).collect()
}

/// What a scenario sets: the threshold and the offset.
fn chosen(config: &ScenarioConfig) -> Option<(u32, u32)> {
    let Threshold::Static { xoff_bytes } = config.buffers.threshold else { return None };
    Some((xoff_bytes, config.buffers.xon_offset_bytes?))
}

/// A scenario with every threshold and offset.
fn points(subject: &Subject) -> Result<Vec<Point>, Box<dyn Error>> {
    eprintln!("  thresholds of {}", subject.exposed);
    let exposed = load(subject.exposed)?;
    let safe = load(subject.safe.0)?;
    let pairs = THRESHOLDS
        .iter()
        .flat_map(|&threshold_bytes| OFFSETS.map(|offset_bytes| (threshold_bytes, offset_bytes)));
    let mut points = Vec::new();
    // XON lies above 0.
    for (threshold_bytes, offset_bytes) in pairs.filter(|(th, offset)| offset < th) {
        let deadlocks = |config: &ScenarioConfig, scheme| -> Result<usize, String> {
            let mut config = config.clone();
            config.buffers.threshold = Threshold::Static { xoff_bytes: threshold_bytes };
            config.buffers.xon_offset_bytes = Some(offset_bytes);
            let seeds = (0..SEEDS_MIN).into_par_iter();
            let all: Result<Vec<_>, _> =
                seeds.map(|seed| closed_us(&config, scheme, seed)).collect();
            Ok(all?.into_iter().flatten().count())
        };
        points.push(Point {
            threshold_bytes,
            offset_bytes,
            deadlocks: deadlocks(&exposed, SchemeKind::Pfc)?,
            safe_deadlocks: deadlocks(&safe, subject.safe.1)?,
            seeds: SEEDS_MIN,
        });
    }
    Ok(points)
}

fn row(subject: &Subject, chosen: (u32, u32), points: &[Point]) -> Row {
    let &Subject { paper, item, .. } = subject;
    let all = points.iter().filter(|point| point.deadlocks == point.seeds);
    let some = points.iter().filter(|point| (1..point.seeds).contains(&point.deadlocks));
    let names = |points: Vec<String>| {
        if points.is_empty() { "none".to_owned() } else { points.join(", ") }
    };
    let safe: usize = points.iter().map(|point| point.safe_deadlocks).sum();
    let none = points.len() - all.clone().count() - some.clone().count();
    let ours = format!(
        "XOFF/hysteresis in KB that deadlock for all 20 seeds: {}; for some: {}; for none: the \
         other {none} of {}; with {}: {safe} of {} runs",
        names(all.map(Point::name).collect()),
        names(some.map(Point::name).collect()),
        points.len(),
        subject.remedy(),
        points.len() * SEEDS_MIN
    );
    let point = points.iter().find(|it| (it.threshold_bytes, it.offset_bytes) == chosen);
    let deadlocks = point.map_or(0, |point| point.deadlocks);
    let name = point.map_or_else(String::new, Point::name);
    let reason =
        format!("the scenario's {name} KB are chosen; there all {SEEDS_MIN} seeds deadlock");
    let why = format!(
        "{deadlocks} of {SEEDS_MIN} seeds deadlock as the scenario is set, or a run does that must \
         not"
    );
    let verdict = Verdict::differs_if(deadlocks == SEEDS_MIN && safe == 0, reason, why);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_set_what_is_swept() {
        for subject in SUBJECTS {
            let exposed = chosen(&load(subject.exposed).unwrap());
            assert!(exposed.is_some(), "{}", subject.exposed);
            assert_eq!(chosen(&load(subject.safe.0).unwrap()), exposed, "{}", subject.safe.0);
        }
    }

    #[test]
    fn a_seed_without_a_deadlock_and_one_where_there_is_none_fail() {
        let point = |deadlocks, safe_deadlocks| Point {
            threshold_bytes: 20_000,
            offset_bytes: 18_000,
            deadlocks,
            safe_deadlocks,
            seeds: 20,
        };
        let row = |points: &[Point]| row(&SUBJECTS[0], (20_000, 18_000), points);
        assert!(!row(&[point(20, 0)]).verdict.is_failure());
        for points in [&[point(19, 0)][..], &[point(20, 1)], &[]] {
            assert!(row(points).verdict.is_failure());
        }
    }
}

//! The summary of a campaign: each figure's mean over the seeds, or the share of runs, with its
//! 95 % confidence interval, by scenario, values and scheme.
//!
//! Sums are made in the order of the runs' numbers, so that the summary is the same to the byte
//! whichever processes did the runs.

use super::merge::Merged;
use super::plan::Plan;
use super::record::{Figures, Record};
use netsim::interval::Interval;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is read from a run.
enum Read {
    /// Whether it has a property: runs are counted.
    Share(fn(&Figures) -> bool),
    /// A number, if the run has one.
    Mean(fn(&Figures) -> Option<f64>),
}

/// A figure of the summary.
pub(super) struct Figure {
    pub(super) key: &'static str,
    /// With its unit.
    pub(super) title: &'static str,
    read: Read,
}

impl Figure {
    pub(super) const fn is_share(&self) -> bool {
        matches!(self.read, Read::Share(_))
    }
}

const fn share(key: &'static str, title: &'static str, of: fn(&Figures) -> bool) -> Figure {
    Figure { key, title, read: Read::Share(of) }
}

const fn mean(key: &'static str, title: &'static str, of: fn(&Figures) -> Option<f64>) -> Figure {
    Figure { key, title, read: Read::Mean(of) }
}

const PS_PER_US: f64 = 1e6;
const PS_PER_MS: f64 = 1e9;

/// All figures, in the order in which they are shown.
pub(super) const FIGURES: [Figure; 9] = [
    share("deadlock", "deadlocked", |run| run.deadlock_ps.is_some()),
    share("drained", "drained", |run| run.drained),
    mean("deadlock_us", "deadlock at us", |run| run.deadlock_ps.map(|ps| ps as f64 / PS_PER_US)),
    mean("goodput_gbps", "goodput Gb/s", |run| Some(run.goodput_bps as f64 / 1e9)),
    mean("lossless_lost_frames", "lossless lost", |run| Some(run.lossless_lost_frames as f64)),
    mean("lossy_lost_frames", "lossy lost", |run| Some(run.lossy_lost_frames as f64)),
    mean("paused_ms", "paused ms", |run| Some(run.paused_ps as f64 / PS_PER_MS)),
    mean("p99_completion_us", "p99 completion us", |run| {
        run.p99_completion_ps.map(|ps| ps as f64 / PS_PER_US)
    }),
    mean("pfc_frames", "PFC frames", |run| Some(run.pfc_frames as f64)),
];

/// What a figure came to in a group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Estimate {
    /// The mean, or the share.
    pub(super) mean: f64,
    /// The ends of the interval; none of a single value.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// Runs that have the figure.
    pub(super) count: usize,
}

/// The runs that differ in their seed alone.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Group {
    pub(super) scenario: String,
    pub(super) parameters: BTreeMap<String, String>,
    pub(super) scheme: String,
    pub(super) runs: usize,
    /// Why the scheme cannot hold.
    pub(super) refused: Option<String>,
    /// Runs in which something does not hold.
    pub(super) unsound: usize,
    /// By key; none if it was not run.
    pub(super) figures: Option<BTreeMap<&'static str, Option<Estimate>>>,
}

/// See the module's head.
pub(super) struct Summary<'a> {
    pub(super) plan: &'a Plan,
    pub(super) groups: Vec<Group>,
}

impl<'a> Summary<'a> {
    pub(super) fn of(merged: &'a Merged) -> Self {
        let plan = &merged.plan;
        let groups =
            merged.records.chunk_by(|one, other| one.run / plan.seeds == other.run / plan.seeds);
        Self { plan, groups: groups.map(group).collect() }
    }

    /// As `summary.json` has it.
    pub(super) fn json(&self) -> Value {
        let Plan { name, about, digest, first_seed, seeds, schemes, parameters, .. } = self.plan;
        let figure = |figure: &Figure| {
            let Figure { key, title, .. } = figure;
            json!({ "key": key, "title": title, "is_share": figure.is_share() })
        };
        json!({
            "campaign": name,
            "about": about,
            "digest": digest,
            "runs": self.plan.runs(),
            "seeds": { "first": first_seed, "last": first_seed + seeds - 1 },
            "schemes": schemes,
            "parameters": parameters,
            "figures": FIGURES.iter().map(figure).collect::<Vec<_>>(),
            "groups": self.groups,
        })
    }
}

fn group(records: &[Record]) -> Group {
    let first = &records[0];
    let figures: Vec<&Figures> = records.iter().filter_map(|one| one.figures.as_ref()).collect();
    let estimates = FIGURES.iter().map(|figure| (figure.key, estimate(figure, &figures)));
    Group {
        scenario: first.scenario.clone(),
        parameters: first.parameters.clone(),
        scheme: first.scheme.clone(),
        runs: records.len(),
        refused: first.refused.clone(),
        unsound: records.iter().filter(|record| record.faults().next().is_some()).count(),
        figures: (!figures.is_empty()).then(|| estimates.collect()),
    }
}

fn estimate(figure: &Figure, runs: &[&Figures]) -> Option<Estimate> {
    match figure.read {
        Read::Share(has) => {
            let part = runs.iter().filter(|run| has(run)).count();
            let (mean, [low, high]) = Interval::of_share(part, runs.len())?;
            Some(Estimate { mean, low: Some(low), high: Some(high), count: runs.len() })
        }
        Read::Mean(of) => {
            let values: Vec<f64> = runs.iter().filter_map(|run| of(run)).collect();
            let count = values.len();
            match Interval::of_few(&values) {
                Some(interval) => Some(Estimate {
                    mean: interval.mean,
                    low: Some(interval.low()),
                    high: Some(interval.high()),
                    count,
                }),
                None => values.first().map(|&mean| Estimate { mean, low: None, high: None, count }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::merge::tests::merged;
    use super::*;

    #[test]
    fn a_group_is_the_seeds_of_one_combination() {
        let all = merged(0..24);
        let summary = Summary::of(&all);
        assert_eq!(summary.groups.len(), 8);
        // Runs 6, 7 and 8 stood paused for 6, 7 and 8 ms; 6 and 8 drained.
        let group = &summary.groups[2];
        assert_eq!((&group.scheme[..], group.runs), ("pfc", 3));
        assert_eq!(group.parameters["traffic.load"], "0.6");
        let figures = group.figures.as_ref().unwrap();
        let paused = figures["paused_ms"].unwrap();
        // t at 97.5 % with two degrees of freedom is 4.302653; the standard error 1 / sqrt(3).
        assert!((paused.mean - 7.0).abs() < 1e-12);
        assert!((paused.high.unwrap() - 7.0 - 4.302_653 / 3.0_f64.sqrt()).abs() < 1e-5);
        let drained = figures["drained"].unwrap();
        assert!((drained.mean - 2.0 / 3.0).abs() < 1e-12 && drained.high.unwrap() < 1.0);
        assert_eq!(figures["deadlock_us"], None, "no run deadlocked");
    }

    #[test]
    fn the_order_of_the_lines_changes_nothing() {
        let (one, other) = (merged(0..24), merged((0..24).rev()));
        assert_eq!(Summary::of(&one).json().to_string(), Summary::of(&other).json().to_string());
    }
}

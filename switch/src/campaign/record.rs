//! The result of one run, a line of JSON.
//!
//! There is nothing in it that another machine or another day would change, so that two lines of
//! one run are the same.

use super::plan::{Plan, Run};
use config::scenario::SchemeKind;
use netsim::outcome::Outcome;
use netsim::scenario::{Comparison, ScenarioError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// See the module's head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// The begin of the campaign's digest.
    pub(super) campaign: String,
    /// Its number among all runs.
    pub(super) run: u64,
    pub(super) scenario: String,
    pub(super) parameters: BTreeMap<String, String>,
    pub(super) scheme: String,
    pub(super) seed: u64,
    /// Why the scheme cannot hold on this network.
    pub(super) refused: Option<String>,
    /// Why this seed's network cannot be built.
    pub(super) failed: Option<String>,
    /// What came out, if it was run.
    pub(super) figures: Option<Figures>,
}

/// What came out of a run, in whole picoseconds, bytes and frames.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figures {
    pub(super) deadlock_ps: Option<u64>,
    pub(super) drained: bool,
    pub(super) goodput_bps: u64,
    pub(super) lossless_lost_frames: u64,
    pub(super) lossy_lost_frames: u64,
    pub(super) paused_ps: u64,
    pub(super) p99_completion_ps: Option<u64>,
    pub(super) sized_flows: u64,
    pub(super) complete_flows: u64,
    pub(super) priorities: u64,
    pub(super) reserved_bytes: u64,
    pub(super) pfc_frames: u64,
    pub(super) packet_hops: u64,
    pub(super) violations: Vec<String>,
    pub(super) trace_hash: String,
}

impl Figures {
    fn of(outcome: &Outcome, kind: SchemeKind) -> Self {
        let compared = Comparison::of(outcome, kind);
        Self {
            deadlock_ps: compared.deadlock_ps,
            drained: compared.drained,
            goodput_bps: compared.goodput_bps,
            lossless_lost_frames: compared.lossless_lost_frames,
            lossy_lost_frames: compared.lossy_lost_frames,
            paused_ps: compared.paused_ps,
            p99_completion_ps: compared.p99_completion_ps,
            sized_flows: compared.sized_flows as u64,
            complete_flows: compared.complete_flows as u64,
            priorities: compared.priorities as u64,
            reserved_bytes: compared.reserved_bytes,
            pfc_frames: compared.pfc_frames,
            packet_hops: outcome.packet_hops,
            violations: compared.violations,
            trace_hash: outcome.trace_hash.clone(),
        }
    }
}

impl Record {
    /// Of a run that came to `outcome`.
    pub(super) fn new(
        plan: &Plan,
        run: Run,
        kind: SchemeKind,
        outcome: Result<Outcome, ScenarioError>,
    ) -> Self {
        let (refused, failed, figures) = match outcome {
            Ok(outcome) => (None, None, Some(Figures::of(&outcome, kind))),
            Err(ScenarioError::Scheme { why, .. }) => (Some(why), None, None),
            Err(error) => (None, Some(error.to_string()), None),
        };
        Self {
            campaign: plan.mark().to_owned(),
            run: run.number,
            scenario: plan.scenario(run.point).to_owned(),
            parameters: plan.values(run.point),
            scheme: plan.schemes[run.scheme].clone(),
            seed: run.seed,
            refused,
            failed,
            figures,
        }
    }

    /// From a line; `Err` is why it is none of this plan's.
    pub(super) fn parse(plan: &Plan, line: &[u8]) -> Result<Self, String> {
        let record: Self = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if record.campaign != plan.mark() {
            return Err(format!("it is of the campaign {}", record.campaign));
        }
        if record.run >= plan.runs() {
            return Err(format!("there is no run {}", record.run));
        }
        let run = plan.run(record.run);
        let is_same = record.seed == run.seed
            && record.scheme == plan.schemes[run.scheme]
            && record.scenario == plan.scenario(run.point)
            && record.parameters == plan.values(run.point);
        let has_result =
            [record.refused.is_some(), record.failed.is_some(), record.figures.is_some()];
        if !is_same || has_result.iter().filter(|&&has| has).count() != 1 {
            return Err(format!("it is not run {}", plan.name(record.run)));
        }
        Ok(record)
    }

    /// What does not hold: what checkers found, or why it was not run.
    pub(super) fn faults(&self) -> impl Iterator<Item = &String> {
        let violations = self.figures.iter().flat_map(|figures| &figures.violations);
        violations.chain(&self.failed)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::plan::tests::plan;
    use super::*;

    /// A run of the plan for tests, with figures that follow from its number.
    pub(in crate::campaign) fn record(number: u64) -> Record {
        let plan = plan();
        let outcome = Outcome {
            duration_ps: 1_000_000,
            paused_ps: number * 1_000_000_000,
            drained_ps: number.is_multiple_of(2).then_some(1),
            ..Outcome::default()
        };
        Record::new(&plan, plan.run(number), SchemeKind::Pfc, Ok(outcome))
    }

    #[test]
    fn a_line_is_read_as_it_was_written_and_only_in_its_own_campaign() {
        let plan = plan();
        let line = serde_json::to_vec(&record(7)).unwrap();
        assert_eq!(Record::parse(&plan, &line).unwrap(), record(7));
        for cut in 0..line.len() {
            assert!(Record::parse(&plan, &line[..cut]).is_err(), "{cut} bytes");
        }
        let wrong = |change: &dyn Fn(&mut Record)| {
            let mut record = record(7);
            change(&mut record);
            Record::parse(&plan, &serde_json::to_vec(&record).unwrap()).unwrap_err()
        };
        assert!(wrong(&|record| record.campaign = "f".repeat(16)).contains("of the campaign f"));
        assert_eq!(wrong(&|record| record.run = 24), "there is no run 24");
        assert!(wrong(&|record| record.seed = 5).starts_with("it is not run 7 (a, pfc, seed 6"));
        assert!(wrong(&|record| record.figures = None).starts_with("it is not run 7"));
        assert!(
            wrong(&|record| record.failed = Some("x".to_owned())).starts_with("it is not run 7")
        );
    }

    #[test]
    fn a_scheme_that_cannot_hold_is_a_result_and_no_fault() {
        let plan = plan();
        let why = ScenarioError::Scheme { scheme: "gfc", why: "queues are short".to_owned() };
        let refused = Record::new(&plan, plan.run(0), SchemeKind::Gfc, Err(why));
        assert_eq!(refused.refused.as_deref(), Some("queues are short"));
        assert_eq!(refused.faults().count(), 0);
    }
}

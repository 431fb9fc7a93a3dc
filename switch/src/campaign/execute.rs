//! Runs simulations, several at once, and keeps the result of each before the next begins.

use super::folder::ShardFile;
use super::plan::{Plan, Run, kinds};
use super::record::Record;
use crate::network::InputError;
use config::campaign::{CampaignConfig, Point, Points};
use config::scenario::SchemeKind;
use netsim::scenario::{self, Options, ScenarioError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Builds each point under each scheme, so that what cannot run is known before the first run.
///
/// # Errors
/// One cannot be built, for another reason than that a scheme cannot hold.
pub(super) fn check(
    campaign: &CampaignConfig,
    points: &Points,
    done: &dyn Fn(),
) -> Result<(), InputError> {
    for point in &points.all {
        for &kind in kinds(campaign) {
            match scenario::build(&point.scenario, Some(kind), Some(campaign.seeds.start)) {
                Ok(_) | Err(ScenarioError::Scheme { .. }) => done(),
                Err(error) => return Err(point.wrong(error).into()),
            }
        }
    }
    Ok(())
}

/// What runs need.
pub(super) struct Work<'a> {
    pub(super) plan: &'a Plan,
    pub(super) points: &'a [Point],
    pub(super) kinds: &'a [SchemeKind],
}

impl Work<'_> {
    /// Runs `numbers`, `jobs` at once, and adds the results to `file`; `done` is called after each.
    ///
    /// # Errors
    /// The file cannot be written; no further run begins then.
    pub(super) fn run(
        &self,
        numbers: &[u64],
        jobs: usize,
        file: &mut ShardFile,
        done: &(dyn Fn(&Record) + Sync),
    ) -> Result<(), InputError> {
        let next = AtomicUsize::new(0);
        let file = Mutex::new((file, Ok(())));
        let worker = || {
            while let Some(&number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                let record = self.one(self.plan.run(number));
                let mut guard = file.lock().unwrap_or_else(PoisonError::into_inner);
                let (file, written) = &mut *guard;
                if written.is_ok() {
                    *written = file.add(&record);
                }
                if written.is_err() {
                    return;
                }
                done(&record);
            }
        };
        thread::scope(|scope| {
            for _ in 0..jobs.min(numbers.len()) {
                scope.spawn(worker);
            }
        });
        file.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }

    fn one(&self, run: Run) -> Record {
        let kind = self.kinds[run.scheme];
        let options = Options { seed: Some(run.seed), scheme: Some(kind), ..Options::default() };
        let outcome = scenario::run(&self.points[run.point].scenario, options);
        Record::new(self.plan, run, kind, outcome)
    }
}

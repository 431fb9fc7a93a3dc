//! All results of a campaign: which runs are there, which are missing, and which are there twice.

use super::folder;
use super::plan::Plan;
use super::record::Record;
use crate::network::InputError;
use std::path::PathBuf;

/// Runs that a message names; of more it says how many.
const NAMED_MAX: usize = 10;

/// See the module's head.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) plan: Plan,
    /// In the order of their numbers, each once.
    pub(super) records: Vec<Record>,
    missing: Vec<u64>,
    /// Of these several lines are there, all the same.
    twice: Vec<u64>,
    /// Of these several lines are there that are not the same.
    differing: Vec<u64>,
}

impl Merged {
    /// Reads all results of `folders`, which have one plan.
    ///
    /// # Errors
    /// One is no folder of a campaign, or of another one than the first.
    pub(super) fn read(folders: &[PathBuf]) -> Result<Self, InputError> {
        let mut plans = Vec::with_capacity(folders.len());
        for one in folders {
            plans.push(folder::plan(one)?);
        }
        let Some(plan) = plans.first().cloned() else {
            return Err(InputError::at("DIR".as_ref(), "name the folder of a campaign"));
        };
        let mut records = Vec::new();
        for (one, its_plan) in folders.iter().zip(&plans) {
            if let Some(why) = plan.differs_from(its_plan) {
                let first = folders[0].display();
                let why = format!("this is not the campaign of {first}: {why}");
                return Err(InputError::at(one, why));
            }
            records.extend(folder::records(one, &plan)?);
        }
        Ok(Self::of(plan, records))
    }

    fn of(plan: Plan, mut all: Vec<Record>) -> Self {
        // Stable: of two lines that differ the first stays.
        all.sort_by_key(|record| record.run);
        let (mut twice, mut differing) = (Vec::new(), Vec::new());
        let mut records: Vec<Record> = Vec::with_capacity(all.len());
        for record in all {
            match records.last() {
                Some(last) if last.run == record.run => {
                    let list = if *last == record { &mut twice } else { &mut differing };
                    if list.last() != Some(&record.run) {
                        list.push(record.run);
                    }
                }
                _ => records.push(record),
            }
        }
        let mut there = records.iter().map(|record| record.run).peekable();
        let missing =
            (0..plan.runs()).filter(|number| there.next_if_eq(number).is_none()).collect();
        Self { plan, records, missing, twice, differing }
    }

    /// Whether nothing is there.
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Whether every run is there, and nothing contradicts it: a summary can be made.
    pub(super) fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.differing.is_empty()
    }

    /// Whether every run is there once, and in each of them everything holds.
    pub(super) fn is_sound(&self) -> bool {
        self.is_complete() && self.twice.is_empty() && self.faults().next().is_none()
    }

    fn faults(&self) -> impl Iterator<Item = (u64, &String)> {
        self.records.iter().flat_map(|record| record.faults().map(move |fault| (record.run, fault)))
    }

    /// What is there, what is not, and what does not hold, a line each.
    pub(super) fn report(&self) -> String {
        let (there, all) = (self.records.len(), self.plan.runs());
        let mut lines = vec![format!("{}: {there} of {all} runs are there", self.plan.name)];
        let mut list = |what: &str, numbers: &[u64], advice: &str| {
            if numbers.is_empty() {
                return;
            }
            let shown = numbers.iter().take(NAMED_MAX).map(|&number| self.plan.name(number));
            let shown = shown.collect::<Vec<_>>().join(", ");
            let more = numbers.len().saturating_sub(NAMED_MAX);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let count = numbers.len();
            lines.push(format!("{what}: {count}: {shown}{more}; {advice}"));
        };
        list("missing", &self.missing, "run the campaign again with the same --out");
        list("double", &self.twice, "their lines are the same, and count once");
        let advice = "their lines are not the same; move the folder away and run it again";
        list("double and different", &self.differing, advice);
        let faults = self.faults().count();
        for (number, fault) in self.faults().take(NAMED_MAX) {
            lines.push(format!("does not hold: run {}: {fault}", self.plan.name(number)));
        }
        if faults > NAMED_MAX {
            lines.push(format!("does not hold: and {} more", faults - NAMED_MAX));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::plan::tests::plan;
    use super::super::record::tests::record;
    use super::*;

    pub(in crate::campaign) fn merged(numbers: impl Iterator<Item = u64>) -> Merged {
        Merged::of(plan(), numbers.map(record).collect())
    }

    #[test]
    fn missing_and_double_runs_are_named() {
        let all = merged((0..24).rev());
        assert!(all.is_complete() && all.is_sound());
        assert_eq!(all.report(), "c: 24 of 24 runs are there");
        let numbers: Vec<u64> = all.records.iter().map(|record| record.run).collect();
        assert_eq!(numbers, (0..24).collect::<Vec<_>>());

        let some = merged((0..24).filter(|number| number % 23 != 0));
        assert!(!some.is_complete());
        let said = "missing: 2: 0 (a, pfc, seed 5, traffic.load = 0.3), 23 (b, tagger, seed 7, \
                    traffic.load = 0.6); run the campaign again";
        assert!(some.report().contains(said), "{}", some.report());
        assert!(merged(0..0).report().contains(" and 14 more; run the campaign"));

        let double = merged((0..24).chain([4, 4]));
        assert!(double.is_complete() && !double.is_sound());
        assert!(double.report().contains("double: 1: 4 (a, tagger, seed 6"), "{}", double.report());
    }

    #[test]
    fn lines_that_contradict_each_other_are_no_result() {
        let mut other = record(4);
        other.figures.as_mut().unwrap().pfc_frames += 1;
        let records = (0..24).map(record).chain([other]).collect();
        let merged = Merged::of(plan(), records);
        assert!(!merged.is_complete() && merged.report().contains("double and different: 1: 4 ("));
    }

    #[test]
    fn what_does_not_hold_is_said_with_its_run() {
        let mut records: Vec<Record> = (0..24).map(record).collect();
        records[3].figures.as_mut().unwrap().violations.push("a frame was lost".to_owned());
        let merged = Merged::of(plan(), records);
        assert!(merged.is_complete() && !merged.is_sound());
        let said = "does not hold: run 3 (a, tagger, seed 5, traffic.load = 0.3): a frame was lost";
        assert!(merged.report().contains(said), "{}", merged.report());
    }
}

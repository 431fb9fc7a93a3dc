//! One scenario under several schemes, with figures to compare.

use super::error::ScenarioError;
use super::run::{Options, run};
use crate::event::Picoseconds;
use crate::outcome::{FlowOutcome, Outcome};
use config::scenario::{ScenarioConfig, SchemeKind};
use serde::Serialize;
use std::thread;

/// The schemes that are compared: the two that react, and the three that prevent.
pub const COMPARED: [SchemeKind; 5] =
    [SchemeKind::Pfc, SchemeKind::Watchdog, SchemeKind::Tagger, SchemeKind::Ttl, SchemeKind::Gfc];

/// The results of a scheme.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The scheme.
    pub scheme: &'static str,
    /// Why it cannot hold on this network; nothing else is known then.
    pub refused: Option<String>,
    /// When a deadlock closed.
    pub deadlock_ps: Option<Picoseconds>,
    /// Whether every frame left once the sources had stopped.
    pub drained: bool,
    /// Bits per second that all flows together brought to their receivers while sources sent.
    pub goodput_bps: u64,
    /// Frames of lossless classes that were not delivered, whatever the cause.
    pub lossless_lost_frames: u64,
    /// Lossless frames that the scheme made lossy and that found no room.
    pub lossy_lost_frames: u64,
    /// Time that priorities stood paused, all together.
    pub paused_ps: Picoseconds,
    /// The time within which 99 of 100 flows of some size were complete; `None` if more than one in
    /// a hundred never were, or there are none.
    pub p99_completion_ps: Option<Picoseconds>,
    /// Flows of some size, and how many of them were complete.
    pub sized_flows: usize,
    /// The complete flows among them.
    pub complete_flows: usize,
    /// Priorities that lossless frames use.
    pub priorities: usize,
    /// What the switch that reserves most sets aside for them.
    pub reserved_bytes: u64,
    /// PFC frames, those that set rates included.
    pub pfc_frames: u64,
    /// Violations; empty in a sound run.
    pub violations: Vec<String>,
}

impl Comparison {
    /// The figures of a run under `kind`.
    pub fn of(outcome: &Outcome, kind: SchemeKind) -> Self {
        let sized: Vec<&FlowOutcome> =
            outcome.flows.iter().filter(|flow| flow.size_bytes.is_some()).collect();
        let bytes: u128 = outcome.timeline.all_bytes.iter().map(|&bytes| u128::from(bytes)).sum();
        let bits = bytes * 8 * 1_000_000_000_000 / u128::from(outcome.duration_ps.max(1));
        Self {
            scheme: kind.name(),
            refused: None,
            deadlock_ps: outcome.deadlock.as_ref().map(|deadlock| deadlock.closed_ps),
            drained: outcome.drained_ps.is_some(),
            goodput_bps: u64::try_from(bits).unwrap_or(u64::MAX),
            lossless_lost_frames: outcome.lossless_drops,
            lossy_lost_frames: outcome.lossy_drops,
            paused_ps: outcome.paused_ps,
            p99_completion_ps: p99_ps(&sized),
            sized_flows: sized.len(),
            complete_flows: sized.iter().filter(|flow| flow.finished_ps.is_some()).count(),
            priorities: outcome.lossless_priorities,
            reserved_bytes: outcome.reserved_bytes,
            pfc_frames: outcome.pfc_frames,
            violations: outcome.violations.clone(),
        }
    }
}

/// The time within which 99 of 100 of these flows were complete.
fn p99_ps(sized: &[&FlowOutcome]) -> Option<Picoseconds> {
    let mut times: Vec<Picoseconds> = sized
        .iter()
        .filter_map(|flow| Some(flow.finished_ps?.saturating_sub(flow.start_ps)))
        .collect();
    times.sort_unstable();
    let rank = (sized.len() * 99).div_ceil(100).checked_sub(1)?;
    times.get(rank).copied()
}

/// Runs `config` under each of `kinds`, several at once, and calls `done` as each ends.
///
/// It cannot be built, for another reason than that a scheme cannot hold.
pub fn compare(
    config: &ScenarioConfig,
    kinds: &[SchemeKind],
    done: &(dyn Fn(SchemeKind) + Sync),
) -> Result<Vec<Comparison>, ScenarioError> {
    let one = |kind: SchemeKind| {
        let options = Options { scheme: Some(kind), ..Options::default() };
        let comparison = match run(config, options) {
            Ok(outcome) => Ok(Comparison::of(&outcome, kind)),
            Err(ScenarioError::Scheme { why, .. }) => {
                let refused = Some(why);
                Ok(Comparison { scheme: kind.name(), refused, ..Comparison::default() })
            }
            Err(error) => Err(error),
        };
        done(kind);
        comparison
    };
    let at_once = thread::available_parallelism().map_or(1, usize::from);
    let mut all = Vec::with_capacity(kinds.len());
    for some in kinds.chunks(at_once) {
        thread::scope(|scope| {
            let running: Vec<_> = some.iter().map(|&kind| scope.spawn(move || one(kind))).collect();
            for thread in running {
                match thread.join() {
                    Ok(comparison) => all.push(comparison?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok::<(), ScenarioError>(())
        })?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(start_ps: u64, finished_ps: Option<u64>) -> FlowOutcome {
        FlowOutcome { start_ps, finished_ps, size_bytes: Some(1), ..FlowOutcome::default() }
    }

    #[test]
    fn ninety_nine_of_a_hundred() {
        let p99 = |flows: &[FlowOutcome]| p99_ps(&flows.iter().collect::<Vec<_>>());
        let hundred: Vec<FlowOutcome> = (1..=100).map(|n| flow(10, Some(10 + n))).collect();
        assert_eq!(p99(&hundred), Some(99));
        assert_eq!(p99(&hundred[..10]), Some(10));
        let mut one_never = hundred.clone();
        one_never[0].finished_ps = None;
        assert_eq!(p99(&one_never), Some(100));
        one_never[1].finished_ps = None;
        assert_eq!((p99(&one_never), p99(&[])), (None, None));
    }
}

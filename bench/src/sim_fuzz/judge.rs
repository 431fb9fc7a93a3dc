//! What must have come out of a drawn scenario, under each scheme.

use super::draw;
use config::scenario::{FaultKind, ScenarioConfig, SchemeKind};
use fabric::network::{End, Link};
use netsim::outcome::{DeadlockOutcome, Outcome};
use netsim::scenario::{Options, ScenarioError, run};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The schemes under test: plain PFC, which must deadlock for some seed, and those that never may.
/// What reacts, or slows down, promises less: a peer that stalls brings it to a stand.
pub const SCHEMES: [SchemeKind; 5] =
    [SchemeKind::Pfc, SchemeKind::Tagger, SchemeKind::UpDown, SchemeKind::Ttl, SchemeKind::Lossy];

/// A seed's runs.
#[derive(Debug)]
pub struct Judged {
    /// The seed.
    pub seed: u64,
    /// One for each scheme, in the order of [`SCHEMES`].
    pub runs: Vec<Run>,
}

/// What became of a scenario under one scheme.
#[derive(Debug)]
pub struct Run {
    /// The scheme.
    pub kind: SchemeKind,
    /// What it showed; `None` if the scheme cannot hold on this network, or it panicked.
    pub outcome: Option<Outcome>,
    /// What had to be otherwise, a line each.
    pub wrong: Vec<String>,
}

impl Judged {
    /// Whether all is as it must be.
    pub fn is_sound(&self) -> bool {
        self.runs.iter().all(|run| run.wrong.is_empty())
    }
}

/// Runs the scenario of `seed` under every scheme; `twice`: and again, which must be the same.
pub fn judge(seed: u64, twice: bool) -> Judged {
    let config = draw(seed);
    let judged = SCHEMES.map(|kind| {
        let mut judged = one(&config, kind);
        if twice && judged.outcome.is_some() && one(&config, kind).outcome != judged.outcome {
            judged.wrong.push("the same seed ran otherwise the second time".to_owned());
        }
        judged
    });
    Judged { seed, runs: judged.into() }
}

fn one(config: &ScenarioConfig, kind: SchemeKind) -> Run {
    let options = Options { scheme: Some(kind), ..Options::default() };
    let failed = |wrong| Run { kind, outcome: None, wrong: vec![wrong] };
    match catch_unwind(AssertUnwindSafe(|| run(config, options))) {
        Ok(Ok(outcome)) => {
            let wrong = wrong(config, kind, &outcome);
            Run { kind, outcome: Some(outcome), wrong }
        }
        // Paths longer than there are classes.
        Ok(Err(ScenarioError::Scheme { .. })) => Run { kind, outcome: None, wrong: Vec::new() },
        Ok(Err(error)) => failed(format!("cannot be run: {error}")),
        Err(panic) => failed(format!("panicked: {}", message(panic.as_ref()))),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// What should have come out otherwise.
fn wrong(config: &ScenarioConfig, kind: SchemeKind, outcome: &Outcome) -> Vec<String> {
    let may_lose = ends_of_links_that_come_back(config);
    let (losses, mut wrong): (Vec<&str>, Vec<String>) = losses_and_others(&outcome.violations);
    let is_excused = losses.iter().all(|loss| may_lose.iter().any(|end| loss.starts_with(end)));
    if !is_excused {
        wrong.extend(losses.iter().map(|&loss| loss.to_owned()));
    }
    let mut must = |holds: bool, message: &str| {
        if !holds {
            wrong.push(message.to_owned());
        }
    };
    // Where PFC frames vanish nothing can keep what they are for.
    let pfc_fails = config.faults.iter().any(|fault| is_of_pfc(fault.kind));
    let may_drop = pfc_fails || is_excused && !losses.is_empty();
    must(may_drop || outcome.headroom_overruns == 0, "lossless frames were dropped");
    must(outcome.drained_ps.is_none() || outcome.frames_stuck == 0, "it drained, and frames stay");
    match &outcome.deadlock {
        Some(deadlock) if kind == SchemeKind::Pfc => {
            must(deadlock.cycle.len() >= 2, "a deadlock of one hop");
            let stays = outcome.drained_ps.is_none() && outcome.frames_stuck > 0;
            must(stays || may_untie(config, deadlock), "it drained out of a deadlock");
        }
        Some(_) => must(false, "it deadlocked"),
        None => must(outcome.drained_ps.is_some(), "frames are stuck without a deadlock"),
    }
    must(kind != SchemeKind::Lossy || outcome.pfc_frames == 0, "PFC without a lossless class");
    wrong
}

/// Violations that are losses of lossless frames, and the others.
fn losses_and_others(violations: &[String]) -> (Vec<&str>, Vec<String>) {
    let (losses, others): (Vec<&String>, Vec<&String>) =
        violations.iter().partition(|text| text.contains(" lossless frames of priority "));
    let losses = losses.into_iter().map(String::as_str).collect();
    (losses, others.into_iter().cloned().collect())
}

/// How a loss begins that no switch can prevent. Headroom is for one pause, and a peer forgets that
/// one with its link. When the link comes back, the peer sends until XOFF has reached it again; if
/// what came before still waits in the headroom, that is too much for it.
fn ends_of_links_that_come_back(config: &ScenarioConfig) -> Vec<String> {
    let network = &config.network;
    let comes_back = |link: &Link| {
        config.faults.iter().filter(|fault| fault.until_ns.is_some()).any(|fault| {
            match fault.kind {
                FaultKind::LinkDown { link: end } => link.ends.contains(&end),
                FaultKind::Restart { switch } => link
                    .ends
                    .iter()
                    .any(|end| matches!(end, End::Slot(slot) if network.owner(*slot) == switch)),
                _ => false,
            }
        })
    };
    let ends = network.links().iter().filter(|link| comes_back(link)).flat_map(|link| link.ends);
    let begins = |end| match end {
        End::Slot(slot) => format!("{} lost ", network.show(slot)),
        End::Host(host) => format!("host {} lost ", network.host_name(host)),
    };
    ends.map(begins).collect()
}

const fn is_of_pfc(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::LosePfc { .. } | FaultKind::CorruptPfc { .. })
}

/// Whether something happens after the deadlock closed that lets go of its pauses or its frames: a
/// link or a switch goes, or PFC frames do not arrive.
fn may_untie(config: &ScenarioConfig, deadlock: &DeadlockOutcome) -> bool {
    config.faults.iter().any(|fault| {
        let ends_ps = fault.until_ns.map_or(u64::MAX, |ns| ns.saturating_mul(1_000));
        let lets_go = matches!(fault.kind, FaultKind::LinkDown { .. } | FaultKind::Restart { .. })
            || is_of_pfc(fault.kind);
        lets_go && ends_ps >= deadlock.closed_ps
    })
}

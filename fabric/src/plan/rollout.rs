//! The order in which switches get new rules, so that no mixture on the way can deadlock.
//!
//! A stage is a set of switches that may change at once, in any order: every mixture of the rules
//! before and after it is proven by [`Mixtures`]. Stages are as large as the proof allows. A
//! switch changes all of its rules at once, so a removed turn cannot wait apart from an added one,
//! as paths can in [`super::Planner`]. Where nothing can change directly, the switches that are
//! left go by way of the rules that their old and new ones share, and what those do not keep is
//! lossy meanwhile: removes before adds, as for paths.

use crate::network::{Network, u32_of};
use crate::paths::PathSet;
use crate::verify::{MixtureError, MixtureVerdict, Mixtures, NetworkRules, common_rules};

/// How a stage changes its switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageKind {
    /// To their new rules, and every path that is lossless before and after stays so.
    Lossless,
    /// To their new rules; some frames of lossless paths may turn lossy while it runs.
    Lossy,
    /// To what old and new rules share; what the two do differently is lossy.
    Detour,
}

/// One stage, proven.
#[derive(Clone, Debug)]
pub struct Stage {
    /// How it changes its switches.
    pub kind: StageKind,
    /// Those that change.
    pub switches: Vec<u32>,
    /// The rules of all switches after it.
    pub after: NetworkRules,
    /// What holds while it runs.
    pub verdict: MixtureVerdict,
}

/// Stages from the rules `old` to `new`, each of which cannot deadlock by themselves. None if
/// nothing differs.
///
/// # Errors
/// The two cannot be mixed at all: their tags contradict each other.
pub fn stages(
    network: &Network,
    paths: &PathSet,
    old: &NetworkRules,
    new: &NetworkRules,
) -> Result<Vec<Stage>, MixtureError> {
    let differs = |&switch: &u32| old.sets()[switch as usize] != new.sets()[switch as usize];
    let mut left: Vec<u32> = (0..u32_of(network.switches())).filter(differs).collect();
    let mixtures = Mixtures::new(network, paths, old, new);
    let lossless = |rules| Ok(mixtures.verify(rules, rules)?.lossless_paths);
    let least = lossless(old)?.min(lossless(new)?);
    let mut search = Search { network, mixtures, current: old.clone(), least };
    let mut stages = Vec::new();
    while !left.is_empty() {
        let direct = |switch: u32| new.sets()[switch as usize].clone();
        let mut found = None;
        for kind in [StageKind::Lossless, StageKind::Lossy] {
            let switches = search.largest(&left, kind, &direct)?;
            if !switches.is_empty() {
                found = Some((kind, switches));
                break;
            }
        }
        let stage = match found {
            Some((kind, switches)) => search.stage(kind, switches, &direct)?,
            None => {
                let old = search.current.clone();
                let common = |switch: u32| {
                    common_rules(&old.sets()[switch as usize], &new.sets()[switch as usize])
                };
                search.stage(StageKind::Detour, left.clone(), &common)?
            }
        };
        if stage.kind != StageKind::Detour {
            left.retain(|switch| !stage.switches.contains(switch));
        }
        search.current = stage.after.clone();
        stages.push(stage);
    }
    Ok(stages)
}

/// Where a rollout stands while its stages are looked for.
struct Search<'a> {
    network: &'a Network,
    mixtures: Mixtures<'a>,
    current: NetworkRules,
    /// The expected paths that are lossless before and after.
    least: u64,
}

type RulesOf<'a> = &'a dyn Fn(u32) -> crate::rules::RuleSet;

impl Search<'_> {
    /// A set of switches of `left` that may change at once, to which none can be added.
    fn largest(
        &self,
        left: &[u32],
        kind: StageKind,
        rules: RulesOf<'_>,
    ) -> Result<Vec<u32>, MixtureError> {
        let mut chosen = Vec::new();
        self.grow(&mut chosen, left, kind, rules)?;
        chosen.sort_unstable();
        Ok(chosen)
    }

    fn grow(
        &self,
        chosen: &mut Vec<u32>,
        more: &[u32],
        kind: StageKind,
        rules: RulesOf<'_>,
    ) -> Result<(), MixtureError> {
        let before = chosen.len();
        chosen.extend(more);
        let (_, verdict) = self.verdict(chosen, rules)?;
        let fits = kind == StageKind::Lossy || verdict.lossless_paths >= self.least;
        if verdict.cycle.is_empty() && fits {
            return Ok(());
        }
        chosen.truncate(before);
        if more.len() > 1 {
            let (one, other) = more.split_at(more.len() / 2);
            self.grow(chosen, one, kind, rules)?;
            self.grow(chosen, other, kind, rules)?;
        }
        Ok(())
    }

    fn verdict(
        &self,
        switches: &[u32],
        rules: RulesOf<'_>,
    ) -> Result<(NetworkRules, MixtureVerdict), MixtureError> {
        let mut sets = self.current.sets().to_vec();
        for &switch in switches {
            sets[switch as usize] = rules(switch);
        }
        let after = NetworkRules::new(self.network, sets)?;
        let verdict = self.mixtures.verify(&self.current, &after)?;
        Ok((after, verdict))
    }

    fn stage(
        &self,
        kind: StageKind,
        switches: Vec<u32>,
        rules: RulesOf<'_>,
    ) -> Result<Stage, MixtureError> {
        let (after, verdict) = self.verdict(&switches, rules)?;
        Ok(Stage { kind, switches, after, verdict })
    }
}

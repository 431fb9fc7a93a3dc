//! A network that has grown: new switches get rules, and old ones keep theirs (Tagger, VI-C).
//!
//! The rules of the whole network are found as if it were new. Then every old switch gets its old
//! rules back, and the others are given an order of the links that goes on from the turns that old
//! rules keep in each tag. Where that closes a cycle or makes a path lossy, the switches that cause
//! it may change, and it is tried again. In the end each switch that changed is tried with its old
//! rules once more, so none changes without need. [`verify`](crate::verify) judges every attempt.

use super::extend::{self, Cycle, Missed};
use super::order::TagOrders;
use super::turns::{TurnWeights, UsedTurns};
use super::updown::{self, tag_of};
use super::{Algorithm, Budget, CompileError, Compiled, Options, compile_with_orders};
use crate::network::{Network, u32_of};
use crate::paths::{PathSet, Turn, Walks};
use crate::rules::RuleSet;
use crate::verify::{self, ClassVerdict, NetworkRules, Table, Verdict};
use dataplane::ids::Tag;
use dataplane::rules::linear;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::time::Instant;

/// Attempts with the same old switches, each with precedence for the turns of paths that were lossy
/// in those before.
const ATTEMPTS_EACH: u32 = 8;
/// Attempts after which all old switches may change.
const ATTEMPTS_MAX: u32 = 400;

/// The rules of a network that has grown.
#[derive(Clone, Debug)]
pub struct Grown {
    /// All rules, those that were kept among them.
    pub compiled: Compiled,
    /// Old switches that do not keep their rules, in order.
    pub changes: Vec<Change>,
    /// Whether each of `changes` was tried with its old rules beside the others' new ones. If the
    /// time was over before, fewer changes may be possible.
    pub is_tried: bool,
}

/// An old switch that does not keep its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The switch.
    pub switch: u32,
    /// What goes wrong if it keeps them.
    pub reason: Reason,
}

/// What goes wrong if an old switch keeps its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has another number of ports now.
    Ports {
        /// The number before.
        before: usize,
    },
    /// The network's tags or their priorities are other ones now.
    Tags,
    /// Buffers wait for each other: the slots that frames come in by.
    Cycle(Vec<u32>),
    /// A path is lossy that need not be.
    Lossy(Vec<Turn>),
    /// Nothing is known: it was not tried.
    Untried,
}

/// Compiles for a network that has grown. `old` has the rules of each switch that is not new; they
/// are kept where they can be.
///
/// # Errors
/// As [`compile`](super::compile()).
pub fn compile_keeping(
    network: &Network,
    paths: &PathSet,
    options: &Options,
    old: Vec<Option<RuleSet>>,
    tell: &dyn Fn(&str),
) -> Result<Grown, CompileError> {
    let options = Options { algorithm: Algorithm::UpDown, ..*options };
    let (fresh, orders) = compile_with_orders(network, paths, &options, tell)?;
    let mut why: BTreeMap<u32, Reason> = BTreeMap::new();
    for (switch, rules) in (0..).zip(&old) {
        let Some(rules) = rules else { continue };
        if rules.ports != network.ports(switch) {
            why.insert(switch, Reason::Ports { before: rules.ports });
        } else if !serves(rules, &fresh) {
            why.insert(switch, Reason::Tags);
        }
    }
    let rules = old.iter().flatten().next();
    let tags = rules.map_or(0, |rules| rules.priorities.len());
    let walks = Walks::alike(network, paths);
    let keeper = Keeper {
        network,
        paths,
        weights: TurnWeights::of(&walks),
        walks,
        is_old: &old,
        fresh: &fresh,
        orders: orders.as_ref(),
        tags,
        deadline: match options.budget {
            Budget::Work => None,
            Budget::Time(time) => Instant::now().checked_add(time),
        },
        tell,
    };
    Ok(keeper.run(why))
}

/// Whether the new rules use the old tags as the old rules do.
fn serves(old: &RuleSet, fresh: &Compiled) -> bool {
    let Some(new) = fresh.rules.first() else { return true };
    let heads = |rules: &RuleSet| (rules.lossy_tag, rules.initial_tag, rules.initial_tags.clone());
    let tags = (0..old.priorities.len()).map(tag_of);
    heads(old) == heads(new)
        && old.priorities.keys().copied().eq(tags)
        && new.priorities.iter().all(|(tag, priority)| old.priorities.get(tag) == Some(priority))
}

/// What is the same in every attempt.
struct Keeper<'a> {
    network: &'a Network,
    paths: &'a PathSet,
    walks: Walks<'a>,
    weights: Option<TurnWeights>,
    is_old: &'a [Option<RuleSet>],
    /// The rules as if everything were new.
    fresh: &'a Compiled,
    orders: Option<&'a TagOrders>,
    /// Lossless tags of the old rules.
    tags: usize,
    deadline: Option<Instant>,
    tell: &'a dyn Fn(&str),
}

/// Rules of all switches, and what is proven of them.
struct Attempt {
    rules: Vec<RuleSet>,
    verdict: Verdict,
}

impl Keeper<'_> {
    /// Lets old switches change until the rules are right, and takes back what need not change.
    /// Before a switch may change, the turns of paths that were lossy get precedence, a few times.
    fn run(&self, mut why: BTreeMap<u32, Reason>) -> Grown {
        let fixed: Vec<u32> = why.keys().copied().collect();
        let (mut missed, mut attempts) = (Missed::new(), 0);
        let attempt = loop {
            let left = self.is_old.iter().flatten().count() - why.len();
            (self.tell)(&format!("keeping the rules of {left} switches"));
            match self.attempt(&why, &missed) {
                Ok(attempt) => break attempt,
                Err(_) if self.is_over() || attempts == ATTEMPTS_MAX => return self.all_new(why),
                Err(reason) => {
                    attempts += 1;
                    let is_noted = self.note(&reason, &mut missed);
                    if is_noted && attempts % ATTEMPTS_EACH != 0 {
                        continue;
                    }
                    let culprits = self.culprits(&reason, &why);
                    if culprits.is_empty() && !is_noted {
                        return self.all_new(why);
                    }
                    why.extend(culprits.into_iter().map(|switch| (switch, reason.clone())));
                }
            }
        };
        self.take_back(attempt, why, &fixed, missed)
    }

    /// Notes that the turns of a lossy path should ascend; whether there is one.
    fn note(&self, reason: &Reason, missed: &mut Missed) -> bool {
        let Reason::Lossy(turns) = reason else { return false };
        for &(input, output) in turns {
            if let Some(far) = self.network.far_slot(output) {
                *missed.entry((input, far)).or_default() += 1;
            }
        }
        true
    }

    /// Tries each change without it.
    fn take_back(
        &self,
        mut attempt: Attempt,
        mut why: BTreeMap<u32, Reason>,
        fixed: &[u32],
        mut missed: Missed,
    ) -> Grown {
        let mut is_tried = true;
        let tried: Vec<u32> = why.keys().copied().filter(|at| !fixed.contains(at)).collect();
        for switch in tried {
            if self.is_over() {
                is_tried = false;
                break;
            }
            (self.tell)(&format!("trying the old rules of {}", self.network.switch_name(switch)));
            why.remove(&switch);
            let result = (0..ATTEMPTS_EACH).try_fold(Reason::Untried, |_, _| {
                match self.attempt(&why, &missed) {
                    Ok(better) => Err(better),
                    Err(reason) => {
                        self.note(&reason, &mut missed);
                        Ok(reason)
                    }
                }
            });
            match result {
                Err(better) => attempt = better,
                Ok(reason) => {
                    why.insert(switch, reason);
                }
            }
        }
        self.grown(attempt, why, is_tried)
    }

    fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The rules as if everything were new.
    fn all_new(&self, mut why: BTreeMap<u32, Reason>) -> Grown {
        for (switch, rules) in (0..).zip(self.is_old) {
            if rules.is_some() {
                why.entry(switch).or_insert(Reason::Untried);
            }
        }
        let attempt =
            Attempt { rules: self.fresh.rules.clone(), verdict: self.fresh.verdict.clone() };
        self.grown(attempt, why, false)
    }

    fn grown(&self, attempt: Attempt, why: BTreeMap<u32, Reason>, is_tried: bool) -> Grown {
        let Attempt { rules, verdict } = attempt;
        let is_changed =
            |&switch: &u32| self.is_old[switch as usize].as_ref() != rules.get(switch as usize);
        let changes = why.into_iter().filter(|(switch, _)| is_changed(switch));
        let changes = changes.map(|(switch, reason)| Change { switch, reason }).collect();
        let lossless_priorities = rules.first().map_or(0, |rules| rules.priorities.len());
        let compiled = Compiled {
            lossless_priorities,
            is_open: lossless_priorities > self.fresh.priorities_min,
            rules,
            verdict,
            // Old rules may raise tags elsewhere than the order does.
            raised_paths: None,
            ..self.fresh.clone()
        };
        Grown { compiled, changes, is_tried }
    }

    /// The rules if the switches of `why` may change, and what is wrong with them.
    fn attempt(&self, why: &BTreeMap<u32, Reason>, missed: &Missed) -> Result<Attempt, Reason> {
        let is_kept =
            |switch: u32| self.is_old[switch as usize].is_some() && !why.contains_key(&switch);
        let all_may_change = !self.network.all_switches().any(is_kept);
        if all_may_change {
            let rules = self.fresh.rules.clone();
            return Ok(Attempt { rules, verdict: self.fresh.verdict.clone() });
        }
        let Some(orders) = self.orders else { return Err(Reason::Tags) };
        let first = self.judge(self.rules(orders, &is_kept));
        let Err(_) = first else { return first };
        let old: Vec<Option<&RuleSet>> = (0..)
            .zip(self.is_old)
            .map(|(switch, rules)| rules.as_ref().filter(|_| is_kept(switch)))
            .collect();
        let extended = extend::orders(self.network, orders, &old, self.weights.as_ref(), missed);
        let extended = extended.map_err(|Cycle(inputs)| Reason::Cycle(inputs))?;
        self.judge(self.rules(&extended, &is_kept))
    }

    /// Old rules where they are kept, and the rules of these orders elsewhere.
    fn rules(&self, orders: &TagOrders, is_kept: &(dyn Fn(u32) -> bool + Sync)) -> Vec<RuleSet> {
        let first = self.is_old.iter().flatten().find(|_| true);
        let by_order = updown::Rules {
            network: self.network,
            orders,
            tags: self.tags,
            lossy_tag: Tag::default(),
            hosts_alike: self.paths.hosts_alike(),
        };
        let written = |used: Option<&UsedTurns>| -> Vec<RuleSet> {
            let all = self.fresh.rules.par_iter().zip(0..u32_of(self.network.switches()));
            all.map(|(fresh, switch)| match &self.is_old[switch as usize] {
                Some(old) if is_kept(switch) => old.clone(),
                _ => RuleSet {
                    priorities: first.map_or_else(BTreeMap::new, |rules| rules.priorities.clone()),
                    entries: by_order.entries(switch, used),
                    ..fresh.clone()
                },
            })
            .collect()
        };
        let strict = written(None);
        let is_long = (0..).zip(&strict).any(|(switch, rules)| {
            !is_kept(switch) && rules.entries.len() > updown::ENTRIES_PER_TAG * self.tags
        });
        if !is_long {
            return strict;
        }
        let Ok(together) = NetworkRules::new(self.network, strict.clone()) else { return strict };
        let table = Table::new(self.network, &together);
        let turn = |input, output, state| table.turn(self.network, input, output, state);
        written(Some(&by_order.used_by(&self.walks, turn)))
    }

    /// The rules, if they are free of deadlock and make no path lossy that need not be.
    fn judge(&self, rules: Vec<RuleSet>) -> Result<Attempt, Reason> {
        let rules = NetworkRules::new(self.network, rules).map_err(|_| Reason::Tags)?;
        let verdict = verify::verify(self.network, &rules, self.paths);
        if !verdict.is_deadlock_free() {
            return Err(Reason::Cycle(verdict.cycle.iter().map(|hop| hop.input).collect()));
        }
        let lossless = |classes: &[ClassVerdict]| -> Vec<u64> {
            classes.iter().map(|class| class.lossless_paths).collect()
        };
        let (here, wanted) = (lossless(&verdict.classes), lossless(&self.fresh.verdict.classes));
        if here.iter().zip(&wanted).any(|(here, wanted)| here < wanted) {
            let lossy = verdict.lossy.into_iter().next();
            return Err(lossy.map_or(Reason::Tags, |path| Reason::Lossy(path.turns)));
        }
        Ok(Attempt { rules: rules.into_sets(), verdict })
    }

    /// The old switches that cause it: those that keep or raise a tag where the order of the new
    /// network does not; all that have part in it, if there are none.
    fn culprits(&self, reason: &Reason, why: &BTreeMap<u32, Reason>) -> Vec<u32> {
        let turns: Vec<Turn> = match reason {
            Reason::Lossy(turns) => turns.clone(),
            Reason::Cycle(inputs) => {
                let next = inputs.iter().cycle().skip(1);
                let turn = |(&input, &next): (&u32, &u32)| {
                    self.network.far_slot(next).map(|output| (input, output))
                };
                inputs.iter().zip(next).filter_map(turn).collect()
            }
            Reason::Ports { .. } | Reason::Tags | Reason::Untried => Vec::new(),
        };
        let switches = |is_culprit: &dyn Fn(&RuleSet, Turn) -> bool| -> Vec<u32> {
            let mut found: Vec<u32> = Vec::new();
            for &(input, output) in &turns {
                let switch = self.network.owner(input);
                let old = self.is_old[switch as usize].as_ref();
                let old = old.filter(|_| !why.contains_key(&switch));
                if old.is_some_and(|rules| is_culprit(rules, (input, output))) {
                    found.push(switch);
                }
            }
            found.sort_unstable();
            found.dedup();
            found
        };
        let differ = switches(&|rules, turn| self.differs(rules, turn));
        if differ.is_empty() { switches(&|_, _| true) } else { differ }
    }

    /// Whether old rules answer a turn otherwise than the order of the new network in some tag.
    fn differs(&self, rules: &RuleSet, (input, output): Turn) -> bool {
        let Some(orders) = self.orders else { return true };
        (0..self.tags).any(|state| {
            let ports = (self.network.port(input), self.network.port(output));
            let tag = tag_of(state);
            let new_tag = linear::lookup(&rules.entries, rules.lossy_tag, tag, ports.0, ports.1);
            let raises = u8::try_from(state).unwrap_or(u8::MAX);
            (new_tag != tag) != orders.is_raise(input, output, raises)
        })
    }
}
